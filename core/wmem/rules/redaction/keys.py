"""Finds keys and tokens that their own form tells: of vendors, JSON web tokens, private keys."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wmem.rules.redaction.checks import is_random
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_T = r"[A-Za-z0-9_\-]"
_A = "[A-Za-z0-9]"
_RUN = re.compile(rf"{_T}{{16,}}+")
_LEAST_RUN = "a" * 16
_MAX_WORDS = 24  # characters of a run in which a key may begin
_SHORT = rf"{_T}{{16,2048}}"


class _KeyForm(NamedTuple):
    """How a key is written.

    Attributes:
        is_word: Whether words begin so, too; then only what looks drawn by chance is a key.
    """

    kind: str
    pattern: "re.Pattern[str]"
    is_word: bool = False


def _forms(kind: str, prefixes: str, rest: str, *, is_word: bool = False) -> list[tuple[str, _KeyForm]]:
    return [(prefix, _KeyForm(kind, re.compile(re.escape(prefix) + rest), is_word)) for prefix in prefixes.split()]


_ALL_FORMS = (
    *_forms("aws_key", "AKIA ASIA ABIA ACCA AGPA AROA AIDA AIPA ANPA ANVA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    *_forms("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_A}{{30,255}}"),
    *_forms("github_token", "github_pat_", "[A-Za-z0-9_]{22,255}"),
    *_forms(
        "gitlab_token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glimt- glft- glagent- glffct- gloas- glwt- GR1348941",
        rf"{_T}{{16,255}}+(?:\.{_T}{{2,64}}+){{0,3}}",
    ),
    *_forms("slack_token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xapp-", rf"{_T}{{10,255}}"),
    *_forms("stripe_key", "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_ sk_prod_", f"{_A}{{10,255}}"),
    *_forms("stripe_key", "whsec_", "[A-Za-z0-9+/=]{16,255}"),
    *_forms("api_key", "sk-", rf"(?=[A-Za-z0-9_\-]{{0,60}}\d){_T}{{16,255}}"),
    *_forms("api_key", "sk_", rf"(?=[A-Za-z0-9_\-]{{0,60}}\d){_T}{{24,255}}"),
    *_forms("google_key", "AIza", rf"{_T}{{30,45}}"),
    *_forms("google_key", "GOCSPX-", rf"{_T}{{20,64}}"),
    *_forms("twilio_key", "AC SK", "[0-9a-f]{32}(?![A-Za-z0-9])"),
    *_forms("npm_token", "npm_", f"{_A}{{30,64}}"),
    *_forms("pypi_token", "pypi-", rf"{_T}{{32,512}}"),
    *_forms("huggingface_token", "hf_ api_org_", f"{_A}{{24,64}}"),
    *_forms(
        "api_key",
        "dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp- lin_api_ PMAK- glsa_ glc_ ATATT3 ATCTT3 "
        "NRAK- NRII- sntrys_ sntryu_ sbp_ nfp_ pscale_tkn_ pscale_pw_ pscale_oauth_ rubygems_ dckr_pat_ dckr_oat_ gsk_ "
        "r8_ pplx- tvly- lsv2_pt_ lsv2_sk_ nvapi- tskey- shippo_live_ shippo_test_ duffel_live_ duffel_test_ figd_ "
        "CFPAT- fio-u- wandb_v1_ pcsk_ vcp_ sb_secret_ pdl_live_ clojars_ CLOJARS_ AGE-SECRET-KEY-1 e2b_",
        _SHORT,
    ),
    *_forms(
        "api_key",
        "HRKU- access-production- access-sandbox- access-development- sdk- mob- api- pat-na1- pat-eu1- app-",
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    *_forms("api_key", "rzp_live_ rzp_test_ LTAI", f"{_A}{{12,64}}"),
    *_forms("api_key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){2,4}[A-Z0-9]{5,6}"),
    *_forms("api_key", "EAA AQE", f"(?=[A-Za-z]{{0,60}}[0-9]){_A}{{60,1024}}"),
    *_forms(
        "api_key",
        "key- fw_ fc- re_ co_ mg- oy2 secret_ ops_ cal_live_ dapi EAAA pul- xai- rnd_ jina_ sgp_ EZAK EZTK ntn_ phc_ phx_ "
        "ATBB AQVN y0_ EAAC EAAG IGQV v1- tk_ pat_ pat- tok_ api_ api- key_ sess- org- ico- csk- AKID "
        "BBDC- app- sc_ live_ test_ pubkey- HRKU- xkeysib- xsmtpsib- FLWSECK tfp_ pnu_ pnb_ rdme_ CCIPAT_ CCIPRJ_ bkua_ tgp_v1_ squ_ "
        "sqp_ sqa_ bb_live_ os_v2_app_ s-s4t2ud- dnkey- cnvca esecret_ xau_ napi_ sm_ tk-us- ABSK AKCp secret- ls__ md- SCWSECRET "
        "fm1_ fm2_ fo1_ cio API- uat_",
        _SHORT,
        is_word=True,
    ),
)
_FORMS = {
    head: tuple(form for prefix, form in _ALL_FORMS if prefix.startswith(head))
    for head in {prefix[:2] for prefix, _ in _ALL_FORMS}
}
"""By their first two characters."""
_BEHIND_POINT_HERE = re.compile(
    rf"(?P<sendgrid_key>SG\.{_T}{{16,32}}\.{_T}{{16,64}})|(?P<google_key>ya29\.{_T}{{20,1024}}|1//0{_T}{{30,255}})"
    rf"|(?P<api_key>(?:hv[sb]|dp\.(?:[ps]t|ct|scim|audit)|xoxe|pat\w{{14}}|{_A}{{14}}\.atlasv1|dt0c01|snyk_uat|vk1\.a)\.{_T}{{24,2048}}|sl\.{_T}{{100,2048}}|sha256~{_T}{{43}}|{_T}{{3}}[78]Q~[A-Za-z0-9_~.\-]{{31,34}})|(?P<telegram_token>(?:bot)?\d{{8,10}}:{_T}{{34,36}}(?![A-Za-z0-9_\-]))"
)
"""Keys with a point or another mark before their first long part."""
_BEHIND_HERE = re.compile(
    r"(?:SG|ya29|hv[sb]|dp\.(?:[ps]t|ct|scim|audit)|xoxe|\b[A-Za-z0-9]{14}\.atlasv1|\bsl|dt0c01|snyk_uat|vk1\.a)\.$|pat\w{14}\.$|1//$|\d{8,10}:$"
    r"|sha256~$|(?<![A-Za-z0-9_~.\-])[A-Za-z0-9_\-]{3}[78]Q~$"
)
_DISCORD_HERE = re.compile(rf"[MNO]{_T}{{22,27}}\.{_T}{{6}}\.{_T}{{27,40}}(?![A-Za-z0-9_\-])")
_MAILCHIMP_HERE = re.compile(r"[0-9a-f]{32}-us\d{1,2}")
_WEBHOOKS = (
    ("hooks.slack.com/", re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/\-]{8,200}")),
    ("/api/webhooks/", re.compile(rf"discord(?:app)?\.com/api/webhooks/\d{{10,24}}/{_T}{{20,120}}")),
    (".webhook.office.com/", re.compile(r"\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/\-]{20,300}")),
)
_CLIENT_ID = re.compile(r"\d{6,20}-[a-z0-9]{16,40}\.apps\.googleusercontent\.com")
_BREAK = re.compile(r"(?<![A-Za-z0-9_.\-])([A-Za-z0-9_.\-]{4,}+)(\r?\n[ \t]{0,8})(?=[A-Za-z0-9_\-]{6})")
_BREAK_END = re.compile(r"\n(?:(?<=[A-Za-z0-9_.\-]{4}\n)|(?<=[A-Za-z0-9_.\-]{4}\r\n))[ \t]{0,8}[A-Za-z0-9_\-]{6}")
_SURE_PREFIXES = (
    *(prefix for prefix, form in _ALL_FORMS if not form.is_word and prefix not in {"AC", "SK"}),
    "eyJ",
    "SG.",
    "ya29.",
)
_LEAST_KEY = 16
_LEAST_RANDOM = 20

_AWS_ID = re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_MIX_HERE = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])")
_AWS_REACH = 240

_JWT = re.compile(r"eyJ(?:(?<![A-Za-z0-9_]...)|(?<=\\[nrt]...))[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]{0,}+){1,4}")
_LEAST_JWT = 24
_PEM_BEGIN = re.compile(
    r"-----[ ]?BEGIN[A-Z0-9 ]{0,40}(?:PRIVATE KEY|SECRET KEY)(?: BLOCK)?[ ]?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----|PuTTY-User-Key-File-\d: "
)
_PEM_END = re.compile(
    r"-----[ ]?END[A-Z0-9 ]{0,40}(?:PRIVATE KEY|SECRET KEY)(?: BLOCK)?[ ]?-----|Private-MAC: [0-9a-f]{40,64}|---- END SSH2 ENCRYPTED PRIVATE KEY ----"
)
_PEM_LINE_HERE = re.compile(
    r"(?:(?:Proc-Type|DEK-Info|Comment|Version|Encryption|Public-Lines|Private-Lines)[^\n\\]{0,200}|[A-Za-z0-9+/=]{8,}+|=[A-Za-z0-9+/]{4}|[ \t\"',+>|]|\\?\r|\\?\n|\\[nrt\\])*+"
)
_PEM_BACKWARDS_HERE = re.compile(r"(?:[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/=]{1,15}(?=\n)|[ \t\r\n]|n\\|\\)*+")
_MAX_PEM = 16_384


def find_keys(reading: Reading) -> Iterator[Span]:
    """Keys and tokens by their own form."""
    text = reading.text
    if "PRIVATE KEY" in text or "SECRET KEY" in text or "PuTTY" in text:
        yield from _private_keys(text)
    whole: list[Span] = []
    if _may_have_tokens(reading):
        whole += _tokens(text)
        yield from whole
    if _may_have_broken_tokens(text) and reading.longest >= _LEAST_KEY:
        yield from _tokens_over_lines(text, whole)


def may_have_keys(reading: Reading) -> bool:
    """Whether `find_keys` may find anything in a text that this is a part of."""
    text = reading.text
    return (
        _may_have_tokens(reading)
        or ("-" in reading.signs and ("PRIVATE KEY" in text or "SECRET KEY" in text or "PuTTY" in text))
        or _may_have_broken_tokens(text)
    )


def _may_have_tokens(reading: Reading) -> bool:
    return _LEAST_RUN in reading.runs or "eyJ" in reading.text or ("/" in reading.signs and "hook" in reading.text)


def _may_have_broken_tokens(text: str) -> bool:
    return "\n" in text and _BREAK_END.search(text) is not None and any(each in text for each in _SURE_PREFIXES)


def _tokens_over_lines(text: str, whole: Sequence[Span]) -> Iterator[Span]:
    """Keys that go on in the next line, where the first line alone has none."""
    breaks = [match.span(2) for match in _BREAK.finditer(text) if match[1].startswith(_SURE_PREFIXES)]
    if not breaks:
        return
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    for start, end in breaks:
        pieces.append(text[at:start])
        offsets += range(at, start)
        at = end
    pieces.append(text[at:])
    offsets += range(at, len(text))
    starts = {span.start for span in whole}
    for span in _tokens("".join(pieces)):
        start, end = offsets[span.start], offsets[span.end - 1] + 1
        if end - start > span.end - span.start and start not in starts:
            yield Span(start, end, span.kind)


def _tokens(text: str) -> Iterator[Span]:
    """What is one long run of characters."""
    if "eyJ" in text:
        yield from (Span(*match.span(), "jwt") for match in _JWT.finditer(text) if _is_jwt(match[0]))
    for part, pattern in _WEBHOOKS:
        if part in text:
            yield from (Span(*match.span(), "webhook_url") for match in pattern.finditer(text))
    if "googleusercontent" in text:
        yield from (Span(*match.span(), "google_key") for match in _CLIENT_ID.finditer(text))
    for run in _RUN.finditer(text):
        yield from _in_run(text, *run.span())
    for found in _AWS_ID.finditer(text) if "AKIA" in text or "ASIA" in text else ():
        for secret in _AWS_SECRET.finditer(text, max(0, found.start() - _AWS_REACH), found.end() + _AWS_REACH):
            if _AWS_MIX_HERE.match(secret[0]):
                yield Span(*secret.span(), "aws_key")


def _in_run(text: str, start: int, end: int) -> Iterator[Span]:
    """The key that begins in a run of letters, digits, underscores and hyphens, or right before it."""
    if start and text[start - 1] == "\\" and text[start] in "nrt":  # "\n" in JSON
        start += 1
    if behind := _BEHIND_HERE.search(text, max(0, start - _MAX_WORDS), start):
        match = _BEHIND_POINT_HERE.match(text, behind.start())
        if match and match.lastgroup:
            yield Span(*match.span(), match.lastgroup)
            return
    if match := _DISCORD_HERE.match(text, start) or _MAILCHIMP_HERE.fullmatch(text, start, end):
        yield Span(*match.span(), "discord_token" if "." in match[0] else "api_key")
        return
    at = start
    while at >= 0:
        for form in _FORMS.get(text[at : at + 2], ()):
            match = form.pattern.match(text, at)
            if match and (is_random(match[0]) if form.is_word else form.kind == "aws_key" or _is_drawn(match[0][4:])):
                yield Span(*match.span(), form.kind)
                return
        hyphen, underscore = (text.find(joint, at, min(end, start + _MAX_WORDS)) for joint in "-_")
        at = min((each for each in (hyphen, underscore) if each >= 0), default=-2) + 1
        if at == -1:
            return


def _is_drawn(text: str) -> bool:
    """Whether a text is no mere words."""
    return any(map(str.isdigit, text)) or not (text.islower() or text.isupper())


def _is_jwt(text: str) -> bool:
    return len(text) >= _LEAST_JWT


def _private_keys(text: str) -> Iterator[Span]:
    ends = [match.span() for match in _PEM_END.finditer(text)]
    begins = [match.span() for match in _PEM_BEGIN.finditer(text)]
    first_begin = begins[0][0] if begins else len(text)
    at, done = 0, 0
    for number, (start, inner) in enumerate(begins):
        following = begins[number + 1][0] if number + 1 < len(begins) else len(text)
        while at < len(ends) and ends[at][0] < inner:
            at += 1
        if at < len(ends) and ends[at][0] < following:
            end = ends[at][1]
        else:  # cut off
            line = _PEM_LINE_HERE.match(text, inner, following)
            end = line.end() if line else inner
        yield Span(start, end, "private_key")
    for start, end in ends:  # whose beginning is cut off
        if start < first_begin:
            before = _PEM_BACKWARDS_HERE.match(text[max(done, start - _MAX_PEM) : start][::-1])
            yield Span(start - (before.end() if before else 0), end, "private_key")
            done = end
