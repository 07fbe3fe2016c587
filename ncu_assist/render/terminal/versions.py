"""All versions of a kernel on a terminal: a table for each workload, and what is missing below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, KernelOutcome, Ladder, LadderCell, LadderRow, ladder
from ncu_assist.analysis.run_view import gigabytes_per_second
from ncu_assist.analysis.yardstick import COPY, LINK, TENSOR
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Align
from ncu_assist.render.terminal.run import check_word, percent
from ncu_assist.render.terminal.style import Style, table, to_text
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
        served = tuple(row for row in shown.rows if row.serves(workload))
        parts += [Text(""), Text(one_line(workload), style="bold"), _table(served, index)]
        remarks = (*_not_served(shown.rows, len(served), workload), _no_rate(served, index))
        parts += [Text(line, style="dim") for line in remarks if line]
    parts += [Text(line, style="red") for line in _troubles(shown)]
    skipped = [f"{one_line(row.version)}: {one_line(f'{SKIPPED}: {row.skipped}')}" for row in shown.rows if row.skipped]
    parts += [Text(line, style="dim") for line in ("", *skipped)] if skipped else []
    return to_text(parts, style)


def _table(versions: tuple[LadderRow, ...], index: int) -> Table:
    rows = [_cells(row, index) for row in versions]
    kept = [i for i in range(len(HEADINGS)) if any(row[i] != "-" for row in rows)]
    headings: list[tuple[str, Align]] = [(HEADINGS[i], "left" if HEADINGS[i] == "check" else "right") for i in kept]
    made = table(("version", "left"), *headings)
    for row, cells in zip(versions, rows, strict=True):
        made.add_row(one_line(row.version), *(cells[i] for i in kept))
    return made


def _not_served(rows: tuple[LadderRow, ...], served: int, workload: str) -> list[str]:
    """Return for whom a workload is, or is not, whichever is said in fewer names; nothing where it is for all."""
    others = len(rows) - served
    if not others:
        return []
    named = [one_line(row.version) for row in rows if row.serves(workload) == (served < others)]
    return [f"for {', '.join(named)} only" if served < others else f"not for {', '.join(named)}"]


def _no_rate(rows: tuple[LadderRow, ...], index: int) -> str:
    """Return why a workload has no bandwidth; empty where it has one."""
    timed = (row.cells[index].row for row in rows if row.cells)
    return next((f"no GB/s: {words}" for one in timed if one and one.timing and (words := l2_words(one))), "")


def _cells(row: LadderRow, index: int) -> tuple[str, ...]:
    if not row.cells:
        return (row.status, *("-" for _ in HEADINGS[1:]))
    cell = row.cells[index]
    timed = cell.row
    return (
        NOT_MEASURED if cell.workload in row.unmeasured else _median(cell),
        factor(cell.speedup) if cell.speedup is not None else "-",
        gigabytes_per_second(timed) if timed and timed.in_l2 is None else "-",
        *(percent(timed.share_of(measure)) if timed else "-" for measure in MEASURES),
        check_word(timed),
        f"{cell.dram_percent:.0f} %" if cell.dram_percent is not None else "-",
    )


def _median(cell: LadderCell) -> str:
    timing = cell.row.timing if cell.row else None
    return duration(timing.median_ns) if timing else "-"


def _troubles(shown: Ladder) -> list[str]:
    lines = []
    for row in shown.rows:
        name = one_line(row.version)
        lines += [f"{name}: {one_line(f'failed: {row.failure}', 2000)}"] if row.failure else _failed_checks(name, row)
    return ["", *lines] if lines else []


def _failed_checks(name: str, row: LadderRow) -> list[str]:
    checks = [cell.row.check for cell in row.cells if cell.row and cell.row.check]
    return [f"{name} on {one_line(c.workload)}: {one_line(c.reason, 2000)}" for c in checks if not c.passed]
