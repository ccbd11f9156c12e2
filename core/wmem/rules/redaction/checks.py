"""Checksums of numbers."""

_LETTER_OFFSET = 55  # A is 10


def is_luhn(digits: str) -> bool:
    """Whether digits end in their Luhn check digit."""
    double = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(each - 9 if each > 9 else each for each in double)) % 10 == 0  # noqa: PLR2004


def is_mod97(number: str) -> bool:
    """Whether an IBAN, in capitals and without spaces, has its check digits."""
    turned = number[4:] + number[:4]
    return int("".join(char if char.isdigit() else str(ord(char) - _LETTER_OFFSET) for char in turned)) % 97 == 1
