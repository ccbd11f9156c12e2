"""No memory type shows a user or an agent what is another's, whatever was written where."""

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem import ItemDraft, Policy

NAMES = ("working", "conversation", "episodic", "semantic")


class Write(NamedTuple):
    """One write of a session of a user of an agent; `user` is "" for a session of no user."""

    agent: str
    user: str
    session: str
    name: str
    closes: bool


WRITES = st.lists(
    st.builds(
        Write,
        agent=st.sampled_from(["x", "y"]),
        user=st.sampled_from(["", "ann", "bob"]),
        session=st.sampled_from(["1", "2"]),
        name=st.sampled_from(NAMES),
        closes=st.booleans(),
    ),
    max_size=8,
)


def open_types(memory: wmem.AgentMemory, user: str, session: str) -> Any:
    policy = Policy.session(long_term=[("users", user)] if user else [])
    return memory.types.session(f"{user or 'nobody'}-{session}", policy=policy)


@examples(0.3)
@given(writes=WRITES)
def test_each_session_remembers_its_own_and_what_its_user_shares(writes: list[Write]) -> None:
    memories = {agent: wmem.open("memory://shared-types", agent_id=agent) for agent in ("x", "y")}
    try:
        texts: dict[Write, list[str]] = {}
        closed: set[tuple[str, str, str]] = set()
        for number, write in enumerate(writes):
            types = open_types(memories[write.agent], write.user, write.session)
            text = f"parcel {number}"
            types[write.name].memorize(ItemDraft(text, fields={"type": "user_message"}))
            texts.setdefault(write._replace(closes=False), []).append(text)
            if write.closes:
                types["conversation"].close()
                closed.add(write[:3])
        for agent, memory in memories.items():
            for user in ("", "ann", "bob"):
                for session in ("1", "2"):
                    types = open_types(memory, user, session)
                    for name in NAMES:
                        for query in ("", "parcel"):
                            seen = {each.item.content for each in types[name].remember(query, limit=99)}
                            assert seen <= allowed(texts, closed, (agent, user, session), name)
                            assert seen >= {
                                text
                                for write, own in texts.items()
                                for text in own
                                if write[:4] == (agent, user, session, name)
                            }
    finally:
        for memory in memories.values():
            memory.erase_all()
            memory.close()


def allowed(
    texts: dict[Write, list[str]], closed: set[tuple[str, str, str]], asker: tuple[str, str, str], name: str
) -> set[str]:
    """What a session may see: its own, what its user's long-term memory holds, and his closed sessions."""
    seen: set[str] = set()
    for write, own in texts.items():
        is_shared = name in ("episodic", "semantic") or (name == "conversation" and write[:3] in closed)
        shares = write[:2] == asker[:2] and is_shared
        if write.name == name and (write[:3] == asker or shares):
            seen.update(own)
    return seen
