"""URLs, passwords and clients: what wmem makes it closes, what the caller owns it leaves alone."""

import asyncio
import ipaddress
import logging
import pickle
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
import redis.asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import wmem
from tests.logs import own_records
from tests.matrix import SERVERS
from tests.proxy import Proxy
from tests.servers import RedisServer, wait_until
from wmem.errors import InvalidInputError, StoreError
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import Cursor
from wmem.testing import Call

pytestmark = pytest.mark.backends(*SERVERS)

PASSWORD = "p:w @/#%"
QUOTED = "p%3Aw%20%40%2F%23%25"


# -- URLs


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("redis://", "redis://localhost:6379/0"),
        ("redis://HOST", "redis://host:6379/0"),
        ("redis://host:6379/?db=3", "redis://host:6379/3"),
        ("rediss://[::1]:1/2?ssl_check_hostname=no", "rediss://[::1]:1/2?ssl_check_hostname=no"),
        (f"redis://user:{QUOTED}@host", "redis://user:***@host:6379/0"),
        (f"redis://:{QUOTED}@host", "redis://:***@host:6379/0"),
        (f"redis://host?password={QUOTED}", "redis://:***@host:6379/0"),
        (f"unix:///run/my%20redis.sock?password={QUOTED}", "unix://:***@/run/my%20redis.sock?db=0"),
        ("redis://host?pasword=hush", "redis://host:6379/0?pasword=***"),
        (
            "rediss://host?ssl_password=hush&ssl_cert_reqs=none",
            "rediss://host:6379/0?ssl_cert_reqs=none&ssl_password=***",
        ),
        ("redis://host?cluster=true", "redis://host:6379/?cluster=true"),
    ],
)
def test_a_store_has_one_spelling_and_shows_no_password(told: str, shown: str) -> None:
    name = parse_redis_url(told)
    assert (str(name), repr(name)) == (shown, repr(shown))
    assert parse_redis_url(name) is name
    assert PASSWORD not in f"{name!s}{name!r}{pickle.dumps(name)!r}"
    assert (QUOTED in told) == (PASSWORD in _driver_password(name.driver_url))


def _driver_password(url: str) -> str:
    parse: Any = redis.connection.parse_url
    return str(parse(url).get("password", ""))


