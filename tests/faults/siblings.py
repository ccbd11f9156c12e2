"""Processes that begin one text at the same moment, forked from one that has imported what they need.

Importing wmem and loading the tokenizer's table takes longer than most of these texts, and so does giving the table
back at the end. The one that forks has no store open, and each of the others is a process of its own, with pipes of
its own; they share only the seed of hashes.
"""

import json
import os
import subprocess
import textwrap
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import IO, NamedTuple

import pytest

__all__ = ["run_together"]

MOTHER = """
    import atexit, json, os, sys, threading
    import wmem, wmem.journal.disk, wmem.journal.redis, wmem.journal.sqlite

    code, children = json.loads(sys.stdin.readline())
    with wmem.open("memory://", agent_id="warm") as memory:  # the tokenizer's table
        memory.scope("session").messages.append({"role": "user", "content": "warm"})
    ends = [end for _, pipes in children for end in pipes]
    pids = []
    for arguments, pipes in children:
        pids.append(os.fork())
        if pids[-1] == 0:
            for place, end in enumerate(pipes):
                os.dup2(end, place)
            for end in ends:
                os.close(end)  # else no pipe would end before all of them do
            sys.argv[1:] = arguments
            exec(compile(code, "<text>", "exec"), {"__name__": "__main__"})
            break
    else:
        for end in ends:
            os.close(end)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]))
    threading._shutdown()  # as an interpreter ends, but for the memory
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
"""


class _Sibling(NamedTuple):
    """One of the processes: the ends of its pipes that the test has, and those that it has itself."""

    told: IO[str]
    says: IO[str]
    ends: tuple[int, int]


@contextmanager
def _open_pipes(count: int) -> Iterator[list[_Sibling]]:
    with ExitStack() as opened:
        siblings = []
        for _ in range(count):
            heard, told = os.pipe()
            says, said = os.pipe()
            files = [opened.enter_context(os.fdopen(end, mode)) for end, mode in ((told, "w"), (says, "r"))]
            siblings.append(_Sibling(files[0], files[1], (heard, said)))
        yield siblings


def run_together(
    spawn: Callable[..., subprocess.Popen[str]],
    listen: Callable[[subprocess.Popen[str]], tuple[str, str]],
    code: str,
    each: Sequence[Sequence[str]],
) -> list[str]:
    """Run one text in several processes at once, each with its own arguments; what each printed after its first line.

    Each gets ready, prints a line, and goes on when it reads one.

    Args:
        spawn: Starts a text in a new interpreter.
        listen: What that prints until it ends, on stdout and stderr.
    """
    with _open_pipes(len(each)) as siblings, ThreadPoolExecutor(len(each)) as pool:
        ends = [sibling.ends for sibling in siblings]
        mother = spawn(MOTHER, pass_fds=[end for pair in ends for end in pair])
        assert mother.stdin is not None
        mother.stdin.write(json.dumps([textwrap.dedent(code), list(zip(each, ends, strict=True))]) + "\n")
        mother.stdin.flush()
        for end in (end for pair in ends for end in pair):
            os.close(end)
        for sibling in siblings:
            if sibling.says.readline() != "ready\n":
                mother.kill()
                pytest.fail(listen(mother)[1])
        for sibling in siblings:
            sibling.told.write("go\n")
            sibling.told.flush()
        printed = [pool.submit(sibling.says.read) for sibling in siblings]
        codes, complaints = listen(mother)
        assert mother.returncode == 0, complaints
        assert json.loads(codes) == [0] * len(each), complaints
        return [one.result() for one in printed]
