"""Takes the password, key or token beside a label."""

import re
from collections.abc import Iterator

from wmem.rules.redaction.checks import is_random
from wmem.rules.redaction.labels.gap import MAX_STRANGERS, SENTENCE_END_HERE, WORD
from wmem.rules.redaction.labels.sentences import find_said_password, is_word_of_pass, says_what
from wmem.rules.redaction.labels.structures import find_structure
from wmem.rules.redaction.labels.table import FILLERS, IS_WORDS, NO_VALUES, NOW_WORDS, split_words
from wmem.rules.redaction.labels.values import (
    is_chain,
    is_mixed,
    is_password,
    is_placeholder,
    is_secret,
    is_sure_password,
    is_sure_secret,
)
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_GAP = r"(?:[^\n:=\"'`<>|]|(?<=[^\W\d_])['’](?=[^\W\d_])){0,48}?"
_VALUE_FIELD = r"(?:[\"']{0,2}(?:,|[ ]\{)?[ \t]{0,4}(?:\r?\n)?[ \t]{0,16}[\"']?(?:value|val|default|content)(?![a-z_]))?"  # of the same thing
_NOW = "|".join(sorted(NOW_WORDS))
_CONNECT_HERE = re.compile(
    rf"(?P<gap>(?:\[?[\"'`]?\]?)?{_GAP}){_VALUE_FIELD}(?P<sign>\\{{0,3}}[\"'`]?\]?[ \t]{{0,8}}(?::=|=>|={{1,3}}|!==?|:(?!:)|->|→|>(?=[^<\s])|\|)[ \t]{{0,8}}(?:\r?\n[ \t]{{0,8}}(?![\-#]))?"
    rf"|[ ](?:(?:was|is|has been|been)[ ](?:changed|set|reset|updated)[ ]to|will be|is|are|was|lautet|ist|est|es|è|é|jest|brzmi|это|to|from|er|on|är|je|será|sera|sarà|=|—|-)[ ]{{1,2}}(?:(?:{_NOW}|also|still)[ ])?:?[ ]?"
    rf"|[ ](?:{_NOW})[ ](?:(?:is|ist|est|es|è|é|jest|это)[ ])?|[ ]?(?:是|为|為|は|が|هي|هو|는|은|가|现在是|現在是)[ ]?(?:今|现在|現在|이제|지금|الآن)?[ ]?[:：]?[ ]?)(?:[@fbruFBRUL]{{1,2}}(?=[\"']))?(?P<open>\\{{0,3}}[\"'`])?",
    re.IGNORECASE,
)
_PHRASE_HERE = re.compile(r"[a-z]{2,12}(?:[ \-][a-z]{2,12}){3,11}(?=[.,;]?[ ]?(?:\r?\n|$))")
_NEAR_HERE = re.compile(
    r"(?:(?<=[^\x00-\x7f])[^\x00-\x7f。！？]{0,8}[ ]?|[^\x00-\x7f。！？]{1,8}[ ]?|(?:[ ][^\W\d_]{1,12}){0,3}[ ](?:[=—\-][ ])?)(?=[^\s\"'`]{8})"
)
_DIRECT_HERE = re.compile(
    r"(?:(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?=[A-Za-z0-9])|[ ]{1,2}(?:to[ ]|as[ ])?|\(|[\"'],[ ]?)(?P<open>[\"'`])?"
)
_BARE_HERE = re.compile(
    r"(?:[^\s\"'`,;&<>|\\\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af]|[,;&|](?!\s|$|[\w.\-]{1,40}[=:]|[\"'])|[\"'`<>](?=[^\s,;)}\]\"'`<>/:])|\\(?![nrt\"'\\]))+"
)
_JOINT_HERE = re.compile(r"[ ]?(?:,|/|and|or|und|oder|et|ou|y|e|o|en|of|i|lub|и|или|to)[ ]|[、和或と]")
_MAX_VALUE = 512
_LEAST_STRONG = 6
_ELEMENT_HERE = re.compile(r"[^<>\s]{1,512}(?=</)")
_CLAUSE_END_HERE = re.compile(
    r"[\"'`)\]}>]{0,3}[.,;!?。]{0,3}(?:\s*$|[ \t]*\r?\n|[.,;!?。](?:\s|$)|[\"'`](?=\s)|[ ]{1,4}#|[ ]?[,;})|&]|[ ](?:and|und|et|y|e|en|i|и|for|für|pour|para|per|voor)\b|\\n|</)"
)


