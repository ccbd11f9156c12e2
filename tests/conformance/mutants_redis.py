"""Faults in the journals of a Redis server: its scripts, what both clients have in common, and each client."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
import redis

from tests.conformance.mutants import Mutant, MutantSuite
from tests.servers import RedisServer, wait_until
from wmem.testing.journal.client import PATH, JournalClient
from wmem.testing.journal.erase import SECRET
from wmem.testing.store_bytes import read_store_bytes

__all__ = [
    "ASYNC_CLIENT",
    "PURGE",
    "SCRIPTS",
    "SYNC_CLIENT",
    "AsyncRedisFileMutantSuite",
    "AsyncRedisMutantSuite",
    "RedisFileMutantSuite",
    "RedisMutantSuite",
]

_script = partial(Mutant, "wmem.journal.redis_scripts")
_journal = partial(Mutant, "wmem.journal.redis_flows")
_client = partial(Mutant, "wmem.journal.redis_client")
_async_client = partial(Mutant, "wmem.journal.redis_async")
_server = partial(Mutant, "wmem.journal.redis_server")


class RedisMutantSuite(MutantSuite):
    modules: ClassVar[Sequence[str]] = (
        "wmem.journal.redis_scripts",
        "wmem.journal.redis_client",
        "wmem.journal.redis_async",
        "wmem.journal.redis_roots",
        "wmem.journal.redis_server",
        "wmem.journal.redis_flows",
        "wmem.journal.redis",
    )
    kind = "RedisJournal"

    @pytest.fixture
    def place(self, valkey_url: str) -> str:
        return valkey_url

    def test_a_chain_is_of_the_records_before_it(self, client: JournalClient, place: str) -> None:
        client.append_many(PATH, b"both")
        with redis.Redis.from_url(place) as server:
            backup = {key: server.dump(key) for key in server.scan_iter()}
            (lost,) = client.append_many(PATH, b"lost with the server that was restored")
            for key, dump in backup.items():
                server.restore(key, 0, dump, replace=True)
        client.append_many(PATH, b"written instead")
        assert not client.read(PATH, lost).joined


class AsyncRedisMutantSuite(RedisMutantSuite):
    modules = (*RedisMutantSuite.modules, "wmem.journal.redis_async_face")
    kind = "AsyncRedisJournal"


class RedisFileMutantSuite(RedisMutantSuite):
    """On a server that keeps an append-only file, whose bytes are the store's too."""

    @pytest.fixture
    def server(self, new_server: Callable[..., RedisServer]) -> RedisServer:
        return new_server("--appendonly", "yes")

    @pytest.fixture
    def place(self, server: RedisServer) -> str:
        return server.url

    @pytest.fixture
    def store_bytes(self, place: str, server: RedisServer) -> Callable[[], bytes]:
        def is_rewritten() -> bool:
            with server.client() as client:
                return not client.info("persistence")["aof_rewrite_in_progress"]

        def read() -> bytes:
            wait_until(is_rewritten, "the append-only file to be rewritten")
            files = [file for file in Path(server.directory).rglob("*") if file.is_file()]
            return read_store_bytes(place) + b"\n".join(file.read_bytes() for file in files)

        return read

    def check_purged(self, client: JournalClient, store_bytes: Callable[[], bytes]) -> None:
        (says_where,) = client.purge(PATH)
        assert "being rewritten" in says_where
        assert SECRET not in store_bytes()


class AsyncRedisFileMutantSuite(RedisFileMutantSuite):
    modules = (*RedisMutantSuite.modules, "wmem.journal.redis_async_face")
    kind = "AsyncRedisJournal"


