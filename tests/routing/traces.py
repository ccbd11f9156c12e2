"""Traces of agents at work: what each step leaves to be memorized, and which memory types it belongs to.

The shapes are those of airline, shop and support agents and of long chats; the words are our own. Who writes them is a
model, a tool or a program, so types are spelled in many ways, and some items have none.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Expected(NamedTuple):
    """An item, and the memory types that it belongs to."""

    item: Mapping[str, Any]
    stores: frozenset[str]


class Setting(NamedTuple):
    """Where an agent works: whom it serves, what they want, with which tool, and what that is about."""

    who: str
    wish: str
    tool: str
    thing: str
    place: str
    number: int


SETTINGS = (
    Setting("Mia", "an aisle seat", "search_flights", "flight 217", "Seattle", 121),
    Setting("Omar", "parcels left with the neighbour", "find_parcel", "parcel 88", "Leeds", 9),
    Setting("Yuki", "invoices as PDF", "get_invoice", "invoice 4410", "Kobe", 240),
    Setting("Lena", "appointments before nine", "list_slots", "the check-up", "Graz", 35),
    Setting("Tom", "large print", "find_book", "the atlas", "Cork", 2),
    Setting("Ines", "alerts by pager alone", "read_log", "the api server", "Porto", 503),
    Setting("Ravi", "no onions", "get_menu", "the lentil soup", "Pune", 12),
    Setting("Nora", "plants that need little water", "check_soil", "the north bed", "Oslo", 6),
    Setting("Paul", "lessons in the evening", "get_timetable", "course B2", "Lyon", 18),
    Setting("Zoe", "trains instead of planes", "search_trains", "the night train", "Basel", 89),
    Setting("Ivan", "meter readings by mail", "read_meter", "meter 5", "Sofia", 310),
    Setting("Aiko", "quiet rooms", "search_rooms", "room 12", "Nara", 75),
    Setting("Carl", "boxes without plastic", "get_quote", "the piano", "Ghent", 640),
    Setting("Dana", "short answers", "fetch_results", "the half marathon", "Haifa", 94),
)

EPISODIC, SEMANTIC, WORKING = frozenset(["episodic"]), frozenset(["semantic"]), frozenset(["working"])
CONVERSATION = frozenset(["conversation"])


def list_items() -> Iterator[Expected]:
    """All items of all traces."""
    for place, setting in enumerate(SETTINGS):
        yield from _list_trace(setting, place)


def _list_trace(own: Setting, place: int) -> Iterator[Expected]:
    who, wish, tool, thing, where, number = own
    fact, skill = (
        ("fact", "Fact", "FACT", "fact ", "facts")[place % 5],
        ("skill", "Skill", "SKILL", " skill")[place % 4],
    )
    told: list[tuple[frozenset[str], str, dict[str, Any]]] = [
        # what was said
        (CONVERSATION, f"I need {thing}, and {wish}, please.", {"type": "user_message"}),
        (CONVERSATION, f"I found {thing} for {number}. Shall I go on?", {"type": "assistant_message"}),
        (CONVERSATION | SEMANTIC, f"I always want {wish}.", {"type": "User_Message", "kind": "preference"}),
        # reasoning of the step
        (WORKING, f"{who} asks for {thing}: call {tool} first", {"type": "thought"}),
        (WORKING, f"The price {number} looks high; compare before I answer", {"type": "Thought", "source": "model"}),
        (WORKING, f"1. {tool} 2. confirm with {who} 3. book", {"type": "plan"}),
        (WORKING, f"If {where} is closed, offer the next town", {"type": "PLAN", "tags": ["step"]}),
        # what happened
        (EPISODIC, f'{tool}({{"q": "{thing}"}})', {"type": "tool_call", "source": "tool"}),
        (EPISODIC, f'{{"found": "{thing}", "price": {number}}}', {"type": "tool_result", "source": "tool"}),
        (EPISODIC, f"{tool} failed: timeout after 30 s", {"type": "tool_result", "metadata": {"failed": True}}),
        (EPISODIC, f"{who} waited in {where} for {number} minutes", {"type": "observation"}),
        (EPISODIC, f"{thing} was confirmed for {who}", {"type": "Observation", "kind": "event"}),
        (EPISODIC, f"booked {thing}", {"type": "action"}),
        (EPISODIC, f"{who} was content with {thing}", {"type": "outcome"}),
        (EPISODIC, f"latency {number} ms", {"type": "metric"}),
        (EPISODIC, f"The office in {where} did not answer", {}),
        (EPISODIC, f"{who} called at noon", {"kind": "event"}),
        (EPISODIC, f"receipt for {thing}: {number}", {"dynamic_type": "Receipt"}),
        # what is known from then on
        (SEMANTIC, f"{who} lives in {where}", {"type": fact}),
        (SEMANTIC, f"{thing} costs {number}", {"type": "fact", "source": "tool", "metadata": {"tool": tool}}),
        (SEMANTIC, f"The office in {where} opens at eight", {"kind": "fact"}),
        (SEMANTIC, f"{who} wants {wish}", {"type": "observation", "kind": "preference"}),
        (SEMANTIC, f"{who} has asked for {wish} before", {"type": "preference"}),
        (SEMANTIC, f"To serve {who}: {tool}, then ask whether {wish} is possible", {"type": skill}),
        (SEMANTIC, f"Call {tool} once more after a timeout", {"dynamic_type": "skill", "tags": ["retry"]}),
        (SEMANTIC, f"Who asks for {thing} asks for {wish}, too", {"type": "pattern"}),
        (SEMANTIC, f"{who} booked {thing} in {where} for {number}", {"type": "summary", "episode_id": f"e{place}"}),
        (SEMANTIC, f"It is {where}, not the town of the same name", {"kind": "correction"}),
        (WORKING | SEMANTIC, f"{tool} lists the cheapest last", {"type": "thought", "kind": "insight"}),
        (WORKING | SEMANTIC, f"Always: {tool}, quote, confirm, book", {"type": "plan", "kind": "insight"}),
    ]
    yield from (Expected({"content": text, **fields}, stores) for stores, text, fields in told)
