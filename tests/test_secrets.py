"""A password or key in a URL is shown nowhere: not in errors, logs, reprs, copies, pickles or serialised adapters."""

import asyncio
import base64
import copy
import json
import pickle
import socketserver
import threading
from collections.abc import Callable
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any

import pytest
from langchain_core.load import dumpd, dumps

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware
from llamaindex_wmem import WmemMemory
from tests.leaks import find_marks, texts_of, watch
from tests.servers import RedisServer
from wmem.adapter import LazyMemory

PASSWORD = "hunter2"
MARKS = (PASSWORD, "hunter%32", "hunter%2F2", "hunter/2")
UNREACHABLE = "127.0.0.1:1"  # nobody listens
URLS = [
    f"{scheme}://{rest}"
    for scheme in ("redis", "valkey", "redis+sentinel")
    for rest in (
        f":{PASSWORD}@{UNREACHABLE}",
        f"me:{PASSWORD}@{UNREACHABLE}/0",
        f"me:hunter%32@{UNREACHABLE}/0",
        f"me:hunter%2F2@{UNREACHABLE}/0",
        f"me:hunter/2@{UNREACHABLE}/0",
        f"me:hunter2\u2100@{UNREACHABLE}/0",
        f"me@{UNREACHABLE}:{PASSWORD}/0",
        f"{UNREACHABLE}?password={PASSWORD}",
        f"{UNREACHABLE}?username=me&password={PASSWORD}&socket_timeout=1",
        f"{UNREACHABLE}?passwd={PASSWORD}",
        f"{UNREACHABLE}?ssl_keyfile_password={PASSWORD}",
        f"{UNREACHABLE}?cluster={PASSWORD}",
        f"{UNREACHABLE}?cluster=true&password={PASSWORD}",
        f":{PASSWORD}@{UNREACHABLE},{UNREACHABLE}/mymaster/0",
        f":{PASSWORD}@{UNREACHABLE}/mymaster?sentinel_password={PASSWORD}",
        f":{PASSWORD}@{UNREACHABLE}/0#{PASSWORD}",
        f":{PASSWORD}@{UNREACHABLE}/0?socket_timeout=soon",
    )
]
URLS += [
    f"unix://:{PASSWORD}@/run/absent.sock",
    f"unix:///run/absent.sock?password={PASSWORD}",
    f"unix://?password={PASSWORD}",
    f"sqlite:///tmp/absent.db?key={PASSWORD}",
    f"sqlite://me:{PASSWORD}@host/tmp/absent.db",
    f"disk:///tmp/absent?password={PASSWORD}",
    f"disk://me:{PASSWORD}@host/absent",
    f"redis:{PASSWORD}@{UNREACHABLE}",
    f"me:{PASSWORD}@{UNREACHABLE}",
]

OPENERS: dict[str, Callable[[str], Any]] = {
    "wmem.open": lambda url: wmem.open(url, agent_id="a"),
    "LazyMemory": lambda url: LazyMemory(url, "a"),
    "LazyMemory without agent": lambda url: LazyMemory(url, None),
    "history": lambda url: WmemChatMessageHistory("s", url=url, agent_id="a"),
    "middleware": lambda url: WmemMiddleware(url, budget=500, agent_id="a"),
    "WmemMemory": lambda url: WmemMemory(url=url, agent_id="a", session_id="s"),
    "WmemMemory.from_defaults": lambda url: WmemMemory.from_defaults(url=url, agent_id="a", session_id="s"),
    "WmemMemory.from_dict": lambda url: WmemMemory.from_dict({"url": url, "agent_id": "a", "session_id": "s"}),
}


def show(made: Any) -> list[str]:
    """Everything that one of our objects says of itself, or writes."""
    ways: list[Callable[[Any], object]] = [repr, str, vars, pickle.dumps, copy.copy, dumps, dumpd, attrgetter("url")]
    ways += [methodcaller(name) for name in ("to_dict", "to_json", "model_dump", "model_dump_json", "model_copy")]
    texts: list[str] = []
    for way in ways:
        try:
            texts += texts_of(way(made))
        except Exception as exc:  # noqa: BLE001  # what an object has no form of is refused, without the secret
            texts += texts_of(exc)
    return texts


@pytest.mark.parametrize("opener", OPENERS)
def test_no_url_shows_its_password_in_errors_logs_or_objects(opener: str) -> None:
    with watch() as watching:
        for url in URLS:
            made = watching.run(partial(OPENERS[opener], url))
            if made is not None:
                watching.texts += show(made)
                for use in (methodcaller("get_all"), methodcaller("memory"), attrgetter("messages")):
                    watching.run(partial(use, made))
    assert find_marks(watching.texts, MARKS) == []
    assert watching.errors


@pytest.fixture
def locked(new_server: Any) -> RedisServer:
    """A server that wants a password."""
    server: RedisServer = new_server()
    with server.client() as client:
        client.config_set("requirepass", PASSWORD)
    return server


