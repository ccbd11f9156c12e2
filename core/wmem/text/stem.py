"""One form for the forms of a word, by the Snowball stemmers where they are installed.

They are pure functions of the word, but a stemmer object is not safe for threads.
"""

import importlib.util
import threading
from functools import cache, lru_cache
from typing import Protocol

__all__ = ["has_stemmers", "stem"]

_stemming = threading.Lock()


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  # its own name


@cache
def has_stemmers() -> bool:
    """Whether the extra ``recall`` is installed, which knows the forms of words in many languages."""
    return importlib.util.find_spec("snowballstemmer") is not None


# No ending tells that these belong together: base, and the forms that differ from it.
_IRREGULAR = """
become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought;
build built; buy bought; catch caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard; hide hid hidden; hold held;
keep kept; know knew known; lead led; learn learnt; leave left; lend lent; light lit; lose lost; make made;
mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen;
seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; sing sang sung;
sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen;
stick stuck; strike struck; swear swore sworn; swim swam swum; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; win won;
write wrote written; child children; foot feet; tooth teeth; mouse mice; goose geese; man men; woman women;
wife wives; knife knives; life lives; leaf leaves; loaf loaves; shelf shelves; half halves; wolf wolves
"""
_BASES = {form: base for base, *forms in map(str.split, _IRREGULAR.split(";")) for form in forms}


@lru_cache(65_536)
def stem(word: str, language: str) -> str:
    """What the forms of a word have in common; a word with a digit in it stays as it is.

    Without the stemmers, plural and tense of English words are taken off by rule.
    """
    if not word.isalpha():
        return word
    if language == "english":
        word = _BASES.get(word, word)
    if has_stemmers():
        with _stemming:
            return _stemmer(language).stemWord(word)
    return _plain(word) if language == "english" else word


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    found: _Stemmer = snowballstemmer.stemmer(language)
    return found


_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_LEAST = 3
"""Letters that an ending must leave."""


def _plain(word: str) -> str:
    for ending, instead in _ENDINGS:
        kept = word[: -len(ending)]
        if word.endswith(ending) and len(kept) >= _LEAST and not word.endswith(("ss", "us", "is")):
            # "running" and "run", "baking" and "bake" meet without their doubled and silent letters.
            kept = kept[:-1] if not instead and kept[-1] == kept[-2] and kept[-1] not in "ls" else kept + instead
            break
    else:
        kept = word
    return kept[:-1] if kept.endswith("e") and len(kept) > _LEAST else kept
