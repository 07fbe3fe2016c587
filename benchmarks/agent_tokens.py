"""Measures how many tokens the tools of `ncu-assist mcp` take: their list, and their results over the recorded archive.

    python benchmarks/agent_tokens.py [KERNEL …] > benchmarks/results/agent_tokens.json

Tokens are characters over four, as everywhere. The tools that read are called with the first and the last version of
each kernel through the official client, on a copy of the archive; beside each result stands what the whole answer of
the command takes.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import CallToolResult, TextContent

from ncu_assist.agents.briefs import compact, tokens_of
from ncu_assist.agents.server import BUDGETS, INSTRUCTIONS, server
from ncu_assist.process import run
from ncu_assist.project import Project

ROOT = Path(__file__).resolve().parents[1]
WHOLE = {  # the command whose answer the brief is of
    "kernels": ("list",),
    "show": ("show",),
    "lines": ("show", "--lines"),
    "launches": ("show",),
    "history": ("history",),
    "diff": ("diff",),
    "sass": ("export", "--table=sass"),
}


OF_A_VERSION = ("show", "lines", "launches", "sass", "task")


async def measure(project: Project, kernels: list[str]) -> dict[str, Any]:
    """Return the tokens of the list of tools and, of each tool, of its largest and of all its results."""
    async with Client(server(project)) as client:
        listed = (await client.list_tools()).tools
        found: dict[str, list[tuple[int, int, str]]] = {}
        versions = json.loads(compact(await _call(client, "kernels", {})))["kernels"]
        for kernel in kernels or [one["kernel"] for one in versions]:
            (one,) = (await _call(client, "kernels", {"kernel": kernel}))["kernels"]
            measured = [version["version"] for version in one["versions"] if version["status"] == "measured"]
            if not measured:
                continue
            first, last = f"{kernel}/{measured[0]}", f"{kernel}/{measured[-1]}"
            calls = [("kernels", {"kernel": kernel}), ("history", {"kernel": kernel})]
            calls += [("diff", {"reference": first, "candidate": last})]
            calls += [(tool, {"reference": one}) for tool in OF_A_VERSION for one in (first, last)]
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                assert isinstance(result, CallToolResult)
                (text,) = result.content
                assert isinstance(text, TextContent)
                if not result.is_error:
                    whole = _whole(project.root, tool, arguments)
                    found.setdefault(tool, []).append((len(text.text) // 4, whole, " ".join(arguments.values())))
    shown = [[tool.name, tool.description, tool.input_schema] for tool in listed]
    rows = {
        tool: {
            "budget": BUDGETS[tool],
            "results": len(rows),
            "median": sorted(rows)[len(rows) // 2][0],
            "most": max(rows)[0],
            "of": max(rows)[2],
            "whole_answer_median": sorted(row[1] for row in rows)[len(rows) // 2],
        }
        for tool, rows in found.items()
    }
    return {"instructions": tokens_of(INSTRUCTIONS), "list_of_tools": tokens_of(shown), "tools": rows}


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.structured_content is not None, result
    value: dict[str, Any] = result.structured_content
    return value


def _whole(root: Path, tool: str, arguments: dict[str, str]) -> int:
    """Return the tokens of the whole answer, without spaces; 0 where the tool gives it whole."""
    if tool not in WHOLE:
        return 0
    lines: list[str] = []
    words = [sys.executable, "-m", "ncu_assist", *WHOLE[tool], "--json", "--", *arguments.values()]
    run(words, cwd=root, on_line=lines.append)
    return tokens_of(json.loads("\n".join(lines)))


def main(kernels: list[str]) -> int:
    """Copy the project, as prompts are kept in its archive, and print what was measured."""
    with tempfile.TemporaryDirectory(prefix="agent-tokens-") as folder:
        root = Path(folder)
        for part in ("kernels", "reports", "prompts"):
            for name in kernels if kernels and part != "prompts" else [""]:
                shutil.copytree(ROOT / part / name, root / part / name, ignore=shutil.ignore_patterns("*.html"))
        found = asyncio.run(measure(Project(root), kernels))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
