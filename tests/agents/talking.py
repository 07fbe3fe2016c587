"""The official client on a server of its own over real pipes: what a session says, as data."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult
from recorded_family import ROOT

T = TypeVar("T")
SERVER = (sys.executable, "-m", "ncu_assist", "mcp")
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1", "OMP_NUM_THREADS": "1"}


def talk(
    folder: Path,
    session: Callable[[Client], Awaitable[T]],
    answer: str | None = None,
    words: tuple[str, ...] = SERVER,
) -> T:
    """Return what ``session`` returns of a client whose person gives this ``answer``; None: it cannot ask."""

    async def asked(_context: Any, question: ElicitRequestParams) -> ElicitResult:
        if answer == "accept":
            return ElicitResult(action="accept", content={"accept": True})
        return ElicitResult(action="decline")

    async def whole() -> T:
        environment = {**os.environ, **ENVIRONMENT}
        parameters = StdioServerParameters(command=words[0], args=list(words[1:]), env=environment, cwd=folder)
        with (folder / "server.log").open("w") as log:
            async with Client(
                stdio_client(parameters, errlog=log), elicitation_callback=asked if answer else None
            ) as client:
                return await session(client)

    with ThreadPoolExecutor(1) as apart:  # a browser that another test opened keeps a loop running in this thread
        return apart.submit(asyncio.run, whole()).result()


def one_call(folder: Path, tool: str, arguments: dict[str, Any], answer: str | None = None) -> CallToolResult:
    """Return the result of one tool."""

    async def session(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    return talk(folder, session, answer)


def text_of(result: CallToolResult) -> str:
    """Return the text of a result, which an agent reads."""
    (content,) = result.content
    assert content.type == "text"
    return content.text


def value_of(result: CallToolResult) -> dict[str, Any]:
    """Return what a tool answered; an error fails the test with its words."""
    if result.is_error:
        pytest.fail(text_of(result))
    value: dict[str, Any] = json.loads(text_of(result))
    assert value == result.structured_content
    return value
