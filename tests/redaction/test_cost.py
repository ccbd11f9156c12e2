"""The work of redaction grows with the text, whatever the text is. Patterns: `tests/properties/test_patterns.py`."""

import sys
from types import FrameType

import pytest

import wmem

_SIZE = 3_000
_GREATEST_RATIO = 2.7  # what is quadratic comes near 4
_CALLS_PER_CHAR = 4  # below this the ratio says nothing

HOSTILE = {
    "addresses": "a@",
    "domains": "a@b.",
    "digits": "1",
    "digits apart": "4 ",
    "groups": "4111 ",
    "cards": "4111 1111 1111 1111 ",
    "areas": "(0",
    "dots": "1.",
    "colons": "a:",
    "double colons": "::1",
    "spaces": " ",
    "lines": "\n",
    "begins": "-----BEGIN RSA PRIVATE KEY-----",
    "ends": "-----END RSA PRIVATE KEY-----",
    "keys": "sk-",
    "tokens": "sk-a1",
    "webs": "eyJ",
    "urls": "https://",
    "users": "://a:",
    "labels": "password ",
    "signs": "password: ",
    "is": "password is ",
    "flags": "--password ",
    "pins": "pin is ",
    "numbers": "SSN 1 ",
    "births": "born 1. ",
    "seeds": "seed phrase a b ",
    "columns": "password,",
    "rows": "password,a\n",
    "brackets": "[",
    "braces": '{"a":',
    "quotes": '"',
    "escapes": '\\"',
    "marks": "[REDACTED_",
    "marks whole": "[REDACTED_EMAIL]",
    "unseen": "\u200b1",
    "wide": "１",
    "chinese": "密码是",
    "japanese": "パスワードは",
    "ibans": "DE89 ",
    "bearers": "bearer ",
    "cookies": "cookie: a=",
    "commands": "curl -u a:",
    "hexes": "0xa1",
    "names": "a_",
    "inserts": "insert into a (password) values ('",
    "rows of an insert": "insert into a (password) values ((',",
    "calls": "auth=('a','",
    "hashes": "$2b$12$a",
}


def count_calls(text: str) -> int:
    """The calls, of Python and of C, that redaction makes for a text."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    redaction = wmem.Redaction()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        redaction.redact(text)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.slow
def test_a_text_twice_as_long_takes_no_more_than_twice_the_calls(name: str) -> None:
    unit = HOSTILE[name]
    wmem.Redaction().redact("password 1")  # tables are made once
    small = count_calls(unit * (_SIZE // len(unit)))
    large = count_calls(unit * (2 * _SIZE // len(unit)))
    assert large <= max(_GREATEST_RATIO * small, _CALLS_PER_CHAR * 2 * _SIZE), (small, large)


def test_a_plain_sentence_takes_few_calls() -> None:
    sentence = "Yesterday we walked along the river, and later on we had some soup in the small place near the bridge."
    wmem.Redaction().redact(sentence)
    assert count_calls(sentence) < 200