SCRIPTS: Mapping[str, Mutant] = {
    "LeavesTheStreamOfTheDeleted": _script(
        {"keys[#keys + 1] = streams .. paths[n]": ""},
        ("test_no_byte_of_a_deleted_journal_is_left",),
    ),
    "LeavesTheHashOfTheDeleted": _script(
        {"keys[#keys + 1] = hashes .. paths[n]": ""},
        ("test_no_byte_of_a_deleted_journal_is_left",),
    ),
    "ListsTheDeleted": _script(
        {"redis.call('ZREM', register, unpack(paths, first, last))": ""},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "RemembersTheDeletedIncarnation": _script(
        {"redis.call('HDEL', births, unpack(paths, first, last))": ""},
        ("test_an_append_in_a_life_that_is_over_begins_no_other",),
    ),
    "LeavesDescendants": _script(
        {"local paths = below(names, prefix)": "local paths = {}"},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "DeletesAnyIncarnation": _script(
        {"or birth) ~= wanted then": "or birth) == nil then"},
        ("test_a_deletion_that_means_another_life_deletes_nothing",),
    ),
    "TrimsInsteadOfWritingAnew": _script(
        {
            "redis.call('DEL', stream)\nlocal bytes": (
                "redis.call('XTRIM', stream, 'MINID', upto)\nredis.call('XDEL', stream, upto)\nlocal bytes"
            ),
            "  redis.call('XADD', stream, entry[1], unpack(entry[2]))\n": "",
        },
        ("test_no_byte_of_compacted_records_is_left",),
    ),
    "ForgetsTheBase": _script(
        {"'base', upto, 'snap'": "'snap'"},
        ("test_a_snapshot_takes_the_place_of_the_records_up_to_it",),
    ),
    "CompactsAgain": _script(
        {"version(upto) <= version(known[2]) or not": "not"},
        ("test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer",),
    ),
    "CountsCompactedBytes": _script(
        {"'snap', snapshot, 'bytes', decimal(bytes))": "'snap', snapshot)"},
        ("test_the_bytes_of_the_tail_are_those_after_the_snapshot",),
    ),
    "AppendsToAnyHead": _script(
        {"(kind == 'c' and wanted ~= head) or ": ""},
        ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    ),
    "AppendsInAnyIncarnation": _script(
        {"not (known and wanted == birth)": "not known"},
        ("test_an_append_in_another_life_is_refused_and_changes_nothing",),
    ),
    "BringsAllThatWasMissed": _script(
        {"version(known[1]) - version(base) > most)": "false)"},
        ("test_a_refusal_brings_so_many_records_and_no_more",),
    ),
    "ChainsWithoutTheRecordId": _script(
        {"redis.sha1hex(before .. ':' .. id)": "redis.sha1hex(before .. ':')"},
        ("test_a_chain_is_of_the_records_before_it",),
    ),
    "RoundsRecordIds": _script(
        {"'i', id, 'p', record)": "'i', decimal(tonumber(id)), 'p', record)"},
        ("test_a_record_id_may_take_63_bits[9223372036854775807]",),
    ),
    "ListsNoPrefix": _script(
        {"named[#named + 1] = ARGV[1] .. ']'": ""},
        ("test_a_prefix_means_whole_segments",),
    ),
    "ShortensRetention": _script(
        {
            "(ms == '' or fresh or tonumber(ms) > left)": "true",
            "math.max(tonumber(ms), left)": "tonumber(ms)",
        },
        ("test_what_is_kept_longer_outlives_a_shorter_wish",),
    ),
    "EndsWhatIsKeptForEver": _script(
        {"return left ~= -1 and (": "return ("},
        ("test_what_is_kept_for_ever_outlives_a_shorter_wish",),
    ),
    "KeepsNothingForEver": _script(
        {"redis.call('PERSIST', hash)": "", "redis.call('PERSIST', stream)": ""},
        ("test_a_longer_wish_outlives_a_shorter_one_before_it[None]",),
    ),
    "NeverLengthensRetention": _script(
        {"tonumber(ms) > left)": "false)"},
        ("test_a_longer_wish_outlives_a_shorter_one_before_it[3600.0]",),
    ),
    "ReadsPathByPath": _journal(
        {
            "    if not after:\n        return {}\n": (
                "    if len(after) != 1:\n"
                "        tails: dict[Path, Tail[bytes]] = {}\n"
                "        for path, cursor in after.items():\n"
                "            tails |= yield from read(store, {path: cursor})\n"
                "        return tails\n"
            )
        },
        ("test_several_paths_are_read_as_of_one_instant",),
    ),
    "BringsNothingThatWasMissed": _journal(
        {"None if missed is None else _decode_tail(missed)": "None"},
        ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    ),
    "KeepsForALittleWhileOnly": _journal(
        {'"" if keep_s is None else': "5 if keep_s is None else"},
        ("test_what_is_kept_for_ever_outlives_a_shorter_wish",),
    ),
}

PURGE: Mapping[str, Mutant] = {
    "PurgesNothing": _server(
        {'yield from ask(Server.write, "BGREWRITEAOF")': "pass"},
        ("test_no_byte_of_a_deleted_journal_is_left", "test_no_byte_of_compacted_records_is_left"),
    ),
}

SYNC_CLIENT: Mapping[str, Mutant] = {
    "SendsTwice": _client(
        {
            "                reply = connection.read_response()": (
                "                connection.read_response()\n"
                "                connection.send_packed_command([command])\n"
                "                reply = connection.read_response()"
            )
        },
        ("test_each_record_follows_the_one_before",),
    ),
    "SendsText": _client(
        {"word if isinstance(word, bytes)": 'word.decode(errors="replace").encode() if isinstance(word, bytes)'},
        ("test_payloads_come_back_byte_for_byte[no text]",),
    ),
}

# A reply that comes a little later: no fault, but a call can be cancelled for sure while it is on its way.
_SLOW_REPLY = {
    "                    answer = await self._connection.read_response()\n": (
        "                    await asyncio.sleep(0.01)\n"
        "                    answer = await self._connection.read_response()\n"
    )
}

ASYNC_CLIENT: Mapping[str, Mutant] = {
    "SendsTwice": _async_client(
        {
            "        return await reply\n": (
                "        await reply\n"
                "        again: asyncio.Future[Any] = asyncio.get_running_loop().create_future()\n"
                "        self._waiting.append((encode_command(words), again))\n"
                "        if self._pump_task is None or self._pump_task.done():\n"
                "            self._pump_task = asyncio.create_task(self._pump())\n"
                "        return await again\n"
            )
        },
        ("test_each_record_follows_the_one_before",),
    ),
    "AnswersTheLatestCall": _async_client(
        {
            "_resolve(self._sent[0], answer)\n                self._sent.popleft()": (
                "_resolve(self._sent[-1], answer)\n                self._sent.pop()"
            )
        },
        ("test_appends_at_once_all_land_once_and_where_they_were_told",),
    ),
    "GivesTheReplyOfACancelledCallToTheNext": _async_client(
        {
            "        return await reply\n": (
                "        try:\n            return await reply\n"
                "        except asyncio.CancelledError:\n"
                "            if reply in self._sent:\n                self._sent.remove(reply)\n"
                "            raise\n"
            ),
            **_SLOW_REPLY,
        },
        ("test_a_cancelled_call_takes_no_reply_of_another",),
    ),
    "EndsWithACancelledCall": _async_client(
        {"_resolve(self._sent[0], answer)": "self._sent[0].set_result(answer)", **_SLOW_REPLY},
        ("test_a_cancelled_call_takes_no_reply_of_another",),
    ),
}
