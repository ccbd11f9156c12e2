"""Frames of Chinese, Japanese and Korean sentences, by patterns: words are not parted there, or carry particles."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wmem.rules.updates.statement import FRAME, POLARITY, Statement

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


class _Pattern(NamedTuple):
    """One way to say it.

    Attributes:
        pattern: With the groups ``who``, ``value`` and ``now``, as far as it has them.
        attribute: What the value is of; "" where ``who`` says it.
        changes: Whether it says that something changed.
        polarity: What is said of the value: "yes", "no"; "" where the value is it.
        open: Whether any subject may have several values, so that only a word of change ends one.
    """

    pattern: "re.Pattern[str]"
    attribute: str = ""
    changes: bool = False
    polarity: str = ""
    open: bool = False


def _compile(text: str) -> "re.Pattern[str]":
    return re.compile(text)


_ZH_NOW = r"(?P<now>现在|目前|如今)?"
_ZH_WHO = r"(?P<who>我|用户|[^，,的是在不我]{2,4})"
_JA_NOW = r"(?P<now>今は|今では|現在は|今|現在)?"
_JA_WHO = r"(?:(?P<who>(?!今|現在)[^はがを、]{1,10}?)は)?"
_KO_NOW = r"(?:(?P<now>이제|지금은|현재) )?"
_KO_WHO = r"(?:(?P<who>\S{1,10}?)(?:는|은|가|이) )?"
_PATTERNS: Sequence[_Pattern] = (
    # Chinese
    _Pattern(_compile(rf"{_ZH_WHO}{_ZH_NOW}住在(?P<value>[^，,和跟]{{2,10}}?)(?P<now2>了)?"), "live"),
    _Pattern(
        _compile(rf"{_ZH_WHO}{_ZH_NOW}(?:已经)?搬(?:到|去)了?(?P<value>[^，,]{{2,10}}?)了?"), "live", changes=True
    ),
    _Pattern(_compile(rf"{_ZH_WHO}{_ZH_NOW}在(?P<value>[^，,]{{2,12}}?)(?:工作|上班)(?P<now2>了)?"), "work", open=True),
    _Pattern(
        _compile(rf"{_ZH_WHO}(?:现在)?(?:不再|已经不)喜欢(?P<value>[^，,的是]{{1,10}}?)了?"),
        "like",
        changes=True,
        polarity="no",
    ),
    _Pattern(_compile(rf"{_ZH_WHO}(?<!最)(?:很)?喜欢(?P<value>[^，,的是]{{1,10}}?)"), "like", polarity="yes"),
    _Pattern(
        _compile(rf"(?P<who>[^，,是叫]{{1,12}}?){_ZH_NOW}(?:叫做|叫)(?P<value>[^，,]{{1,10}}?)(?P<now2>了)?"),
        "name",
        open=True,
    ),
    _Pattern(
        _compile(
            r"(?P<who>[^，,是在改]{2,12}?)(?:已经|已)?(?:改为|改到|改成|变成|推迟到|换成|更新为)了?(?P<value>[^，,]{1,14}?)了?"
        ),
        changes=True,
    ),
    _Pattern(_compile(rf"(?P<who>[^，,是在]{{2,12}}?){_ZH_NOW}(?:是|在)(?P<value>[^，,]{{1,14}}?)(?P<now2>了)?")),
    # Japanese
    _Pattern(
        _compile(rf"{_JA_WHO}{_JA_NOW}(?P<value>[^はがを、]{{1,10}}?)に(?:住んでいます|住んでいる|住んでます)"), "live"
    ),
    _Pattern(
        _compile(
            rf"{_JA_WHO}{_JA_NOW}(?P<value>[^はがを、]{{1,10}}?)(?:に|へ)(?:引っ越しました|引っ越した|移りました)"
        ),
        "live",
        changes=True,
    ),
    _Pattern(
        _compile(rf"{_JA_WHO}{_JA_NOW}(?P<value>[^はがを、]{{1,12}}?)で(?:働いています|働いている|勤務しています)"),
        "work",
        open=True,
    ),
    _Pattern(
        _compile(
            r"(?P<value>[^はがを、]{1,12}?)(?:は|が)もう(?:好きではありません|好きじゃありません|好きではない|好きじゃない)"
        ),
        "like",
        changes=True,
        polarity="no",
    ),
    _Pattern(_compile(r"(?:私は)?(?P<value>[^はがを、]{1,12}?)が好きです"), "like", polarity="yes"),
    _Pattern(
        _compile(
            r"(?P<who>[^はがを、]{1,16}?)は(?P<value>[^はがを、]{1,14}?)に(?:変更になりました|変更されました|変わりました|なりました)"
        ),
        changes=True,
    ),
    _Pattern(
        _compile(rf"(?P<who>[^はがを、]{{1,16}}?)は{_JA_NOW}(?P<value>[^はがを、]{{1,14}}?)(?:です|だ|でございます)")
    ),
    # Korean
    _Pattern(
        _compile(rf"{_KO_WHO}{_KO_NOW}(?P<value>\S{{1,10}})에 (?:살아요|삽니다|살고 있어요|살고 있습니다)"), "live"
    ),
    _Pattern(
        _compile(rf"{_KO_WHO}{_KO_NOW}(?P<value>\S{{1,10}}?)(?:으로|로) (?:이사했어요|이사했습니다|이사 갔어요)"),
        "live",
        changes=True,
    ),
    _Pattern(
        _compile(
            r"(?P<who>\S{1,10}(?: \S{1,10}){0,3}?)(?:는|은|가|이) (?P<value>\S{1,14}?)(?:으로|로) (?:변경되었습니다|변경됐어요|바뀌었어요|바뀌었습니다|연기되었습니다)"
        ),
        changes=True,
    ),
    _Pattern(
        _compile(
            rf"(?P<who>\S{{1,10}}(?: \S{{1,10}}){{0,3}}?)(?:는|은|가|이) {_KO_NOW}(?P<value>\S{{1,14}}?)(?:입니다|이에요|예요|이야|야)"
        )
    ),
)
_DENIED = re.compile(r"(?:吗|呢|不是|没有|没|ない|ません|か$|않|아니|안 )|[?？]|的$")
_PAST = re.compile(
    r"\d{4}年|以前|曾经|过去|昔|当時|でした|\d{4}년|예전|전에|었습니다$|如果|要是|可能|也许|说|もし|たら|かも|と言|만약|아마|下次|第[一二三]|次の|다음|另一|也|还|们都|も(?!う)|そして|和|或|と(?=.)"
)
_SINGLE = re.compile(
    r"最喜欢的|密码|口令|电话|号码|地址|邮箱|生日|截止|名字|会议|预算|房租|工资|年龄"
    r"|好きな|パスワード|電話|住所|メール|誕生日|締め切り|締切|会議|予算|家賃"
    r"|좋아하는|비밀번호|전화번호|주소|이메일|생일|마감|회의|예산"
)
_PLACES = ("楼", "层", "附近", "旁边", "階", "近く", "층", "근처")
"""Where in a house or near what, and not in which town."""
_NAME_NOUN = re.compile(r"(?:的名字|の名前| 이름)$")
_DIGITS = re.compile(r"\d+|[零一二三四五六七八九十两]+(?=[点时])")
_ME = re.compile(r"^(?:我的|我们的|私の|僕の|제가|제|내|나의|저의|저|用户的?|我|私)\s*")


def is_unspaced(text: str) -> bool:
    """Whether a text is written in Chinese, Japanese or Korean."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def read_unspaced(text: str) -> Iterator[Statement]:
    """The frame of a short sentence in Chinese, Japanese or Korean, with its value."""
    for row in _PATTERNS:
        match = row.pattern.fullmatch(text)
        if match is None:
            continue
        groups = match.groupdict()
        now = row.changes or bool(groups.get("now") or groups.get("now2"))
        if _PAST.search(text) is not None and not (
            row.changes and "었습니다" in text and not re.search(r"\d{4}년", text)
        ):
            return
        if _DENIED.search(text) is not None and row.polarity != "no":
            return
        who, value = _ME.sub("", groups.get("who") or "") or "i", groups["value"].strip()
        if row.attribute == "live" and value.endswith(_PLACES):
            return
        if row.polarity:
            yield Statement(f"{who} like {value}", POLARITY, row.polarity, changes=True, single=True)
            return
        single = row.attribute == "live"
        named = _NAME_NOUN.search(who) is not None
        if row.attribute:
            frame = f"{who} {row.attribute}"
        else:
            single = not named and _SINGLE.search(who) is not None
            if not single and not named and not (now and _DIGITS.search(value)):
                return
            shape = _DIGITS.sub("#", value)
            frame = f"{who} be {shape if '#' in shape and not value.isascii() else ''}".rstrip()
        yield Statement(frame, FRAME, _to_value(value), changes=now, single=single and not row.open)
        return


def _to_value(value: str) -> str:
    """The digits of a value that has some among other words, or all of it."""
    digits = _DIGITS.findall(value)
    return "-".join(digits) if digits and not value.isascii() else value
