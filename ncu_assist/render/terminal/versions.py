"""All versions of a kernel on a terminal: a table for each workload, and what is missing below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, KernelOutcome, LadderCell, VersionOutcome
from ncu_assist.analysis.run_view import gigabytes_per_second
from ncu_assist.analysis.yardstick import COPY, LINK, OPERATIONS
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Cell, Column, Table, percent
from ncu_assist.render.terminal.run import check_word
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.render.words.floors import l2_words
from ncu_assist.render.words.own_against_library import library_sentence
from ncu_assist.render.words.verdicts import factor, origin, verdict_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.record import Timing

MEASURES = (COPY, LINK, OPERATIONS)
HEADINGS = ("median", "vs v0", "GB/s", *(measure.title for measure in MEASURES), "check", "DRAM")
COLUMNS = (Column("version", wraps=True), *(Column(name, "left" if name == "check" else "right") for name in HEADINGS))
LONGEST_REASON = 2000  # letters
Cells = dict[str, tuple[LadderCell, ...]]  # by version, one a workload


def outcome_text(outcome: KernelOutcome, style: Style | None = None) -> str:
    """Return the versions of a kernel as text, workload by workload; columns that nobody filled are left out."""
    from rich.text import Text

    cells = {version.version: outcome.cells(version) for version in outcome.versions}
    parts: list[RenderableType] = [Text(one_line(outcome.kernel), style="bold")]
    if outcome.newest is not None:
        parts.append(Text(origin(outcome.source, outcome.newest), style="dim"))
    parts += [Text(verdict_line(diff), style="bold") for diff in outcome.diffs]
    for place, workload in enumerate(outcome.workloads):
        served = [version for version in outcome.versions if version.serves(workload)]
        own = [cells[version.version][place] for version in served if cells[version.version]]
        table = _table(outcome, served, [cells[version.version][place : place + 1] for version in served])
        parts += [Text(""), Text(one_line(workload), style="bold"), printed(table)]
        against = library_sentence(outcome.against_library(workload))
        remarks = (
            against,
            _as_fast(_by_time(served, own)),
            *_not_served(outcome.versions, len(served), workload),
            _no_rate(own),
        )
        parts += [Text(line, style="dim") for line in remarks if line]
    troubles = [line for version in outcome.versions for line in _troubles(version, cells[version.version])]
    skipped = [
        f"{one_line(version.version)}: {one_line(f'{SKIPPED}: {version.skipped}')}"
        for version in outcome.versions
        if version.skipped and not version.run
    ]
    for color, lines in (("red", troubles), ("dim", skipped)):
        parts += [Text(line, style=color) for line in ("", *lines)] if lines else []
    fastest = _by_time(outcome.versions, [own[0] for own in cells.values() if own]) if outcome.workloads else []
    if fastest and not troubles:
        best = f"{outcome.kernel}/{fastest[0][0].partition('_')[0]}"
        told = f"next: ncu-assist show {best} (what binds it, what to do), ncu-assist history {outcome.kernel}"
        parts += [Text(""), Text(one_line(told), style="dim")]
    return to_text(parts, style)


def _by_time(versions: Sequence[VersionOutcome], own: Sequence[LadderCell]) -> list[tuple[str, Timing]]:
    """Return the versions that were timed, the fastest first."""
    measured = zip((version.version for version in versions if version.run), own, strict=True)
    timed = [(name, cell.row.timing) for name, cell in measured if cell.row and cell.row.timing]
    return sorted(timed, key=lambda one: one[1].median_ns)


def _as_fast(fastest: Sequence[tuple[str, Timing]]) -> str:
    """Say whose medians lie between the quartiles of the fastest: of medians one is first, and it may mean nothing."""
    near = [name for name, timing in fastest[1:] if timing.median_ns <= fastest[0][1].q3_ns]
    return f"as fast, within the quartiles of {fastest[0][0]}: {', '.join(near)}" if near else ""


def _table(outcome: KernelOutcome, served: Sequence[VersionOutcome], cells: Sequence[tuple[LadderCell, ...]]) -> Table:
    """Return a row a version on one workload; one without a run has no cell."""
    rows = tuple(
        (Cell(one_line(version.version)), *(_row(version, own[0]) if own else _absent(outcome.status(version))))
        for version, own in zip(served, cells, strict=True)
    )
    return Table("versions-table", "Versions", COLUMNS, rows).without_empty()


def _absent(status: str) -> tuple[Cell, ...]:
    return Cell(status), *(Cell() for _ in HEADINGS[1:])


def _row(version: VersionOutcome, cell: LadderCell) -> Iterator[Cell]:
    row = cell.row
    median = duration(row.timing.median_ns) if row and row.timing else ABSENT
    yield Cell(NOT_MEASURED if cell.workload in version.unmeasured else median)
    yield Cell(factor(cell.speedup) if cell.speedup is not None else ABSENT)
    yield Cell(gigabytes_per_second(row) if row and row.in_l2 is None else ABSENT)
    yield from (percent(row.share_of(measure) if row else None) for measure in MEASURES)
    yield Cell(check_word(row))
    yield Cell(f"{cell.dram_percent:.0f} %" if cell.dram_percent is not None else ABSENT)


def _not_served(versions: Sequence[VersionOutcome], served: int, workload: str) -> list[str]:
    """Return for whom a workload is, or is not, whichever is said in fewer names; nothing where it is for all."""
    others = len(versions) - served
    if not others:
        return []
    named = [one_line(version.version) for version in versions if version.serves(workload) == (served < others)]
    return [f"for {', '.join(named)} only" if served < others else f"not for {', '.join(named)}"]


def _no_rate(cells: Sequence[LadderCell]) -> str:
    """Return why a workload has no bandwidth; empty where it has one."""
    timed = (cell.row for cell in cells if cell.row and cell.row.timing)
    return next((f"no GB/s: {words}" for row in timed if (words := l2_words(row))), "")


def _troubles(version: VersionOutcome, cells: Sequence[LadderCell]) -> list[str]:
    """Return why a version failed, or on which workloads its check did."""
    name = one_line(version.version)
    if version.failure:
        advice = dict.fromkeys(one.advice for result in version.sanitized for one in result.findings)
        told = f"{name}: {one_line(f'failed: {version.failure}', LONGEST_REASON)}"
        return [told, *(f"  try: {words}" for words in advice)]
    checks = [cell.row.check for cell in cells if cell.row and cell.row.check]
    failed = [check for check in checks if not check.passed]
    return [f"{name} on {one_line(check.workload)}: {one_line(check.reason, LONGEST_REASON)}" for check in failed]
