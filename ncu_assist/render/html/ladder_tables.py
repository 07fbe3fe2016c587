"""The tables of a ladder: steps, estimated against achieved, all workloads, every run, what is damaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ncu_assist.analysis.history import HistoryCell as Measured
from ncu_assist.analysis.history import HistoryTable, VersionRow
from ncu_assist.analysis.predictions import FaultsGone
from ncu_assist.analysis.records import ArchivedRun, Damage
from ncu_assist.analysis.yardstick import COPY, Yardstick
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.history_words import MOST_SAID, against, bound_by, slower_on, time_of
from ncu_assist.render.html.badge import Badge, source_badge, verdict_badge, verdict_tone
from ncu_assist.render.html.bars import heat_level
from ncu_assist.render.html.head import Link
from ncu_assist.render.html.ladder_links import RunLinks
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table, number
from ncu_assist.render.html.term import Term
from ncu_assist.render.html.yardstick import share_term
from ncu_assist.render.prediction_words import rows as prediction_rows
from ncu_assist.render.words import factor
from ncu_assist.versions import short_name

MANY = 12  # rows, from which a filter is of use
GEOMEAN = Term("geomean", "", "geometric mean of the speed-ups over its parent, on all workloads of both")
STEPS = (
    Column("version"),
    Column("time", "right", "number"),
    Column("against its parent", "left", "number"),
    Column("diff", order=""),
    Column(COPY.title, "right", "number", share_term(COPY)),
    Column("bound by"),
    Column("geomean", "right", "number", GEOMEAN),
    Column("worst workload", "left", "number"),
    Column("slower on"),
)
RUNS = (
    Column("version"),
    Column("run"),
    Column("measured"),
    Column("time", "right", "number"),
    Column("workloads", "right", "number"),
    Column("launches", "right", "number"),
    Column("GPU"),
    Column("source"),
)
DAMAGED = (Column("run"), Column("what is wrong"))


def steps_table(shown: HistoryTable, links: RunLinks) -> Table:
    """Return a row a version: its time, the step from the one before, what binds it, the worst over all workloads."""
    measure = shown.yardstick
    rows = tuple(_step(rung, shown.cell(rung), measure, links) for rung in shown.rungs)
    columns = _steps(measure)
    return Table("steps-table", "Each version against its parent", columns, rows, len(rows) >= MANY).without_empty()


def _steps(measure: Yardstick) -> tuple[Column, ...]:
    held = Column(measure.title, "right", "number", share_term(measure))
    return tuple(held if column.title == COPY.title else column for column in STEPS)


def _step(rung: VersionRow, cell: Measured, measure: Yardstick, links: RunLinks) -> tuple[Cell, ...]:
    version, share = one_line(rung.version), cell.share_of(measure)
    stored = cell.stored or next((one.stored for one in rung.cells if one.stored), None)
    return (
        Cell(version, link=Link(version, links.of(stored) if stored else "")),
        _time(rung, cell),
        _against(rung, cell, links),
        _diff(rung, links),
        number(f"{100 * share:.0f} %", share) if share is not None else Cell(),
        Cell(bound_by(cell)),
        *_over_all(rung),
    )


def _time(rung: VersionRow, cell: Measured) -> Cell:
    text = time_of(rung, cell)
    if cell.time_ns is not None:
        return number(text, cell.time_ns)
    return Cell(text, tone="bad" if cell.failed else "dim" if text != ABSENT else "")


def _against(rung: VersionRow, cell: Measured, links: RunLinks) -> Cell:
    verdict = cell.verdict
    badge = verdict_badge(verdict)
    if verdict is None or badge is None or cell.before is None:
        return Cell()
    return Cell(badge.text, repr(verdict.speedup) if verdict.speedup else "", badge=badge)


def _diff(rung: VersionRow, links: RunLinks) -> Cell:
    """Return the link to the page that compares a version with the one before; nothing where there is none."""
    href = links.diff(rung.before, rung.version) if rung.before else ""
    text = f"{one_line(short_name(rung.before or ''))}→{one_line(short_name(rung.version))}"
    return Cell(text, link=Link(text, href)) if href else Cell()


def _over_all(rung: VersionRow) -> tuple[Cell, ...]:
    """Return geomean, worst workload and how many are slower; nothing where there is one workload to compare."""
    if len(rung.cells) < 2 or not rung.geomean:
        return Cell(), Cell(), Cell()
    slower = Cell(one_line(slower_on(rung)), tone="bad" if rung.slower else "")
    return number(factor(rung.geomean), rung.geomean), _worst(rung), slower


def _worst(rung: VersionRow) -> Cell:
    worst = rung.worst
    if worst is None or worst.verdict is None:
        return Cell()
    badge = Badge(against(worst.verdict), verdict_tone(worst.verdict))
    return Cell(badge.text, repr(worst.speedup), badge=badge, note=f"on {one_line(worst.workload or '')}")


def predictions_table(steps: list[FaultsGone]) -> Table:
    """Return the faults that went away, what that was to win, and what it won."""
    columns = (
        Column("version", order=""),
        Column("fault gone", order=""),
        Column("estimated", "right", ""),
        Column("achieved", "right", ""),
    )
    rows = tuple(_predicted(row) for step in steps for row in prediction_rows(step))
    return Table("estimated-table", "Faults gone: speed-up estimated and achieved", columns, rows)


def _predicted(row: tuple[str, str, str, str]) -> tuple[Cell, ...]:
    version, fault, estimated, achieved = (one_line(text) for text in row)
    inner = fault.startswith(("· ", "new: "))
    return (
        Cell(version),
        Cell(fault, tone="dim" if inner else ""),
        Cell(estimated, tone="dim" if inner else ""),
        Cell(achieved),
    )


def matrix(shown: HistoryTable) -> Table:
    """Return the time of every version on every workload, warmer the further it is from a copy of the same bytes."""
    names = [one_line(shown.workloads[place] or ABSENT) for place in shown.places]
    columns = (Column("version"), *(Column(name, "right", "number") for name in names))
    rows = tuple((Cell(one_line(rung.version)), *_entries(rung, shown)) for rung in shown.rungs)
    note = f"below each time: {shown.held_against} over it, 100 % as fast; the warmer, the further from that"
    return Table("matrix-table", "Time of every version on every workload", columns, rows, note=note)


def _entries(rung: VersionRow, shown: HistoryTable) -> Iterator[Cell]:
    return (_entry(rung.cells[place]) for place in shown.places) if rung.cells else iter(())


def _entry(cell: Measured) -> Cell:
    if cell.time_ns is None:
        return Cell("FAILED", tone="bad") if cell.failed else Cell()
    share = cell.share
    if share is None:
        return number(duration(cell.time_ns), cell.time_ns)
    return Cell(
        duration(cell.time_ns), repr(cell.time_ns), note=f"{100 * share:.0f} %", heat=heat_level(1 - share - 0.05)
    )


def runs_table(runs: Iterable[ArchivedRun], workload: str | None, links: RunLinks) -> Table:
    """Return every run of the kernel, newest first, with the page of each that has one."""
    rows = tuple(_run(stored, workload, links) for stored in runs)
    return Table("runs-table", "Every run", RUNS, rows, len(rows) >= MANY, tall=True).without_empty()


def _run(stored: ArchivedRun, workload: str | None, links: RunLinks) -> tuple[Cell, ...]:
    run = stored.run
    timing = run.timing(workload) if workload else None
    return (
        Cell(run.version),
        Cell(run.run_id, link=Link(run.run_id, links.of(stored))),
        Cell(one_line(run.created[:10]), run.created),
        number(duration(timing.median_ns), timing.median_ns) if timing else Cell(),
        number(str(len(run.workloads)), len(run.workloads)) if run.workloads else Cell(),
        number(str(len(run.launches)), len(run.launches)) if run.launches else Cell(),
        Cell(one_line(run.device.name)) if run.device else Cell(),
        Cell(run.source, badge=source_badge(run.source)),
    )


def damaged_table(damaged: Iterable[Damage]) -> Table:
    """Return the runs that were left out, and why."""
    rows = tuple((Cell(one_line(one.path)), Cell(one_line(one.problem, MOST_SAID))) for one in damaged)
    return Table("damaged-table", "Runs that cannot be read", DAMAGED, rows)
