"""A full disk refuses writes with a typed error and keeps everything it took."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import wmem

if TYPE_CHECKING:
    from tests.faults.conftest import Script

FILLER = """
    import asyncio, json, resource, signal, sys
    import wmem
    url, mode = sys.argv[1], sys.argv[2]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
    memory = wmem.open(url, agent_id="agent")
    session = memory.scope("session")
    session.entries.set("before", 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    acknowledged, refused = [], []

    def tries(number):
        message = {"role": "user", "content": "x" * 5_000, "id": f"m{number}"}
        yield f"m{number}", lambda scope: scope.messages.append(message)
        yield f"e{number}", lambda scope: scope.entries.set(f"e{number}", "y" * 5_000)
        yield f"u{number}", lambda scope: scope.entries.update(f"u{number}", lambda value: value + 1, 0)
        yield f"i{number}", lambda scope: scope.items.add(f"i{number}", ttl_s=None)

    async def fill():
        for number in range(400):
            for name, act in tries(number):
                try:
                    if mode == "sync":
                        act(session)
                    else:
                        await act(session.aio())
                except wmem.StoreError as exc:
                    refused.append((name, str(exc)))
                else:
                    acknowledged.append(name)
            if len(refused) > 12:
                break
        # Reading goes on while nothing can be written.
        assert session.entries.get("before") == 1
        assert session.messages.count() == sum(name[0] == "m" for name in acknowledged)

    asyncio.run(fill())
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for name, act in tries("after"):
        act(session)
        acknowledged.append(name)
    memory.close()
    print(json.dumps([acknowledged, refused]))
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_full_disk_is_a_typed_error_and_loses_nothing_and_works_again_with_room(
    mode: str, url: str, directory: Path, script: "Script"
) -> None:
    acknowledged, refused = json.loads(script(FILLER, url, mode))
    assert len(refused) > 3, "the disk was never full"
    assert all(str(directory) in told for _, told in refused)
    with wmem.open(url, agent_id="agent") as memory:
        session = memory.scope("session")
        names = {message.id for message in session.messages.all()}
        names |= set(session.entries.keys())
        names |= {item.content for item in session.items.all()}
        assert session.messages.count() == len({message.id for message in session.messages.all()})
        assert names == {*acknowledged, "before"}, "what was refused is not there, what was acknowledged is"
        assert session.entries.get("uafter") == 1
        assert not session.pack(budget=500).warnings


def test_a_disk_that_is_full_at_the_start_is_a_typed_error(url: str, script: "Script") -> None:
    code = """
        import resource, signal, sys, wmem
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
        try:
            wmem.open(sys.argv[1], agent_id="agent").scope("s").entries.set("k", 1)
        except wmem.StoreError:
            pass
        else:
            raise SystemExit("it was written to a full disk")
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        memory = wmem.open(sys.argv[1], agent_id="agent")
        memory.scope("s").entries.set("k", 2)
        assert memory.scope("s").entries.get("k") == 2
        memory.close()
    """
    script(code, url)
