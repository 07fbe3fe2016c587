"""The tables of a history, as data: versions against their parents, faults gone, sweeps, all workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, NO_LINKS, Badge, Cell, Column, Link, RunLinks, Table, Term, number, percent
from ncu_assist.render.words.floors import FLOOR, FLOOR_TERM, library_table
from ncu_assist.render.words.history import (
    ANOTHER_SOURCE,
    bound_by,
    estimate,
    estimates,
    fault,
    point_time,
    slower_on,
    time_of,
    together,
)
from ncu_assist.render.words.terms import against, share_term, verdict_badge, verdict_tone
from ncu_assist.render.words.verdicts import factor, faster_or_slower
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.faults_gone import FaultsGone
    from ncu_assist.analysis.history import History, HistoryCell, OtherGpu, Sweep, VersionRow

LIBRARY = "library"  # in place of a step
FILTER_FROM = 12  # rows, from which a filter is of use
GEOMEAN = Term("geomean", "", "geometric mean of the speed-ups over its parent, on all workloads of both")
OVER_ALL = ("version", "geomean", "worst", "slower on")  # of the table of versions, where several are compared on


def versions_table(history: History, links: RunLinks = NO_LINKS, names_parents: bool = True) -> Table:
    """Return a row a version: its time, the step from its parent, what binds it, the worst over all workloads.

    ``names_parents``: where the parent is not the version above, its name stands below the step.
    """
    measure = history.yardstick
    columns = (
        Column("version"),
        Column("median" if history.shown is not None else "under ncu", "right", "number"),
        Column("vs parent", "left", "number", wraps=True),
        Column("diff", order=""),
        Column(measure.title, "right", "number", share_term(measure)),
        Column("bound by", wraps=True),
        Column("geomean", "right", "number", GEOMEAN),
        Column("worst", "left", "number", wraps=True),
        Column("slower on", wraps=True),
    )
    rows = tuple(_version_row(row, history, links, names_parents) for row in history.rows)
    return Table("steps-table", "Each version against its parent", columns, rows, len(rows) >= FILTER_FROM)


def _version_row(row: VersionRow, history: History, links: RunLinks, names_parents: bool) -> tuple[Cell, ...]:
    cell, version = history.cell(row), one_line(row.version)
    stored = cell.stored or next((one.stored for one in row.cells if one.stored), None)
    href = links.of(stored) if stored else ""
    step, parent = _against_cell(row, cell), other_parent(row, history) if names_parents else ""
    return (
        Cell(version, link=Link(version, href) if href else None),
        time_cell(row, cell),
        replace(step, note=" ".join(filter(None, [parent, step.note]))),
        _diff_cell(row, links),
        percent(cell.share_of(history.yardstick)),
        Cell(bound_by(cell)),
        *_over_all_cells(row),
    )


def time_cell(row: VersionRow, cell: HistoryCell) -> Cell:
    """Return the time of a version, or in a word why there is none."""
    text = time_of(row, cell)
    if cell.time_ns is not None:
        return number(text, cell.time_ns)
    return Cell(text, tone="bad" if cell.failed else "dim" if text != ABSENT else "")


def _against_cell(row: VersionRow, cell: HistoryCell) -> Cell:
    """Return the step from the parent; that a clock alone made it stands below, as its column has no room for it.

    A library's version without a parent says what it is.
    """
    verdict, badge = cell.verdict, verdict_badge(cell.verdict)
    if verdict is None or badge is None:
        return Cell(LIBRARY, tone="dim") if row.is_peer and not row.parents else Cell()
    text, _, clock = badge.text.partition(" at a ")
    note = f"at a {clock}" if clock else ""
    return Cell(text, repr(verdict.speedup) if verdict.speedup else "", badge=replace(badge, text=text), note=note)


def other_parent(row: VersionRow, history: History) -> str:
    """Return against which version a step is, e.g. ``than v0``, where that is not the one in the row above."""
    above = next((one.version for one, own in pairwise(history.rows) if own is row), None)
    verdict = history.cell(row).verdict
    if verdict is None or not row.before or row.before == above:
        return ""
    told = (verdict.likely or verdict.verdict) in ("faster", "slower")
    return f"{'than' if told else 'against'} {one_line(short_name(row.before))}"


def _diff_cell(row: VersionRow, links: RunLinks) -> Cell:
    """Return the link to the page that compares a version with the one before; nothing where there is none."""
    href = links.diff(row.before, row.version) if row.before else ""
    text = f"{one_line(short_name(row.before or ''))}→{one_line(short_name(row.version))}"
    return Cell(text, link=Link(text, href)) if href else Cell()


def _over_all_cells(row: VersionRow) -> tuple[Cell, ...]:
    """Return geomean, worst workload and how many are slower; nothing where there is one workload to compare."""
    worst = row.worst
    if len(row.cells) < 2 or not row.geomean or worst is None or worst.verdict is None:
        return Cell(), Cell(), Cell()
    text, _, clock = against(worst.verdict).partition(" at a ")
    badge = Badge(text, verdict_tone(worst.verdict))
    by_clock = f"at a {clock} " if clock else ""
    return (
        number(faster_or_slower(row.geomean) or factor(row.geomean), row.geomean),
        Cell(badge.text, repr(worst.speedup), badge=badge, note=f"{by_clock}on {one_line(worst.workload or '')}"),
        Cell(one_line(slower_on(row)), tone="bad" if row.slower else ""),
    )


def workloads_table(history: History) -> Table:
    """Return a row a workload and a column a version: its time and the verdict against its parent."""
    columns = (Column("workload"), *(Column(one_line(row.version)) for row in history.rows))
    rows = tuple(
        (
            Cell(one_line(str(history.workloads[place]))),
            *(_time_and_verdict(row, row.cells[place]) for row in history.rows),
        )
        for place in history.places
    )
    return Table("all-workloads-table", "Every version on every workload", columns, rows)


def _time_and_verdict(row: VersionRow, cell: HistoryCell) -> Cell:
    verdict = against(cell.verdict)
    return Cell(time_of(row, cell) if verdict == ABSENT else f"{time_of(row, cell)}, {verdict}")


def other_gpus_table(history: History) -> Table:
    """Return a row a version: on each other GPU its time, the step from its parent there, and its share of the floor.

    Of several, a column of times is called as its GPU is. No row where there is no other GPU.
    """
    columns = [Column("version")]
    caption = f"on {one_line(history.others[0].gpu)}" if len(history.others) == 1 else "on other GPUs"
    for other in history.others:
        columns += [
            Column("median" if len(history.others) == 1 else one_line(other.gpu), "right", "number"),
            Column("vs parent", "left", "number", wraps=True),
            Column(FLOOR, "right", "number", FLOOR_TERM),
        ]
    rows = tuple(
        (Cell(one_line(row.version)), *(cell for other in history.others for cell in _cells_there(row, place, other)))
        for place, row in enumerate(history.rows if history.others else ())
    )
    return Table("others-table", f"Each version against its parent {caption}", tuple(columns), rows)


def _cells_there(row: VersionRow, place: int, other: OtherGpu) -> tuple[Cell, Cell, Cell]:
    cell = other.cells[place]
    time = number(duration(cell.timing.median_ns), cell.timing.median_ns) if cell.timing else Cell()
    if row.version in other.changed:
        time = Cell(ANOTHER_SOURCE, tone="dim")
    return time, _against_cell(row, cell), percent(cell.share_of_floor)


def other_libraries(history: History, intervals: bool = True) -> tuple[Table, ...]:
    """Return for each other GPU the fastest own version against the fastest library there, where it has both."""
    return tuple(
        replace(
            library_table(other.against_library, intervals),
            id=f"others-library-{place}",
            caption=f"The fastest own version against the fastest library on {one_line(other.gpu)}",
        )
        for place, other in enumerate(history.others)
        if other.against_library
    )


def sweep_table(sweep: Sweep) -> Table:
    """Return the time of one version by the value of one integer."""
    measure = sweep.yardstick
    columns = (
        Column(one_line(sweep.axis), "right"),
        Column("median", "right"),
        Column(measure.title, "right", "number", share_term(measure)),
    )
    rows = tuple(
        (Cell(str(value)), Cell(point_time(cell), tone="bad" if cell.failed else ""), percent(cell.share_of(measure)))
        for value, cell in sweep.points
    )
    return Table("sweep-table", f"Time by {one_line(sweep.axis)}", columns, rows)


def faults_gone_table(found: Sequence[FaultsGone]) -> Table:
    """Return the faults that versions no longer have, or have less of: the speed-up estimated, the one achieved."""
    columns = (
        Column("version", order=""),
        Column("fault gone", order="", wraps=True),
        Column("estimated", "right", ""),
        Column("achieved", "right", ""),
    )
    rows = tuple(row for step in found for row in _faults_of(step))
    return Table("estimated-table", "Faults gone or lessened: speed-up estimated and achieved", columns, rows)


def _faults_of(step: FaultsGone) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of a version: what is gone, of several first what they come to, what is less, what is more.

    Last comes the largest new fault.
    """
    parts = []
    if len(step.gone) > 1:
        parts.append((f"{len(step.gone)} together", together(step)))
    parts += [(f"{'· ' * (len(step.gone) > 1)}{fault(one)}", estimate(one)) for one in step.gone]
    parts += [(f"less: {fault(now)}", estimates((was, now))) for was, now in step.lessened]
    parts += [(f"more: {fault(now)}", estimates((was, now))) for was, now in step.worse]
    if step.appeared:
        new, *more = step.appeared
        parts.append((f"new: {fault(new)}{f' +{len(more)}' if more else ''}", estimate(new)))
    for place, (what, said) in enumerate(parts):
        if place:
            yield Cell(""), Cell(one_line(what), tone="dim"), Cell(said, tone="dim"), Cell("")
        else:
            achieved = Cell(factor(step.achieved) if step.achieved else ABSENT)
            yield Cell(one_line(step.version)), Cell(one_line(what)), Cell(said), achieved
