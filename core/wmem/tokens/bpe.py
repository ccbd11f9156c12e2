"""Exact token counts with tiktoken, from encoding files on this machine; nothing is downloaded."""

import hashlib
import importlib.util
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wmem.errors import InvalidInputError, MissingExtraError
from wmem.fork import new_held_lock
from wmem.tokens.estimate import EstimateCounter, EstimateWarning

if TYPE_CHECKING:
    import tiktoken

_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_CHUNK_CHARS = 32_768
"""Characters encoded at once: on about half a million equal spaces tiktoken's regex overflows its stack."""
_MAX_EXACT_CHARS = 4_000_000
"""The longest text that is encoded, in characters (about half a second); a longer one is estimated."""
_CACHE_VARIABLE: Final = "TIKTOKEN_CACHE_DIR"
_LOOK_AGAIN_S = 30
_load_lock = new_held_lock()


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Counts with one of OpenAI's encodings; control-token literals are plain text.

    The encoding file is looked for in ``TIKTOKEN_CACHE_DIR``, ``DATA_GYM_CACHE_DIR``,
    tiktoken's temporary cache and the files that llama-index-core ships; its hash is
    checked. It is loaded at the first count; if it is gone by then, one warning is given
    and tokens are estimated until it is there again: it is looked for every 30 s at most.
    A text above 4,000,000 characters is estimated, too.

    Raises:
        InvalidInputError: An encoding other than o200k_base and cl100k_base.
        MissingExtraError: tiktoken is not installed, or no intact encoding file was found.
    """

    encoding: str = "o200k_base"

    def __post_init__(self) -> None:
        if self.encoding not in _SHA256:
            raise InvalidInputError(f"unknown encoding {self.encoding!r}; known: {', '.join(_SHA256)}")
        _find_directory_once(self.encoding)

    @property
    def name(self) -> str:
        """Includes the encoding, so that cached counts of two encodings are not mixed."""
        return f"tiktoken/{self.encoding}"

    def __call__(self, text: str, /) -> int:
        size = len(text)
        if size <= _CHUNK_CHARS:
            return _count_tokens(self.encoding, text)
        if size > _MAX_EXACT_CHARS:
            return EstimateCounter()(text)
        # Each cut may split one token into two, so one is added for each.
        return sum(
            _count_tokens(self.encoding, text[at : at + _CHUNK_CHARS]) + 1 for at in range(0, size, _CHUNK_CHARS)
        )

    def by_line(self, text: str) -> bool:
        """Whether a text costs the sum of its lines, each with its line break and none blank or indented.

        In these encodings no token spans the end of a line. A text above 32,768 characters
        is encoded in pieces, each of which adds a token.
        """
        return len(text) <= _CHUNK_CHARS


def require_encoding(encoding: str) -> None:
    """Check that the encoding file is at hand; of one that is missing, look every 30 s at most.

    Raises:
        MissingExtraError: It is missing.
    """
    if reason := _find_fault(encoding, int(time.monotonic() // _LOOK_AGAIN_S)):
        raise MissingExtraError(reason)


@lru_cache(maxsize=len(_SHA256))
def _find_fault(encoding: str, period: int) -> str:  # noqa: ARG001  # so that it is cached for a period
    """Why the encoding file cannot be used; "" if it can."""
    try:
        _find_directory(encoding)
    except MissingExtraError as exc:
        return str(exc)
    return ""


@cache
def warn_of_estimates(reason: str) -> None:
    """Emit one `EstimateWarning` a process for a reason."""
    warnings.warn(f"token counts are estimates: {reason}", EstimateWarning, stacklevel=6)


def _count_tokens(encoding: str, text: str) -> int:
    try:
        loaded = _load_encoding(encoding)
    except MissingExtraError as exc:
        warn_of_estimates(str(exc))
        return EstimateCounter()(text)
    try:
        return len(loaded.encode_ordinary(text))
    except BaseException as exc:
        # A panic in Rust is a BaseException whose class cannot be imported.
        if type(exc).__name__ != "PanicException":
            raise
        return EstimateCounter()(text)


@cache  # what is raised is not cached
def _load_encoding(encoding: str) -> "tiktoken.Encoding":
    """Load the encoding.

    Raises:
        MissingExtraError: Its file is gone since the counter was made, and tiktoken would download it.
    """
    require_encoding(encoding)
    with _load_lock:
        import tiktoken  # under the lock: a fork in the middle of an import leaves a child that waits for it for ever

        directory = _find_directory(encoding)
        before = os.environ.get(_CACHE_VARIABLE)
        os.environ[_CACHE_VARIABLE] = str(directory)
        try:
            # Through tiktoken's own registry, so that frameworks in this process share the tables.
            return tiktoken.get_encoding(encoding)
        finally:
            if before is None:
                del os.environ[_CACHE_VARIABLE]
            else:
                os.environ[_CACHE_VARIABLE] = before


def _find_directory(encoding: str) -> Path:
    """The directory of an intact encoding file; tiktoken would replace a damaged one over the network."""
    if importlib.util.find_spec("tiktoken") is None:
        raise MissingExtraError("tiktoken is not installed: pip install 'wmem[tokens]'")
    url = _URL.format(encoding)
    file = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    for directory in _candidate_directories():
        try:
            content = (directory / file).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest() == _SHA256[encoding]:
            return directory
    msg = (
        f"no file of the encoding {encoding!r} is at hand, and wmem downloads nothing: put {url} "
        f"as {file!r} into a directory that {_CACHE_VARIABLE} names, or install llama-index-core"
    )
    raise MissingExtraError(msg)


_find_directory_once = cache(_find_directory)


def _candidate_directories() -> Iterator[Path]:
    import tempfile  # slow: it imports half of the archive formats

    for variable in (_CACHE_VARIABLE, "DATA_GYM_CACHE_DIR"):
        if named := os.environ.get(variable):
            yield Path(named)
    with _load_lock:  # a fork waits for it: the child could not take tempfile's own lock
        temporary = tempfile.gettempdir()
    yield Path(temporary) / "data-gym-cache"
    # Finding the parent imports nothing: `llama_index` is a namespace package, its `core` a heavy one.
    spec = importlib.util.find_spec("llama_index")
    for parent in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(parent) / "core" / "_static" / "tiktoken_cache"
