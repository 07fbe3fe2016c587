"""What the rules say first of each version, beside what the comment at the top of its source expected them to say."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ncu_assist.render.escape import one_line
from ncu_assist.render.history import Climb, Rung
from ncu_assist.render.html.badge import Badge
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table, number
from ncu_assist.render.html.term import Term
from ncu_assist.render.predictions import first_finding
from ncu_assist.render.words import factor
from ncu_assist.rules import RULES
from ncu_assist.store.findings import StoredFinding

QUOTED = re.compile(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`")
EXPECTED = Term("expected", "", "the rules that the comment at the top of the source names, after expected:")
ESTIMATED = Term("estimated", "", "the speed-up that the finding was estimated to be worth, under ncu")
COLUMNS = (
    Column("version"),
    Column("first finding"),
    Column("severity"),
    Column("estimated", "right", "number", ESTIMATED),
    Column("on"),
    Column("expected", "left", "text", EXPECTED),
    Column("as expected"),
)


def diagnoses_table(shown: Climb, comments: Mapping[str, str]) -> Table | None:
    """Return a row a version with a finding or an expectation; None where there is no finding at all."""
    rows = [_row(rung, shown, expected(comments.get(rung.version, ""))) for rung in shown.rungs]
    said = tuple(row for row in rows if row is not None)
    if not any(row[1].text != ABSENT for row in said):
        return None
    return Table("diagnoses-table", "First finding and the one expected", COLUMNS, said).without_empty()


def expected(comment: str) -> tuple[str, ...]:
    """Return the rules that a comment names between ``expected:`` and ``measured:``, in its order."""
    said = comment.partition("expected:")[2].partition("measured:")[0]
    return tuple(dict.fromkeys(name for name in QUOTED.findall(said) if name in RULES))


def _row(rung: Rung, shown: Climb, wanted: tuple[str, ...]) -> tuple[Cell, ...] | None:
    workload, found = first_finding(rung, shown)
    if found is None and not wanted:
        return None
    return (
        Cell(one_line(rung.version)),
        Cell(found.rule) if found else Cell(),
        Cell(found.severity) if found else Cell(),
        _estimate(found),
        Cell(one_line(workload)) if workload and workload != shown.shown else Cell(),
        Cell(", ".join(wanted)) if wanted else Cell(),
        _agrees(found, wanted),
    )


def _estimate(found: StoredFinding | None) -> Cell:
    speedup = found.estimated_speedup if found and found.severity != "info" else None
    return number(factor(speedup), speedup) if speedup else Cell()


def _agrees(found: StoredFinding | None, wanted: tuple[str, ...]) -> Cell:
    if found is None or not wanted:
        return Cell()
    badge = Badge("yes", "good") if found.rule in wanted else Badge("no", "unsure", "one of the two is wrong")
    return Cell(badge.text, badge=badge)