def test_what_is_open_on_a_locked_server_shows_no_password_and_its_copies_work(locked: RedisServer) -> None:
    url = f"redis://:{PASSWORD}@127.0.0.1:{locked.port}"
    with watch() as watching, wmem.open(url, agent_id="a") as memory:
        theirs = WmemMemory.from_defaults(url=url, agent_id="a", session_id="s")
        late = WmemMemory(url=url, agent_id="a", session_id="s")
        history = WmemChatMessageHistory("s", url=url, agent_id="a")
        middleware = WmemMiddleware(url, budget=500, agent_id="a")
        scope = memory.scope("s")
        history.add_user_message("hello")
        for each in (memory, memory.scope("s"), scope.entries, memory._core.store, theirs, late, history, middleware):
            watching.texts += show(each)
        for twin in (copy.copy(theirs), copy.deepcopy(theirs), theirs.model_copy(deep=True), copy.deepcopy(late)):
            assert [message.content for message in twin.get_all()] == ["hello"]
            twin.close()
        late.close()
        theirs.close()
        history.close()
    assert find_marks(watching.texts, MARKS) == []


def test_a_serialised_memory_needs_its_password_again_and_says_so(locked: RedisServer) -> None:
    url = f"redis://:{PASSWORD}@127.0.0.1:{locked.port}"
    memory = WmemMemory.from_defaults(url=url, agent_id="a", session_id="s")
    text, pickled = json.dumps(memory.to_dict()), pickle.dumps(memory)
    assert PASSWORD not in text
    assert PASSWORD.encode() not in pickled
    memory.close()
    written = json.loads(text)
    for again in (WmemMemory.from_dict(written), pickle.loads(pickled)):
        with pytest.raises(wmem.InvalidInputError, match="pass the whole URL"):
            again.get_all()
    revived = WmemMemory.from_dict({**written, "url": url})
    assert isinstance(revived, WmemMemory)
    assert revived.get_all() == []
    assert PASSWORD not in revived.to_json() + repr(revived)
    revived.close()


def test_a_wrong_password_is_not_repeated(locked: RedisServer) -> None:
    with watch() as watching:
        for user in ("", "me", "default"):
            url = f"redis://{user}:{PASSWORD}wrong@127.0.0.1:{locked.port}"
            for protocol in ("", "?protocol=2", "?protocol=3"):
                watching.run(partial(wmem.open, url + protocol, agent_id="a"))
    assert len(watching.errors) == 9
    assert find_marks(watching.texts, MARKS) == []


KEY = bytes(range(128, 160))
KEY_TEXTS = [KEY.hex(), base64.b64encode(KEY).decode()]


def test_no_key_is_shown(tmp_path: Any) -> None:
    url = f"sqlite://{tmp_path}/s.db"
    with watch() as watching:
        keys: list[Any] = [KEY, *KEY_TEXTS]
        for key in keys:
            with wmem.open(url, agent_id="a", key=key) as memory:
                memory.scope("s").entries.set("k", 1)
                ring = wmem.KeyRing(key)
                for each in (memory, memory._core.store, memory._core.store.engine.codec, ring):
                    watching.texts += show(each)
                watching.run(partial(ring.without, KEY_TEXTS[0]))
                watching.run(partial(ring.without, KEY_TEXTS[1]))
        wrongs: list[Any] = [*KEY_TEXTS, *(text[:-1] for text in KEY_TEXTS), KEY[:-1], f"{PASSWORD} and more"]
        for wrong in wrongs:
            watching.run(partial(wmem.KeyRing, wrong, wrong))
            watching.run(partial(wmem.open, url, agent_id="a", key=wrong))
        other = wmem.open(url, agent_id="a", key=wmem.KeyRing.new_key())
        watching.run(partial(other.scope("s").entries.get, "k"))
        other.close()
    assert find_marks(watching.texts, (PASSWORD, *(text[:20] for text in KEY_TEXTS), repr(KEY)[2:30])) == []


class Repeating(socketserver.StreamRequestHandler):
    """A server too old for a command: its refusal repeats the arguments, as Redis does."""

    def handle(self) -> None:
        words: list[str] = []
        while line := self.rfile.readline():
            if not line.startswith((b"*", b"$")):
                words.append(line.strip().decode())
            told = " ".join(f"'{word}'" for word in words[1:])
            self.wfile.write(f"-ERR unknown command '{words[:1]}', with args beginning with: {told}\r\n".encode())


@pytest.mark.parametrize("protocol", ["", "?protocol=2", "?protocol=3"])
def test_a_server_that_repeats_what_it_refuses_is_not_repeated(protocol: str) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Repeating) as server, watch() as watching:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"redis://me:{PASSWORD}@127.0.0.1:{server.server_address[1]}{protocol}"
        watching.run(partial(wmem.open, url, agent_id="a"))
        watching.run(lambda: asyncio.run(wmem.aopen(url, agent_id="a")))
        server.shutdown()
        thread.join()
    assert [type(exc) for exc in watching.errors] == [wmem.StoreError] * 2
    assert find_marks(watching.texts, MARKS) == []
