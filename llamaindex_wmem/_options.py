"""Options of LlamaIndex's own memories, and what takes their place here."""

from collections.abc import Collection
from difflib import get_close_matches

from wmem import InvalidInputError

_NOTHING_IS_FLUSHED = "nothing is flushed: every message stays stored, and each get() chooses what fits token_limit"
_NO_BLOCKS = (
    "recall=True quotes what is relevant of all that was said; keep facts as items of memory.scope(), which recall "
    "quotes as well"
)
_STORE_BY_URL = "pass url= and agent_id=, an open memory as memory=, or a registered one as store="
_MEDIA = "pass memory=wmem.open(…, media_tokens={{{kind!r}: …}})"

_REPLACEMENTS = {
    "token_flush_size": _NOTHING_IS_FLUSHED,
    "chat_history_token_ratio": "pass tail=, the share of the limit that the newest messages fill first",
    "memory_blocks": _NO_BLOCKS,
    "memory_blocks_template": "what is recalled stands in a note of its own",
    "insert_method": "what is recalled stands in a note of its own; stable=True puts it before the newest question",
    "image_token_size_estimate": _MEDIA.format(kind="image"),
    "audio_token_size_estimate": _MEDIA.format(kind="audio"),
    "video_token_size_estimate": _MEDIA.format(kind="video"),
    "document_token_size_estimate": _MEDIA.format(kind="file"),
    "chat_store_key": "pass session_id=",
    **dict.fromkeys(("chat_store", "sql_store", "async_database_uri", "async_engine"), _STORE_BY_URL),
    **dict.fromkeys(("table_name", "db_schema"), f"a store holds agents and sessions; {_STORE_BY_URL}"),
    "summarize_prompt": "pass summary=, the tokens of a summary of what is left out, and summarizer= for a model",
    "count_initial_tokens": "initial_token_count always counts",
    **dict.fromkeys(
        (
            *("key", "client", "embedder", "policy", "clock", "create", "retention", "media_tokens"),
            *("memory_types", "default_filters", "enable_tool_tracking"),
        ),
        "pass memory=wmem.open(…), or store=",
    ),
    "counter": "pass tokenizer_fn=, or memory=wmem.open(…, counter=…)",
    "session": "pass session_id=",
}
"""By option of `Memory`, `ChatMemoryBuffer`, `ChatSummaryMemoryBuffer` or `wmem.open`."""


def refuse_unknown(options: Collection[str], known: Collection[str]) -> None:
    """Raise `InvalidInputError` for the first option that is not known, with what takes its place."""
    unknown = next((name for name in options if name not in known), None)
    if unknown is None:
        return
    if (replacement := _REPLACEMENTS.get(unknown)) is not None:
        raise InvalidInputError(f"WmemMemory takes no {unknown}: {replacement}")
    likely = get_close_matches(unknown, known, n=1)
    hint = f"; did you mean {likely[0]}?" if likely else ""
    raise InvalidInputError(f"WmemMemory takes no {unknown!r}{hint}")