@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:{QUOTED}@host:port",
        f"redis://:{QUOTED}@host/sixteen",
        f"redis://:{QUOTED}@host/1?cluster=true",
        f"redis://:{QUOTED}@host?cluster=perhaps",
        f"redis://:{QUOTED}@host?decode_responses=true",
        f"redis://:{QUOTED}@host#fragment",
        f"redis://:{QUOTED}@host?nonsense",
        f"unix://?password={QUOTED}",
        f"unix://run/redis.sock?password={QUOTED}",
    ],
)
def test_a_url_that_names_no_server_is_refused_without_repeating_its_password(url: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        wmem.open(url, agent_id="agent")
    told = repr(refused.getrepr())
    assert QUOTED not in str(refused.value)
    assert PASSWORD not in told


def test_an_option_that_the_driver_does_not_know_is_refused(valkey_url: str) -> None:
    with pytest.raises(InvalidInputError, match="nonsense"):
        wmem.open(f"{valkey_url}?nonsense=1", agent_id="agent")


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
@pytest.mark.parametrize("mark", ["/", "?", "#", "\u2100", "["])
@pytest.mark.parametrize("place", ["hush{}hush", "{}hush", "12{}hush", "hush{}"])
def test_a_password_that_is_not_quoted_is_refused_without_repeating_any_of_it(
    scheme: str, mark: str, place: str
) -> None:
    with pytest.raises(InvalidInputError, match="in a password write") as refused:
        wmem.open(f"{scheme}://user:{place.format(mark)}@host:6379/0", agent_id="agent")
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("option", ["socket_timeout=soon", "max_connections=few", "cluster=true&socket_timeout=soon"])
def test_an_option_with_a_value_that_it_cannot_have_is_refused(option: str, mode: str) -> None:
    kind = RedisJournal if mode == "sync" else AsyncRedisJournal
    with pytest.raises(InvalidInputError, match=option.rpartition("&")[2].partition("=")[0]):
        kind(f"redis://localhost?{option}")


def test_an_option_of_the_drivers_pool_is_taken_in_both_modes(valkey_url: str, call: Call, mode: str) -> None:
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory: Any = call(opener, f"{valkey_url}?max_connections=3", agent_id="agent")
    call(memory.scope("session").entries.set, "k", 1)
    assert call(memory.scope("session").entries.get, "k") == 1
    call(memory.close)


# -- passwords


@pytest.fixture
def locked(new_server: Any) -> RedisServer:
    """A server that wants a password."""
    server: RedisServer = new_server()
    with server.client() as client:
        client.config_set("requirepass", PASSWORD)
    return server


def test_a_url_opens_the_store_again_without_showing_the_password(locked: RedisServer) -> None:
    url = f"redis://:{QUOTED}@127.0.0.1:{locked.port}"
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("session").entries.set("key", "value")
        assert memory.url == f"redis://:***@127.0.0.1:{locked.port}/0"
        assert PASSWORD not in repr(memory)
        again = memory.url
    with wmem.open(again, agent_id="agent") as memory:
        assert memory.scope("session").entries.get("key") == "value"


def test_a_refusal_is_certain_only_where_no_driver_may_have_repeated_the_call(
    client: Any, mode: str, call: Call, server_url: str
) -> None:
    kind: Any = RedisJournal if mode == "sync" else AsyncRedisJournal
    theirs = kind(server_url, client=client)
    assert call(theirs.append, ("agent",), 1, b"1", Cursor(1, 1), None).certain is False
    ours = kind(server_url)
    refused = call(ours.append, ("agent",), 1, b"1", Cursor(1, 1), None)
    assert (refused.cursor, refused.certain) == (None, "cluster" not in server_url)
    call(ours.close if mode == "sync" else ours.aclose)


@pytest.mark.parametrize("user", ["", ":wrong@"])
def test_whoever_lacks_the_password_is_told_so_and_shares_no_store(user: str, locked: RedisServer) -> None:
    with wmem.open(f"redis://:{QUOTED}@127.0.0.1:{locked.port}", agent_id="agent") as memory:
        memory.scope("session").entries.set("key", "value")
        with pytest.raises(StoreError, match="refused") as refused:
            wmem.open(f"redis://{user}127.0.0.1:{locked.port}", agent_id="agent")
        assert "wrong@" not in str(refused.value)


# -- unix sockets


def test_a_unix_socket_is_a_store(new_server: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("s") / "a b.sock"
    new_server("--unixsocket", str(place))
    url = f"unix://{str(place).replace(' ', '%20')}"
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("session").entries.set("key", "value")

    async def main() -> Any:
        async with await wmem.aopen(url, agent_id="agent") as memory:
            return await memory.scope("session").entries.get("key")

    assert asyncio.run(main()) == "value"


# -- TLS


def _certified(place: Path) -> ssl.SSLContext:
    """A certificate for loopback, signed by itself, in `place`; and a server that presents it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    unsigned = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    unsigned = unsigned.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    unsigned = unsigned.add_extension(address, critical=False)
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    place.write_bytes(unsigned.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    secret = place.with_suffix(".key")
    plain = serialization.NoEncryption()
    kind = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, kind, plain))
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(place, secret)
    return made


def test_tls_is_spoken_with_a_server_that_is_certified_and_no_other(
    valkey_server: RedisServer, valkey_url: str, tmp_path: Path, call: Call, mode: str
) -> None:
    with Proxy(valkey_server.port, _certified(tmp_path / "ca.pem")) as proxy:
        place = proxy.url(valkey_url).replace("redis://", "rediss://")
        opener: Any = wmem.open if mode == "sync" else wmem.aopen
        memory = call(opener, f"{place}?ssl_ca_certs={quote(str(tmp_path / 'ca.pem'))}", agent_id="agent")
        call(memory.scope("session").entries.set, "key", "value")
        assert call(memory.scope("session").entries.get, "key") == "value"
        call(memory.close)
        with pytest.raises(StoreError, match="certificate"):
            call(opener, place, agent_id="agent")


# -- clients


def _client(url: str, mode: str, **options: Any) -> Any:
    name = parse_redis_url(url)
    module: Any = redis if mode == "sync" else redis.asyncio
    return (module.RedisCluster if name.is_cluster else module.Redis).from_url(name.driver_url, **options)


@pytest.fixture(params=["bytes", "text", "text, protocol 3"])
def client(request: pytest.FixtureRequest, server_url: str, mode: str, call: Call) -> Iterator[Any]:
    """A caller's own client of either mode, for bytes or text."""
    options = {"decode_responses": request.param != "bytes"} | ({"protocol": 3} if "3" in request.param else {})
    made = _client(server_url, mode, **options)
    yield made
    call(made.close if mode == "sync" else made.aclose)


def test_B108_bytes_and_text_clients_see_the_same(client: Any, mode: str, call: Call, server_url: str) -> None:
    opener: Any = wmem.open if mode == "sync" else wmem.aopen
    memory = call(opener, server_url, agent_id="agent", client=client, key=wmem.KeyRing(b"\x00" * 32))
    messages = memory.scope("session").messages
    first, middle, last = [call(messages.append, {"role": "user", "content": text}) for text in "abc"]
    call(messages.remove, middle.id)
    assert [message.text for message in call(messages.all)] == ["a", "c"]
    call(messages.remove, first.id)
    call(messages.remove, last.id)
    assert call(messages.all) == []
    call(memory.close)
    assert call(client.ping), "the caller's client was closed"


def test_a_client_of_the_other_mode_is_refused_with_what_to_do(valkey_url: str, call: Call, mode: str) -> None:
    other, opener = ("async", wmem.open) if mode == "sync" else ("sync", wmem.aopen)
    made = _client(valkey_url, other)

    def use() -> None:
        memory: Any = call(opener, valkey_url, agent_id="agent", client=made)
        try:
            call(memory.scope("session").messages.all)
        finally:
            call(memory.close)

    with pytest.raises(InvalidInputError, match=r"use wmem\.a?open"):
        use()
    made.connection_pool.reset()  # it was never used


@pytest.mark.parametrize("client", ["redis", 5, object()])
def test_what_is_no_client_is_refused(client: object, valkey_url: str) -> None:
    with pytest.raises(InvalidInputError, match="client must be"):
        wmem.open(valkey_url, agent_id="agent", client=client)
    with pytest.raises(InvalidInputError, match="client must be"):
        AsyncRedisJournal(valkey_url, client=client)


def test_a_client_of_coroutines_in_another_loop_is_an_error_and_no_empty_answer(valkey_url: str) -> None:
    async def first() -> redis.asyncio.Redis:
        client = redis.asyncio.Redis.from_url(valkey_url)
        await AsyncRedisJournal(valkey_url, client=client).append(("a",), 1, b"1", None, None)
        return client

    async def second(client: redis.asyncio.Redis) -> Any:
        try:
            return await AsyncRedisJournal(valkey_url, client=client).read({("a",): (0, 0)})  # type: ignore[dict-item]
        except StoreError:
            return "refused"

    with asyncio.Runner() as loop:
        client = loop.run(first())
        with asyncio.Runner() as other:
            answer = other.run(second(client))
        assert answer == "refused" or answer[("a",)].records
        loop.run(client.aclose())


def test_connections_that_wmem_made_are_closed_with_it(new_server: Any) -> None:
    server: RedisServer = new_server()

    async def main() -> None:
        async with await wmem.aopen(server.url, agent_id="agent") as memory:
            await memory.scope("session").messages.append({"role": "user", "content": "hello"})
            assert _connected(server) > 1

    asyncio.run(main())
    with wmem.open(server.url, agent_id="agent") as memory:
        memory.scope("session").messages.append({"role": "user", "content": "hello"})
    assert _connected(server) == 1


def _connected(server: RedisServer) -> int:
    with server.client() as client:
        return len(client.client_list())


def test_closing_from_a_thread_closes_what_a_running_loop_holds(new_server: Any) -> None:
    server: RedisServer = new_server()

    async def main() -> None:
        memory = await wmem.aopen(server.url, agent_id="agent")
        await memory.scope("session").messages.append({"role": "user", "content": "hello"})
        await asyncio.to_thread(memory.sync().close)
        await asyncio.to_thread(wait_until, lambda: _connected(server) == 1, "the loop to close its connection")

    asyncio.run(main())


def test_closing_while_the_loop_stands_still_closes_with_the_loop(new_server: Any) -> None:
    server: RedisServer = new_server()
    with asyncio.Runner() as loop:
        memory = loop.run(wmem.aopen(server.url, agent_id="agent"))
        loop.run(memory.scope("session").messages.append({"role": "user", "content": "hello"}))
        memory.sync().close()
    assert _connected(server) == 1


# -- what a server is told about itself


def test_a_server_that_evicts_is_warned_of_once(new_server: Any, caplog: pytest.LogCaptureFixture) -> None:
    server: RedisServer = new_server("--maxmemory-policy", "allkeys-lru")
    with caplog.at_level(logging.WARNING, "wmem"), wmem.open(server.url, agent_id="agent") as memory:
        memory.scope("session").entries.set("key", "value")
        memory.scope("session").entries.get("key")
    (record,) = [each for each in caplog.records if "maxmemory-policy" in each.getMessage()]
    assert "'noeviction'" in record.getMessage()


def test_a_server_that_persists_nothing_is_warned_of(new_server: Any, caplog: pytest.LogCaptureFixture) -> None:
    for options, warned in (((), 1), (("--appendonly", "yes"), 0), (("--save", "3600 1"), 0)):
        caplog.clear()
        server: RedisServer = new_server(*options)
        with caplog.at_level(logging.WARNING, "wmem"), wmem.open(server.url, agent_id="agent") as memory:
            memory.scope("session").entries.set("key", "value")
        assert len([each for each in caplog.records if "persists nothing" in each.getMessage()]) == warned


@pytest.mark.slow
def test_a_cluster_that_is_opened_as_one_server_names_the_remedy(
    redis_cluster: list[RedisServer], mode: str, call: Call
) -> None:
    url = redis_cluster[0].url
    with pytest.raises(StoreError, match=r"cluster=true"):
        call(wmem.open if mode == "sync" else wmem.aopen, url, agent_id="agent")
    journal: Any = RedisJournal(url) if mode == "sync" else AsyncRedisJournal(url)

    def use() -> None:
        for number in range(8):  # some agent is on another node
            call(journal.append, (f"agent-{number}",), 1, b"1", None, None)

    with pytest.raises(StoreError, match=r"cluster=true"):
        use()
    call(journal.close if mode == "sync" else journal.aclose)


def test_one_server_that_is_opened_as_a_cluster_names_the_remedy(
    valkey_server: RedisServer, mode: str, call: Call
) -> None:
    url = f"redis://127.0.0.1:{valkey_server.port}?cluster=true"
    with pytest.raises(StoreError, match=r"without '\?cluster=true'"):
        call(wmem.open if mode == "sync" else wmem.aopen, url, agent_id="agent")
    journal: Any = RedisJournal(url) if mode == "sync" else AsyncRedisJournal(url)
    with pytest.raises(StoreError, match=r"without '\?cluster=true'"):
        call(journal.append, ("agent",), 1, b"1", None, None)
    call(journal.close if mode == "sync" else journal.aclose)


def test_a_user_who_may_not_ask_for_settings_can_use_the_store(
    new_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server: RedisServer = new_server()
    rights = (
        "on",
        ">secret",
        "~wmem:*",
        "+@scripting",
        "+@read",
        "+@write",
        "+ping",
        "+time",
        "-@dangerous",
        "-@admin",
    )
    with server.client() as made:
        client: Any = made
        client.execute_command("ACL", "SETUSER", "agent", *rights)
    url = f"redis://agent:secret@127.0.0.1:{server.port}"
    with caplog.at_level(logging.INFO, "wmem.journal"), wmem.open(url, agent_id="agent") as memory:
        memory.scope("session").entries.set("key", "value")
        assert memory.scope("session").entries.get("key") == "value"
        assert memory.scope().children() == ["session"]
    journal = RedisJournal(url)
    (sentence,) = journal.purge(("agent",))
    assert "BGREWRITEAOF" in sentence
    journal.close()
    assert own_records(caplog) == []
