"""`make test-frameworks` can fail: a planted fault is found by a small test in the manner of the frameworks' own."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.frameworks.run import run_tests
from tests.frameworks.suites import HERE, ROOT, SUITES, Run, Suite, read_pins
from tests.frameworks.verdict import Listed, Verdict, judge, read_list

FOREIGN = """\
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

class Listening(GenericFakeChatModel):
    def _generate(self, messages, *args, **options):
        self.metadata = {"heard": [message.text for message in messages]}
        return super()._generate(messages, *args, **options)

def test_a_model_hears_the_whole_talk():
    model = Listening(messages=iter([AIMessage("Biscuit.")]))
    create_agent(model).invoke({"messages": [HumanMessage("I have a dog."), HumanMessage("What is it called?")]})
    assert model.metadata["heard"] == ["I have a dog.", "What is it called?"]
"""
PLANT = """\
import pytest
from langchain_wmem import WmemMiddleware

@pytest.fixture(autouse=True, params=["sound", "planted"])
def middleware(request, monkeypatch):
    pack = WmemMiddleware.wrap_model_call
    def drop_first(self, request, handler):
        return pack(self, request, lambda packed: handler(packed.override(messages=packed.messages[1:])))
    if request.param == "planted":
        monkeypatch.setattr(WmemMiddleware, "wrap_model_call", drop_first)
"""


@pytest.mark.slow
def test_a_middleware_that_drops_a_message_fails_their_tests(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(FOREIGN)
    (tmp_path / "conftest.py").write_text(PLANT)
    run = Run(("first", "memory"), ("--wmem-place=first",))
    suite = Suite("small", lambda: tmp_path, ["test_small.py"], "wmem_agents", ["--rootdir=."], [run])
    report, output = run_tests(suite, run, tmp_path, "0")
    assert report is not None, output
    verdict = judge(report, [], run.words)
    assert verdict.failures == ["test_small.py::test_a_model_hears_the_whole_talk[planted]"], output
    assert verdict.counts == {"passed": 1, "failed": 1, "listed": 0}


class Case(NamedTuple):
    outcome: str
    where: str
    words: tuple[str, ...] = ("first", "disk")
    error: str = "assert 1 == 2"


LISTED = "tests/test_a.py::test_listed"


def verdict_on(case: Case, **uses: int) -> Verdict:
    errors = {LISTED: "AssertionError: assert 1 == 2"} if case.outcome == "failed" else {}
    report = json.dumps({"outcomes": {LISTED: case.outcome}, "errors": errors, "uses": uses or {"agents": 1}})
    return judge(report, [Listed(frozenset(case.where.split()), LISTED, case.error, "an example")], case.words)


@pytest.mark.parametrize("where", ["any", "wmem", "first", "first disk"])
def test_a_listed_failure_is_good_where_it_is_listed(where: str) -> None:
    verdict = verdict_on(Case("failed", where))
    assert verdict.is_good
    assert verdict.counts == {"failed": 1, "listed": 1}


@pytest.mark.parametrize("where", ["without", "last", "first memory"])
def test_a_failure_that_is_listed_for_other_runs_is_none(where: str) -> None:
    assert verdict_on(Case("failed", where)).failures == [LISTED]


def test_a_listed_test_may_fail_in_no_other_way() -> None:
    assert verdict_on(Case("failed", "wmem", error="snapshot")).failures == [LISTED]


@pytest.mark.parametrize(("outcome", "is_good"), [("passed", True), ("failed", False), (None, False)])
def test_a_failure_counts_unless_the_test_passes_alone(outcome: str | None, is_good: bool) -> None:
    again = json.dumps({"outcomes": {} if outcome is None else {LISTED: outcome}})
    verdict = verdict_on(Case("failed", "last")).repeat(again)
    assert verdict.is_good is is_good
    assert verdict.unstable == ([LISTED] if is_good else [])


def test_what_fails_with_wmem_alone_may_not_fail_without() -> None:
    assert not verdict_on(Case("failed", "wmem", words=())).is_good
    assert verdict_on(Case("failed", "without", words=())).is_good


def test_a_listed_test_that_passes_is_reported() -> None:
    verdict = verdict_on(Case("passed", "wmem"))
    assert [each.test for each in verdict.passes] == [LISTED]
    assert verdict.is_good


def test_a_run_in_which_a_part_of_wmem_was_not_used_says_nothing() -> None:
    assert verdict_on(Case("passed", "last"), memories=3, models=2).is_good
    assert not verdict_on(Case("passed", "last"), memories=3, models=0).is_good


def test_a_run_without_tests_says_nothing() -> None:
    assert not judge(None, [], ()).is_good
    assert not judge(json.dumps({"outcomes": {}, "errors": {}, "uses": {}}), [], ()).is_good


def test_a_listed_test_that_is_gone_is_a_fault() -> None:
    report = json.dumps({"outcomes": {"tests/test_a.py::test_other": "passed"}, "errors": {}, "uses": {"agents": 1}})
    assert not judge(report, [Listed(frozenset(["any"]), LISTED, "", "an example")], ("first",)).is_good


@pytest.mark.parametrize("suite", SUITES, ids=[suite.name for suite in SUITES])
def test_each_exception_names_runs_that_there_are_and_a_reason(suite: Suite) -> None:
    listed = read_list(HERE / "exceptions" / f"{suite.name}.txt")
    known = {"any", "wmem", "without", *(word for run in suite.runs for word in run.words)}
    assert all(each.where and each.where <= known and each.error and each.reason for each in listed)
    assert len({(each.where, each.test) for each in listed}) == len(listed)


def test_the_tests_are_those_of_the_versions_that_are_installed() -> None:
    installed = (ROOT / "constraints.txt").read_text().splitlines()
    assert [
        f"{name}=={version}" for name, version in read_pins().items() if f"{name}=={version}" not in installed
    ] == []
