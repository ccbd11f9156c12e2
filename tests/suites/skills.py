"""Suite of skills: what worked several times is told once, kept up to date, and leaves with what it was made of."""

import json
from collections.abc import Sequence
from typing import Any

import wmem
from wmem import MemoryItem, Policy
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["SkillsSuite"]

FLOW = ("find_guest_by_mail", "get_booking", "cancel_booking")
JOB = ["extract-skills"]


class SkillsSuite(FacetSuite):
    """The job ``extract-skills`` on a memory."""

    # -- from tracked calls

    def test_what_worked_in_three_sessions_becomes_a_skill_that_is_found_and_explained(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        report = call(memory.maintain, JOB).jobs["extract-skills"]
        assert (report.changed, report.detail, report.error) == (1, {"stored": 1}, "")
        [skill] = skills(memory, call)
        assert skill.content == (
            "To cancel booking: 1. find_guest_by_mail(mail) 2. get_booking(booking_id from 1) "
            "3. cancel_booking(booking_id from 1, refund=true)"
        )
        assert skill.metadata["support"] == 3
        assert skill.metadata["tools"] == list(FLOW)
        assert skill.metadata["success_rate"] == 1.0
        assert call(memory.episodic.items.get, str(skill.metadata["example"])) is not None
        assert skill.source == "system"
        context = call(memory.turn("new").assemble_context, "Please cancel my booking", 600)
        assert context.text.count(skill.content) == 1
        assert skill.id in str(context.context.explain())
        assert call(memory.scope("new").recall, "How do I cancel a booking?")[0].id == skill.id

    def test_a_pass_over_what_did_not_change_changes_nothing_in_any_process(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        assert call(memory.maintain, JOB).jobs["extract-skills"].changed == 1
        assert call(memory.maintain, JOB).jobs["extract-skills"].changed == 0
        other = open_memory.in_other_process()
        assert call(other.maintain, JOB).jobs["extract-skills"].changed == 0
        assert len(skills(other, call)) == 1

    def test_a_skill_is_made_anew_after_a_restore_of_before(self, memory: wmem.AgentMemory, call: Call) -> None:
        for number in range(3):
            work(memory, call, f"s{number}", number)
        call(memory.working.entries.set, "inn", "The Anchor")
        key = wmem.KeyRing.new_key()
        call(memory.semantic.items.add, "The inn has nine rooms.", type="fact")
        before = call(memory.snapshot, key=key)
        for _ in range(3):
            call(memory.maintain, JOB)
            assert len(skills(memory, call)) == 1
            call(memory.restore, before, key=key)
            assert skills(memory, call) == []

    def test_more_uses_raise_the_support_of_the_same_skill(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        call(memory.maintain, JOB)
        [before] = skills(memory, call)
        clock.advance(60)
        for number in range(3, 8):
            work(memory, call, f"session-{number}", number)
        assert call(memory.maintain, JOB).jobs["extract-skills"].detail == {"updated": 1}
        [after] = skills(memory, call)
        assert after.id == before.id
        assert after.metadata["support"] == 8
        assert after.importance is not None
        assert before.importance is not None
        assert after.importance > before.importance

    def test_a_single_use_more_counts_once_it_is_asked_for_or_much_is_new(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for number in range(16):
            work(memory, call, f"session-{number}", number)
        call(memory.maintain)
        work(memory, call, "session-16", 16)
        call(memory.maintain)
        assert [each.metadata["support"] for each in skills(memory, call)] == [16]
        call(memory.maintain, JOB)
        assert [each.metadata["support"] for each in skills(memory, call)] == [17]

    def test_nothing_is_extracted_where_that_is_off(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(enable_skill_extraction=False)
        for number in range(4):
            work(memory, call, f"session-{number}", number)
        assert call(memory.maintain, JOB).jobs["extract-skills"].changed == 0
        assert skills(memory, call) == []

    def test_a_session_in_which_a_model_did_nothing_but_think_hides_no_skill(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        turn = memory.turn("thinker")
        call(turn.track_tool_invocation, "think", {"thought": "the guest may want to go"}, "noted")
        call(turn.commit)
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        report = call(memory.maintain, JOB).jobs["extract-skills"]
        assert (report.detail, report.error) == ({"stored": 1}, "")

    def test_what_a_user_made_known_in_calls_is_in_no_skill(self, memory: wmem.AgentMemory, call: Call) -> None:
        for number in range(4):
            work(memory, call, f"session-{number}", number, who=7)
        call(memory.maintain, JOB)
        [skill] = skills(memory, call)
        assert "guest7@inn.example" not in f"{skill}"
        assert "B7007" not in f"{skill}"

    def test_a_skill_goes_through_the_gate(self, open_memory: MemoryOpener, call: Call) -> None:
        routed = wmem.Gate(routes=(wmem.Route("nowhere-near", ("working",), types=("skill",)),))
        for agent, gate in (("strict", wmem.Gate(min_importance=0.9)), ("routed", routed)):
            memory = open_memory(agent, gate=gate)
            for number in range(3):
                work(memory, call, f"session-{number}", number)
            report = call(memory.maintain, JOB).jobs["extract-skills"]
            assert (report.changed, report.error) == (0, "")
            assert skills(memory, call) == []

    # -- erasure and failures

    def test_a_skill_leaves_when_what_it_was_made_of_is_erased(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        for number in range(4):
            work(memory, call, f"session-{number}", number)
        call(memory.maintain, JOB)
        erase_calls(memory, call, "session-0")
        assert call(memory.maintain, JOB).jobs["extract-skills"].detail == {"updated": 1}
        [skill] = skills(memory, call)
        assert skill.metadata["support"] == 3
        erase_calls(memory, call, "session-1")
        clock.advance(1)
        assert call(memory.maintain, JOB).jobs["extract-skills"].detail == {"retired": 1}
        assert skills(memory, call) == []
        call(memory.semantic.items.undelete, skill.id)
        assert call(memory.maintain, JOB).jobs["extract-skills"].changed == 0
        assert [each.id for each in skills(memory, call)] == [skill.id]

    def test_a_skill_that_keeps_failing_is_retired(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        call(memory.maintain, JOB)
        clock.advance(3_600)
        for number in range(3, 8):
            work(memory, call, f"session-{number}", number, fails=True)
        assert call(memory.maintain, JOB).jobs["extract-skills"].detail == {"retired": 1}
        assert skills(memory, call) == []
        assert len(call(memory.semantic.items.forgotten)) == 1

    def test_a_skill_that_somebody_took_away_does_not_come_back(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        call(memory.maintain, JOB)
        [skill] = skills(memory, call)
        call(memory.semantic.items.forget, skill.id)
        clock.advance(1)
        work(memory, call, "session-3", 3)
        assert call(memory.maintain, JOB).jobs["extract-skills"].changed == 0
        assert skills(memory, call) == []

    def test_what_somebody_wrote_into_a_skill_stays(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        for number in range(3):
            work(memory, call, f"session-{number}", number)
        call(memory.maintain, JOB)
        [skill] = skills(memory, call)
        call(memory.semantic.items.update, skill.id, content="To cancel a booking, ask the guest first.")
        clock.advance(1)
        work(memory, call, "session-3", 3)
        call(memory.maintain, JOB)
        [kept] = skills(memory, call)
        assert kept.content == "To cancel a booking, ask the guest first."
        assert kept.metadata["support"] == 4

    def test_a_longer_way_that_is_always_taken_replaces_the_shorter_one(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        for number in range(3):
            work(memory, call, f"session-{number}", number, tools=FLOW[1:])
        call(memory.maintain, JOB)
        [short] = skills(memory, call)
        for number in range(3):
            erase_calls(memory, call, f"session-{number}")
        for number in range(3, 7):
            work(memory, call, f"session-{number}", number)
        clock.advance(1)
        assert call(memory.maintain, JOB).jobs["extract-skills"].detail == {"stored": 1, "merged": 1}
        [long] = skills(memory, call)
        assert long.metadata["tools"] == list(FLOW)
        assert [each.id for each in call(memory.semantic.items.forgotten)] == [short.id]

    # -- from conversations, and for several users

    def test_calls_in_the_messages_of_closed_sessions_count_once_they_are_closed(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for number in range(3):
            converse(memory, call, f"session-{number}", number)
        assert call(memory.maintain, JOB).jobs["extract-skills"].changed == 0
        for number in range(3):
            call(memory.types.session(f"session-{number}")["conversation"].close)
        assert call(memory.maintain, JOB).jobs["extract-skills"].detail == {"stored": 1}
        [skill] = skills(memory, call)
        assert skill.metadata["tools"] == list(FLOW)
        session = memory.scope("session-0")
        call(session.erase, *[each.id or "" for each in call(session.messages.all) if each.role == "tool"])
        call(memory.maintain, JOB)
        assert skills(memory, call) == []

    def test_skills_stay_in_the_long_term_memory_of_whose_calls_they_were_made_of(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        ada = Policy.session(long_term=[("users", "ada")])
        for number in range(3):
            turn = memory.turn(f"ada-{number}", policy=ada)
            for tool, parameters, result in make_calls(FLOW, number):
                call(turn.track_tool_invocation, tool, parameters, result)
            call(turn.commit)
        call(memory.maintain, JOB)
        assert skills(memory, call) == []
        theirs = call(memory.scope("ada-9", policy=ada).recall, "cancel booking")
        assert [each.id.startswith("skill_") for each in theirs].count(True) == 1


def make_calls(tools: Sequence[str], number: int) -> list[tuple[str, dict[str, Any], str]]:
    """Calls of tools with parameters and results, of one guest."""
    mail, booking = f"guest{number}@inn.example", f"B{number}007"
    parameters: dict[str, dict[str, Any]] = {
        "find_guest_by_mail": {"mail": mail},
        "get_booking": {"booking_id": booking},
        "cancel_booking": {"booking_id": booking, "refund": True},
    }
    return [(tool, parameters[tool], f'{{"booking_id": "{booking}", "mail": "{mail}"}}') for tool in tools]


def work(  # a test names what differs
    memory: wmem.AgentMemory,
    call: Call,
    session: str,
    number: int,
    *,
    who: int | None = None,
    tools: Sequence[str] = FLOW,
    fails: bool = False,
) -> None:
    """A session in which tools were called one after the other; if it fails, the last of them did."""
    turn = memory.turn(session)
    for tool, parameters, result in make_calls(tools, number if who is None else who):
        failed = fails and tool == tools[-1]
        call(turn.track_tool_invocation, tool, parameters, None if failed else result, "no" if failed else None)
    call(turn.commit)


def converse(memory: wmem.AgentMemory, call: Call, session: str, number: int) -> None:
    """A session in whose messages tools were called."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Please cancel my booking."}]
    for place, (tool, parameters, result) in enumerate(make_calls(FLOW, number)):
        function = {"name": tool, "arguments": json.dumps(parameters)}
        made = {"id": f"c{place}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": None, "tool_calls": [made]})
        said.append({"role": "tool", "tool_call_id": f"c{place}", "content": result})
    said.append({"role": "assistant", "content": "It is cancelled."})
    for message in said:
        call(memory.scope(session).messages.append, message)


def skills(memory: wmem.AgentMemory, call: Call) -> list[MemoryItem]:
    """The skills of the agent's own long-term memory."""
    return [each for each in call(memory.semantic.items.all) if each.type == "skill"]


def erase_calls(memory: wmem.AgentMemory, call: Call, session: str) -> None:
    """Erase what was tracked in a session."""
    ids = [
        each.id for each in call(memory.episodic.items.all) if each.thread_id is not None and session in each.thread_id
    ]
    assert ids
    call(memory.episodic.erase, *ids)
