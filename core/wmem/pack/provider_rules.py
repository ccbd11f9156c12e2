"""What each provider profile demands of a prompt, as one table, and how names and ids are made to fit."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from wmem.model.context import ProviderProfile

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MADE_ID_LENGTH = 12
_MISTRAL_ID_LENGTH = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRules:
    """The demands of one profile; a prompt that meets them is sent as it is.

    Attributes:
        provider: The only provider that it is of; None where more than one is to take the prompt.
        system_in_front: System text stands only before everything else.
        user_first: The first message after system text is the user's.
        speaker: Characters of a speaker's name; None where messages have no name.
        tool: A tool's name, in calls and results.
        call_id: A call's id.
        unique_ids: No two exchanges of a prompt have calls of one id.
        media_in_results: A tool's result may hold images and files.
        media_in_answers: An assistant's message may.
        documents_at_url: A file has the block that Mistral has for it, in place of the chat form's.
        blank: A message may be blank, and a part may be a refusal.
        call_after_answer: Calls may follow an assistant's message that has none.
        user_after_result: The user may speak right after a tool's result.
    """

    provider: ProviderProfile | None = None
    system_in_front: bool = False
    user_first: bool = False
    speaker: re.Pattern[str] | None = None
    tool: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    call_id: re.Pattern[str]
    unique_ids: bool = True
    media_in_results: bool = True
    media_in_answers: bool = False
    documents_at_url: bool = False
    blank: bool = False
    call_after_answer: bool = True
    user_after_result: bool = True

    def alternating(self) -> "ProviderRules":
        """These rules, and those of models whose template wants user and assistant in turns."""
        return replace(self, system_in_front=True, user_first=True, call_after_answer=False, user_after_result=False)

    def fit_id(self, id: str, *salt: str) -> str:
        """The id, or one made of it and the salt where it does not fit or a salt is given: the same in every prompt."""
        if not salt and self.call_id.fullmatch(id):
            return id
        number = int.from_bytes(hashlib.sha256("\0".join((id, *salt)).encode("utf-8", "surrogatepass")).digest())
        made = ""
        while len(made) < _MADE_ID_LENGTH:
            number, digit = divmod(number, len(_ALPHABET))
            made += _ALPHABET[digit]
        named = f"call_{made}"
        return named if self.call_id.fullmatch(named) else made[:_MISTRAL_ID_LENGTH]

    def fit_speaker(self, name: str | None) -> str | None:
        """The name of a speaker with an underscore for each run of characters that does not fit."""
        if name is None or self.speaker is None:
            return None
        return name if self.speaker.fullmatch(name) else re.sub(r"[\s<|\\/>]+", "_", name)[:64] or None

    def fit_tool(self, name: str) -> str:
        """The name of a tool with an underscore for each character that does not fit."""
        if self.tool.fullmatch(name):
            return name
        plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]
        return plain if self.tool.fullmatch(plain) else f"_{plain}"[:64]


_SPEAKER = re.compile(r"[^\s<|\\/>]{1,64}")

RULES: Mapping[ProviderProfile, ProviderRules] = {
    "any": ProviderRules(
        system_in_front=True,
        user_first=True,
        speaker=_SPEAKER,
        tool=re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}"),
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,40}"),
        media_in_results=False,
        call_after_answer=False,
    ),
    "openai": ProviderRules(
        provider="openai",
        speaker=_SPEAKER,
        call_id=re.compile(r".{1,40}", re.DOTALL),
        unique_ids=False,
        media_in_results=False,
        blank=True,
    ),
    "anthropic": ProviderRules(
        provider="anthropic", system_in_front=True, user_first=True, call_id=re.compile(r"[a-zA-Z0-9_-]+")
    ),
    "gemini": ProviderRules(
        provider="gemini",
        system_in_front=True,
        user_first=True,
        tool=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
        call_id=re.compile(r".+", re.DOTALL),
        media_in_answers=True,
        call_after_answer=False,
    ),
    "mistral": ProviderRules(
        provider="mistral",
        system_in_front=True,
        user_first=True,
        call_id=re.compile(rf"[a-zA-Z0-9]{{{_MISTRAL_ID_LENGTH}}}"),
        media_in_results=False,
        documents_at_url=True,
        user_after_result=False,
    ),
    "bedrock": ProviderRules(
        provider="bedrock", system_in_front=True, user_first=True, call_id=re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
    ),
}
"""``any`` has the demands of all five at once, but for Mistral's ids, which its LangChain package makes, and for the
user directly after a result, which Mistral itself takes by now."""
