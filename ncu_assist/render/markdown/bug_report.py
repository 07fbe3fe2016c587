"""A report of a bug as Markdown, to be pasted into an issue."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.environment import BugReport, LastError
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.terminal.machine import doctor_text
from ncu_assist.render.terminal.style import Style


def bug_report_markdown(found: BugReport) -> str:
    """Return versions, the last error and what doctor says; what to add stands first."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: BugReport) -> Iterator[str]:
    yield "## What happened"
    yield ""
    yield "(what you did, what you expected, what came)"
    yield ""
    yield "## Versions"
    yield ""
    yield f"- ncu-assist {found.version}, Python {found.python}, {one_line(found.platform)}"
    yield f"- {', '.join(f'{name} {version}' for name, version in found.packages.items())}"
    yield ""
    yield "## Last error"
    yield ""
    yield from _error(found.last_error) if found.last_error else ("none is known",)
    yield ""
    yield "## Machine"
    yield ""
    yield from _block(doctor_text(found.examination, Style()))


def _error(last: LastError) -> Iterator[str]:
    yield f"{last.when}, ncu-assist {last.version}, exit code {last.exit_code}"
    yield ""
    hint = f"  try: {last.hint}" if last.hint else ""
    yield from _block("\n".join(filter(None, (f"$ {last.command}", f"error: {last.message}", hint, last.traceback))))


def _block(text: str) -> Iterator[str]:
    """Yield text as a block of code, whose fence is longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield fence
    yield from plain(text.rstrip("\n")).split("\n")
    yield fence
