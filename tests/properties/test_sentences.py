"""Where texts are parted: sentences, records, and pieces of what has no full stops, which is always told in part."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem.analysis.analyzer import to_terms
from wmem.analysis.sentences import GAP, split_long, split_sentences
from wmem.analysis.summarize import WeightedText, extract
from wmem.graphemes import is_within_cluster
from wmem.pack.passage import LongText, PassageTerms, passage
from wmem.tokens.counter import default_counter

COUNT = default_counter()
FAMILY = "👩\u200d👩\u200d👧"
LONG = {
    "log": "; ".join(f"12:00:{at} worker {at} asked pier{at} for a berth" for at in range(400)),
    "table": " | ".join(f"pier{at} | {at} m | open" for at in range(400)),
    "CSV": ",".join(f"pier{at},{at},open" for at in range(400)),
    "record": json.dumps([{"pier": f"pier{at}", "depth": at} for at in range(400)]),
    "nested record": json.dumps({"piers": {f"pier{at}": {"depth": at} for at in range(400)}}),
    "code": "(" + "".join(f"(set pier{at} (depth {at}))" for at in range(400)) + ")",
    "words": " ".join(f"pier{at} was open then" for at in range(400)),
    "one word": "x" * 3_000 + "pier297" + "x" * 3_000,
    "Chinese": "".join(f"\u7801\u5934pier{at}\u6df1{at}\u7c73\uff0c\u5f00\u653e\u4e2d" for at in range(400)),
    "Chinese words": "\u7801\u5934\u5f00\u653e" * 800 + "pier297" + "\u7801\u5934\u5f00\u653e" * 800,
}
each_text = pytest.mark.parametrize("text", LONG.values(), ids=LONG)


@given(
    text=st.lists(st.sampled_from(["a", "bc, ", "; ", "東京", FAMILY, "e\u0301", " ", "},"]), max_size=60).map("".join),
    most=st.integers(1, 30),
)  # fmt: skip
def test_the_pieces_of_a_sentence_are_all_of_it_and_part_no_cluster(text: str, most: int) -> None:
    pieces = split_long(text, most)
    assert all(len(piece) <= most for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    at = 0
    for piece in pieces[:-1] if most >= 8 else ():
        at = text.index(piece, at) + len(piece)
        assert not is_within_cluster(text, at)


def test_a_piece_ends_where_it_reads_best() -> None:
    assert split_long('{"a": 1, "b": 2}, {"a": 3, "b": 4}', 20) == ['{"a": 1, "b": 2},', '{"a": 3, "b": 4}']
    assert split_long("one two, three four", 12) == ["one two,", "three four"]


def test_in_json_a_record_is_a_sentence_and_in_prose_braces_are_not() -> None:
    assert split_sentences('[{"a": 1}, {"a": 2}]') == ['[{"a": 1},', '{"a": 2}]']
    assert split_sentences("The set {1, 2}, {3} is open.") == ["The set {1, 2}, {3} is open."]


@each_text
@pytest.mark.parametrize("limit", [20, 60, 200])
def test_of_a_text_without_full_stops_an_extract_has_pieces_with_marks(text: str, limit: int) -> None:
    made = extract([WeightedText(text, 1.0)], limit, COUNT)
    assert limit / 4 < made.tokens <= limit
    assert GAP in made.text or "},\n" in made.text or made.text.endswith(("},", "}]"))
    assert made.source_indices == (0,)


@each_text
def test_of_a_text_without_full_stops_a_passage_has_the_piece_that_is_asked_for(text: str) -> None:
    found = passage(LongText(text, COUNT), PassageTerms.of(to_terms("pier297")), 60)
    assert found is not None
    assert "pier297" in found.text
    assert found.tokens <= 60
    assert COUNT(found.text) <= 62


@each_text
def test_a_summary_of_what_was_left_out_is_never_silent(text: str) -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append([{"role": "user", "content": text, "id": f"long{at}"} for at in range(12)])
        session.messages.append({"role": "user", "content": "And the view?"})
        context = session.pack(budget=260, summary=120)
        [summary] = [each for each in context.included if each.rule == "summary"]
        assert any(id.startswith("long") for id in summary.sources)
        assert context.sizes["note"] <= 120


@each_text
def test_the_summary_of_a_queue_is_never_silent(text: str) -> None:
    with wmem.open("memory://", agent_id="agent", policy=wmem.Policy(max_content_bytes=100_000)) as memory:
        notes = memory.scope("notes")
        item = notes.items.add(text)
        summary = notes.queue.summarize(token_limit=50)
    assert summary.text
    assert summary.sources == (item.id,)
