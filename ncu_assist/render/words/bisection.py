"""A bisection in words: what was looked for, each commit that was measured, and the first bad one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Badge, Cell, Column, Table, Tone, number
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.bisection import Bisection, MeasuredCommit

TONES: dict[str, Tone] = {"good": "good", "bad": "bad", "skipped": "unsure"}
DIGITS = 4
SHORT = 12  # digits of a commit


def title(found: Bisection) -> str:
    """Return what was looked for: ``add_one/v1 on small: the first commit at which it is slower``."""
    version = f"{found.kernel}/{short_name(found.version)}"
    return f"{version} on {found.workload}: the first commit at which it is {found.symptom}"


def commits_table(found: Bisection) -> Table:
    """Return a row a commit that was measured: both ends, then those between in the order of the search."""
    columns = (Column("commit"), Column("time", "right", "number"), Column("is"), Column("subject", wraps=True))
    rows = tuple(_row(one) for one in (found.good, found.bad, *found.tried))
    return Table("bisection", "Each commit that was measured", columns, rows)


def _row(one: MeasuredCommit) -> tuple[Cell, ...]:
    time = number(duration(one.median_ns, DIGITS), one.median_ns) if one.median_ns else Cell()
    note = f" ({one_line(one.problem)})" if one.problem else ""
    badge = Badge(one.found, TONES[one.found])
    return Cell(one.id[:SHORT]), time, Cell(one.found, badge=badge), Cell(one_line(one.subject) + note)


def conclusion(found: Bisection) -> Iterator[str]:
    """Yield which commit it is, what it touched, and what to try."""
    if len(found.first) > 1:
        names = ", ".join(one[:SHORT] for one in found.first)
        yield f"one of {len(found.first)} commits, those between could not be measured: {names}"
        yield f"try: git log --oneline {found.good.id[:SHORT]}..{found.bad.id[:SHORT]}"
        return
    first = next(one for one in (*found.tried, found.bad) if one.id == found.first[0])
    slower = f", {100 * found.slowdown:+.1f} % in all" if found.slowdown is not None else ""
    yield f"first {found.symptom}: {first.id[:SHORT]} {first.subject}{slower}"
    if found.files:
        yield f"it touches: {', '.join(found.files)}"
    yield f"try: git show {first.id[:SHORT]}"
