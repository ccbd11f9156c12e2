"""What sets a value apart from its label in documents: blocks of YAML, tags, tables, forms, declarations of code."""

import re
from typing import NamedTuple

_STRUCTURE_HERE = re.compile(
    r"(?P<open_label>[\"'`]?\]?)(?:"
    r"(?P<block>[ ]?:[ \t]{0,8}(?:(?:&\w{1,32}|!!?[\w:/.\-]{0,32})[ \t]{1,8}){0,2}[|>][+\-\d]{0,2}[ \t]{0,8}(?:\#[^\n]{0,80})?\r?\n[ \t]{1,16})"
    r"|(?P<typed>[ ]?:[ ]?&?(?:'static[ ])?[A-Za-z][\w.\[\]<>]{0,24}(?:[ ]?\|[ ]?None)?[ ]?=[ ]?[\"'])"
    r"|(?P<tag>[ ]?:[ \t]{0,8}(?:(?:&\w{1,32}|!!(?:str|binary)?)[ \t]{1,8}){1,2}[\"']?)"
    r"|(?P<list>[ ]?:[ \t]{0,8}\r?\n[ \t]{0,16}-[ ]{1,4}[\"']?)"
    r"|(?P<triple>[ ]?[:=][ ]?(?:\"\"\"|''')(?:\\?\r?\n)?)"
    r"|(?P<bold>[ ]?(?:\*{1,2}:|:\*{1,2}|__:|:__)[ ]{1,2}[`\"']?)"
    r"|(?P<property>[ ]?\{[ ]?get;(?:[ ]?(?:private[ ]|protected[ ]|internal[ ])?(?:set|init);)?[ ]?\}[ ]?=[ ]?@?[\"'])"
    r"|(?P<element>(?<![ ])[ ][^<>\n/]{1,120}>(?=[^<>\s]{1,256}</))"
    r"|(?P<cell></(?:th|td|dt|key|label|b|strong|name)>\s{0,8}(?:</?tr>\s{0,8})?<(?:td|dd|string|value|span|code|input)\b[^<>]{0,60}>\s{0,8}(?=[^<>\s]{1,256}\s{0,8}</))"
    r"|(?P<part>[ ]?(?:;[^\r\n]{0,80})?\r?\n(?:[A-Za-z\-]{4,32}:[^\r\n]{0,80}\r?\n){0,3}\r?\n(?=[^\r\n]{1,512}\r?\n--))"
    r"|(?P<dump>=>\s{1,8}string\(\d{1,5}\)[ ]\")"
    r"|(?P<fill>[\"'`\])]{1,3}\.(?:send_keys|sendKeys|type|fill|setValue|set_value|input)\([ ]?[\"'`])"
    r"|(?P<aside>(?:,[ ]|[ ]\()(?=[^\s]{12,512}))"
    r"|(?P<line>[ \t]{0,4}(?:\t[ \t]{0,4}|\r?\n[ \t]{0,8})(?=[^\s]{6,512}[ \t]{0,4}(?:\t|\r?\n|$)))"
    r")"
)


class Structure(NamedTuple):
    """What stands between a label and its value.

    Attributes:
        form: Which of the forms it is.
        end: Where the value begins.
    """

    form: str
    end: int

    @property
    def is_sure(self) -> bool:
        """Whether it leaves no doubt that a value follows, so that a mere word is one."""
        return self.form in ("block", "tag", "triple", "property", "typed", "element", "cell", "part", "dump", "fill")


def find_structure(text: str, end: int) -> Structure | None:
    """The structure that begins where a label ends."""
    match = _STRUCTURE_HERE.match(text, end, min(len(text), end + 800))
    return Structure(match.lastgroup or "", match.end()) if match else None
