"""What importing the adapter needs, and what it says when that is not there."""

import subprocess
import sys

import pytest

import langchain_wmem

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Blocked())
"""


def child(code: str, *blocked: str) -> str:
    """What a fresh interpreter prints in which those packages are not installed."""
    program = BLOCK.format(blocked=blocked) + code
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_public_name_is_there_and_no_other_is_promised() -> None:
    assert langchain_wmem.__all__ == sorted(langchain_wmem.__all__)
    assert set(langchain_wmem.__all__) <= set(dir(langchain_wmem))
    for name in langchain_wmem.__all__:
        assert getattr(langchain_wmem, name).__doc__
    with pytest.raises(AttributeError, match="WmemNothing"):
        langchain_wmem.WmemNothing  # noqa: B018


@pytest.mark.slow
def test_histories_and_messages_load_without_the_agent_framework() -> None:
    loaded = "import langchain_wmem, sys; print([name for name in ('langchain', 'langgraph') if name in sys.modules])"
    assert child(loaded) == "[]"


def test_B122_without_langchain_wmem_works_and_the_adapter_names_the_extra() -> None:
    code = """
import wmem
try:
    import langchain_wmem
except wmem.MissingExtraError as error:
    print(error)
"""
    assert "pip install 'wmem[langchain]'" in child(code, "langchain_core", "langchain", "langgraph")


@pytest.mark.slow
def test_B122_with_langchain_core_alone_histories_work_and_the_middleware_names_the_extra() -> None:
    code = """
import langchain_wmem, wmem
history = langchain_wmem.WmemChatMessageHistory("s", url="memory://", agent_id="agent-7")
history.add_user_message("Hello")
print(history.messages[0].text)
try:
    langchain_wmem.WmemMiddleware
except wmem.MissingExtraError as error:
    print(error)
"""
    said = child(code, "langchain", "langgraph")
    assert said.startswith("Hello\n")
    assert "pip install 'wmem[langchain]'" in said
