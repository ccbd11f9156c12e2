"""Which system text is one of a series of reminders, as some agents add one before each turn."""

import re

_NUMBER = re.compile(r"\d+")


def is_outdated(text: str, newest: str) -> bool:
    """Whether the newest system text says the same but for its numbers, as in "It is turn 7.".

    What is said again word for word is not outdated: each session may begin with it.
    """
    return text != newest and _NUMBER.sub("0", text) == _NUMBER.sub("0", newest)
