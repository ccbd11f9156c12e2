"""Random agents, users and sessions over one store: no prompt holds a word of another user, agent or conversation."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, wmem_pack, wmem_tools
from llamaindex_wmem import WmemLLM, WmemMemory
from llamaindex_wmem import wmem_tools as llamaindex_tools
from tests.adapters.langchain.conftest import Scripted
from tests.adapters.llamaindex.test_engines import Script, calling

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

RUNS = {"fast": 40, "ci": 300, "full": 3_000}  # by tier
AGENTS = ("a", "a/b", "a b", "A", "agent", "%7E", "users", "ann")
USERS = (("users", "ann"), ("users", "ann/bob"), ("users", "Ann"), ("users", "ann", "bob"), ("ann",), ("users", "%2F"))
SESSIONS = ("s", "s/t", "users", "S", "ann ", "tools:1", "t")
WORDS = ("dog", "cat", "boat", "house", "garden", "allergic", "chicken", "deadline", "code", "locker", "birthday")
CANARY = re.compile(r"canary-(\d+)x")  # one that was cut says nothing
BUDGETS = (300, 600, 2_000)
AGENT_BUDGETS = (1_400, 3_000)  # the schemas of the tools and the calls under way take half of it


@dataclass
class Owner:
    """Who may see a canary: an agent, perhaps only one user of it, perhaps only one conversation of that user."""

    agent: str
    user: tuple[str, ...] | None
    session: str | None


@dataclass
class World:
    """One store, and what was said in it."""

    url: str
    random: random.Random
    memories: dict[str, wmem.AgentMemory] = field(default_factory=dict)
    owners: list[Owner] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    savers: dict[str, InMemorySaver] = field(default_factory=dict)
    seen: int = 0

    def text(self, owner: Owner) -> str:
        """A text with a canary, of words that all others use, too."""
        self.owners.append(owner)
        return f"The {' '.join(self.random.sample(WORDS, 4))} is canary-{len(self.owners) - 1}x"

    def question(self, owner: Owner) -> str:
        return f"What of the {' '.join(self.random.sample(WORDS, 5))}? {self.text(owner)}"

    def check(self, place: "Place", texts: object) -> None:
        """That a prompt holds canaries of its own alone."""
        for number in set(map(int, CANARY.findall(str(texts)))):
            owner = self.owners[number]
            assert owner.agent == place.agent
            assert owner.user in (None, place.user)
            assert owner.session in (None, place.session)
            self.seen += owner.session is None


@dataclass
class Place:
    """A session of a user of an agent; its name says whose it is, as a framework's thread does."""

    world: World
    agent: str
    user: tuple[str, ...]
    session: str

    @property
    def memory(self) -> wmem.AgentMemory:
        return self.world.memories[self.agent]

    @property
    def said(self) -> Owner:
        return Owner(self.agent, self.user, self.session)

    @property
    def known(self) -> Owner:
        return Owner(self.agent, self.user, None)

    def arguments(self) -> list[tuple[str, dict[str, Any]]]:
        """Calls of tools as an injected or confused model makes them: with others' ids, scopes and instructions."""
        pick = self.world.random.choice
        others = {"session": pick(SESSIONS), "session_id": pick(SESSIONS), "path": pick(USERS), "long_term": True}
        ids = [pick(self.world.ids), "/".join(pick(USERS)), "*"] if self.world.ids else ["x"]
        return [
            ("remember", {"text": self.world.text(self.known), "agent_id": pick(AGENTS), **others}),
            ("recall", {"query": " ".join(self.world.random.sample(WORDS, 6)), "limit": 50, **others}),
            ("forget", {"ids": ids, **others}),
            ("forget", {"instruction": pick(("oldest", "position:0", "before:step_9", "all")), **others}),
        ]


async def promote(place: Place) -> None:
    session = place.memory.scope(place.session, policy=wmem.Policy.session(long_term=[place.user]))
    item = session.items.add(place.world.text(place.known), type="fact")
    place.world.ids += [item.id, session.items.promote(item.id).id]


async def share(place: Place) -> None:
    text = place.world.text(Owner(place.agent, None, None))
    place.world.ids.append(place.memory.semantic.items.add(text, type="fact").id)


