"""All versions of a kernel on a terminal, how far GPUs differ, combinations that were tuned, edits that are watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import (
    NOT_MEASURED,
    SKIPPED,
    GpuSpread,
    KernelOutcome,
    LadderCell,
    SpreadRow,
    TuneOutcome,
    Values,
    VersionOutcome,
)
from ncu_assist.analysis.run_view import WorkloadRow, gigabytes_per_second
from ncu_assist.analysis.yardstick import COPY, LINK, OPERATIONS
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Cell, Column, Table, percent
from ncu_assist.render.terminal.run import check_word
from ncu_assist.render.terminal.style import Style, printed, styled, table, to_text
from ncu_assist.render.words.floors import l2_words, library_sentence
from ncu_assist.render.words.values import shown_path
from ncu_assist.render.words.verdicts import factor, origin, verdict_line, verdict_sentence
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.ladder import Attempt
    from ncu_assist.record import Timing

MEASURES = (COPY, LINK, OPERATIONS)
HEADINGS = ("median", "vs v0", "GB/s", *(measure.title for measure in MEASURES), "check", "error", "DRAM")
COLUMNS = (Column("version", wraps=True), *(Column(name, "left" if name == "check" else "right") for name in HEADINGS))
UNPAIRED_MARK = "*"
UNPAIRED = f"{UNPAIRED_MARK}: of the medians of two benches, not paired"
OF_ERRORS = "error: ||out - ref|| / ||ref||, the worst of all outputs and seeds"
LONGEST_REASON = 2000  # letters

FILE_S = "the file's values"
SHOWN_COMBINATIONS = 30  # rows
LONGEST_TUNE_FAILURE = 300  # letters of a failure

SHOWN_ATTEMPTS = 10
VERDICT_COLORS = {"faster": "green", "slower": "red", "unclear": "yellow"}
LONGEST_FAILURE = 400  # letters of a failure


def outcome_text(outcome: KernelOutcome, style: Style | None = None) -> str:
    """Return the versions of a kernel as text, workload by workload; columns that nobody filled are left out."""
    cells = {version.version: outcome.cells(version) for version in outcome.versions}
    parts: list[RenderableType] = [styled(one_line(outcome.kernel), "bold")]
    if outcome.newest is not None:
        parts.append(styled(origin(outcome.source, outcome.newest), "dim"))
    parts += [styled(verdict_line(diff), "bold") for diff in outcome.diffs]
    for place, workload in enumerate(outcome.workloads):
        served = [version for version in outcome.versions if version.serves(workload)]
        own = [cells[version.version][place] for version in served if cells[version.version]]
        table = _table(outcome, served, [cells[version.version][place : place + 1] for version in served])
        parts += [styled(""), styled(one_line(workload), "bold"), printed(table)]
        against = library_sentence(outcome.against_library(workload))
        remarks = (
            against,
            _as_fast(_by_time(served, own)),
            *_not_served(outcome.versions, len(served), workload),
            _no_rate(own),
            _unpaired(own),
            OF_ERRORS if any(_error(cell.row) != ABSENT for cell in own) else "",
        )
        parts += [styled(line, "dim") for line in remarks if line]
    troubles = [line for version in outcome.versions for line in _troubles(version, cells[version.version])]
    skipped = [
        f"{one_line(version.version)}: {one_line(f'{SKIPPED}: {version.skipped}')}"
        for version in outcome.versions
        if version.skipped and not version.run
    ]
    for color, lines in (("red", troubles), ("dim", skipped)):
        parts += [styled(line, color) for line in ("", *lines)] if lines else []
    fastest = _by_time(outcome.versions, [own[0] for own in cells.values() if own]) if outcome.workloads else []
    if fastest and not troubles:
        best = f"{outcome.kernel}/{fastest[0][0].partition('_')[0]}"
        told = f"next: ncu-assist show {best} (what binds it, what to do), ncu-assist history {outcome.kernel}"
        parts += [styled(""), styled(one_line(told), "dim")]
    return to_text(parts, style)


def _by_time(versions: Sequence[VersionOutcome], own: Sequence[LadderCell]) -> list[tuple[str, Timing]]:
    """Return the versions that were timed, the fastest first."""
    measured = zip((version.version for version in versions if version.run), own, strict=True)
    timed = [(name, cell.row.timing) for name, cell in measured if cell.row and cell.row.timing]
    return sorted(timed, key=lambda one: one[1].median_ns)


def _as_fast(fastest: Sequence[tuple[str, Timing]]) -> str:
    """Say whose medians lie between the quartiles of the fastest: of medians one is first, and it may mean nothing."""
    near = [name for name, timing in fastest[1:] if timing.median_ns <= fastest[0][1].q3_ns]
    return f"as fast as {fastest[0][0]}, within its quartiles: {', '.join(near)}" if near else ""


def outcomes_text(outcomes: Sequence[KernelOutcome]) -> str:
    """Return several kernels as text; of one that several models of GPUs measured, these side by side at the end."""
    texts = [outcome_text(one) for one in outcomes]
    for kernel in dict.fromkeys(one.kernel for one in outcomes):
        chips = [one for one in outcomes if one.kernel == kernel and one.newest is not None]
        parts: list[RenderableType] = [styled(one_line(f"{kernel} on {len(chips)} GPU models"), "bold")]
        for place, workload in enumerate(chips[0].workloads if len(chips) > 1 else ()):
            parts += [styled(""), styled(one_line(workload), "bold"), printed(_chips_table(chips, place))]
            own = [cells[place] for one in chips for each in one.versions if (cells := one.cells(each))]
            parts += [styled(line, "dim") for line in [_unpaired(own)] if line]
        texts += [to_text(parts)] if len(chips) > 1 else []
    return "\n".join(texts)


def _chips_table(chips: Sequence[KernelOutcome], place: int) -> Table:
    """Return a row a version, on the workload at that place, and a median and a speed-up for each model of GPU."""
    columns, rows = [Column("version", wraps=True)], dict[str, list[Cell]]()
    for number, outcome in enumerate(chips):
        run = outcome.newest
        columns += [Column(one_line((run.gpu or "" if run else "").removeprefix("NVIDIA ")), "right")]
        columns += [Column("vs v0", "right")]
        for version in outcome.versions:
            cell = cells[place] if (cells := outcome.cells(version)) else None
            timing = cell.row.timing if cell and cell.row else None
            row = rows.setdefault(version.version, [Cell(ABSENT)] * (2 * number))
            row += [Cell(duration(timing.median_ns) if timing else ABSENT)]
            row += [Cell(over_v0(cell) if cell else ABSENT)]
    lines = tuple((Cell(one_line(name)), *row) for name, row in rows.items())
    return Table(f"chips-{place}", "GPU by GPU", tuple(columns), lines)


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
    yield Cell(over_v0(cell))
    yield Cell(gigabytes_per_second(row) if row and row.in_l2 is None else ABSENT)
    yield from (percent(row.share_of(measure) if row else None) for measure in MEASURES)
    yield Cell(check_word(row))
    yield Cell(_error(row))
    yield Cell(f"{cell.dram_percent:.0f} %" if cell.dram_percent is not None else ABSENT)


def _error(row: WorkloadRow | None) -> str:
    """Return how far a version is from the reference, where nothing else was measured of it."""
    error = row.check.norm_error if row and row.check and not row.timing else None
    return ABSENT if error is None else f"{error:.1e}" if error else "0"


def over_v0(cell: LadderCell) -> str:
    """Return the speed-up over v0, marked where it is none of paired samples."""
    return ABSENT if cell.speedup is None else f"{factor(cell.speedup)}{'' if cell.is_paired else UNPAIRED_MARK}"


def _unpaired(cells: Sequence[LadderCell]) -> str:
    return UNPAIRED if any(cell.speedup is not None and not cell.is_paired for cell in cells) else ""


def _not_served(versions: Sequence[VersionOutcome], served: int, workload: str) -> list[str]:
    """Return for whom a workload is, or is not, whichever is said in fewer names; nothing where it is for all."""
    others = len(versions) - served
    if not others:
        return []
    named = [one_line(version.version) for version in versions if version.serves(workload) == (served < others)]
    return [f"only for {', '.join(named)}" if served < others else f"not for {', '.join(named)}"]


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


def spread_text(spread: GpuSpread, style: Style | None = None) -> str:
    """Return the spread as text, workload by workload."""
    parts: list[RenderableType] = [styled(one_line(f"{spread.kernel} on {len(spread.gpus)} GPUs"), "bold")]
    for workload in dict.fromkeys(row.workload for row in spread.rows):
        rows = [row for row in spread.rows if row.workload == workload]
        parts += [styled(""), styled(one_line(workload), "bold"), printed(_spread_table(spread, rows))]
    parts += [styled(one_line(failure), "red") for failure in spread.failures]
    return to_text(parts, style)


def _spread_table(spread: GpuSpread, rows: list[SpreadRow]) -> Table:
    columns = [Column("GPU"), Column("SM MHz", "right")]
    for number, row in enumerate(rows):
        columns.append(Column(short_name(row.version), "right"))
        if number:
            columns.append(Column(f"vs {short_name(rows[0].version)}", "right"))
    lines = []
    for index, gpu in enumerate(spread.gpus):
        clock = rows[0].clocks_mhz[index]
        cells = [gpu, f"{clock:.0f}" if clock else ABSENT]
        for number, row in enumerate(rows):
            median, verdict = row.medians_ns[index], row.verdicts[index]
            cells.append(duration(median) if median is not None else ABSENT)
            if number:
                factor = f"{verdict.speedup:.3f}x " if verdict is not None and verdict.speedup else ""
                cells.append(f"{factor}{verdict.words}" if verdict is not None else ABSENT)
        lines.append(tuple(Cell(one_line(cell)) for cell in cells))
    last = ["apart", ""]
    for number, row in enumerate(rows):
        last.append(_percent(row.apart))
        if number:
            last.append(_percent(row.factors_apart))
    caption = f"{spread.kernel} on {rows[0].workload}, GPU by GPU"
    return Table(f"spread-{rows[0].workload}", caption, tuple(columns), (*lines, tuple(Cell(cell) for cell in last)))


def _percent(value: float | None) -> str:
    return f"{100 * value:.2f} %" if value is not None else ABSENT


def tune_text(outcome: TuneOutcome, style: Style | None = None) -> str:
    """Return the verdict of the fastest combination against the file's values, and a table of all."""
    name = one_line(f"{outcome.kernel}/{short_name(outcome.version)} on {outcome.workload}")
    made = table(("values", "left"), ("median", "right"), ("of the file's", "right"), ("rounds", "right"), ("", "left"))
    own = outcome.timing(outcome.rows[0][1])
    for values, row in outcome.ranked[:SHOWN_COMBINATIONS]:
        timing = outcome.timing(row)
        assert timing is not None
        share = f"{timing.median_ns / own.median_ns:.3f}" if own else ""
        what = FILE_S if row is outcome.rows[0][1] else "dropped" if outcome.is_dropped(row) else ""
        made.add_row(values_words(values), duration(timing.median_ns), share, str(timing.samples), what)
    parts: list[RenderableType] = [styled(name, "bold"), *(styled(line, "bold") for line in _tune_verdict(outcome))]
    parts += [styled(""), made]
    more = len(outcome.ranked) - SHOWN_COMBINATIONS
    if more > 0:
        parts.append(styled(f"… and {more} slower ones: --json has all", "dim"))
    failed = [(values, row) for values, row in outcome.rows if outcome.timing(row) is None]
    lines = [
        one_line(f"{values_words(values)}: {row.failure or 'no time'}", LONGEST_TUNE_FAILURE) for values, row in failed
    ]
    parts += [styled(line, "red") for line in ("", *lines)] if lines else []
    parts += [styled(""), styled(_tune_next(outcome), "dim")]
    return to_text(parts, style)


