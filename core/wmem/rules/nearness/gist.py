"""The gist of a text: its words without what changes nothing.

Texts that differ in a number, a negation, a name or the order of their words have different gists. Those that differ
in articles, courtesies, contractions and marks do not; and one thanks is like another.
"""

import unicodedata
from collections.abc import Iterable
from itertools import filterfalse

from wmem.analysis.query_intent import mentions_time


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_GIST_CHARS = 200  # a longer text is its own gist: what little it differs in may be the point
_MAX_COURTESY_WORDS = 12
_LEAST_INNER_WORDS = 3  # words of a text that may stand in another one: fewer are a topic
_MAX_OWN_WORDS = 1  # words of its own that a courtesy may have: a name, an adverb
_SAYING_MARKS = ".!"  # in front of a word: ".5", ".env", "!done"
_LEAST_CONTRACTED = 4
_CONTRACTIONS = {"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "let's": "let us"}
_ENDINGS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "s": "is"}
_PRONOUNS = _words("i you he she it we they that this there what who where here")
_UNSPACED = "\u0e00"  # from Thai on a word may be a whole sentence
_MARKS = ".,;:!\"'()[]*_`~"  # around words; in them, as in "7.50", they are part of them
_OTHER_MARKS = str.maketrans(dict.fromkeys("。、…“”\u2018«»„–—·¡¿।", " ") | {"’": "'", ",": ", ", "!": "! "})
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
NEGATIONS = _words(
    "yes no not never none nothing without stop cancel ja nein nicht nichts kein keine keinen keiner nie niemals ohne "
    "non ne pas jamais sans sí si nunca jamás sin não nem sem mai senza niet geen nooit zonder да нет не никогда без "
    "ليس لا नहीं 不 没 はい いいえ"
)


def gist(text: str) -> str:
    """What a text says, without what changes nothing; texts of one gist say nearly the same.

    Of a text above 200 characters, all of it, case-folded and with its white space collapsed.
    """
    return gist_of_plain(" ".join(text.split()).casefold())


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


def list_own_words(text: str) -> list[str]:
    """The words of a courtesy that no other of its kind need have, as a name."""
    words = (_strip_marks(word) for word in text.casefold().split())
    known = _COMPANIONS.union(*_COURTESIES.values())
    return [word for word in words if word not in known and any(map(str.isalpha, word))]


def is_courtesy(text_gist: str) -> bool:
    """Whether the gist is that of a courtesy."""
    return text_gist.startswith("~") and text_gist[1:] in _COURTESIES


def is_unspaced(word: str) -> bool:
    """Whether a word, or a part of it, is of a script without spaces: it may be a whole sentence."""
    return word[:1] >= _UNSPACED


def _turns_round(word: str) -> bool:
    bare = word.strip(_MARKS)
    return bare in NEGATIONS or bare.endswith("n't") or bare == "?"


def gist_of_plain(plain: str) -> str:
    """As `gist`, of a text that is case-folded and whose white space is collapsed."""
    if len(plain) > MAX_GIST_CHARS:
        return plain
    marked = plain if plain.isascii() else unicodedata.normalize("NFKC", plain).translate(_OTHER_MARKS)
    words = [word if word.isalnum() else _strip_marks(word) for word in marked.replace("?", " ? ").split()]
    if not words or "" in words or "-" in words:
        words = [word for word in words if word not in ("", "-")]
    if "'" in marked or "cannot" in words:
        words = _expand_contractions(words)
    if len(words) <= _MAX_COURTESY_WORDS and (kind := _find_courtesy(words)) is not None:
        return f"~{kind}"
    return " ".join(filterfalse(_LIGHT.__contains__, words)) or plain


def _strip_marks(word: str) -> str:
    """A word without marks around it, but for those that say something: ".5", "!done", ".env"."""
    bare = word.rstrip(_MARKS)
    plain = bare.lstrip(_MARKS)
    lead = bare[: len(bare) - len(plain)]
    return f"{lead[-1]}{plain}" if plain and lead and lead[-1] in _SAYING_MARKS else plain


def _expand_contractions(words: Iterable[str]) -> list[str]:
    """Words with "don't" and the like as "do not"."""
    expanded: list[str] = []
    for word in words:
        if word in _CONTRACTIONS:
            expanded += _CONTRACTIONS[word].split()
        elif word.endswith("n't") and len(word) > _LEAST_CONTRACTED:
            expanded += [word[:-3], "not"]
        else:
            stem, mark, end = word.partition("'")
            known = _ENDINGS.get(end, "") if mark and stem in _PRONOUNS else ""
            expanded += [stem, known] if known else [word]
    return expanded


def _find_courtesy(words: list[str]) -> str | None:
    """The kind of courtesy that a text is; None if it says anything else."""
    kinds = [kind for kind, ones in _COURTESIES.items() if not ones.isdisjoint(words)]
    if not kinds or any(map(_matters, words)):
        return None
    own = [word for word in words if word not in _COMPANIONS and not any(word in ones for ones in _COURTESIES.values())]
    spoken = any((word >= _UNSPACED and word.isalpha()) or mentions_time(word) for word in own)
    return kinds[0] if len(own) <= _MAX_OWN_WORDS and not spoken else None


def _matters(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't") or word == "?" or any(map(str.isdecimal, word))