async def langchain_agent(place: Place, *, offered: bool) -> None:
    world = place.world

    def find_user(runtime: Any) -> Any:
        return [runtime.context]

    middleware = WmemMiddleware(
        place.memory, budget=world.random.choice(AGENT_BUDGETS), reserve=50, long_term=find_user, tools=offered
    )
    own = [] if offered else wmem_tools(place.memory, long_term=find_user)
    calls = [{"name": name, "args": args, "id": str(at)} for at, (name, args) in enumerate(place.arguments())]
    model = Scripted(replies=[AIMessage("", tool_calls=calls), AIMessage(world.text(place.said))])
    saver = world.savers.setdefault(place.agent, InMemorySaver())
    agent: Any = create_agent(model, tools=own, middleware=[middleware], checkpointer=saver, context_schema=tuple)
    given, config = (
        {"messages": [HumanMessage(world.question(place.said))]},
        {"configurable": {"thread_id": place.session}},
    )
    if world.random.random() < 0.5:
        await agent.ainvoke(given, config, context=place.user)
    else:
        agent.invoke(given, config, context=place.user)
    world.check(place, model.prompts)


async def langchain_chain(place: Place) -> None:
    world, model = place.world, Scripted(replies=[AIMessage(place.world.text(place.said))])
    packing = wmem_pack(place.memory, budget=world.random.choice(BUDGETS), long_term=lambda _: [place.user])
    config: Any = {"configurable": {"session_id": place.session}}
    await (packing | model | packing.store_reply).ainvoke(world.question(place.said), config)
    world.check(place, model.prompts)


async def langchain_history(place: Place) -> None:
    world = place.world
    history = WmemChatMessageHistory(
        place.session, memory=place.memory, budget=world.random.choice(BUDGETS), long_term=[place.user]
    )
    history.add_messages([HumanMessage(world.question(place.said))])
    world.check(place, history.messages)
    world.check(place, history.all_messages())


async def llamaindex_engine(place: Place) -> None:
    world, script = place.world, Script(place.world.text(place.said))
    memory = WmemMemory.from_defaults(
        memory=place.memory, session_id=place.session, token_limit=world.random.choice(BUDGETS), long_term=[place.user]
    )
    engine = SimpleChatEngine.from_defaults(llm=WmemLLM(script.llm, memory, budget=2_500, reserve=50), memory=memory)
    engine.chat(world.question(place.said))
    world.check(place, script.prompts)


async def llamaindex_agent(place: Place) -> None:
    world = place.world
    memory = WmemMemory.from_defaults(
        memory=place.memory, session_id=place.session, token_limit=world.random.choice(BUDGETS), long_term=[place.user]
    )
    calls = calling(*((str(at), name, args) for at, (name, args) in enumerate(place.arguments())))
    script = Script(calls, world.text(place.said))
    agent = FunctionAgent(tools=[*llamaindex_tools(memory)], llm=script.llm, streaming=False)
    await agent.run(world.question(place.said), memory=memory)
    world.check(place, script.prompts)


async def stateless_call(place: Place) -> None:
    script = Script()
    memory = WmemMemory.from_defaults(memory=place.memory, session_id=place.session, long_term=[place.user])
    llm = WmemLLM(script.llm, memory, budget=300, reserve=50)
    llm.chat([ChatMessage(role="user", content=f"What of the {word}? " * 20) for word in WORDS])
    assert not CANARY.search(str(script.prompts))


ACTS = (
    promote,
    share,
    partial(langchain_agent, offered=True),
    partial(langchain_agent, offered=False),
    langchain_chain,
    langchain_history,
    llamaindex_engine,
    llamaindex_agent,
    stateless_call,
)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    seed = random.Random().randrange(10**9) if request.config.getoption("tier") == "full" else 13
    print(f"seed {seed}")  # shown where it fails
    made = World(f"memory://{uuid4().hex}", random.Random(seed))
    for agent in AGENTS:
        made.memories[agent] = wmem.open(made.url, agent_id=agent)
    yield made
    for memory in made.memories.values():
        memory.erase_all()
        memory.close()


@pytest.mark.no_cover  # each step of a run has tests of its own
async def test_no_prompt_holds_what_is_anothers(world: World, request: pytest.FixtureRequest) -> None:
    for _ in range(RUNS[request.config.getoption("tier")]):
        pick = world.random.choice
        agent, user, session = pick(AGENTS), pick(USERS), pick(SESSIONS)
        place = Place(world, agent, user, f"{session} of {'/'.join(user)} {USERS.index(user)}")
        await pick(ACTS)(place)
    assert world.seen > 10, "long-term memory was in the prompts"
