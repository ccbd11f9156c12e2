"""Recall profiles: the coefficients of the ranking formula."""

from functools import cache, partial
from typing import Literal, Self, TypeAlias, Union

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.validation import first_fault, parse

Scoring: TypeAlias = Union[Literal["evidence", "balanced"], "RecallProfile"]
"""A built-in profile by its name, or coefficients of one's own."""

_DAY = 86_400.0


class RecallProfile(BaseModel):
    """The coefficients of the ranking formula.

    ``score = (similarity x words + session x its session's words + vector x cosine^1.5 + recency x age
    + importance x importance - duplication x overlap + prior) x speaker x user x (1 + date x match) x when``,
    each sum in brackets from 0 to 1 of the best candidate. 0 as a weight or floor, or 1 as a factor, switches a part
    off.

    Attributes:
        name: Name of the profile in reports.
        similarity: Weight of BM25 with the query, its neighbours' included.
        recency: Weight of recency, which halves every `half_life_s` seconds.
        importance: Weight of the item's importance, given or computed.
        duplication: Penalty for words that the newest messages already have.
        k1: BM25's saturation of repeated terms.
        b: BM25's length normalisation.
        feedback: Weight of relevance feedback: terms that the best texts share and the query lacks.
        feedback_texts: Number of texts that give those terms.
        feedback_terms: Number of those terms.
        related: Weight of words related to those of the query: a kind's things ("pet", "dog") and synonyms.
        next_to: Share of its score that a message lends to the one after it.
        question: Factor for what a message that ends with a question lends to the one after it.
        backward: Factor for what a message lends to the one before it.
        next_but_one: The same for the second neighbours; half of it up to the fourth, where one person
            says several in a row.
        full_tokens: A message of more tokens borrows less, in proportion; of more than twice as many it lends less.
        session: Weight of the words of the whole session.
        speaker: Factor for messages of the one person the query names; less where what he said has fewer
            words of the query than what others said.
        name_weight: Weight of that person's name as a word of the query, if there are others.
        named: Added for messages of that person, no more than the rest of the score.
        substance: The same for how much a message says: the more for more words, up to 25.
        beside: Weight of the words of what an agent aims at and just did, beside the question's own; see
            `AgentMemory.turn`.
        user: Factor for messages of the user when the query speaks in the first person, unless it asks what the
            assistant said.
        date: Weight of how well the day of the message matches dates in the query.
        when: Factor for a message that tells a time when the query asks for one.
        exchange: Weight of the words of the whole exchange, where it has a record: what a tool returned, or
            structured text.
        answer: Share of the question's words from which a message of the user lends its score to the rest of
            its exchange; 1 never.
        density: Exponent of a message's tokens by which its score is divided for the order in which a pack quotes, as
            room is short: of short ones more have room. Not in exchanges that match. Scores stay those of recall.
        question_floor: Share of a question's words, by rarity and without names, that the best text must have, or a
            pack quotes nothing that recall found; not where there are few texts, or a date in the question.
        closeness_floor: With an embedder, how near the best text must be to the question where its words are too few:
            0 as near as any two texts of the scope, 1 as near as a text and the one most like it.
        score_floor: Share of the best score below which a pack quotes nothing.
        near_equal: Share of a score within which items are ordered by priority, importance and age.
        vector: Weight of the cosine with the query to the power of 1.5, half of its neighbours' included, relative to
            the best; only with an embedder. Below `similarity`, what shares no word is never before what shares the
            most.
        item_floor: Share of what the best item holds of a question that another must hold to be found by
            `items.search` in the order of recall, weak words counted little. With a floor, an item that shares no
            more than a weak word, in nearly every item or common in the language, is not found.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True, allow_inf_nan=False
    )

    name: str = "evidence"
    similarity: float = Field(1.0, ge=0)
    recency: float = Field(0.0, ge=0)
    half_life_s: float = Field(7 * _DAY, gt=0)
    importance: float = Field(0.0, ge=0)
    duplication: float = Field(0.0, ge=0)
    k1: float = Field(1.2, ge=0)
    b: float = Field(0.75, ge=0, le=1)
    feedback: float = Field(0.2, ge=0)
    feedback_texts: int = Field(10, ge=1)
    feedback_terms: int = Field(20, ge=1)
    related: float = Field(0.3, ge=0)
    next_to: float = Field(0.4, ge=0)
    question: float = Field(2.0, ge=0)
    backward: float = Field(0.75, ge=0)
    next_but_one: float = Field(0.2, ge=0)
    full_tokens: float = Field(60, gt=0)
    session: float = Field(0.2, ge=0)
    speaker: float = Field(1.8, ge=1)
    name_weight: float = Field(0.1, ge=0, le=1)
    named: float = Field(0.05, ge=0)
    substance: float = Field(0.12, ge=0)
    beside: float = Field(0.15, ge=0)
    user: float = Field(4.0, ge=1)
    date: float = Field(1.0, ge=0)
    when: float = Field(1.25, ge=1)
    exchange: float = Field(0.6, ge=0)
    answer: float = Field(0.8, gt=0, le=1)
    density: float = Field(0.12, ge=0, le=1)
    question_floor: float = Field(0.13, ge=0, le=1)
    closeness_floor: float = Field(0.4, ge=0)
    score_floor: float = Field(0.05, ge=0, le=1)
    near_equal: float = Field(0.05, ge=0, le=1)
    vector: float = Field(0.94, ge=0)
    item_floor: float = Field(0.5, ge=0, le=1)

    def __init__(self, **coefficients: object) -> None:
        parse(partial(super().__init__, **coefficients), _to_input_error)

    @staticmethod
    def resolve(profile: Scoring) -> "RecallProfile":
        """The coefficients of a profile.

        Raises:
            InvalidInputError: There is no profile of that name.
        """
        if isinstance(profile, RecallProfile):
            return profile
        if not isinstance(profile, str) or profile not in _PROFILES:
            msg = (
                f"a scoring profile must be a wmem.RecallProfile or one of {', '.join(_PROFILES)}, "
                f"not {describe(profile)}"
            )
            raise InvalidInputError(msg)
        return _load_profile(profile)

    @classmethod
    def evidence(cls, **coefficients: object) -> Self:
        """The default: finds most of the evidence for a question in a conversation."""
        return cls(**coefficients)

    @classmethod
    def balanced(cls, **coefficients: object) -> Self:
        """Only similarity, recency, importance and duplication, weighted as in the memory system document.

        With an embedder, vectors count half as much as words: as much, they lose what tools said.
        """
        document = {"similarity": 0.40, "recency": 0.25, "importance": 0.25, "duplication": 0.10}
        off = {
            "feedback": 0,
            "related": 0,
            "next_to": 0,
            "next_but_one": 0,
            "session": 0,
            "date": 0,
            "exchange": 0,
            "density": 0,
        }
        off |= {"item_floor": 0, "question_floor": 0, "score_floor": 0, "near_equal": 0}
        off |= {"named": 0, "substance": 0}
        factors = {"speaker": 1, "name_weight": 1, "user": 1, "when": 1, "answer": 1, "vector": 0.2}
        return cls(**{"name": "balanced", **document, **off, **factors, **coefficients})


def _to_input_error(exc: ValidationError) -> InvalidInputError:
    field, what = first_fault(exc)
    return InvalidInputError(f"recall: {field or 'recall'!r} {what}")


_PROFILES = ("evidence", "balanced")


@cache
def _load_profile(name: str) -> RecallProfile:
    return RecallProfile.evidence() if name == "evidence" else RecallProfile.balanced()
