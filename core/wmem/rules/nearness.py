"""Which texts say nearly the same: those of one gist.

Texts that differ in a number, a negation, a name or the order of their words say different things. Those that differ
in articles, courtesies and marks do not; and one thanks is like another.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import filterfalse

from wmem.analysis.query_intent import mentions_time


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOST_NEAR = 0.99
"""How near two texts are at most that do not say the same."""
_MAX_CHARS = 200  # a longer text is its own gist: what little it differs in may be the point
_MAX_COURTESY_WORDS = 12
_LEAST_INNER_WORDS = 3  # words of a text that may stand in another one: fewer are a topic
_MAX_OWN_WORDS = 1  # words of its own that a courtesy may have: a name, an adverb
_UNSPACED = "\u0e00"  # from Thai on a word may be a whole sentence
_MARKS = ".,;:!\"'()[]*_`~"  # around words; in them, as in "7.50", they are part of them
_OTHER_MARKS = str.maketrans(dict.fromkeys("。、…“”\u2018«»„–—·", " ") | {"’": "'", ",": ", ", "!": "! "})
_LIGHT = _words("a an the please kindly really very quite oh ah um uh hmm bitte")
"""Words that change nothing."""
_COURTESIES = {
    "thanks": _words(
        "thanks thank thankyou thx cheers danke dankeschön vielen merci gracias grazie obrigado obrigada bedankt tack "
        "takk спасибо 谢谢 谢谢你 ありがとう 감사합니다 شكرا धन्यवाद teşekkürler"
    ),
    "greeting": _words(
        "hi hello hey greetings hallo bonjour salut hola ciao olá привет здравствуйте 你好 こんにちは 안녕하세요 "
        "مرحبا नमस्ते merhaba"
    ),
    "farewell": _words("bye goodbye farewell tschüss adiós adieu пока 再见 さようなら"),
}
"""What makes a text a courtesy of a kind, if little else is said."""
_COMPANIONS = _words(
    "you u your yours i we it that that's this is was are for to of and all so much a the very really many lot lots "
    "bunch ton tons million again once more too also indeed well then now there here everyone all everybody friend "
    "dear my me us ok okay alright great perfect awesome wonderful nice cool excellent amazing lovely brilliant "
    "super fantastic good fine kind kindly quick fast prompt best helpful useful clear help helping helps helped "
    "support time patience effort work job service answer answers reply response info information explanation advice "
    "everything appreciate appreciated morning afternoon evening night day see later soon got understood "
    "dank viel vielmals sehr schön beaucoup muchas mille tante molto muito большое "
    "好的 好 好吧 收到 非常好 太好了 非常感谢 明白了 了解了 我了解了 我知道了 没有问题了 没问题 どうも 本当に"
)
"""Words beside a courtesy that add nothing."""
_POLAR = _words(
    "yes no not never none nothing without stop cancel ja nein nicht kein keine non ne pas sí si não niet geen да нет "
    "не 不 没 はい いいえ"
)


def gist(text: str) -> str:
    """What a text says, without what changes nothing; texts of one gist say nearly the same.

    Of a text above 200 characters, all of it, case-folded and with its white space collapsed.
    """
    return gist_of_plain(" ".join(text.split()).casefold())


def says_the_same(text: str, other: str) -> bool:
    """Whether two texts say the same: texts that differ in a number, a name, a negation or their order do not."""
    return gist(text) == gist(other)


def nearness(text: str, other: str) -> float:
    """How near two texts are: 1 if they say the same, else the share of their words that both have, below 1."""
    own, others = gist(text), gist(other)
    if own == others:
        return 1.0
    first, second = Counter(own.split()), Counter(others.split())
    return min(2 * (first & second).total() / max((first + second).total(), 1), _MOST_NEAR)


def adds_nothing(text_gist: str, other: str) -> bool:
    """Whether a text says nothing that another does not: it has the other's gist, or stands in it word by word.

    What the other says beside it must not turn it round, as a negation would.
    """
    if text_gist == other:
        return True
    if len(text_gist) >= len(other) or text_gist.count(" ") < _LEAST_INNER_WORDS - 1:
        return False
    before, found, after = f" {other} ".partition(f" {text_gist} ")
    return bool(found) and not any(map(_turns_round, (*before.split(), *after.split())))


def may_stand_in(text: str, gists: Iterable[str]) -> bool:
    """Whether it is worth while to compare a text with these gists by `adds_nothing`: its longest word is in one.

    A courtesy, which is not told by its words, is not found.
    """
    if not text.isascii():
        return True  # it may be spelled otherwise
    longest = max(text.split(), key=len, default="").casefold().strip(_MARKS)
    return any(longest in each for each in gists)


def _turns_round(word: str) -> bool:
    bare = word.strip(_MARKS)
    return bare in _POLAR or bare.endswith("n't") or bare == "?"


def gist_of_plain(plain: str) -> str:
    """As `gist`, of a text that is case-folded and whose white space is collapsed."""
    if len(plain) > _MAX_CHARS:
        return plain
    marked = plain if plain.isascii() else unicodedata.normalize("NFKC", plain).translate(_OTHER_MARKS)
    words = [word if word.isalnum() else word.strip(_MARKS) for word in marked.replace("?", " ? ").split()]
    if "" in words or "-" in words:
        words = [word for word in words if word not in ("", "-")]
    if len(words) <= _MAX_COURTESY_WORDS and (kind := _find_courtesy(words)) is not None:
        return f"~{kind}"
    return " ".join(filterfalse(_LIGHT.__contains__, words)) or plain


def _find_courtesy(words: list[str]) -> str | None:
    """The kind of courtesy that a text is; None if it says anything else."""
    kinds = [kind for kind, ones in _COURTESIES.items() if not ones.isdisjoint(words)]
    if not kinds or any(map(_matters, words)):
        return None
    own = [word for word in words if word not in _COMPANIONS and not any(word in ones for ones in _COURTESIES.values())]
    spoken = any((word >= _UNSPACED and word.isalpha()) or mentions_time(word) for word in own)
    return kinds[0] if len(own) <= _MAX_OWN_WORDS and not spoken else None


def _matters(word: str) -> bool:
    return word in _POLAR or word.endswith("n't") or word == "?" or any(map(str.isdecimal, word))
