"""Tests of cancelled calls of an async journal: each is done whole or not at all, and holds up nobody."""

from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["CancelTests"]

LARGE = b"wmem" * 262_144  # storing it takes longer than asking again
ROUNDS = 12  # in each the call is cancelled a turn of the loop later: before it is sent, and on its way


class CancelTests(JournalFixtures):
    """A call may be cancelled while it is under way; the next one sees what became of it."""

    def test_what_is_read_after_a_cancelled_append_is_final(self, client: JournalClient) -> None:
        for number in range(ROUNDS):
            client.append_cancelled(PATH, LARGE, turns=number)
            head = client.read(PATH).head
            reply = client.append(PATH, b"x", expected=head)
            assert reply.cursor is not None, "the cancelled append was stored after the journal had been read"

    def test_a_cancelled_append_is_stored_once_or_not_at_all(self, client: JournalClient) -> None:
        for number in range(ROUNDS):
            client.append_cancelled(PATH, b"cancelled", turns=number, record_id=number)
            client.append(PATH, b"awaited", record_id=ROUNDS + number)
        stored = [record.id for record in client.read(PATH).records]
        assert len(stored) == len({*stored})
        assert {*range(ROUNDS, 2 * ROUNDS)} <= {*stored} <= {*range(2 * ROUNDS)}

    def test_a_cancelled_call_takes_no_reply_of_another(self, client: JournalClient) -> None:
        for number in range(ROUNDS):
            client.append_many(PATH, b"%d" % number)
            client.append_cancelled(("agent", "cancelled"), LARGE, turns=number)
            assert client.read(PATH).records[-1].payload == b"%d" % number
            assert client.paths(PATH) == [PATH]
