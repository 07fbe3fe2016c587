"""What Nsight Compute's own rules say of a run, on a terminal: beside our diagnosis, never mixed with it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.ncu.nvidia_findings import NvidiaFinding
from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

TITLE = "NVIDIA's rules: global is time of the launch that a fix may save, local is of one unit alone"
LEAST_PCT = 1.0  # an estimate below it is no advice
INDENT = "    "
MESSAGE = 600  # letters


def nvidia_text(findings: Sequence[NvidiaFinding], launches: int, width: int) -> list[RenderableType]:
    """Return each rule with its estimate and message, those worth next to nothing left out; a line if none is left."""
    from rich.text import Text

    parts: list[RenderableType] = [Text(""), Text(TITLE, style="bold")]
    worth = [one for one in findings if one.speedup_pct is None or one.speedup_pct >= LEAST_PCT]
    for finding in worth:
        parts.append(Text(_heading(finding, launches)))
        told = one_line(finding.message, MESSAGE)
        parts += [
            Text(line, style="dim")
            for line in textwrap.wrap(told, width - len(INDENT), initial_indent=INDENT, subsequent_indent=INDENT)
        ]
    return parts if worth else [*parts, Text("none has any advice")]


def _heading(finding: NvidiaFinding, launches: int) -> str:
    gain = "no estimate" if finding.speedup_pct is None else f"{finding.speedup_pct:.0f} % {finding.speedup_type or ''}"
    where = f", {one_line(finding.kernel, 24)} ({finding.launches} of {launches} launches)" if launches > 1 else ""
    return f"{one_line(finding.title, 60)} ({one_line(finding.rule, 40)}): {gain.strip()}{where}"
