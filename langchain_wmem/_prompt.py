"""How prompts are packed: what a user chose, checked once, and the arguments of a pack that follow for a model."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any, Literal, get_args

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_wmem._budget import Budget, Ceiling
from langchain_wmem._dedup import newest_human_index
from langchain_wmem._models import provider_profile, reply_reserve
from wmem import Message
from wmem.adapter import check_count, check_flag, check_fraction, describe, to_zone
from wmem.errors import InvalidInputError
from wmem.types import ProviderProfile, Reasoning, Roles


class PackSettings:
    """What a user chose for prompts; see `Scope.pack` and `WmemMiddleware`.

    Raises:
        InvalidInputError: A number, a word or a zone that cannot be.
    """

    def __init__(
        self,
        *,
        budget: float | None,
        reserve: int | None,
        tail: float,
        recent: int,
        profile: ProviderProfile | Literal["auto"],
        roles: Roles,
        reasoning: Reasoning,
        recall: bool,
        stable: bool,
        summary: bool | int,
        zone: tzinfo | str | None,
    ) -> None:
        check_fraction(tail, "tail")
        check_count(recent, "recent")
        if reserve is not None:
            check_count(reserve, "reserve")
        known_profiles = ("auto", *get_args(ProviderProfile))
        for option, value, known in (
            ("profile", profile, known_profiles),
            ("reasoning", reasoning, get_args(Reasoning)),
            ("roles", roles, get_args(Roles)),
        ):
            if value not in known:
                raise InvalidInputError(f"unknown {option} {describe(value)}; known: {', '.join(known)}")
        check_flag(stable, "stable")
        if not isinstance(summary, bool):
            check_count(summary, "summary")
        if zone is not None:
            to_zone(zone)
        self.budget = Budget(budget)
        self._reserve = reserve
        self._profile = profile
        self._recall = recall
        self._options = {
            "tail": tail,
            "recent": recent,
            "stable": stable,
            "summary": summary,
            "zone": zone,
            "reasoning": reasoning,
            "roles": roles,
        }

    def ceiling(self, model: object, arguments: Mapping[str, Any]) -> Ceiling:
        """The ceiling of a call.

        Args:
            arguments: What the model is called with besides messages.
        """
        limit = self.budget.tokens(model)
        return Ceiling(limit, reply_reserve(model, arguments, limit) if self._reserve is None else self._reserve)

    def query(self, messages: Sequence[BaseMessage]) -> str | None:
        """Text of the newest human message: the query for recall."""
        asked = messages[newest_human_index(messages)] if messages else None
        return str(asked.text) if self._recall and isinstance(asked, HumanMessage) else None

    def arguments(
        self,
        model: object,
        *,
        system: str,
        tools: Sequence[Any],
        reserve: int,
        messages: Sequence[Message],
        long_term: bool,
    ) -> dict[str, Any]:
        """Arguments of `Scope.pack` for a call, without query and budget.

        Args:
            tools: In any form that LangChain takes.
            messages: The caller's own version of the conversation.
            long_term: Whether long-term memory is drawn on.
        """
        return {
            **self._options,
            "profile": provider_profile(model) if self._profile == "auto" else self._profile,
            "system": system,
            "tools": to_schemas(tools),
            "reserve": reserve,
            "messages": messages,
            "long_term": long_term,
        }


def to_schemas(tools: Sequence[Any]) -> list[dict[str, Any]]:
    """The JSON schemas of tools."""
    # A provider's own tool is a dictionary already, and is sent as it is.
    return [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in tools]
