"""What the rules say first of each version, beside what the comment at the top of its source expected them to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ncu_assist.analysis.history import HistoryCell as Measured
from ncu_assist.analysis.history import HistoryTable, VersionRow
from ncu_assist.analysis.predictions import findings_of
from ncu_assist.analysis.records import StoredFinding
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import Badge
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table, number
from ncu_assist.render.html.term import Term
from ncu_assist.render.words import factor
from ncu_assist.rules import RULES
from ncu_assist.rules.base import severity

QUOTED = re.compile(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`")
EXPECTED = Term("expected", "", "the rules that the comment at the top of the source names, after expected:")
FOUND = Term("found", "", "whether a rule that was expected comes first, elsewhere, or on no profiled workload")
ESTIMATED = Term(
    "estimated", "", "the speed-up that the finding was estimated to be worth, under ncu; no more than the floor allows"
)
COLUMNS = (
    Column("version"),
    Column("first finding"),
    Column("severity"),
    Column("estimated", "right", "number", ESTIMATED),
    Column("on"),
    Column("expected", "left", "text", EXPECTED),
    Column("found", "left", "text", FOUND),
)
Told = list[tuple[Measured, tuple[StoredFinding, ...]]]


def diagnoses_table(shown: HistoryTable, comments: Mapping[str, str]) -> Table | None:
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


def _row(rung: VersionRow, shown: HistoryTable, wanted: tuple[str, ...]) -> tuple[Cell, ...] | None:
    told: Told = list(findings_of(rung, shown))
    if not told and not wanted:
        return None
    cell, found = (told[0][0], _to_floor(told[0][1][0], told[0][0])) if told else (None, None)
    elsewhere = cell is not None and cell.workload != shown.shown
    return (
        Cell(one_line(rung.version)),
        Cell(found.rule) if found else Cell(),
        Cell(found.severity) if found else Cell(),
        _estimate(found),
        Cell(one_line(cell.workload or ABSENT)) if cell and elsewhere else Cell(),
        Cell(", ".join(wanted)) if wanted else Cell(),
        _found(told, wanted),
    )


def _to_floor(found: StoredFinding, cell: Measured) -> StoredFinding:
    """Return a finding with no more than the floor allows: it may be older than that bound."""
    most = max(1.0, 1.0 / cell.share_of_floor) if cell.share_of_floor else None
    if cell.floor is None or most is None or found.estimated_speedup is None or found.estimated_speedup <= most:
        return found
    assumed = found.assumed or cell.floor.assumed
    return replace(found, estimated_speedup=most, severity=severity(1.0 - 1.0 / most), assumed=assumed)


def _estimate(found: StoredFinding | None) -> Cell:
    """Return what a finding is worth; nothing of a remark."""
    if found is None or found.severity == "info" or found.estimated_speedup is None:
        return Cell()
    worth = number(factor(found.estimated_speedup), found.estimated_speedup)
    return replace(worth, note="assumed" if found.assumed else "")


def _found(told: Told, wanted: Iterable[str]) -> Cell:
    """Return whether what was expected is there: first, behind another, on another workload, or not."""
    if not wanted or not told:
        return Cell()
    first, known = told[0], set(wanted)
    if first[1][0].rule in known:
        return Cell("first", badge=Badge("first", "good"))
    for cell, findings in told:
        rule = next((one.rule for one in findings if one.rule in known), None)
        if rule is not None:
            where = "" if cell is first[0] else f" on {one_line(cell.workload or ABSENT)}"
            return Cell("also", badge=Badge("also", "same"), note=f"{rule}{where}")
    return Cell("not found", badge=Badge("not found", "unsure"))
