"""Related words: a question names the kind of a thing or a synonym, and finds the text that names the thing."""

from collections.abc import Iterator

import pytest

import wmem
from wmem.analysis.analyzer import to_terms
from wmem.analysis.thesaurus import _KINDS, _SYNONYMS, expand_term

OTHERS = (
    "The tram was late again this morning",
    "Nothing new about the roof, it still leaks",
    "My neighbour parked his van in front of the gate",
    "I wrote to the council about the street lamps",
)


@pytest.fixture
def session() -> Iterator[wmem.Scope]:
    with wmem.open("memory://", agent_id="agent") as memory:
        yield memory.scope("session")


def say(session: wmem.Scope, *texts: str) -> None:
    session.messages.append([{"role": "user", "content": text} for text in texts])


def first(session: wmem.Scope, query: str, related: float = 0.35) -> list[str]:
    session.use_profile(wmem.RecallProfile(related=related, next_to=0, next_but_one=0, session=0))
    return [hit.text for hit in session.recall(query, limit=3)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Which pets are there?", "We brought a hamster home"),
        ("What did they purchase?", "He bought a tent"),
        ("Are there siblings?", "Her brother moved to Oslo"),
        ("Which instruments were played?", "She took her clarinet along"),
    ],
)
def test_a_kind_or_a_synonym_finds_the_thing(session: wmem.Scope, query: str, text: str) -> None:
    say(session, *OTHERS, text)
    assert first(session, query)[:1] == [text]
    assert text not in first(session, query, related=0)


def test_what_has_the_word_itself_comes_before_what_has_a_related_one(session: wmem.Scope) -> None:
    say(session, *OTHERS, "We brought a hamster home", "No pets are allowed here", *OTHERS)
    assert first(session, "Which pets are there?")[:2] == ["No pets are allowed here", "We brought a hamster home"]


def test_item_search_finds_no_related_word(session: wmem.Scope) -> None:
    session.items.add("We brought a hamster home")
    assert not session.items.search("pets", order="recall")


def test_a_language_without_a_table_has_no_thesaurus() -> None:
    assert not expand_term("haustier", "german")
    assert not expand_term("", "english")


@pytest.mark.parametrize("table", [_KINDS, _SYNONYMS], ids=["kinds", "synonyms"])
def test_each_word_of_the_tables_is_one_term_and_relates_to_others(table: dict[str, str]) -> None:
    for language, entries in table.items():
        for entry in entries.split(";"):
            names = entry.partition(":")[0].split()
            assert names
            for word in entry.replace(":", " ").split():
                assert len(to_terms(word, language)) == 1, word
            for name in names:
                (term,) = to_terms(name, language)
                assert expand_term(term, language), name
                assert term not in expand_term(term, language)
