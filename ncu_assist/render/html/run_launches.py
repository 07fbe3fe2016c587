"""The launches of a workload in a table, each with what the rules say of it alone."""

from __future__ import annotations

from ncu_assist.analysis.run_view import LaunchRow, Shown
from ncu_assist.quantity import duration
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.render.words import estimated
from ncu_assist.rules.model.diagnosis import Ranked

MOST_LAUNCHES = 100  # rows
SIGNATURE, ARGUMENTS = 400, 90  # letters
MANY, TALL = 12, 20  # rows from which a filter is of use, and from which the table scrolls
LAUNCH_COLUMNS = (
    Column("launch"),
    Column("#", "right", "number"),
    Column("duration", "right", "number", term_of("duration", "duration")),
    Column("of all", "right", "number"),
    Column("grid", "right", ""),
    Column("block", "right", ""),
    Column("bound by"),
    Column("diagnosis"),
)


def launches_table(shown: Shown) -> Table | None:
    """Return the launches, the longest first, each with what the rules say of it alone; None of a single one."""
    rows = shown.launches_shown
    if len(rows) < 2:
        return None
    whole = sum(row.launch.duration_ns or 0.0 for row in rows)
    rest = len(rows) - MOST_LAUNCHES
    note = f"{rest} shorter launches are left out." if rest > 0 else ""
    cells = tuple(_launch(row, whole) for row in rows[:MOST_LAUNCHES])
    caption = "Launches, the longest first, each judged alone"
    return Table("launches-table", caption, LAUNCH_COLUMNS, cells, len(cells) > MANY, note, tall=len(cells) > TALL)


def _launch(row: LaunchRow, whole: float) -> tuple[Cell, ...]:
    launch, took = row.launch, row.launch.duration_ns
    findings = row.told.diagnosis.findings if row.told else ()
    said = findings[0] if findings else None
    return (
        _kernel(launch),
        number(str(launch.index), launch.index),
        number(duration(took), took) if took is not None else Cell(),
        number(f"{100 * took / whole:.1f} %", took / whole) if took is not None and whole else Cell(),
        Cell("x".join(map(str, launch.grid))),
        Cell("x".join(map(str, launch.block))),
        Cell(f"{row.bottleneck.name} {row.bottleneck.percent:.0f} %") if row.bottleneck else Cell(),
        Cell(said.finding.rule, note=_gain(said)) if said else Cell(),
    )


def _kernel(launch: Launch) -> Cell:
    """Return the name of a kernel, its signature on hover, the start of its template arguments, which tell it apart."""
    name, signature = one_line(launch.kernel, 80), one_line(launch.signature, SIGNATURE)
    if signature == name:
        return Cell(name)
    return Cell(name, key=name, term=Term(name, signature), note=one_line(_arguments(launch), ARGUMENTS))


def _arguments(launch: Launch) -> str:
    _, found, rest = launch.signature[:SIGNATURE].partition(launch.kernel + "<")
    return f"<{rest}" if found else ""


def _gain(said: Ranked) -> str:
    if said.severity == "info":
        return ""
    return f"{said.severity}, {estimated(said.estimated_speedup, said.finding.assumed)}"
