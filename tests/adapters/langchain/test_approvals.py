"""A run that waits for a person goes on in another process as if it had never stopped."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wmem
from langchain_wmem import to_langchain
from tests.adapters.langchain.approvals import AGENT, assign_cases, show
from tests.suites.embedders import Embedder

ROOT = Path(__file__).parents[3]
KEY = b"\xa5" * 32
PATIENCE_S = 120.0  # for a child process on a busy machine


def run_process(*arguments: str) -> Any:
    command = [sys.executable, "-m", "tests.adapters.langchain.approvals", *arguments]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_what_a_person_decides_in_another_process_continues_the_run_of_an_encrypted_store(
    mode: str, valkey_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    urls = [f"sqlite://{tmp_path}/store.db", f"disk://{tmp_path}/store", valkey_url]
    before, after = (run_process(step, mode, str(tmp_path), KEY.hex(), *urls) for step in ("pause", "resume"))
    for url, cases in assign_cases(mode, urls).items():
        with wmem.open(url, agent_id=AGENT, key=KEY, embedder=Embedder()) as memory:
            assert sorted(memory.scope().children()) == sorted(case.thread for case in cases)
            for case in cases:
                assert before[url][case.thread] == before[""][case.thread]
                assert after[url][case.thread] == after[""][case.thread]
                stored = to_langchain(memory.scope(case.thread).messages.all())
                *last_prompt, answer = [show(message) for message in stored]
                assert last_prompt == after[""][case.thread][-1]
                assert answer["content"] == f"I see {len(last_prompt)} messages."
