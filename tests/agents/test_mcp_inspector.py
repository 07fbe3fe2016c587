"""A second client, of another SDK: the inspector of the protocol's authors, in TypeScript."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from agents.talking import ENVIRONMENT, SERVER
from agents.test_mcp_tools import CALLS
from cli.commandline import plain_report
from recorded_family import copy_family

from ncu_assist.agents.server import BUDGETS

INSPECTOR = "mcp-inspector"
ONES = ("show", "launches", "diff", "explain", "task", "profile")  # each call starts node and a server


def inspected(folder: Path, *words: str) -> dict[str, Any]:
    if shutil.which(INSPECTOR) is None:
        pytest.skip("needs the inspector: npm install -g @modelcontextprotocol/inspector")
    environment = {**os.environ, **ENVIRONMENT}
    passed = [word for name, value in ENVIRONMENT.items() for word in ("-e", f"{name}={value}")]
    done = subprocess.run(
        [INSPECTOR, "--cli", *passed, *SERVER, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.slow
def test_it_lists_and_calls_the_tools(tmp_path: Path) -> None:
    copy_family(tmp_path)
    plain_report(tmp_path)
    listed = {tool["name"]: tool for tool in inspected(tmp_path, "--method", "tools/list")["tools"]}
    assert set(listed) == set(BUDGETS)
    for name in ONES:
        arguments = next(given for tool, given in CALLS if tool == name)
        given = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={_word(value)}")]
        answer = inspected(tmp_path, "--method", "tools/call", "--tool-name", name, *given)
        assert not answer.get("isError"), answer
        jsonschema.validate(answer["structuredContent"], listed[name]["outputSchema"])


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
