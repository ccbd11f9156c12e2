"""`WmemLLM`: a model of LlamaIndex whose prompts stay below a budget, whoever makes them."""

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Self

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import LLM, ToolSelection
from llama_index.core.tools import BaseTool
from pydantic import Field, PrivateAttr

from llamaindex_wmem._calls import BudgetedCalls
from llamaindex_wmem._requests import (
    chat_request,
    either,
    form_request,
    message_arguments,
    text_request,
    to_template,
    to_text,
    tools_request,
    unless_packed,
)
from llamaindex_wmem.memory import WmemMemory
from wmem import Calibrations, Context, InvalidInputError
from wmem.adapter import describe

_SHARED_FIELDS = (
    *("callback_manager", "rate_limiter", "system_prompt", "messages_to_prompt", "completion_to_prompt"),
    *("output_parser", "pydantic_program_mode", "query_wrapper_prompt"),
)
"""Fields that every model has; they are those of the wrapped model."""


class WmemLLM(LLM):
    """A model whose every prompt fits a budget: messages, tools' schemas and room for the reply.

    It takes the place of the model that it wraps, in agents, chat engines and query
    engines: a function-calling model stays one. Calls reach the wrapped model by the same
    methods with the same arguments. What fits the budget is sent as it was handed, the same
    objects. What does not fit is packed: the tools' results of the turn in flight are cut,
    the oldest most, the oldest messages are left out, and what of the session bears on the
    question is quoted in a note. Only a prompt that holds part of the session is packed
    with it; any other, as a query engine's, is cut to what fits.

    It stores nothing: the memory does. What a caller hands and the session does not hold
    (system text, retrieved context, an agent's scratchpad) is for that one call. A call that the
    provider refuses as too large is retried once, with half of the conversation; usage that
    replies report makes later prompts fit in the model's own tokens. A reply to a prompt that was packed has that
    prompt's receipt in its `additional_kwargs`, as ``wmem_receipt``.

    Args:
        llm: The model.
        memory: The session of the conversation. Its fields say how a prompt is packed (`tail`, `recall`,
            `profile` and so on); its `token_limit` bounds what an agent is handed as history.
        budget: The ceiling in tokens for each call, the reply included; or a share of the model's
            window, a float up to 1.0. By default the whole window, as the model's metadata has it.
        reserve: Tokens kept free for the reply. By default the call's or the model's configured
            maximum, if it is below the budget, else 1,024, up to half of it.

    Raises:
        InvalidInputError: Something else than a model and a `WmemMemory`, or an impossible number.
        PromptTooLargeError: At a call: system text, tools, reserve, what is pinned and the question exceed the budget.
    """

    llm: LLM = Field(exclude=True)
    memory: WmemMemory = Field(exclude=True)
    budget: int | float | None = None
    reserve: int | None = None

    _calls: BudgetedCalls = PrivateAttr()

    def __new__(cls, llm: object = None, *_: object, **__: object) -> Self:
        # LlamaIndex looks at the class of a model to know whether it calls functions.
        if cls is WmemLLM and isinstance(llm, FunctionCallingLLM):
            return super().__new__(_FunctionCallingWmemLLM)  # type: ignore[return-value]  # a subclass
        return super().__new__(cls)

    def __init__(
        self, llm: LLM, memory: WmemMemory, *, budget: float | None = None, reserve: int | None = None
    ) -> None:
        if not isinstance(llm, LLM):
            raise InvalidInputError(f"llm must be a model of LlamaIndex, not {describe(llm)}")
        if not isinstance(memory, WmemMemory):
            raise InvalidInputError(f"memory must be a WmemMemory, not {type(memory).__name__!r}")
        calls = BudgetedCalls(llm, memory, budget=budget, reserve=reserve)
        fields: dict[str, Any] = {"llm": llm, "memory": memory, "budget": budget, "reserve": reserve}
        super().__init__(**fields, **{name: getattr(llm, name) for name in _SHARED_FIELDS})
        self._calls = calls

    @classmethod
    def class_name(cls) -> str:
        """Its class name for LlamaIndex's serialisation."""
        return "WmemLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """The wrapped model's; its window is the budget, if the memory's `token_limit` is at most half of that.

        By the window LlamaIndex divides retrieved text among calls. It raises an error where a
        history leaves no room for any, so with a larger limit the window stays as it is.
        """
        told: LLMMetadata = self.llm.metadata
        limit = self._calls.limit()
        if limit >= told.context_window or 2 * self.memory.token_limit > limit:
            return told
        return told.model_copy(update={"context_window": limit})

    @property
    def calibrations(self) -> Calibrations:
        """Calibrations of each model's token count from usage; shared by copies, not stored."""
        return self._calls.calibrations

    def last_context(self) -> Context | None:
        """The prompt of the newest call, with its token counts and why each message is in or out; None before one.

        Of two concurrent calls it is the one made last.
        """
        prompt = self._calls.last_prompt
        return None if prompt is None else prompt.to_context()

    def for_memory(self, memory: WmemMemory) -> Self:
        """The same model for another session; what is learned from usage is shared."""
        return self._with(self.llm, memory)

    # --- calls ---------------------------------------------------------------------------------------------------

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._calls.call(
            chat_request(messages, kwargs), lambda sent: self.llm.chat(either(sent, messages), **kwargs)
        )

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return await self._calls.acall(
            chat_request(messages, kwargs), lambda sent: self.llm.achat(either(sent, messages), **kwargs)
        )

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        return self._calls.stream(
            chat_request(messages, kwargs), lambda sent: self.llm.stream_chat(either(sent, messages), **kwargs)
        )

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        return self._calls.astream(
            chat_request(messages, kwargs), lambda sent: self.llm.astream_chat(either(sent, messages), **kwargs)
        )

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:  # noqa: FBT001, FBT002  # as in the base
        return self._calls.call(
            text_request(prompt, kwargs), lambda sent: self.llm.complete(to_text(sent, prompt), formatted, **kwargs)
        )

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:  # noqa: FBT001, FBT002  # as in the base
        return await self._calls.acall(
            text_request(prompt, kwargs), lambda sent: self.llm.acomplete(to_text(sent, prompt), formatted, **kwargs)
        )

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:  # noqa: FBT001, FBT002  # as in the base
        return self._calls.stream(
            text_request(prompt, kwargs),
            lambda sent: self.llm.stream_complete(to_text(sent, prompt), formatted, **kwargs),
        )

    async def astream_complete(
        self,
        prompt: str,
        formatted: bool = False,  # noqa: FBT001, FBT002  # as in the base
        **kwargs: Any,
    ) -> CompletionResponseAsyncGen:
        return self._calls.astream(
            text_request(prompt, kwargs),
            lambda sent: self.llm.astream_complete(to_text(sent, prompt), formatted, **kwargs),
        )

    # --- calls with tools ----------------------------------------------------------------------------------------

    def chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        """A reply, or calls of the tools: see LlamaIndex's `FunctionCallingLLM`."""
        return self._calls.call(
            tools_request(tools, user_msg, chat_history, kwargs),
            lambda sent: self._calling.chat_with_tools(
                tools, **message_arguments(sent, user_msg, chat_history), **kwargs
            ),
        )

    async def achat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        """See `WmemLLM.chat_with_tools`."""
        return await self._calls.acall(
            tools_request(tools, user_msg, chat_history, kwargs),
            lambda sent: self._calling.achat_with_tools(
                tools, **message_arguments(sent, user_msg, chat_history), **kwargs
            ),
        )

    def stream_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        **kwargs: Any,
    ) -> ChatResponseGen:
        """See `WmemLLM.chat_with_tools`."""
        return self._calls.stream(
            tools_request(tools, user_msg, chat_history, kwargs),
            lambda sent: self._calling.stream_chat_with_tools(
                tools, **message_arguments(sent, user_msg, chat_history), **kwargs
            ),
        )

    async def astream_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        **kwargs: Any,
    ) -> ChatResponseAsyncGen:
        """See `WmemLLM.chat_with_tools`."""
        return self._calls.astream(
            tools_request(tools, user_msg, chat_history, kwargs),
            lambda sent: self._calling.astream_chat_with_tools(
                tools, **message_arguments(sent, user_msg, chat_history), **kwargs
            ),
        )

    def get_tool_calls_from_response(
        self,
        response: ChatResponse,
        error_on_no_tool_call: bool = True,  # noqa: FBT001, FBT002  # as in the base
        **kwargs: Any,
    ) -> list[ToolSelection]:
        """The calls of tools in a reply."""
        return self._calling.get_tool_calls_from_response(
            response, error_on_no_tool_call=error_on_no_tool_call, **kwargs
        )

    def _prepare_chat_with_tools(self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any) -> dict[str, Any]:
        return self._calling._prepare_chat_with_tools(tools, *args, **kwargs)  # noqa: SLF001  # abstract in the base

    @property
    def _calling(self) -> FunctionCallingLLM:
        # Some models have its methods without the class; any other says itself what it lacks.
        return self.llm  # type: ignore[return-value]

    # --- structured replies --------------------------------------------------------------------------------------
    # By the wrapped model's own methods: many ask their provider for the form instead of calling a tool.

    def structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: dict[str, Any] | None = None, **prompt_args: Any
    ) -> Any:
        return self._calls.call(
            form_request(self.llm, output_cls, prompt, llm_kwargs, prompt_args),
            lambda sent: self.llm.structured_predict(
                output_cls, to_template(sent, prompt), llm_kwargs=llm_kwargs, **unless_packed(sent, prompt_args)
            ),
        )

    async def astructured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: dict[str, Any] | None = None, **prompt_args: Any
    ) -> Any:
        return await self._calls.acall(
            form_request(self.llm, output_cls, prompt, llm_kwargs, prompt_args),
            lambda sent: self.llm.astructured_predict(
                output_cls, to_template(sent, prompt), llm_kwargs=llm_kwargs, **unless_packed(sent, prompt_args)
            ),
        )

    def stream_structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: dict[str, Any] | None = None, **prompt_args: Any
    ) -> Any:
        return self._calls.stream(
            form_request(self.llm, output_cls, prompt, llm_kwargs, prompt_args),
            lambda sent: self.llm.stream_structured_predict(
                output_cls, to_template(sent, prompt), llm_kwargs=llm_kwargs, **unless_packed(sent, prompt_args)
            ),
        )

    async def astream_structured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: dict[str, Any] | None = None, **prompt_args: Any
    ) -> Any:
        return self._calls.astream(
            form_request(self.llm, output_cls, prompt, llm_kwargs, prompt_args),
            lambda sent: self.llm.astream_structured_predict(
                output_cls, to_template(sent, prompt), llm_kwargs=llm_kwargs, **unless_packed(sent, prompt_args)
            ),
        )

    # --- the wrapped model's own fields: those of every model are here, too ----------------------------------------

    if not TYPE_CHECKING:  # a checker would believe in any name

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name.startswith("_") or "llm" not in self.__dict__:
                    raise
            return getattr(self.llm, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name.startswith("_") or name in type(self).model_fields
        if own:
            super().__setattr__(name, value)
        if not own or name in _SHARED_FIELDS:
            setattr(self.llm, name, value)

    # --- copies --------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[Any, Any]:
        return {"made_of": (self.llm, self.memory), "options": {"budget": self.budget, "reserve": self.reserve}}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(*state["made_of"], **state["options"])  # type: ignore[misc]  # nothing else is needed

    def __copy__(self) -> Self:
        return self._with(self.llm, copy(self.memory))

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self._with(deepcopy(self.llm, memo), deepcopy(self.memory, memo))

    def _with(self, llm: LLM, memory: WmemMemory) -> Self:
        made = type(self)(llm, memory, budget=self.budget, reserve=self.reserve)
        calibrations = self.calibrations
        made._calls = BudgetedCalls(  # noqa: SLF001  # of the same class
            llm, memory, budget=self.budget, reserve=self.reserve, calibrations=calibrations
        )
        return made


class _FunctionCallingWmemLLM(WmemLLM, FunctionCallingLLM):  # type: ignore[misc]  # flags go by name here
    """A `WmemLLM` of a function-calling model, for those who look at the class."""
