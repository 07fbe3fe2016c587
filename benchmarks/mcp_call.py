"""Calls one tool of `ncu-assist mcp` from a shell: for agents and scripts that have no client of their own.

    python benchmarks/mcp_call.py                                   # the tools, their arguments, and how to use them
    python benchmarks/mcp_call.py show '{"reference": "lightning_decode/v3"}'
    python benchmarks/mcp_call.py propose @draft.json               # the arguments from a file
    python benchmarks/mcp_call.py --project ~/kernels kernels       # of another project than the folder one stands in

One server a call; every question of the server is printed and answered with no, unless --yes is given, which the person
does. With --log FILE each call is added to a file, with the tokens of its arguments and its result.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

CHARACTERS_A_TOKEN = 4


async def call(
    words: list[str], tool: str | None, arguments: dict[str, Any], yes: bool, project: Path | None = None
) -> tuple[str, bool]:
    """Return what a tool answers and whether that is an error; without a tool what there is to call."""

    async def answer(_context: Any, asked: ElicitRequestParams) -> ElicitResult:
        sys.stderr.write(f"the server asks: {asked.message}\nanswer: {'yes' if yes else 'no'}\n")
        return ElicitResult(action="accept", content={"accept": True}) if yes else ElicitResult(action="decline")

    async def tell(_progress: float, _total: float | None, message: str | None) -> None:
        sys.stderr.write(f"… {message or ''}\n")

    server = stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ), cwd=project))
    async with Client(server, elicitation_callback=answer) as client:
        if tool is None:
            return await _help(client), False
        result = await client.call_tool(tool, arguments, progress_callback=tell)
        assert isinstance(result, CallToolResult)
        return "\n".join(one.text for one in result.content if isinstance(one, TextContent)), bool(result.is_error)


async def _help(client: Client) -> str:
    lines = [client.instructions or "", ""]
    for tool in (await client.list_tools()).tools:
        required = tool.input_schema.get("required", [])
        defined = tool.input_schema.get("$defs", {})
        shapes = {name: f"{name}: {_kind(one, defined)}" for name, one in tool.input_schema["properties"].items()}
        names = [shape if name in required else f"[{shape}]" for name, shape in shapes.items()]
        lines.append(f"{tool.name}({', '.join(names)}): {' '.join((tool.description or '').split())}")
    return "\n".join(lines)


def _kind(schema: dict[str, Any], defined: dict[str, Any]) -> str:
    """Return what an argument is, in a word or two; of an object its keys."""
    schema = defined.get(schema.get("$ref", "").rpartition("/")[2], schema)
    if "enum" in schema:
        return "|".join(schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'], defined)}"
    if "properties" in schema:
        needed = schema.get("required", ())
        kinds = {name: f"{name}: {_kind(one, defined)}" for name, one in schema["properties"].items()}
        return "{" + ", ".join(kind if name in needed else f"[{kind}]" for name, kind in kinds.items()) + "}"
    return str(schema.get("type") or "/".join(_kind(one, defined) for one in schema.get("anyOf", ())) or "object")


def main() -> int:
    """Call the tool that the command line names; exit code 1 where it answers with an error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tool", nargs="?", help="the tool; without it the tools are listed")
    parser.add_argument("arguments", nargs="?", default="{}", help="a JSON object, or @FILE with one")
    parser.add_argument("--server", default=f"{sys.executable} -m ncu_assist mcp", help="what starts the server")
    parser.add_argument("--project", type=Path, help="the folder that the server works in; @FILE stays in this one")
    parser.add_argument("--yes", action="store_true", help="answer the server's question with yes: for the person")
    parser.add_argument("--log", type=Path, help="add the call and its tokens to this file")
    given = parser.parse_intermixed_args()
    text = given.arguments
    arguments = json.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    try:
        said, is_error = asyncio.run(call(given.server.split(), given.tool, arguments, given.yes, given.project))
    except* MCPError as errors:
        said, is_error = "the server ended, or refused the call: see above", True
        sys.stderr.write(f"{errors.exceptions[0]}\n")
    sys.stdout.write(f"{said}\n")
    if given.log is not None:
        row = {"tool": given.tool, "arguments": arguments, "error": is_error, "result": said}
        row |= {"tokens_in": len(json.dumps(arguments)) // CHARACTERS_A_TOKEN, "tokens_out": len(said) // 4}
        with given.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")
    return int(is_error)


if __name__ == "__main__":
    sys.exit(main())
