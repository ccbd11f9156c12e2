"""Whether what stands beside a label is a secret, or a word, a placeholder or code."""

import re

from wmem.rules.redaction.checks import is_random
from wmem.rules.redaction.labels.table import split_words

_LEAST_PASSWORD = 4
_LEAST_SECRET = 8
_LEAST_SURE = 20
_LEAST_DIGITS = 6
_LEAST_HEX = 16
_MAX_SENTENCE = 8  # words of a pass phrase in quotation marks

_PLACEHOLDER_HERE = re.compile(
    r"[<\[(][\w\s.\-/:'|,]*[>\])]|[$%@#]?\{{1,2}[\w\s.\-:|/'\"?\[\]()]*\}{0,2}|\$[A-Z_]+/.*|[^0-9]*%[ds][^0-9]*|.*(?:\[a-z|\\d|\\w|\\s|\]\{\d).*|(?-i:\$[A-Z_][A-Z0-9_]*)|\$[a-z_]+(?:(?:->|\[|::).*)?|\$\(.*|%[A-Za-z_]+%|%[sdr]|%\(\w+\)s?|[*x•·.\-_?#~=X…●]{2,}|\.{3}.*|__\w*__"
    r"|(?:your|my|the|some|insert|enter|replace|change|example|dummy|placeholder|sample|fake|votre|ihr|dein|tu|su|il_tuo)[\-_ ][A-Za-z\-_ ]*|.*(?:[_\-]here|redacted|placeholder|example_key)"
    r"|\w{0,8}fake\w{0,12}|change[\-_]?me[!]?|todo|tbd|fixme|n/a|na|!vault|ENC\[.*|vault:.*|secretkeyref.*|file:.*|arn:.*|op://.*|env:.*|/run/secrets/.*|\*+[A-Za-z0-9]{0,4}",
    re.IGNORECASE | re.DOTALL,
)
_CODE_HERE = re.compile(
    r"[A-Za-z_$][\w$]*(?:::|->|\??\.)[A-Za-z_][\w.$>\-:?]*(?:[(\[].*)?|[A-Za-z_$][\w$.]*[(\[].*|(?:await|new|not|lambda|f|b|r|rb|u|var|let|const|self|this|process|os|env)(?:[ .'\"].*)?|&?\*?[A-Za-z_]+(?:\[\]|\?|\*+)|[A-Za-z_]*[A-Za-z]\(",
    re.DOTALL,
)
_WORDS_OF_CODE = split_words(
    "none null nil undefined true false yes no on off str string int integer bool boolean bytes any object optional required varchar text char number float "
    "secretstr password token secret passwd pwd pass type is not in and or if else for return raise import from def class self this data value input user "
    "username args kwargs result payload config settings request env environment key field column default hidden masked unset empty blank missing unknown "
    "invalid wrong incorrect correct expired valid reset changed protected encrypted hashed strong weak secure available needed enabled disabled the a an "
    "my your our his her their it to be must should can will was has have had with by at as of so but that please here there below above attached same "
    "different new old next page bearer basic cookie header body query public private internal admin root falsch richtig abgelaufen vergessen incorrecto "
    "correcta incorrecta caducada olvidada oublié oubliée expiré errata scaduta sbagliata dimenticata incorreta errada esquecida verkeerd onjuist vergeten "
    "verlopen nieprawidłowe błędne неверный неправильный забыл забыла истёк simple optional[str] optional[secretstr] password123? bits counter count usage "
    "limit limits budget"
)
_ENDINGS_OF_NAMES = (
    "Error",
    "Exception",
    "Field",
    "Type",
    "Input",
    "Validator",
    "Str",
    "String",
    "Length",
    "Required",
    "Config",
    "Handler",
    "Provider",
    "Model",
    "Form",
    "Encoder",
    "Manager",
    "Hasher",
)
_LABEL_WORDS = (
    "password",
    "passwort",
    "contraseña",
    "senha",
    "parola",
    "пароль",
    "密码",
    "パスワード",
    "secret",
    "token",
    "kennwort",
    "passphrase",
    "wachtwoord",
    "hasło",
    "passwd",
    "credential",
    "apikey",
    "api_key",
)
_SENTENCE_HERE = re.compile(
    r"\b(?:must|should|is|are|was|your|you|enter|please|invalid|incorrect|wrong|required|forgot|forgotten|cannot|can|reset|change|need|needs|for|the|at least|characters|muss|ist|bitte|doit|est|debe|not|valid|too|expired|es|deve|moet|musi)\b",
    re.IGNORECASE,
)
_DATE_OR_VERSION_HERE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ][\d:.,+\-Z]*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?|v?\d+(?:\.\d+){1,3}(?:[\-+][\w.]+)?|\d+(?:ms|s|m|h|d|days?|kb|mb|gb|k|%|px|tokens?|chars?|bytes?)|-?\d+\.\d+",
    re.IGNORECASE,
)
_PATH_HERE = re.compile(
    r"(?:[a-z][a-z0-9+.\-]{1,20}://|\.{0,2}/|~/|[A-Za-z]:\\).*|.*\.(?:py|js|ts|json|ya?ml|txt|pem|key|env|toml|md|html?|css|go|rs|java|sh|conf|ini|cfg|php|rb|xml|csv|log)",
    re.IGNORECASE,
)
_NAME_PARTS_HERE = re.compile(
    r"(?:[A-Za-z]{1,24}|v?\d{1,4}|[A-Z]?[a-z]{1,24}\d{1,2})(?:[\-_.:/](?:[A-Za-z]{1,24}|v?\d{1,4}|[A-Za-z]{1,24}\d{1,2}))*"
)
_HAS_ALL_HERE = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])")
_PASSWORD_SIGN_HERE = re.compile(r"[!@#$%^&*?+=~§€£]")
_CALL_HERE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(|\[[\"'][\w.\-]{1,64}[\"']?\]?$)|[A-Za-z_]\w*\[[^\]]{0,24}\]?$|[A-Za-z_]{3,}\([A-Za-z_]{2,}[.(,)]"
)
_INNER_SIGN_HERE = re.compile(r"[^\W_][^\w\s'’.,\-/]+[^\W_]|[!@#$%^&*?+=~§€£]")
_SIGN_HERE = re.compile("[+@#!%^&*~?=<>]")
_MIXED_CASE_HERE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_CHAIN_HERE = re.compile(
    r"(?!(?:[a-z]{1,12}-){0,7}(?:and|the|of|to|in|is|not|by|for|or|on|you|it|your)(?:-|$))[a-z]{3,12}(?:-[a-z]{3,12}){3,7}"
)
"""Words that a generator of pass phrases joined."""
_HEX_HERE = re.compile(r"[0-9a-fA-F]+")


def is_placeholder(value: str, *, quoted: bool = False) -> bool:
    """Whether a value stands for one that is not there, or, if it is not quoted, is code that computes it."""
    return (
        not any(map(str.isalnum, value))
        or value.lower() in _WORDS_OF_CODE
        or _PLACEHOLDER_HERE.fullmatch(value) is not None
        or (_CODE_HERE.fullmatch(value) is not None and not _is_no_code(value, quoted=quoted))
    )


def _is_no_code(value: str, *, quoted: bool) -> bool:
    """Whether code would have no such text."""
    if _CALL_HERE.match(value) or not (any(map(str.isdigit, value)) or _SIGN_HERE.search(value)):
        return False
    return quoted or "(" not in value or not value.rstrip(";,.").endswith(")")


def is_password(value: str, *, quoted: bool, ends: bool) -> bool:
    """Whether a value beside the label of a password is one.

    Args:
        quoted: It stands in quotation marks, or is the whole value of a field.
        ends: Nothing follows it in its sentence or line; a word alone is a password only then.
    """
    if len(value) < _LEAST_PASSWORD or is_placeholder(value, quoted=quoted) or _DATE_OR_VERSION_HERE.fullmatch(value):
        return len(value) >= _LEAST_PASSWORD and value.isdigit() and value.isascii()
    if " " in value:
        return (
            quoted
            and len(value.split()) <= _MAX_SENTENCE
            and not says_label(value)
            and not _SENTENCE_HERE.search(value)
        )
    if _PATH_HERE.fullmatch(value) and (
        value.startswith(("~/", "//")) or "://" in value or not _INNER_SIGN_HERE.search(value)
    ):
        return False
    if is_mixed(value):
        return True
    if says_label(value):
        return False
    return quoted or (ends and "_" not in value and not value.endswith(_ENDINGS_OF_NAMES))


def is_sure_secret(value: str) -> bool:
    """Whether a text looks drawn by chance, and is no id and no digest: those have capitals or small letters alone."""
    return len(value) >= _LEAST_SURE and _HAS_ALL_HERE.match(value) is not None and is_random(value)


def is_sure_password(value: str) -> bool:
    """Whether a text has all that a password has to have."""
    if len(value) < _LEAST_SECRET or not any(map(str.isdigit, value)):
        return False
    return _HAS_ALL_HERE.match(value) is not None or (
        any(map(str.isalpha, value)) and _PASSWORD_SIGN_HERE.search(value) is not None
    )


def is_mixed(value: str) -> bool:
    """Whether a text has digits, signs or capitals where a word has none."""
    if any(map(str.isdigit, value)):
        return not value.isdigit() or len(value) >= _LEAST_PASSWORD
    return (
        _INNER_SIGN_HERE.search(value) is not None
        or (
            not value.endswith(_ENDINGS_OF_NAMES)
            and _MIXED_CASE_HERE.search(value) is not None
            and not says_label(value)
        )
        or is_chain(value)
    )


def is_chain(value: str) -> bool:
    """Whether a text is four words or more that a generator of pass phrases joined."""
    return _CHAIN_HERE.fullmatch(value) is not None and not says_label(value)


def is_secret(value: str, *, quoted: bool, assigned: bool) -> bool:
    """Whether a value beside the label of a key or token is one.

    Args:
        quoted: It stands in quotation marks, or is the whole value of a field.
        assigned: A colon or an equals sign stands before it.
    """
    if (
        len(value) < _LEAST_SECRET
        or " " in value
        or is_placeholder(value, quoted=quoted)
        or _DATE_OR_VERSION_HERE.fullmatch(value)
        or _PATH_HERE.fullmatch(value)
    ):
        return _is_random_in_slashes(value)
    digits = sum(map(str.isdigit, value))
    if digits == len(value):
        return assigned and len(value) >= _LEAST_SECRET
    if not digits:
        letters = sum(map(str.isalpha, value))
        mixed = _MIXED_CASE_HERE.search(value) is not None and not says_label(value) and len(value) >= _LEAST_HEX
        return (
            mixed
            or (assigned and _HEX_HERE.fullmatch(value) is not None and len(value) >= _LEAST_HEX)
            or (quoted and letters < len(value) and _INNER_SIGN_HERE.search(value) is not None)
        )
    return not _NAME_PARTS_HERE.fullmatch(value) or (
        assigned and _NAME_PARTS_RANDOM_HERE.fullmatch(value) is not None and digits > 1
    )


def _is_random_in_slashes(value: str) -> bool:
    """Whether Base64 begins with a slash, as a path does, but has a part as no path."""
    return value.startswith("/") and _BASE64_HERE.fullmatch(value) is not None and is_sure_secret(value)


_BASE64_HERE = re.compile(r"/(?=[A-Za-z0-9/]*[+=]|[A-Za-z0-9]{28})[A-Za-z0-9+/]{19,}={0,2}")
_NAME_PARTS_RANDOM_HERE = re.compile(r"[0-9a-fA-F]{16,}|[A-Za-z]{1,24}\d{3,4}|[A-Za-z]{1,4}[\-_][0-9a-fA-F]{12,}")


def says_label(value: str) -> bool:
    """Whether a value is a name of such values: `my-password-1`."""
    lower = value.lower()
    return any(word in lower for word in _LABEL_WORDS) and sum(map(str.isdigit, value)) < 2  # noqa: PLR2004