def find_secret_beside(reading: Reading, kind: str, start: int, end: int, *, is_weak: bool) -> Iterator[Span]:
    """The password, key or token that a label has beside it."""
    text = reading.text
    flag = text.startswith("--", max(0, start - 24), start) or "--" in text[max(0, start - 24) : start].split(" ")[-1]
    if span := _secret_in_structure(kind, text, end):
        yield span
        return
    connect = _CONNECT_HERE.match(text, end, min(len(text), end + 120))
    if connect and (span := _secret_behind_sign(reading, kind, connect, start)):
        yield span
        if kind == "password":
            yield from _more_passwords(text, span.end)
        return
    if kind.startswith("password") and (said := find_said_password(text, reading.lower[start:end], start, end)):
        yield Span(*said, "password")
        return
    if (near := _NEAR_HERE.match(text, end)) and (span := _sure_secret_near(kind, text, near.end())):
        yield span
        return
    if kind == "secret_sign" or (is_weak and not flag and kind != "password_sign"):
        return
    if direct := _DIRECT_HERE.match(text, end):
        value, begin, quoted = _read_value(text, direct.end(), direct["open"])
        argument = kind == "password_sign" and quoted is not None and direct[0][0] in "\"'"  # `put("DB_PASS", "…")`
        if _is_direct_secret(kind, value, quoted=quoted is not None, flag=flag) or (
            argument and text[start:end].isupper() and is_mixed(value) and is_password(value, quoted=True, ends=True)
        ):
            yield Span(begin, begin + len(value), _kind_of(kind))
            return
    yield from _secret_before(text, kind, start)


def _secret_in_structure(kind: str, text: str, end: int) -> Span | None:
    """The value that stands apart from its label."""
    structure = find_structure(text, end)
    if structure is None or kind == "secret_sign":
        return None
    quote = text[structure.end - 1]
    quote = quote if quote in "\"'`" and structure.form != "triple" else ""
    value, begin, close = _read_value(text, structure.end, quote or None)
    if structure.form == "triple" and value.startswith(("[", "{", "<")):
        return None  # a document
    end = begin + len(value)
    ends = _CLAUSE_END_HERE.match(text, end) is not None
    if kind in ("secret", "session"):
        accepted = is_secret(value, quoted=close is not None, assigned=True) and (
            structure.form not in ("line", "aside")
            or is_sure_secret(value)
            or is_random(value)
            or (structure.form == "line" and _UUID_HERE.fullmatch(value) is not None)
        )
    elif structure.form == "aside" or (structure.form == "line" and kind == "password_sign"):
        accepted = False
    elif structure.form == "line":
        accepted = (_is_strong(value) or is_chain(value)) and is_password(value, quoted=False, ends=True)
    else:
        accepted = is_password(value, quoted=structure.is_sure or close is not None, ends=ends) and (
            structure.is_sure or is_mixed(value)
        )
    return Span(begin, end, _kind_of(kind)) if accepted else None


def _sure_secret_near(kind: str, text: str, at: int) -> Span | None:
    """What looks so much like a secret that no sign needs to stand between it and its label."""
    value, begin, quoted = _read_value(text, at, None)
    if is_placeholder(value, quoted=quoted is not None) or "/" in value or ".." in value:
        return None
    sure = is_sure_secret(value) if kind.startswith("secret") else is_sure_password(value)
    return Span(begin, begin + len(value), _kind_of(kind)) if sure else None


def _more_passwords(text: str, end: int) -> Iterator[Span]:
    """Passwords that are listed after one."""
    while joint := _JOINT_HERE.match(text, end):
        value, begin, _ = _read_value(text, joint.end(), None)
        if not (_is_strong(value) and is_password(value, quoted=False, ends=False)):
            return
        end = begin + len(value)
        yield Span(begin, end, "password")


def _is_direct_secret(kind: str, value: str, *, quoted: bool, flag: bool) -> bool:
    if kind in ("secret", "session"):
        return is_secret(value, quoted=quoted, assigned=flag)
    if flag:
        return is_password(value, quoted=True, ends=True) and not value.startswith("-")
    if kind == "password_sign":
        return (
            is_password(value, quoted=False, ends=False) and _is_strong(value) and "=" not in value and "_" not in value
        )
    return is_password(value, quoted=quoted, ends=False) and (quoted or _is_strong(value))


