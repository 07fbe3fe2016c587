"""What the comment at the top of each version's source says, and what the rules say first beside what it expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ncu_assist.analysis.history import History, VersionRow
from ncu_assist.analysis.history import HistoryCell as Measured
from ncu_assist.analysis.predictions import findings_of
from ncu_assist.analysis.records import StoredFinding
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Badge, Cell, Column, Table, Term, number
from ncu_assist.render.words.verdicts import factor
from ncu_assist.rules import RULES
from ncu_assist.rules.base import severity

MOST_LETTERS = 1_500  # letters of a comment
_LABEL = re.compile(r"([A-Za-z]\w{0,15}(?:, [\w ]{1,20})?):(?:\s|$)")  # "Changes, to v3": not half a sentence
_LISTED = re.compile(r"\s*([-*|+•]|\d+[.)])\s")


@dataclass(frozen=True)
class CommentParagraph:
    """A paragraph, and the word with a colon that it starts with."""

    label: str
    text: str


@dataclass(frozen=True)
class VersionComment:
    """What one version says of itself; ``cut`` is how many letters of it are left out."""

    version: str
    said: tuple[CommentParagraph, ...]
    cut: int = 0


def version_comments(comments: Mapping[str, str], history: History) -> Iterator[VersionComment]:
    """Yield what each version says of itself, in the order of the versions, without those that say nothing."""
    for row in history.rows:
        comment = comments.get(row.version, "")
        if comment:
            yield VersionComment(
                row.version, tuple(_paragraphs(comment[:MOST_LETTERS])), max(0, len(comment) - MOST_LETTERS)
            )


def _paragraphs(comment: str) -> Iterator[CommentParagraph]:
    """Yield paragraphs: an empty line, a word with a colon or a sign of a list starts one, other lines are joined."""
    parts: list[list[str]] = [[]]
    for line in comment.splitlines():
        if not line.strip() or _LABEL.match(line) or _LISTED.match(line):
            parts.append([])
        if line.strip():
            parts[-1].append(line.strip())
    for part in parts:
        if part:
            text = " ".join(part)
            label = _LABEL.match(text)
            yield CommentParagraph(label[1], text[label.end() :]) if label else CommentParagraph("", text)


QUOTED = re.compile(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`")
EXPECTED_TERM = Term("expected", "", "the rules that the comment at the top of the source names, after expected:")
FOUND_TERM = Term("found", "", "whether a rule that was expected comes first, elsewhere, or on no profiled workload")
ESTIMATED_TERM = Term(
    "estimated", "", "the speed-up that the finding was estimated to be worth, under ncu; no more than the floor allows"
)
DIAGNOSIS_COLUMNS = (
    Column("version"),
    Column("first finding"),
    Column("severity"),
    Column("estimated", "right", "number", ESTIMATED_TERM),
    Column("on"),
    Column("expected", "left", "text", EXPECTED_TERM),
    Column("found", "left", "text", FOUND_TERM),
)
FindingsByCell = list[tuple[Measured, tuple[StoredFinding, ...]]]


def diagnoses_table(history: History, comments: Mapping[str, str]) -> Table | None:
    """Return a row a version with a finding or an expectation; None where there is no finding at all."""
    rows = [_diagnosis_row(row, history, expected(comments.get(row.version, ""))) for row in history.rows]
    said = tuple(row for row in rows if row is not None)
    if not any(row[1].text != ABSENT for row in said):
        return None
    return Table("diagnoses-table", "First finding and the one expected", DIAGNOSIS_COLUMNS, said).without_empty()


def expected(comment: str) -> tuple[str, ...]:
    """Return the rules that a comment names between ``expected:`` and ``measured:``, in its order."""
    said = comment.partition("expected:")[2].partition("measured:")[0]
    return tuple(dict.fromkeys(name for name in QUOTED.findall(said) if name in RULES))


def _diagnosis_row(row: VersionRow, history: History, wanted: tuple[str, ...]) -> tuple[Cell, ...] | None:
    told: FindingsByCell = list(findings_of(row, history))
    if not told and not wanted:
        return None
    cell, found = (told[0][0], _to_floor(told[0][1][0], told[0][0])) if told else (None, None)
    elsewhere = cell is not None and cell.workload != history.shown
    return (
        Cell(one_line(row.version)),
        Cell(found.rule) if found else Cell(),
        Cell(found.severity) if found else Cell(),
        _estimate_cell(found),
        Cell(one_line(cell.workload or ABSENT)) if cell and elsewhere else Cell(),
        Cell(", ".join(wanted)) if wanted else Cell(),
        _found_cell(told, wanted),
    )


def _to_floor(found: StoredFinding, cell: Measured) -> StoredFinding:
    """Return a finding with no more than the floor allows: it may be older than that bound."""
    most = max(1.0, 1.0 / cell.share_of_floor) if cell.share_of_floor else None
    if cell.floor is None or most is None or found.estimated_speedup is None or found.estimated_speedup <= most:
        return found
    assumed = found.assumed or cell.floor.assumed
    return replace(found, estimated_speedup=most, severity=severity(1.0 - 1.0 / most), assumed=assumed)


def _estimate_cell(found: StoredFinding | None) -> Cell:
    """Return what a finding is worth; nothing of a remark."""
    if found is None or found.severity == "info" or found.estimated_speedup is None:
        return Cell()
    worth = number(factor(found.estimated_speedup), found.estimated_speedup)
    return replace(worth, note="assumed" if found.assumed else "")


def _found_cell(told: FindingsByCell, wanted: Iterable[str]) -> Cell:
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
