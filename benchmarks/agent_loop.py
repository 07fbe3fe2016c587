"""Goes the whole loop through `ncu-assist mcp` alone, on a machine with a GPU: from `show` to an accepted version.

    python benchmarks/agent_loop.py FOLDER > agent_loop.json

FOLDER gets a copy of kernels/lightning_decode and its recorded runs; nothing else is written. The draft is one that was
written by hand of v3: lanes walk the state by flat index. Every call is made by the official client over pipes; the
person's consent is given by this script. Each row has the tool, its seconds, and the tokens in and out.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult

ROOT = Path(__file__).resolve().parents[1]
KERNEL, PARENT = "lightning_decode", "lightning_decode/v3"
OLD = """\
    const int row = threadIdx.x;
    if (row < D) {
        const float k_row = __bfloat162float(k[row]);
        for (int col = 0; col < D; ++col) {
            new_s[row * D + col] = decay * s[row * D + col] + k_row * __bfloat162float(v[col]);
        }
    }
"""
NEW = """\
    for (int i = threadIdx.x; i < D * D; i += THREADS) {
        const int row = i / D, column = i - row * D;
        new_s[i] = decay * s[i] + __bfloat162float(k[row]) * __bfloat162float(v[column]);
    }
"""
DRAFT: dict[str, Any] = {
    "reference": PARENT,
    "bottleneck": "A store touches 31.7 sectors where its bytes need 4, a load 9.5 where its bytes need 2.",
    "evidence": [{"id": "E3", "value": 31.7}],
    "change": "The state is read and written by flat index: consecutive lanes, consecutive addresses.",
    "slug": "flat_index",
    "predictions": [
        {"metric": "sectors_per_request_store", "direction": "down", "factor": 0.126},
        {"metric": "sectors_per_request_load", "direction": "down", "factor": 0.3},
    ],
    "expected_speedup": 2.9,
    "edits": [{"search": OLD, "replace": NEW}],
}


async def loop(folder: Path) -> dict[str, Any]:
    """Return the calls with what they cost, and what became of the draft."""
    rows: list[dict[str, Any]] = []
    asked: list[str] = []

    async def consent(_context: Any, question: ElicitRequestParams) -> ElicitResult:
        asked.append(question.message)
        return ElicitResult(action="accept", content={"accept": True})

    async def tell(_progress: float, _total: float | None, message: str | None) -> None:
        sys.stderr.write(f"… {message}\n")

    words = ["-m", "ncu_assist", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=words, cwd=folder, env=dict(os.environ))
    async with Client(stdio_client(server), elicitation_callback=consent) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            started = time.monotonic()
            result = await client.call_tool(tool, arguments, progress_callback=tell)
            assert isinstance(result, CallToolResult)
            text = "".join(getattr(one, "text", "") for one in result.content)
            rows.append(
                {
                    "tool": tool,
                    "arguments": {name: value for name, value in arguments.items() if name != "edits"},
                    "seconds": round(time.monotonic() - started, 1),
                    "tokens_in": len(json.dumps(arguments)) // 4,
                    "tokens_out": len(text) // 4,
                    "is_error": bool(result.is_error),
                }
            )
            sys.stderr.write(f"{tool}: {text[:300]}\n")
            return result.structured_content or {}

        await call("doctor")
        await call("kernels", kernel=KERNEL)
        await call("show", reference=PARENT)
        await call("lines", reference=PARENT, rule="uncoalesced-global-store")
        task = await call("task", reference=PARENT)
        proposed = await call("propose", prompt_id=task.get("prompt_id", ""), **DRAFT)
        id = proposed.get("draft", {}).get("id", "")
        proved = await call("prove", id=id)
        kept = proved.get("draft", {}).get("fate") == "kept"
        accepted = await call("accept", id=id) if kept else {}
        version, shown = accepted.get("draft", {}).get("version", ""), {}
        if version:
            shown = await call("show", reference=f"{KERNEL}/{version}")
            await call("diff", reference=f"{KERNEL}/v3@last", candidate=f"{KERNEL}/{version}")
            await call("bench", kernel=KERNEL, versions=["v3", version.partition("_")[0]])
    draft = proved.get("draft", {})
    return {
        "asked": asked,
        "version": version,
        "gpu": shown.get("device"),
        "draft": {name: draft.get(name) for name in ("fate", "reason", "speedup", "flaws", "predictions")},
        "tokens_in": sum(row["tokens_in"] for row in rows),
        "tokens_out": sum(row["tokens_out"] for row in rows),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
        "calls": rows,
    }


def main() -> int:
    """Make the project and go through the loop; exit code 1 where no version came of it."""
    folder = Path(sys.argv[1])
    for name in ("kernels", "reports"):
        shutil.copytree(ROOT / name / KERNEL, folder / name / KERNEL)
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    found = asyncio.run(loop(folder))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0 if found["version"] else 1


if __name__ == "__main__":
    sys.exit(main())