def _is_strong(value: str) -> bool:
    """Whether a text is a password although nothing says so but the label before it."""
    return (
        len(value) >= _LEAST_STRONG
        and any(map(str.isdigit, value))
        and (any(map(str.isalpha, value)) or len(value) > _LEAST_STRONG + 1)
        and not re.fullmatch(r"\d+[a-z]{1,3}|[a-z]{1,5}\d", value)
    )


def _secret_behind_sign(reading: Reading, kind: str, connect: "re.Match[str]", start: int) -> Span | None:
    text = reading.text
    sign = connect["sign"].strip(" \t\r\n\\\"'`]")
    gap = connect["gap"].lower()
    words = WORD.findall(gap)
    if sign[:1].isalpha():
        sign = "to" if sign.endswith(" to") else sign.split()[0]
    assigned = bool(sign) and not sign.isalpha() and sign not in ("—", "-")
    if not _may_lead(gap, words, sign):
        return None
    if kind == "password_sign" and (words or not (assigned or sign in ("is", "was"))):
        return None
    if (
        "phrase" in reading.lower[start : connect.start()]
        and assigned
        and (words_of := _PHRASE_HERE.match(text, connect.end()))
    ):
        return Span(*words_of.span(), "password")
    opened = connect["open"]
    value, begin, close = _read_value(text, connect.end(), opened)
    if sign == ">" and (whole := _ELEMENT_HERE.match(text, begin)):
        value = whole[0]
    end = begin + len(value)
    if (sign in ("==", "===", "!=", "!==") and close is None) or (sign == ">" and not text.startswith("</", end)):
        return None
    if kind == "secret_sign":
        return (
            Span(begin, end, "secret") if is_sure_secret(value) and not _is_page_token(reading.lower, start) else None
        )
    if kind in ("secret", "session"):
        accepted = is_secret(value, quoted=close is not None, assigned=assigned)
        accepted = accepted and not _is_page_token(reading.lower, start)
    else:
        flag = sign == "=" and "--" in text[max(0, start - 24) : start].split(" ")[-1]
        quoted = close is not None or flag or (sign == "=" and _is_variable(text, start, value))
        ends = _CLAUSE_END_HERE.match(text, end) is not None and not text.startswith("(", end)
        if assigned:
            ends = ends and _SAYS_IS.issuperset(words)
            accepted = _is_assigned_password(value, quoted=quoted, ends=ends, near=not gap.strip())
        else:
            accepted = _is_said_password(value, sign, reading.lower[start : connect.start()], quoted=quoted, ends=ends)
    if not accepted or (value.endswith(":") and close is None):
        return None
    return Span(begin, end, _kind_of(kind))


def _is_variable(text: str, start: int, value: str) -> bool:
    """Whether a label is a variable of the environment, as in `PGPASSWORD=sunflower psql`, and a word its value."""
    return text[start : start + 2].isupper() and not text[start + 2 : start + 9].islower() and not says_what(value)


def _is_assigned_password(value: str, *, quoted: bool, ends: bool, near: bool) -> bool:
    """Whether what stands behind a colon or the like is a password, rather than a word about one."""
    if not quoted and value.isalpha():
        ends = ends and not says_what(value) and (near or is_word_of_pass(value, is_sure=False))
    return is_password(value, quoted=quoted, ends=ends)


def _is_said_password(value: str, sign: str, label: str, *, quoted: bool, ends: bool) -> bool:
    """Whether what stands behind "is" is a password, rather than a word about one."""
    if quoted:
        return is_password(value, quoted=True, ends=False)
    if is_password(value, quoted=False, ends=False) and is_mixed(value):
        return True
    if not ends or not (sign in _SURE_SIGNS or (sign == "to" and label.startswith("ha"))):  # Polish
        return False
    if label.startswith("clave") and value.endswith(("ar", "er", "ir")):
        return False  # "the key is to …"
    return is_word_of_pass(value, is_sure=sign in ("lautet", "brzmi"))


_UUID_HERE = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SURE_SIGNS = split_words("is was lautet brzmi ist est c'est es è é jest это är je er será sera")
_SAYS_IS = (
    FILLERS
    | IS_WORDS
    | split_words(
        "so as follows now такой следующий folgendes suivant siguiente seguente seguinte to wifi wlan router server login wi fi e-mail email mail account app konto compte cuenta conta вайфая вайфай почты сервера от"
    )
)
_NO_SUFFIX = split_words(
    "length count type policy field fields name names id ids hint file path url uri expiry expires expiration ttl age manager generator strength min max "
    "limit limits size usage budget column input form box label placeholder prompt error errors required reset_url regex pattern rules rule validator "
    "confirmation_error updated created changed at date time scope scopes endpoint provider store budget_s per used total remaining left window counts "
    "index indices version format ring chain"
)
"""Words after a label that make it the label of something else."""


