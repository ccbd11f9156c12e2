"""The chat models that a call may reach, and what they say of themselves: windows, room for a reply, provider."""

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSequence, RunnableWithFallbacks, ensure_config
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import merge_configs
from langchain_core.runnables.configurable import DynamicRunnable

from wmem.adapter import reply_room
from wmem.types import ProviderProfile

_PROFILES: Mapping[str, ProviderProfile] = {
    "openai-chat": "openai",
    "azure-openai-chat": "openai",
    "anthropic-chat": "anthropic",
    "anthropic-bedrock-chat": "anthropic",
    "anthropic-chat-vertexai": "anthropic",
    "chat-google-generative-ai": "gemini",
    "vertexai": "gemini",
    "mistralai-chat": "mistral",
    "amazon_bedrock_converse_chat": "bedrock",
}
"""Provider profiles by the type that LangChain's chat models name."""


def list_chat_models(model: object) -> list[BaseChatModel]:
    """The chat models behind bindings, fallbacks and fields that the run configures; none behind anything else."""
    return [each for each, _ in _reach(model, ensure_config())]


def bound_arguments(model: object) -> dict[str, Any]:
    """The keyword arguments that are bound to a model, such as ``tools`` and ``max_tokens``."""
    return next((arguments for _, arguments in _reach(model, ensure_config())), {})


def _reach(model: object, config: RunnableConfig) -> Iterator[tuple[BaseChatModel, dict[str, Any]]]:
    """The chat models that a call of `model` may reach, each with the arguments bound to it."""
    if isinstance(model, DynamicRunnable):
        yield from _reach(*model.prepare(config))
    elif isinstance(model, RunnableBindingBase):
        for inner, arguments in _reach(model.bound, merge_configs(config, model.config)):
            yield inner, {**arguments, **model.kwargs}
    elif isinstance(model, RunnableWithFallbacks):
        for each in model.runnables:
            yield from _reach(each, config)
    elif isinstance(model, RunnableSequence):
        yield from next(filter(None, (list(_reach(step, config)) for step in model.steps)), ())
    elif isinstance(model, BaseChatModel):
        yield model, {}
    elif isinstance(model, Runnable) and (made := _make_configured(model, config)) is not model:
        yield from _reach(made, config)


def _make_configured(model: Runnable[Any, Any], config: RunnableConfig) -> object:
    """The model that `init_chat_model` without a model makes for a configuration; anything else itself."""
    try:
        # With a configuration it hands out attributes of the model that it would make, this one among them.
        method = getattr(model.with_config(config), "get_num_tokens", None)
    except Exception:  # noqa: BLE001  # a provider's own, of which the call itself will tell
        return model
    return getattr(method, "__self__", model)


def provider_profile(model: object) -> ProviderProfile:
    """The profile of the provider that a model is of; ``any`` if wmem knows none, or it may be one of several."""
    known = {_PROFILES.get(each._llm_type, "any") for each in list_chat_models(model)}  # noqa: SLF001  # what each chat model defines to be told apart by
    return known.pop() if len(known) == 1 else "any"


def input_window(model: object) -> int | None:
    """Tokens that a model takes by its profile, the least of all that a call may reach; None if none says so."""
    return min(_limits(model, "max_input_tokens"), default=None)


def output_limit(model: object) -> int | None:
    """Tokens that a model can reply with by its profile, the most of all that a call may reach."""
    return max(_limits(model, "max_output_tokens"), default=None)


def _limits(model: object, name: str) -> list[int]:
    profiles = [each.profile for each in list_chat_models(model)]
    given = [profile.get(name) for profile in profiles if isinstance(profile, Mapping)]
    # Profiles of models that take no text say 0.
    return [each for each in given if isinstance(each, int) and not isinstance(each, bool) and each > 0]


def reply_reserve(model: object, arguments: Mapping[str, Any], budget: int) -> int:
    """Tokens to keep free for the reply, by what the call and its models say of its length: see `reply_room`.

    Args:
        arguments: What the model is called with besides messages.
    """
    limits = (
        found
        for name in ("max_tokens", "max_output_tokens", "max_completion_tokens")
        for found in (arguments.get(name), *(getattr(each, name, None) for each in list_chat_models(model)))
    )
    return reply_room(budget, limits, output_limit(model))
