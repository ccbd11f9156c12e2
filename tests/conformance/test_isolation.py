"""Nothing foreign in any prompt: of random agents, users and sessions, ten thousand in all, each sees its own alone."""

import random
import re
from collections import defaultdict

import pytest

import wmem
from wmem import Policy
from wmem.tokens.estimate import EstimateCounter

_NAMES = ("a", "A", "ab", "a/b", "a%2Fb", "a b", "ä", "b", "b/a", "user", "semantic", "1", "11", "x~semantic")
_SECRET = re.compile(r"secret-[0-9]+")
_QUESTION = "What is the code of the vault?"
_RANDOM = random.Random(13)
_ROUNDS_OF_A_STORE = 500
_STORES = {"fast": 1, "ci": 6, "full": 20}


def _name() -> str:
    return f"{_RANDOM.choice(_NAMES)}{_RANDOM.choice(('', '', _RANDOM.randrange(40)))}"


class _Secrets:
    """Numbered secrets, and who may see each: an agent, one of its users, or one of a user's sessions."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self.said: dict[tuple[str, ...], set[str]] = defaultdict(set)
        """Those that are in a session's messages alone."""
        self._count = 0

    def text(self, *owner: str) -> str:
        self._count += 1
        self.of[owner].add(self.latest)
        return f"The code of the vault is {self.latest}."

    @property
    def latest(self) -> str:
        return f"secret-{self._count}"

    def visible(self, agent: str, user: str, session: str) -> set[str]:
        return self.of[agent,] | self.of[agent, user] | self.of[agent, user, session]


def test_nothing_foreign_is_in_any_prompt(request: pytest.FixtureRequest) -> None:
    for store in range(_STORES[request.config.getoption("tier")]):
        _play(store)


def _play(store: int) -> None:
    """Let random agents, users and sessions of one store remember secrets, and look for others' in each prompt."""
    secrets = _Secrets()
    memories: dict[str, wmem.AgentMemory] = {}
    own = 0
    for number in range(_ROUNDS_OF_A_STORE):
        agent, user, session = _name(), _name(), _name()
        if agent not in memories:
            url = f"memory://isolation-{store}"
            memories[agent] = wmem.open(url, agent_id=agent, counter=EstimateCounter())
        memory = memories[agent]
        # What is learned in a user's session is the user's: the policy of the session names that scope.
        policy = Policy(long_term=((user,),))
        scope, turn = memory.scope(user, session, policy=policy), memory.turn(user, session, policy=policy)
        match number % 5:
            case 0:
                # Once its session is closed, what was said is remembered in the user's others, too.
                closes = number % 2
                owner = (agent, user) if closes else (agent, user, session)
                turn.memorize({"role": "user", "content": secrets.text(*owner)})
                if closes:
                    secrets.of[agent, user] |= secrets.said[agent, user, session]
                    memory.types.session(user, session)["conversation"].close()
                else:
                    secrets.said[agent, user, session] |= {secrets.latest}
            case 1:
                turn.memorize({"content": secrets.text(agent, user, session), "type": "thought"})
            case 2:
                turn.track_tool_invocation("open_vault", {}, secrets.text(agent, user))
            case 3:
                scope.items.promote(scope.items.add(secrets.text(agent, user), type="fact").id)
            case _:
                memory.memorize({"content": secrets.text(agent), "type": "fact"})
        if number % 3:
            continue
        if number % 2:
            prompt = turn.assemble_context(_QUESTION, 500).text
        else:
            prompt = str(scope.pack(_QUESTION, budget=500).to_openai())
        found = set(_SECRET.findall(prompt))
        assert found <= secrets.visible(agent, user, session), (agent, user, session)
        own += len(found)
    for memory in memories.values():
        memory.close()
    assert own > _ROUNDS_OF_A_STORE // 3  # they do see their own
