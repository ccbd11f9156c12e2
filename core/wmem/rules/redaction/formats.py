"""Identity numbers whose form and checksum say what they are, without a label."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from wmem.rules.redaction.checks import is_mod11, is_snils, is_valid, is_vin

_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0[1-9]|1[0-2])"


class Format(NamedTuple):
    """How a number is written.

    Attributes:
        check: Whether a text of that form is such a number.
    """

    kind: str
    pattern: "re.Pattern[str]"
    check: Callable[[str], bool]


def _any(modules: tuple[str, ...], value: str) -> bool:
    return any(is_valid(module, value) for module in modules)


def _format(kind: str, pattern: str, *modules: str) -> Format:
    return Format(kind, re.compile(pattern), partial(_any, modules) if modules else lambda _: True)


FORMATS: Mapping[int, tuple[Format, ...]] = {
    1: (
        _format(
            "national_id",
            r"[12][ .][0-9]{2}[ .][0-9]{2}[ .][0-9]{2}[ .][0-9]{3}[ .][0-9]{3}[ .\-/]{0,3}[0-9]{2}",
            "fr.nir",
        ),
        _format("national_id", r"[1-8]-\d{4}-\d{5}-\d\d-\d", "th.pin"),
        _format("tax_id", r"\d\.\d{3}\.\d{3}-[\dkK]", "cl.rut"),
    ),
    2: (
        _format("tax_id", r"\d\d\.\d{3}\.\d{3}/\d{4}-\d\d", "br.cnpj"),
        _format("tax_id", r"(?:2[0347]|3[034])-\d{8}-\d", "ar.cuit"),
        _format("national_id", r"\d\d\.\d{3}\.\d{3}-[\dkK]", "cl.rut"),
        _format("national_id", rf"\d\d\.(?:{_MONTH}|[24]\d)\.{_DAY}[\-.]\d{{3}}[\-.]\d\d", "be.nn"),
    ),
    3: (
        _format("national_id", r"(?!000|666|9)\d{3}([ \-])(?!00)\d\d\1(?!0000)\d{4}"),  # United States
        _format("tax_id", r"9\d\d-(?:[5-8]\d|9[0-24-9])-\d{4}", "us.itin"),
        _format("tax_id", r"\d{3}\.\d{3}\.\d{3}-\d\d", "br.cpf"),
        Format(
            "national_id", re.compile(r"\d{3}-\d{3}-\d{3}[ \-]\d\d"), lambda text: is_snils(re.sub(r"\D", "", text))
        ),
        _format("national_id", r"756\.\d{4}\.\d{4}\.\d\d", "ch.ssn"),
    ),
    4: (_format("national_id", r"[2-9]\d{3}([ \-])\d{4}\1\d{4}", "in_.aadhaar"),),
    6: (
        _format("national_id", rf"\d\d{_MONTH}{_DAY}-[1-8]\d{{6}}"),  # Korea: newer ones have no checksum
        _format("national_id", rf"\d\d{_MONTH}(?:{_DAY}|[6-9]\d)[\-+]\d{{4}}", "se.personnummer"),
        _format("national_id", rf"{_DAY}{_MONTH}\d\d-\d{{4}}", "dk.cpr"),
        _format("national_id", rf"{_DAY}{_MONTH}\d\d[+\-A-FU-Y]\d{{3}}[0-9A-Y]", "fi.hetu"),
        _format("national_id", rf"\d\d{_MONTH}{_DAY}-(?:0[1-9]|[1-5]\d|[6-9]\d)-\d{{4}}", "my.nric"),
        _format("national_id", rf"{_DAY}{_MONTH}\d\d-[012]\d{{4}}", "lv.pk"),
        _format("national_id", r"\d\d(?:[0257][1-9]|[1368][0-2])\d\d/\d{3,4}", "cz.rc"),
    ),
    8: (_format("national_id", rf"(?:19|20)\d\d{_MONTH}(?:{_DAY}|[6-9]\d)[\-+]\d{{4}}", "se.personnummer"),),
    11: (
        _format("national_id", rf"{_DAY}{_MONTH}\d{{7}}", "no.fodselsnummer", "gr.amka"),
        _format("national_id", rf"(?:\d\d{_MONTH}|[012]\d(?:2[1-9]|3[0-2])){_DAY}\d{{5}}", "pl.pesel"),
        _format("national_id", rf"[1-6]\d\d{_MONTH}{_DAY}\d{{4}}", "lt.asmens", "ee.ik"),
        _format("national_id", rf"\d\d{_MONTH}{_DAY}\d{{5}}", "be.nn"),
        _format("national_id", r"[1-9]\d{10}", "tr.tckimlik"),
    ),
    12: (_format("national_id", rf"(?:19|20)\d\d{_MONTH}{_DAY}\d{{4}}", "se.personnummer"),),
    13: (
        _format("national_id", rf"(?!97[89])\d\d{_MONTH}{_DAY}\d{{4}}[01]\d\d", "za.idnr"),
        _format("national_id", rf"(?!97[89])[1-9]\d\d{_MONTH}{_DAY}\d{{6}}", "ro.cnp"),
        _format("national_id", rf"{_DAY}{_MONTH}[09]\d{{8}}", "si.emso"),
        _format("national_id", r"756\d{10}", "ch.ssn"),
    ),
    15: (_format("national_id", r"[12]\d\d(?:0[1-9]|1[0-2]|[2-9]\d)\d{10}", "fr.nir"),),
    17: (Format("national_id", re.compile(rf"[1-9]\d{{5}}(?:19|20)\d\d{_MONTH}{_DAY}\d{{3}}[xX]"), is_mod11),),
    18: (Format("national_id", re.compile(rf"[1-9]\d{{5}}(?:19|20)\d\d{_MONTH}{_DAY}\d{{4}}"), is_mod11),),
}
"""By the digits of their first group."""

WORDS: Mapping[int, tuple[Format, ...]] = {
    8: (_format("national_id", r"\d{7}[A-W]", "ie.pps"),),
    9: (
        _format("national_id", r"\d{8}[A-HJ-NP-TV-Z]", "es.dni"),
        _format("national_id", r"[XYZ]\d{7}[A-Z]", "es.nie"),
        _format(
            "national_id", r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]"
        ),  # United Kingdom
        _format("national_id", r"\d{7}[A-W][A-IW]", "ie.pps"),
    ),
    10: (_format("tax_id", r"[A-Z]{3}[ABCFGHLJPTK][A-Z]\d{4}[A-Z]", "in_.pan"),),
    16: (
        _format(
            "national_id", r"[A-Z]{6}[\dLMNP-V]{2}[A-EHLMPRST][\dLMNP-V]{2}[A-Z][\dLMNP-V]{3}[A-Z]", "it.codicefiscale"
        ),
    ),
    17: (
        Format(
            "vehicle_id",
            re.compile(r"(?=[A-Z0-9]*[A-Z])(?=(?:[A-Z]*\d){4})[A-HJ-NPR-Z0-9]{8}[0-9X][A-HJ-NPR-Z0-9]{8}"),
            is_vin,
        ),
    ),
    18: (_format("national_id", r"[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d", "mx.curp"),),
}
"""Numbers with letters, by their length, in capitals."""
