"""The client for shells: options stand anywhere, and each argument is shown with its kind."""

from __future__ import annotations

import importlib.util
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "mcp_call.py"


@pytest.fixture
def script() -> Any:
    spec = importlib.util.spec_from_file_location("mcp_call", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_option_may_stand_between_tool_and_arguments(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def call(
        _words: list[str], tool: str, arguments: dict[str, Any], yes: bool, _project: Path | None
    ) -> tuple[str, bool]:
        return json.dumps([tool, arguments, yes]), False

    monkeypatch.setattr(script, "call", call)
    log = tmp_path / "calls.jsonl"
    monkeypatch.setattr(sys, "argv", ["mcp_call.py", "--log", str(log), "accept", "--yes", '{"id": "2026"}'])
    with ThreadPoolExecutor(1) as apart:  # where no other test's event loop runs
        assert apart.submit(script.main).result() == 0
    assert json.loads(capsys.readouterr().out) == ["accept", {"id": "2026"}, True]
    assert json.loads(log.read_text())["tokens_in"] == 3


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "string"),
        ({"type": "array", "items": {"enum": ["workloads", "metrics"]}}, "list of workloads|metrics"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer/null"),
        ({"type": "array", "items": {"$ref": "#/$defs/Row"}}, "list of {id: string, [value: number/null]}"),
    ],
)
def test_what_an_argument_is(script: Any, schema: dict[str, Any], kind: str) -> None:
    value = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    row = {"type": "object", "properties": {"id": {"type": "string"}, "value": value}, "required": ["id"]}
    assert script._kind(schema, {"Row": row}) == kind
