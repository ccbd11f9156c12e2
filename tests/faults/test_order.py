"""The journal orders, never a clock; names and texts survive as they are."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem.errors import WmemError

if TYPE_CHECKING:
    from tests.faults.conftest import Rows


def _stores(url: str) -> tuple[str, str]:
    return url, f"memory://{url}"


def test_B46_events_of_one_instant_make_no_false_conflict(url: str) -> None:
    for store in _stores(url):
        with (
            wmem.open(store, agent_id="agent", clock=lambda: 1_700_000_000.0) as memory,
            wmem.open(store, agent_id="agent", clock=lambda: 1_600_000_000.0) as behind,
        ):
            for number in range(20):
                for each in (memory, behind):
                    each.scope("s").entries.update("count", lambda count: count + 1, 0)
                    each.scope("s").entries.set("last", number)
            assert memory.scope("s").entries.get("count") == 40
            assert memory.scope("s").entries.get("last") == 19


def test_B107_a_frozen_clock_keeps_the_order_of_insertion(url: str) -> None:
    for store in _stores(url):
        with wmem.open(store, agent_id="agent", clock=lambda: 1_700_000_000.0) as memory:
            for number in range(200):
                memory.scope("s").messages.append({"role": "user", "content": str(number)})
                memory.scope("s").items.add(str(number))
        with wmem.open(store, agent_id="agent", clock=lambda: 1_700_000_000.0) as memory:
            assert [int(message.text) for message in memory.scope("s").messages.all()] == list(range(200))
            assert [int(item.content) for item in memory.scope("s").items.all()] == list(range(200))


async def test_B107_rapid_awaits_keep_the_order_of_insertion(url: str) -> None:
    for store in _stores(url):
        async with await wmem.aopen(store, agent_id="agent", clock=lambda: 1_700_000_000.0) as memory:
            for number in range(200):
                await memory.scope("s").messages.append({"role": "user", "content": str(number)})
                await asyncio.sleep(0)
            assert [int(message.text) for message in await memory.scope("s").messages.all()] == list(range(200))


NAMES = [
    "../../x",
    "/etc/passwd",
    "a:b",
    "CON",
    "a/b",
    "dot.",
    "dot",
    "case",
    "CASE",
    "..",
    "a\\b",
    '["agent"]',
    "%2e",
    "\u00e9",
    "e\u0301",
]


def test_B26_names_stay_inside_the_directory_and_share_nothing(directory: Path, url: str, rows: "Rows") -> None:
    around = sorted(directory.parent.rglob("*"))
    with wmem.open(url, agent_id="agent") as memory:
        for name in NAMES:
            memory.scope(name).entries.set(name, name)
    with wmem.open(url, agent_id="agent") as memory:
        for name in NAMES:
            assert memory.scope(name).entries.keys() == [name]
        assert memory.scope().children() == sorted(NAMES)
    outside = {path for path in directory.parent.rglob("*") if directory not in (path, *path.parents)}
    assert outside == set(around)
    assert {path.name for path in directory.rglob("*")} <= {rows.file.name + end for end in ("", "-wal", "-shm")}


segments = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=8),
        st.text('"[],/:\\.~ab\u0301\u00e9', min_size=1, max_size=4),
        st.sampled_from(NAMES),
    ),
    min_size=1,
    max_size=3,
)


@examples(0.6)
@given(paths=st.lists(segments, min_size=1, max_size=4))
def test_B25_every_path_is_its_own_scope_and_comes_back_as_it_was(
    paths: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.getbasetemp() / "B25"
    for store in (f"disk://{place}", f"sqlite://{place}.db", "memory://B25"):
        with wmem.open(store, agent_id="agent") as memory:
            born = set()
            for path in paths:
                try:
                    scope = memory.scope(*path)
                    scope.entries.set("path", path)
                except WmemError:
                    continue  # blank, reserved, or control characters
                born.add(tuple(path))
                assert scope.path == ("agent", *path)
            for names in born:
                assert memory.scope(*names).entries.local.get("path") == list(names)
            # What an earlier example left behind may be there too.
            assert {("agent", *names) for names in born} <= set(memory.changes().cursors)


def test_B81_a_locale_that_is_no_utf8_changes_no_byte(url: str) -> None:
    text = "\u041f\u0440\u0438\u0432\u0435\u0442, \u4e16\u754c \U0001f98a na\u00efve"
    code = f"""if True:
        import locale, wmem
        assert locale.getpreferredencoding(False).lower() not in ("utf-8", "utf8"), "not the locale it was given"
        with wmem.open({url!r}, agent_id={text!a}) as memory:
            session = memory.scope({text!a})
            session.messages.append({{"role": "user", "content": {text!a}}})
            session.entries.set({text!a}, {text!a})
            assert session.messages.all()[0].text == {text!a}
    """
    # ASCII stands for every locale that is not UTF-8: what cp1252 would garble, it refuses.
    env = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env, timeout=300)
    with wmem.open(url, agent_id=text) as memory:
        assert memory.scope(text).messages.all()[0].text == text
        assert memory.scope(text).entries.get(text) == text
