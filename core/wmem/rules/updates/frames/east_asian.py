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
            rf"(?P<who>\S{{1,10}}(?: \S{{1,10}}){{0,3}}?)(?:는|은|가|이) {_KO_NOW}(?P<value>\S{{1,14}}?(?: (?:부장|과장|대표|팀장|님|씨)님?)?)(?:입니다|이에요|예요|이야|야)"
        )
    ),
)
_MINE = re.compile(r"(?:我|用户|私|僕|제|내|저의|나의)")
_OWNED = re.compile(
    r"的.|の.|의 ?.|(?:经理|主管|负责人|老板|上司|部长|組長|リーダー|責任者|担当者?|部長|店長|담당자|책임자|팀장님?|상사|부장님?|대표님?)\Z"
)
"""What makes a subject an attribute of something: whose it is, or an office that one person holds."""
_SEVERAL = re.compile(
    r"(?:[哥弟姐姊妹兄]{1,2}|儿子|女儿|孩子|朋友|同事|同学|邻居|亲戚|表[哥弟姐妹]|客户|供应商|对手|成员|爱好|语言|目标|问题|原因|步骤|宠物|过敏源?|国籍|例子|技能"
    r"|姉|妹|息子|娘|子供|友達|友人|同僚|隣人|親戚|いとこ|お客様|顧客|取引先|メンバー|趣味|言語|目標|問題|理由|ペット|アレルギー|国籍|例|部下|先輩|後輩|生徒"
    r"|형|오빠|누나|언니|동생|아들|딸|친구|동료|이웃|친척|고객|거래처|회원|취미|언어|목표|문제|이유|반려동물|알레르기|국적|예)(?:的名字|の名前| 이름)?\Z"
)
_TITLED = re.compile(r"(?:さん|様|氏|先生|女士|部長|課長|부장|과장|대표|님|씨)\Z")
_SURNAMED = re.compile(
    r"(?:[王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤]"
    r"[\u4e00-\u9fff]{1,2}|[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민][가-힣]{2})\Z"
)
_PEOPLE = re.compile(r"(?:국|본)인\Z|[国國]人\Z")
_SORT = re.compile(r"[版部室课課系科区區市县県楼号線线路]\Z")
"""The last letter of names of one sort."""
_FOREIGN = re.compile(r"[\u30a0-\u30ff]{2,10}|[A-Za-z][\w .-]{0,20}")
_DENIED = re.compile(r"(?:吗|呢|不是|没有|没|ない|ません|か$|않|아니|안 )|[?？]|的$")
_PAST = re.compile(
    r"\d{4}年|以前|曾经|过去|昔|当時|でした|\d{4}년|예전|전에|었습니다$|如果|要是|可能|也许|说|もし|たら|かも|と言|만약|아마|下次|第[一二三]|次の|다음|另一|也|还|们都|も(?!う)|そして|和|或|と(?=.)"
)
_SINGLE = re.compile(
    r"最喜欢的|密码|口令|电话|号码|地址|邮箱|生日|截止|名字|会议|预算|房租|工资|年龄"
    r"|好きな|パスワード|電話|住所|メール|誕生日|締め切り|締切|会議|予算|家賃"
    r"|좋아하는|비밀번호|전화번호|주소|이메일|생일|마감|회의|예산"
)
_CONTACT = re.compile(
    r"(?:联系)?(?:电话|号码|地址|邮箱|名字|电话号码)|(?:電話番?号?|住所|メール(?:アドレス)?)|(?:전화번호|주소|이메일)"
)
"""What many have, so that it says nothing without whose it is."""
_OTHERS = re.compile(r"[他她它您你]|彼|그의|그녀|당신")
"""Words for somebody who was spoken of before, or is spoken to."""
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
        if _OTHERS.match(groups.get("who") or "") is not None:
            return
        if row.attribute == "live" and value.endswith(_PLACES):
            return
        if row.polarity:
            yield Statement(f"{who} like {value}", POLARITY, row.polarity, changes=True, single=True)
            return
        single = row.attribute == "live"
        one = _is_attribute(groups.get("who") or "")
        named = _NAME_NOUN.search(who) is not None
        if row.attribute:
            frame = f"{who} {row.attribute}"
            single = single or (row.attribute == "name" and one)
        else:
            single = not named and _SINGLE.search(who) is not None
            single = single and (one or _CONTACT.fullmatch(who) is None)
            sort = _find_sort(value, named=named) if one and not single else ""
            if not single and not named and not sort and not (now and _DIGITS.search(value)):
                return
            single = single or sort != ""
            shape = _DIGITS.sub("#", value)
            frame = f"{who} be {sort} {shape if '#' in shape and not value.isascii() else ''}".replace(
                "  ", " "
            ).rstrip()
        yield Statement(frame, FRAME, _to_value(value), changes=now, single=single and (one or not row.open))
        return


def _is_attribute(who: str) -> bool:
    """Whether a subject is one attribute of one thing, and none of which one may have several."""
    whose = _MINE.match(who) is not None or _OWNED.search(who) is not None
    return whose and _SEVERAL.search(who) is None


def _find_sort(value: str, *, named: bool) -> str:
    """The sort of what a value names, which tells how or what something is if it is of none."""
    if _DIGITS.search(value) is not None:
        return "#"
    if _PEOPLE.search(value) is not None:
        return ""
    if _TITLED.search(value) is not None or _SURNAMED.match(value) is not None:
        return "person"
    if named and _FOREIGN.fullmatch(value) is not None:
        return "name"
    last = _SORT.search(value)
    return last.group() if last is not None else ""


def _to_value(value: str) -> str:
    """The digits of a value that has some among other words, or all of it."""
    digits = _DIGITS.findall(value)
    return "-".join(digits) if digits and not value.isascii() else value
