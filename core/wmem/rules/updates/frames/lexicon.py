"""What a lexicon of frames holds: the few words of a language by which a short sentence is split at its value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BE, NAME, LIVE, WORK, DO, ADD, MOVE, TAKE = "be", "name", "live", "work", "do", "add", "move", "take"
"""Classes of verbs: is, is called, lives, works, what one does in one way at a time, what adds (likes, has), moved to, and
what has a number: costs, lasts, starts."""


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


FOR = words("for im während durante pendant during für pour para per voor för dla pro для")
"""Words between a value and what it holds for, where those count as no word between a verb and its value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lexicon:
    """Words of a language.

    Attributes:
        verbs: By verb its class.
        me: The speaker.
        mine: Words before the speaker's things.
        dropped: Words that change nothing: articles, and what only links.
        some: Indefinite articles: what follows tells a kind, and not which one.
        at: Words between a verb and its value; which one of them is there belongs to the frame.
        now: Words by which a sentence says that something changed.
        leads: What may stand before a comma, without a word of its own; true for those that correct.
        no: Negations.
        more: Words by which a negation says that something ended.
        but: Words between what is not so and what is.
        naming: Words after "is" that make it a name: called.
        names: Nouns for a name.
        single: Things that have one value at a time.
        roles: Things that have one if the value is a name or a number.
        the: Definite articles.
        several: Nouns of which one may have several.
        many: Nouns of which one has several by name, though each may have one number: a museum, an exam.
        plural: Verbs of several.
        ordinals: First, second and so on, by whose place a number is known.
        refused: Words of a sentence that states nothing now: conditions, wishes, the past, what others say, lists, one
            of several.
        inflects: Whether words change their endings, so that these say nothing.
        verb_last: Whether the value stands before the verb.
        bare: Whether there need be no verb: the value is the last word.
        head_last: Whether the noun that is told of is the last of those in a row.
        suffixed: Whether a definite article is the ending of a noun.
        lower_names: Whether a word in lower case may be a name: there is a list of those that are none.
        capital_nouns: Whether every noun has a capital, so that it tells no name.
    """

    verbs: Mapping[str, str]
    me: frozenset[str]
    mine: frozenset[str]
    dropped: frozenset[str]
    some: frozenset[str] = frozenset()
    at: frozenset[str] = frozenset()
    now: frozenset[str]
    leads: Mapping[str, bool] = field(default_factory=dict)
    no: frozenset[str]
    more: frozenset[str] = frozenset()
    but: frozenset[str] = frozenset()
    naming: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    refused: frozenset[str]
    the: frozenset[str] = frozenset()
    several: frozenset[str] = frozenset()
    many: frozenset[str] = frozenset()
    plural: frozenset[str] = frozenset()
    ordinals: Mapping[str, str] = field(default_factory=dict)
    inflects: bool = False
    verb_last: bool = False
    bare: bool = False
    head_last: bool = False
    suffixed: bool = False
    lower_names: bool = False
    capital_nouns: bool = False


def ordinals(text: str) -> dict[str, str]:
    """By ordinal its number; the forms of one are parted by a stroke."""
    return {form: f"{at}." for at, forms in enumerate(text.split(), 1) for form in forms.split("|")}


def verbs(**classes: str) -> dict[str, str]:
    """By verb its class, from texts by class."""
    return {verb: name for name, text in classes.items() for verb in text.split()}
