"""What adapters share: a memory opened late, flows over both faces, bounded caches, checks, and JSON of values."""

from wmem.adapter.calling import learn_usage, send_with_retry
from wmem.adapter.flow import Steps, arun, run
from wmem.adapter.lru_cache import LruCache
from wmem.adapter.memory import LazyMemory, Memory
from wmem.adapter.session import LongTerm, LongTermChoice, SessionName, to_session_path
from wmem.adapter.tool_flows import Keep, ToolReply
from wmem.adapter.tools import MemoryTools, ToolHints, ToolName, ToolSpec, explain_arguments
from wmem.adapter.turn import TurnPrompts, end_turn
from wmem.adapter.usage import (
    SizedPrompt,
    check_budget,
    count_message,
    count_tools,
    fade_on_overflow,
    prompt_tokens,
    reply_room,
)
from wmem.agent.openers import check_registered
from wmem.describe import describe, describe_field
from wmem.log import find_logger
from wmem.model.call_ids import pair_results, with_usable_ids
from wmem.model.checks import check_count, check_flag, check_fraction, check_instances
from wmem.model.data_url import media_location
from wmem.model.exchange_blocks import MessagePiece, find_takers, is_result_block, read_call_block, split_blocks
from wmem.model.sendable import to_sendable
from wmem.model.validation import describe_error
from wmem.model.values import from_tagged_json, to_tagged_json
from wmem.model.zones import to_zone
from wmem.rules.summary_prompt import SummaryPrompt
from wmem.rules.summary_prompt import write_prompt as write_summary_prompt
from wmem.scope.summaries.port import check_summary_options
from wmem.tokens.counter import PROMPT_OVERHEAD

__all__ = [
    "PROMPT_OVERHEAD",
    "Keep",
    "LazyMemory",
    "LongTerm",
    "LongTermChoice",
    "LruCache",
    "Memory",
    "MemoryTools",
    "MessagePiece",
    "SessionName",
    "SizedPrompt",
    "Steps",
    "SummaryPrompt",
    "ToolHints",
    "ToolName",
    "ToolReply",
    "ToolSpec",
    "TurnPrompts",
    "arun",
    "check_budget",
    "check_count",
    "check_flag",
    "check_fraction",
    "check_instances",
    "check_registered",
    "check_summary_options",
    "count_message",
    "count_tools",
    "describe",
    "describe_error",
    "describe_field",
    "end_turn",
    "explain_arguments",
    "fade_on_overflow",
    "find_logger",
    "find_takers",
    "from_tagged_json",
    "is_result_block",
    "learn_usage",
    "media_location",
    "pair_results",
    "prompt_tokens",
    "read_call_block",
    "reply_room",
    "run",
    "send_with_retry",
    "split_blocks",
    "to_sendable",
    "to_session_path",
    "to_tagged_json",
    "to_zone",
    "with_usable_ids",
    "write_summary_prompt",
]
