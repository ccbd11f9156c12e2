"""`make demo`: a LangChain agent listens, its process ends, a LlamaIndex chat engine remembers.

Then an agent with a tool; and what one session keeps on a Monday answers another on a Tuesday.

No key and no server are needed. With OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL)
a real model answers. WMEM_LOCOMO names another conversation in LoCoMo's format;
WMEM_DEMO_DIR keeps what is stored.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demo_printing import show_end, show_start, show_step
from demo_reading import SAMPLE, read_conversation

AGENT = "friend"
SESSION = "years-of-chat"
SHOP = "a-shop"
"""The session of the agent with a tool."""
_LOCOMO_PATH = Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo-open.json"


def main() -> int:
    """Run the demo, or only the step named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true", help="take the conversation that wmem ships")
    steps = parser.add_subparsers(dest="step", metavar="")
    for name in ("talk", "ask", "facts", "monday", "tuesday"):
        step = steps.add_parser(name)
        step.add_argument("path", type=Path)
        step.add_argument("directory", type=Path)
    given = parser.parse_args()
    if given.step is None:
        return run_demo(SAMPLE if given.sample else choose_path())
    conversation = read_conversation(given.path)
    url = f"disk://{given.directory / 'memory'}"
    # Each process imports one framework, as an application would.
    if given.step == "talk":
        from demo_talk import talk

        talk(conversation, url, AGENT, SESSION)
    elif given.step == "facts":
        from demo_facts import ask_for_facts

        ask_for_facts(url, AGENT, SHOP)
    elif given.step == "monday":
        from demo_monday import listen_on_monday

        listen_on_monday(url, AGENT)
    elif given.step == "tuesday":
        from demo_tuesday import ask_on_tuesday

        ask_on_tuesday(url, AGENT)
    else:
        from demo_ask import ask

        ask(conversation, url, AGENT, SESSION, given.directory / "report.json")
    return 0


def choose_path() -> Path:
    """WMEM_LOCOMO, else the data set next to the checkout, else the shipped sample."""
    if named := os.environ.get("WMEM_LOCOMO"):
        return Path(named)
    return _LOCOMO_PATH if _LOCOMO_PATH.is_file() else SAMPLE


def run_demo(path: Path) -> int:
    """Run the processes, in a directory that is kept or temporary."""
    if not path.is_file():
        print(f"there is no conversation at {path}: correct WMEM_LOCOMO or leave it out", file=sys.stderr)
        return 2
    shipped = "a sample that wmem ships, invented for this demo"
    show_start(
        read_conversation(path),
        f"{shipped if path == SAMPLE else 'the first in a file that wmem does not ship'}: {path.name}",
    )
    if kept := os.environ.get("WMEM_DEMO_DIR"):
        Path(kept).mkdir(parents=True, exist_ok=True)
        return run_both(path, Path(kept).resolve())
    with tempfile.TemporaryDirectory(prefix="wmem-demo-") as directory:
        return run_both(path, Path(directory))


def run_both(path: Path, directory: Path) -> int:
    """Run the steps, each in its own process."""
    started = time.perf_counter()
    show_step(
        "Process 1: a LangChain agent",
        "create_agent with WmemMiddleware on disk://. It hears each message of its user once, and keeps no\n"
        "state of its own. Its model only looks them up: the replies are the recorded ones.",
    )
    if code := run_step("talk", path, directory):
        return code
    show_step(
        "Process 2: a LlamaIndex chat engine",
        "Process 1 has ended. SimpleChatEngine with WmemMemory opens the same session from its directory.",
    )
    if code := run_step("ask", path, directory):
        return code
    show_step(
        "Process 3: an agent with a tool",
        "What a tool returned and what the model answered is recalled as what the user said is, and where nothing\n"
        "stored bears on a question, the note is left out. The model is a script; the tool and the memory are real.",
    )
    if code := run_step("facts", path, directory):
        return code
    show_step(
        "Processes 4 and 5: Monday and Tuesday",
        "On Monday a LangChain agent calls a tool to remember. Eight days later LlamaIndex is asked, in\n"
        "another session of the same user, and in one of another user. A receipt names what was sent.",
    )
    for step in ("monday", "tuesday"):
        if code := run_step(step, path, directory):
            return code
    show_end(
        seconds=time.perf_counter() - started,
        real_model=bool(os.environ.get("OPENAI_API_KEY")),
        invented=path == SAMPLE,
    )
    return 0


def run_step(step: str, path: Path, directory: Path) -> int:
    """Run one step in a fresh interpreter; return its exit code."""
    sys.stdout.flush()
    command = [sys.executable, __file__, step, str(path), str(directory)]
    return subprocess.run(command, check=False).returncode  # noqa: S603  # this very file


if __name__ == "__main__":
    sys.exit(main())
