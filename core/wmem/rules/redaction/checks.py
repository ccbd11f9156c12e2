"""Checksums of numbers: a few of our own, the others of python-stdnum if it is installed."""

import hashlib
import importlib
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from types import ModuleType

_LETTER_OFFSET = 55  # A is 10
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_STEPS = 0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3
_BECH32_ENDS = 1, 0x2BC830A3
_VIN_VALUES = dict(
    zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", [*range(10), *range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True)
)
_VIN_WEIGHTS = 8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2
_LEAST_PART = 16
_LONG_PART, _OFTEN = 28, 0.45  # where digits are few, capitals have to come oftener than in `namesLikeThis`
_SNILS_WEIGHTS = range(9, 0, -1)


def is_luhn(digits: str) -> bool:
    """Whether digits end in their Luhn check digit."""
    double = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(each - 9 if each > 9 else each for each in double)) % 10 == 0  # noqa: PLR2004


def is_mod97(number: str) -> bool:
    """Whether an IBAN, in capitals and without spaces, has its check digits."""
    turned = number[4:] + number[:4]
    return int("".join(char if char.isdigit() else str(ord(char) - _LETTER_OFFSET) for char in turned)) % 97 == 1


def is_base58_checked(text: str) -> bool:
    """Whether a text is Base58Check, as addresses and keys of Bitcoin are."""
    number = 0
    for char in text:
        number = number * 58 + _BASE58.index(char)
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    raw = bytes(len(text) - len(text.lstrip("1"))) + raw
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def is_bech32(text: str) -> bool:
    """Whether a text in small letters is Bech32 or Bech32m."""
    prefix, _, data = text.rpartition("1")
    if not prefix or not set(data) <= set(_BECH32):
        return False
    values = [*(ord(char) >> 5 for char in prefix), 0, *(ord(char) & 31 for char in prefix), *map(_BECH32.index, data)]
    return _bech32_sum(values) in _BECH32_ENDS


def _bech32_sum(values: Sequence[int]) -> int:
    total = 1
    for value in values:
        top = total >> 25
        total = (total & 0x1FFFFFF) << 5 ^ value
        for bit, step in enumerate(_BECH32_STEPS):
            total ^= step if top >> bit & 1 else 0
    return total


def is_vin(text: str) -> bool:
    """Whether a vehicle's number has the check digit of North America and China."""
    if not set(text) <= _VIN_VALUES.keys():
        return False
    rest = sum(_VIN_VALUES[char] * weight for char, weight in zip(text, _VIN_WEIGHTS, strict=True)) % 11
    return text[8] == "0123456789X"[rest]


def is_snils(digits: str) -> bool:
    """Whether a Russian insurance number has its check digits."""
    return sum(int(digit) * weight for digit, weight in zip(digits, _SNILS_WEIGHTS, strict=False)) % 101 % 100 == int(
        digits[9:]
    )


def is_mod11(text: str) -> bool:
    """Whether a Chinese identity number ends in its check character, wherever it was given out."""
    total = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(text[:-1]))
    return text[-1].upper() == "10X98765432"[total % 11]


def is_random(text: str) -> bool:
    """Whether a text has a part that looks drawn by chance: sixteen characters, digits among letters, no words."""
    return any(_is_random_part(part) for part in re.split("[-_.]", text) if len(part) >= _LEAST_PART)


def _is_random_part(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    changes = sum(a.isdigit() != b.isdigit() or a.isupper() != b.isupper() for a, b in pairwise(text))
    if not 1 < digits < len(text):
        return len(text) >= _LONG_PART and changes >= _OFTEN * len(text)
    return changes >= len(text) // 5


def has_stdnum() -> bool:
    """Whether python-stdnum is installed."""
    return _module("stdnum") is not None


def is_valid(module: str, value: str) -> bool:
    """Whether a module of python-stdnum takes a number for valid; without the library, every number is."""
    if (checker := _module(f"stdnum.{module}")) is None:
        return True
    return bool(checker.is_valid(value))


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
