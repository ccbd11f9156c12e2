"""Random acts on a thread of one's own graph, with `wmem_pack` and without: below the budget both send the same."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from langchain_wmem import WmemPack, wmem_pack
from tests.adapters.langchain.side_by_side import Pair, Side, WmemSide
from tests.adapters.langchain.test_equality_machine import QUESTIONS, Machine, endings, tool_names, towns
from tests.matrix import examples

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]  # each act has tests of its own


class _GraphSide(Side):
    """A model, its tools, and what packs before the model."""

    stores = True

    def pack(self) -> WmemPack | None:
        """What packs; nothing here."""
        return None

    def make_agent(self, tools: list[BaseTool]) -> Any:
        pack, model = self.pack(), self.model.bind_tools(tools)

        def talk(state: Any) -> Any:
            messages = state["messages"] if pack is None else pack.invoke(state)["llm_input_messages"]
            return {"messages": [model.invoke(messages)]}

        async def atalk(state: Any) -> Any:
            messages = state["messages"] if pack is None else (await pack.ainvoke(state))["llm_input_messages"]
            return {"messages": [await model.ainvoke(messages)]}

        builder = StateGraph(MessagesState)
        builder.add_node("model", RunnableLambda(talk, atalk))
        builder.add_node("tools", ToolNode(tools, handle_tool_errors=False))
        store: Any = RunnableLambda(lambda _: {}) if pack is None or not self.stores else pack.store_reply
        builder.add_node("store", store)
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: "store"})
        builder.add_edge("tools", "model")
        builder.add_edge("store", END)
        return builder.compile(checkpointer=self.saver, **self._options)


class _GraphWmemSide(WmemSide, _GraphSide):
    """The same with wmem."""

    make_agent = _GraphSide.make_agent

    def pack(self) -> WmemPack:
        self.middleware = wmem_pack(**self.open_options())
        return self.middleware


class GraphPair(Pair):
    plain_side = _GraphSide
    wmem_side = _GraphWmemSide


class _UnstoringSide(_GraphWmemSide):
    stores = False


class UnstoringPair(GraphPair):
    wmem_side = _UnstoringSide


class Graphs(Machine):
    """The same acts, but that calls have ids: what answers those without is not ours here."""

    @rule(calls=st.lists(towns, min_size=1, max_size=2), tools=tool_names, end=endings, text=st.sampled_from(QUESTIONS))
    def call_tools(self, calls: list[list[str]], tools: tuple[str, ...], end: str, text: str) -> None:
        self.pair.say(*self.replies(calls, tools, end), text=text)


@pytest.mark.parametrize("pair", [GraphPair, UnstoringPair], ids=["stored at the end", "stored by the next call"])
def test_a_graph_s_model_is_sent_the_same_messages_whatever_was_done_to_the_thread(pair: type[Pair]) -> None:
    class Played(Graphs):
        pair_type = pair

    run_state_machine_as_test(Played, settings=examples(0.06, stateful_step_count=10))