def values_words(values: Values) -> str:
    """Return ``BM=64 STAGES=3``."""
    return one_line(" ".join(f"{name}={value}" for name, value in values.items()))


def _tune_verdict(outcome: TuneOutcome) -> list[str]:
    if outcome.diff is None:
        return ["only the file's values could be timed" if outcome.ranked else "nothing could be timed"]
    best = next(one for one, row in outcome.rows if row.version == outcome.diff.candidate.version)
    head = "fastest" if outcome.winner else "no combination beats the file's values; the fastest other"
    return [f"{head}: {values_words(best)}", verdict_sentence("it", FILE_S, None, outcome.diff.verdict)]


def _tune_next(outcome: TuneOutcome) -> str:
    if outcome.kept:
        return f"written to {shown_path(outcome.kept, Path.cwd())}"
    if outcome.winner:
        return "next: the same command with --keep writes these values into the file"
    return "the file is unchanged"


def attempt_lines(attempt: Attempt) -> list[str]:
    """Return an edit as lines: its verdicts or what failed, and how long that took."""
    name = f"#{attempt.number} {short_name(attempt.version)}"
    after = f", {attempt.seconds:.1f} s after the save" if attempt.seconds is not None else ""
    if attempt.failure and attempt.state == "failed":
        return [f"{name}: failed{after}: {one_line(attempt.failure, LONGEST_FAILURE)}"]
    if attempt.state == "timed" and (attempt.diffs or attempt.failure):
        verdicts = (f"  {verdict_line(diff)}" for diff in attempt.diffs)
        return [f"{name}: timed{after}", *verdicts, *(f"  {line}" for line in _not_profiled(attempt))]
    return [f"{name}: {attempt.state}{after}{_median(attempt)}"]


