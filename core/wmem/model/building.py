"""Builds the pydantic models that are built at first use, all at once."""

from collections.abc import Iterator

from pydantic import BaseModel


def build_models() -> None:
    """Build every model of wmem that is imported, if another thread builds one, after it."""
    for model in _iter_models(BaseModel):
        if not model.__pydantic_complete__ and model.__module__.startswith("wmem."):
            model.model_rebuild(raise_errors=False)


def _iter_models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _iter_models(model)