def _may_lead(gap: str, words: list[str], sign: str) -> bool:
    """Whether what stands between a label and a sign leaves the label what it is."""
    if (
        SENTENCE_END_HERE.search(gap)
        or _CODE_FILE_HERE.fullmatch(gap)
        or "," in gap
        or gap.count(")") > gap.count("(")
        or _IN_URL_HERE.match(gap)
    ):
        return False
    if sign not in ("to", "from") and not (_NO_SUFFIX.isdisjoint(words) and NO_VALUES.isdisjoint(words)):
        return False
    if sign in ("=", ":=", "==", "===", "=>", "|", ">"):
        is_said = sign == "=" and gap.startswith(" ") and _SAYS_IS.issuperset(words)
        return is_said or _SUFFIX_HERE.fullmatch(gap) is not None
    return sum(word not in FILLERS for word in words) <= MAX_STRANGERS


_CODE_FILE_HERE = re.compile(r"\.(?:py|tsx?|jsx?|go|rs|java|rb|php|cs|kt|swift|cpp|vue|html?|css|md)")
"""A file of code or text that is named so: `{"path": "src/password.ts", "content": …}`."""
_IN_URL_HERE = re.compile(r"[\])}>]{0,3}@")
_SUFFIX_HERE = re.compile(
    r"[\]\"'`)]{0,3}(?:[ ](?:value|val|content|default)|(?:[_\-.]?[^\W_]{1,16}){0,2})[\]\"'`)]{0,2}[ ]{0,8}"
)
_PAGE_TOKEN_HERE = re.compile(
    r"(?:page|next|continuation|cursor|sync|max|num|total|input|output|prompt|completion|reasoning|cached|stop|pad|eos|bos|special|mask|unk|sep|cls|csrf_header|per|used|budget)[ _\-]?$"
)


def _is_page_token(lower: str, start: int) -> bool:
    return _PAGE_TOKEN_HERE.search(lower, max(0, start - 16), start) is not None


def _read_value(text: str, at: int, quote: str | None) -> tuple[str, int, str | None]:
    """A value from where it begins: as it is, where it begins, and what it is quoted with, if it is closed."""
    if quote:
        close = text.find(quote, at, at + _MAX_VALUE)
        line = text.find("\n", at, at + _MAX_VALUE)
        if close > at and (line < 0 or line > close):
            return text[at:close].rstrip("\\"), at, quote
    match = _BARE_HERE.match(text, at, min(len(text), at + _MAX_VALUE))
    value = match[0] if match else ""
    while value and value[-1] in ".,;:)]}>*\\?\"'`":
        if value[-1] == ")" and "(" in value:
            break
        value = value[:-1]
    if value.startswith(("*", "(")) and not value.endswith(("*", ")")):
        at += 1
        value = value[1:]
    while value[:1] in ("'", '"') and value:
        at, value = at + 1, value[1:]
    if value.startswith("**"):
        at, value = at + 2, value[2:].rstrip("*")
    return value, at, None


_SECRET_BEFORE_HERE = re.compile(
    r"(?:^|[\s\"'`(:])([^\s\"'`(]{6,128})[\"'`]?[ ](?:is|was|as|ist|est|es|è|é)[ ](?:my|the|our|his|her|their|your|mein|das|mon|le|mi|la|il|mio|o|meu|a|minha)?[ ]?(?:[^\W\d_]{1,12}[ ]){0,2}$",
    re.IGNORECASE,
)


def _secret_before(text: str, kind: str, start: int) -> Iterator[Span]:
    """`hunter2 is my password`."""
    before = _SECRET_BEFORE_HERE.search(text, max(0, start - 200), start)
    if (
        before
        and not is_placeholder(before[1])
        and any(map(str.isdigit, before[1]))
        and any(map(str.isalpha, before[1]))
    ):
        if kind == "secret" and not is_secret(before[1], quoted=False, assigned=False):
            return
        yield Span(*before.span(1), _kind_of(kind))


def _kind_of(kind: str) -> str:
    return kind.removesuffix("_sign")