def _not_profiled(attempt: Attempt) -> list[str]:
    """Return why a timed edit has no counters, a line where there is something to say."""
    return [f"not profiled: {one_line(attempt.failure, LONGEST_FAILURE)}"] if attempt.failure else []


def watch_view(kernel: str, attempts: Sequence[Attempt], status: str, keys: str) -> RenderableType:
    """Return the last edits as a table, a line on what happens now, and the keys."""
    from rich.console import Group
    from rich.table import Table

    table = Table("#", "version", "median", "verdict", "s", box=None, pad_edge=False, expand=False)
    for one in attempts[-SHOWN_ATTEMPTS:]:
        words = [styled(verdict_line(diff), VERDICT_COLORS.get(diff.verdict.verdict, "")) for diff in one.diffs]
        words += [styled(line, "red") for line in _not_profiled(one)] if one.state != "failed" else []
        said: RenderableType = Group(*words) if words else styled(one.state)
        if one.failure and one.state == "failed":
            said = styled(f"failed: {one_line(one.failure, LONGEST_FAILURE)}", "red")
        took = f"{one.seconds:.1f}" if one.seconds is not None else ""
        table.add_row(str(one.number), short_name(one.version), _median(one).removeprefix(", "), said, took)
    return Group(
        styled(f"watching {one_line(kernel)}", "bold"), table, styled(one_line(status), "dim"), styled(keys, "dim")
    )


def _median(attempt: Attempt) -> str:
    timings = attempt.run.run.timings if attempt.run else ()
    return f", {duration(timings[0].median_ns)}" if timings else ""
