"""Forms in which agents record what was said: each is packed within any budget into what its provider takes.

The forms are those of files that others publish, retyped in short. `python -m tests.bench.traces FOLDER` does the
same with the files themselves.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, messages_to_dict
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock

from tests.bench.traces import Outcome, find_conversations, main, pack_growing, read_file

_LONG = "The kiln was fired again and the glaze came out too dark. " * 30
_ASK = {"role": "user", "content": "How warm is the kiln?"}
_ANSWER = {"role": "assistant", "content": "It is at 980 degrees."}


def _openai_call(id: str, name: str = "read_kiln", arguments: str = '{"shelf": 2}') -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _langchain() -> list[BaseMessage]:
    return [
        HumanMessage("How warm is the kiln?", id="h1"),
        AIMessage(
            [{"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "t1", "name": "kiln", "input": {}}],
            tool_calls=[{"name": "kiln", "args": {}, "id": "t1"}],
            id="a1",
        ),
        ToolMessage(_LONG, tool_call_id="t1", name="kiln", id="r1"),
        AIMessage("980 degrees.", usage_metadata={"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}),
        HumanMessage("And now?"),
    ]


def _llamaindex() -> list[ChatMessage]:
    call = ToolCallBlock(tool_call_id="c1", tool_name="kiln", tool_kwargs={"shelf": 2})
    return [
        ChatMessage(role="user", content="How warm is the kiln?"),
        ChatMessage(role="assistant", blocks=[TextBlock(text="Let me look."), call]),
        ChatMessage(role="tool", content=_LONG, additional_kwargs={"tool_call_id": "c1", "name": "kiln"}),
        ChatMessage(role="assistant", content="980 degrees."),
    ]


RECORDS: dict[str, Any] = {
    "an SDK's dump": [
        {"role": "system", "content": "You help in a pottery."},
        {**_ASK, "name": "Ada"},
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "annotations": [],
            "audio": None,
            "function_call": None,
            "tool_calls": [_openai_call("call_A1"), _openai_call("call_A2", "read_clock", "{}")],
        },
        {"role": "tool", "tool_call_id": "call_A2", "content": "12:30"},
        {"role": "tool", "tool_call_id": "call_A1", "content": json.dumps({"log": _LONG, "celsius": 980})},
        {**_ANSWER, "refusal": None},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this one?"},
                {"type": "image_url", "image_url": {"url": "https://example.org/kiln.png", "detail": "low"}},
            ],
        },
    ],
    "a benchmark of tools": {
        "traj": [
            {"role": "system", "content": "# Rules\n\nNever refund a broken pot."},
            _ASK,
            {"role": "assistant", "content": None, "tool_calls": [_openai_call("call_oH9")]},
            {"role": "tool", "tool_call_id": "call_oH9", "name": "read_kiln", "content": _LONG},
            _ANSWER,
            {"role": "user", "content": "###STOP###"},
        ]
    },
    "results by name alone": [
        _ASK,
        {"role": "assistant", "content": "", "tool_calls": [_openai_call(""), _openai_call("")]},
        {"role": "tool", "name": "read_kiln", "content": "980"},
        {"role": "tool", "name": "read_kiln", "content": "975"},
        {"role": "user", "content": "Thanks."},
    ],
    "functions of old": [
        _ASK,
        {"role": "assistant", "content": None, "function_call": {"name": "read_kiln", "arguments": "{}"}},
        {"role": "function", "name": "read_kiln", "content": "980"},
        _ANSWER,
    ],
    "requests to Anthropic": [
        {
            "request": {
                "system": [{"type": "text", "text": "You help in a pottery.", "cache_control": {"type": "ephemeral"}}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "How warm is the kiln?"}]},
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "text", "text": "Let me look."},
                            {"type": "tool_use", "id": "toolu_01", "name": "read_kiln", "input": {"shelf": 2}},
                            {"type": "tool_use", "id": "toolu_02", "name": "read_clock", "input": {}},
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "toolu_02", "content": "12:30"},
                            {
                                "type": "tool_result",
                                "tool_use_id": "toolu_01",
                                "content": [{"type": "text", "text": _LONG}],
                                "is_error": False,
                            },
                            {"type": "text", "text": "Be quick."},
                        ],
                    },
                    {"role": "assistant", "content": [{"type": "text", "text": "It is at 980 degrees."}]},
                    {"role": "user", "content": "And now?"},
                ],
            }
        }
    ],
    "lines of a coding agent": [
        {"type": "summary", "summary": "Kiln"},
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "Fix the kiln's driver."}},
        {
            "type": "assistant",
            "uuid": "2",
            "message": {
                "role": "assistant",
                "model": "m",
                "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}],
            },
        },
        {
            "type": "user",
            "uuid": "3",
            "toolUseResult": {},
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": _LONG, "is_error": True}],
            },
        },
        {
            "type": "assistant",
            "uuid": "4",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "It builds again."}]},
        },
    ],
    "Converse": {
        "messages": [
            {"role": "user", "content": [{"text": "How warm is the kiln?"}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "Let me look."},
                    {"toolUse": {"toolUseId": "tooluse_Z-8", "name": "read_kiln", "input": {"shelf": 2}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "tooluse_Z-8", "content": [{"text": _LONG}], "status": "success"}}
                ],
            },
            {"role": "assistant", "content": [{"text": "980 degrees."}]},
        ]
    },
    "a UI's messages": [
        _ASK,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool-call", "toolCallId": "v1", "toolName": "read_kiln", "input": {"shelf": 2}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "v1",
                    "toolName": "read_kiln",
                    "output": {"type": "text", "value": _LONG},
                }
            ],
        },
        _ANSWER,
    ],
    "contents for Gemini": [
        {"role": "user", "parts": [{"text": "How warm is the kiln?"}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "read_kiln", "args": {"shelf": 2}}},
                {"functionCall": {"name": "read_kiln", "args": {"shelf": 3}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read_kiln", "response": {"result": _LONG}}},
                {"functionResponse": {"name": "read_kiln", "response": {"result": 7}}},
            ],
        },
        {"role": "model", "parts": [{"text": "980 degrees."}]},
    ],
    "items of responses": [
        {
            "timestamp": "t",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "How warm is the kiln?"}],
            },
        },
        {"timestamp": "t", "payload": {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}},
        {
            "timestamp": "t",
            "payload": {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": "{}"},
        },
        {"timestamp": "t", "payload": {"type": "function_call_output", "call_id": "call_1", "output": _LONG}},
        {
            "timestamp": "t",
            "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "980."}]},
        },
    ],
    "a data set, in Spanish": {
        "conversations": [
            {"from": "human", "value": "¿Qué temperatura tiene el horno?"},
            {"from": "function_call", "value": '{"name": "leer_horno", "arguments": {"estante": 2}}'},
            {"from": "observation", "value": '{"grados": 980}'},
            {"from": "gpt", "value": "Está a 980 grados."},
            {"from": "human", "value": "Gracias."},
        ]
    },
    "a data set, in Chinese": [
        {"role": "user", "content": [{"type": "text", "value": "窑里多少度。"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "value": "先看看。" * 40},
                {"type": "tool_call", "value": '{"name": "read_kiln", "arguments": {}}'},
            ],
        },
        {"role": "tool", "content": [{"type": "text", "value": "九百八十度"}]},
        {"role": "assistant", "content": [{"type": "text", "value": "现在是九百八十度。"}]},
    ],
    "a reasoning model's, in Japanese": [
        {"role": "user", "content": "窯の温度は。"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "ツールを使う。" * 30,
            "tool_calls": [_openai_call("functions.read_kiln:0")],
        },
        {"role": "tool", "tool_call_id": "functions.read_kiln:0", "content": "980度"},
        {"role": "assistant", "content": "980度です。", "reasoning_content": "簡単だった。"},
        {"role": "user", "content": "ありがとう"},
    ],
    "LangChain's dictionaries": messages_to_dict(_langchain()),
    "LangChain's envelopes": [dumpd(each) for each in _langchain()],
    "LlamaIndex's chat store": {"store": {"key": [each.model_dump(mode="json") for each in _llamaindex()]}},
}


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.slow
def test_what_an_agent_recorded_is_packed_within_any_budget_as_its_provider_takes_it(name: str) -> None:
    found = list(find_conversations(RECORDS[name]))
    assert len(found) == 1
    outcome = Outcome()
    pack_growing(outcome, found[0])
    assert outcome.packs
    refused = [text for text in outcome.refused if not text.startswith("BudgetError at 150")]
    assert (outcome.over, outcome.invalid, refused, outcome.faults) == (0, {}, [], {})


def test_the_bench_of_traces_prints_a_row_for_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = [_ASK, _ANSWER]
    (tmp_path / "one.json").write_text(json.dumps({"messages": said}), "utf-8")
    (tmp_path / "two.jsonl").write_text("\n".join(json.dumps({"message": each}) for each in said), "utf-8")
    (tmp_path / "none.txt").write_text("nothing", "utf-8")
    assert main([str(tmp_path)]) == 0
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")][1:]
    assert rows == [["one.json", "1", "2"], ["two.jsonl", "1", "2"]]
    assert read_file(tmp_path / "none.txt") == []
