"""All versions of a kernel on a terminal: a table for each workload, and what is missing below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, KernelOutcome, Ladder, LadderCell, LadderRow, ladder
from ncu_assist.analysis.run_view import gigabytes_per_second
from ncu_assist.analysis.yardstick import COPY, LINK, TENSOR
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.run import check_word, percent
from ncu_assist.render.terminal.style import Align, Style, table, to_text
from ncu_assist.render.words.floors import l2_words
from ncu_assist.render.words.verdicts import factor, origin, verdict_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MEASURES = (COPY, LINK, TENSOR)
HEADINGS = ("median", "vs v0", "GB/s", *(measure.title for measure in MEASURES), "check", "DRAM")


def outcome_text(outcome: KernelOutcome, style: Style | None = None) -> str:
    """Return the versions of a kernel as text, workload by workload; columns that nobody filled are left out."""
    from rich.text import Text

    shown = ladder(outcome)
    parts: list[RenderableType] = [Text(one_line(shown.kernel), style="bold")]
    if shown.shown is not None:
        parts.append(Text(origin(shown.source, shown.shown), style="dim"))
    parts += [Text(verdict_line(diff), style="bold") for diff in outcome.diffs]
    for index, workload in enumerate(shown.workloads):
        served = tuple(rung for rung in shown.rungs if rung.serves(workload))
        parts += [Text(""), Text(one_line(workload), style="bold"), _table(served, index)]
        remarks = (*_not_served(shown.rungs, len(served), workload), _no_rate(served, index))
        parts += [Text(line, style="dim") for line in remarks if line]
    parts += [Text(line, style="red") for line in _troubles(shown)]
    skipped = [
        f"{one_line(rung.version)}: {one_line(f'{SKIPPED}: {rung.skipped}')}" for rung in shown.rungs if rung.skipped
    ]
    parts += [Text(line, style="dim") for line in ("", *skipped)] if skipped else []
    return to_text(parts, style)


def _table(rungs: tuple[LadderRow, ...], index: int) -> Table:
    rows = [_cells(rung, index) for rung in rungs]
    kept = [i for i in range(len(HEADINGS)) if any(row[i] != "-" for row in rows)]
    headings: list[tuple[str, Align]] = [(HEADINGS[i], "left" if HEADINGS[i] == "check" else "right") for i in kept]
    made = table(("version", "left"), *headings)
    for rung, row in zip(rungs, rows, strict=True):
        made.add_row(one_line(rung.version), *(row[i] for i in kept))
    return made


def _not_served(rungs: tuple[LadderRow, ...], served: int, workload: str) -> list[str]:
    """Return for whom a workload is, or is not, whichever is said in fewer names; nothing where it is for all."""
    others = len(rungs) - served
    if not others:
        return []
    named = [one_line(rung.version) for rung in rungs if rung.serves(workload) == (served < others)]
    return [f"for {', '.join(named)} only" if served < others else f"not for {', '.join(named)}"]


def _no_rate(rungs: tuple[LadderRow, ...], index: int) -> str:
    """Return why a workload has no bandwidth; empty where it has one."""
    rows = (rung.cells[index].row for rung in rungs if rung.cells)
    return next((f"no GB/s: {words}" for row in rows if row and row.timing and (words := l2_words(row))), "")


def _cells(rung: LadderRow, index: int) -> tuple[str, ...]:
    if not rung.cells:
        return (rung.status, *("-" for _ in HEADINGS[1:]))
    cell = rung.cells[index]
    row = cell.row
    return (
        NOT_MEASURED if cell.workload in rung.unmeasured else _median(cell),
        factor(cell.speedup) if cell.speedup is not None else "-",
        gigabytes_per_second(row) if row and row.in_l2 is None else "-",
        *(percent(row.share_of(measure)) if row else "-" for measure in MEASURES),
        check_word(row),
        f"{cell.dram_percent:.0f} %" if cell.dram_percent is not None else "-",
    )


def _median(cell: LadderCell) -> str:
    timing = cell.row.timing if cell.row else None
    return duration(timing.median_ns) if timing else "-"


def _troubles(shown: Ladder) -> list[str]:
    lines = []
    for rung in shown.rungs:
        name = one_line(rung.version)
        lines += (
            [f"{name}: {one_line(f'failed: {rung.failure}', 2000)}"] if rung.failure else _failed_checks(name, rung)
        )
    return ["", *lines] if lines else []


def _failed_checks(name: str, rung: LadderRow) -> list[str]:
    checks = [cell.row.check for cell in rung.cells if cell.row and cell.row.check]
    return [f"{name} on {one_line(c.workload)}: {one_line(c.reason, 2000)}" for c in checks if not c.passed]
