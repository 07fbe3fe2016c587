"""A trend and a bisection in words and as tables: each series and where it changed; each commit that was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.trend import BY_COMMIT
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import duration, number_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Badge, Cell, Column, Table, Tone, number
from ncu_assist.render.words.verdicts import origin
from ncu_assist.verdict.levels import FEWEST, WITHIN
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.trend import Bisection, MeasuredCommit, Trend, TrendChange, TrendPoint, TrendSeries


TOO_SHORT = f"a change is told from {2 * FEWEST} runs on: {FEWEST} before it and {FEWEST} after it"
HOW = (
    "a step or a creep is told where its 99 % interval leaves out none, beyond what runs of one code differ by; "
    "less than one run in 1,000 is a false alarm on one GPU; over several nobody knows"
)
DIGITS = 4  # of a time: a trend is about tenths of a per cent


COMMIT_TONES: dict[str, Tone] = {"good": "good", "bad": "bad", "skipped": "unsure"}
SHORT_COMMIT = 12  # digits of a commit


def trend_title(trend: Trend) -> str:
    """Return what a trend is of: ``softmax on c4k by commit``."""
    on = "all workloads" if trend.workload == "all" else trend.workload
    return f"{trend.kernel} on {on}{' by commit' if trend.by == 'commit' else ''}"


def trend_provenance(trend: Trend) -> str:
    """Return how many runs there are, and where and when the newest was measured."""
    return f"{number_of(len(trend.points), 'run')}, the newest {origin(trend.source, trend.newest)}"


def name_of(series: TrendSeries) -> str:
    """Return what a series is called."""
    return series.name or BY_COMMIT


def percent(part: float) -> str:
    """Return a relative change with a sign: ``+1.1 %``."""
    text = f"{100 * part:+.1f} %"
    return text if text[1:] != "0.0 %" else "0.0 %"


def series_table(trend: Trend) -> Table:
    """Return a row a series: how many runs, its first, best and last time, what changed."""
    several = len({series.gpu for series in trend.series}) > 1
    columns = (
        Column("version" if trend.by == "version" else "series", wraps=True),
        *((Column("GPU", wraps=True),) if several else ()),
        Column("runs", "right", "number"),
        Column("first", "right", "number"),
        Column("best", "right", "number"),
        Column("last", "right", "number"),
        Column("change", "right", "number"),
        Column("found", wraps=True),
    )
    rows = tuple(
        (
            Cell(one_line(name_of(series))),
            *((Cell(one_line(series.gpu or "unknown")),) if several else ()),
            number(str(len(series.points)), len(series.points)),
            *(_time(point) for point in (series.points[0], series.best, series.points[-1])),
            number(percent(series.total), series.total) if series.is_long_enough else Cell(),
            _found(series),
        )
        for series in trend.series
    )
    return Table("trend-series", "Each series over its runs", columns, rows)


def _time(point: TrendPoint) -> Cell:
    median = point.timing.median_ns
    return number(duration(median, DIGITS), median)


def found_words(series: TrendSeries) -> str:
    """Return what was found in a series: ``2 steps and 1 creep``."""
    if not series.is_long_enough:
        return "too few runs"
    counts = ((sum(one.kind == kind for one in series.changes), kind) for kind in ("step", "creep"))
    return " and ".join(number_of(count, kind) for count, kind in counts if count) or "no change"


def _found(series: TrendSeries) -> Cell:
    words = found_words(series)
    if not series.is_long_enough:
        return Cell(words, tone="dim")
    if not series.changes:
        return Cell(words)
    slower = series.total > 0
    return Cell(words, badge=Badge(f"{'▼' if slower else '▲'} {words}", "bad" if slower else "good"))


def counters_table(trend: Trend) -> Table:
    """Return a row a series and metric: the first value, the last, and the least and largest between."""
    columns = (
        Column("version" if trend.by == "version" else "series", wraps=True),
        Column("metric", wraps=True),
        *(Column(name, "right", "number") for name in ("first", "least", "largest", "last")),
    )
    rows = []
    for series in trend.series:
        for key in trend.metrics:
            known = [value for point in series.points if (value := point.counters[key]) is not None]
            unit = ROWS[key].unit
            shown = (known[0], min(known), max(known), known[-1]) if known else ()
            cells = [number(quantity(value, unit), value) for value in shown] or [Cell()] * 4
            rows.append((Cell(one_line(name_of(series))), Cell(key), *cells))
    return Table("trend-counters", "Counters over the runs", columns, tuple(rows))


def changes(trend: Trend) -> Iterator[tuple[TrendChange, str, tuple[str, ...]]]:
    """Yield each change, the newest first, with a sentence, and lines on what changed there and what to try."""
    for series, change in trend.changes:
        yield change, f"{name_of(series)}: {sentence(change)}", tuple(_details(trend, change))


def sentence(change: TrendChange) -> str:
    """Return how much slower or faster it got, when, and how sure that is."""
    word = "slower" if change.is_slower else "faster"
    sure = f"99 %: {percent(change.low)} to {percent(change.high)}"
    before, after = change.before.run.created[:10], change.after.run.created[:10]
    if change.kind == "step":
        return (
            f"{percent(change.change)}, {word} in one step on {after} ({sure}), {number_of(change.runs, 'run')} since"
        )
    slope = f"{100 * change.per_run:+.2f} % a run"
    return (
        f"{percent(change.change)}, {word} by creeping, {slope} over {change.runs} runs ({sure}), {before} to {after}"
    )


def _details(trend: Trend, change: TrendChange) -> Iterator[str]:
    before, after = (side.run for side in (change.before, change.after))
    same = before.version == after.version
    names = [run.run_id if same else f"{short_name(run.version)}@{run.run_id}" for run in (before, after)]
    yield f"between {' and '.join(names)}" if change.kind == "step" else f"from {' to '.join(names)}"
    told = "; ".join(f"{one.what} {one.baseline} to {one.candidate}" for one in change.differences)
    when = "there" if change.kind == "step" else "meanwhile"
    yield f"what changed {when}: {told or 'nothing that the runs tell'}"
    yield f"try: {to_try(trend, change)}"


def to_try(trend: Trend, change: TrendChange) -> str:
    """Return the command that looks closer: at the commits between, else at both runs."""
    before, after = (side.run.commit for side in (change.before, change.after))
    run, workload = change.after.run, change.after.timing.workload
    if before and after and trend.can_bisect(change):
        name = f"{run.kernel}/{run.version}" if trend.by == "version" else run.kernel
        good, bad = before.id[:12], after.id[:12]
        return f"ncu-assist bisect {name} --good {good} --bad {bad} --workload {workload}"
    sides = [f"{one.kernel}/{short_name(one.version)}@{one.run_id}" for one in (change.before.run, run)]
    return f"ncu-assist diff {' '.join(sides)} --workload {workload}"


def _range(parts: Sequence[float], digits: int) -> str:
    """Return the least and the largest: ``0.2 to 0.4 %``."""
    return f"{' to '.join(dict.fromkeys(f'{100 * part:.{digits}f}' for part in (min(parts), max(parts))))} %"


def trend_notes(trend: Trend) -> Iterator[str]:
    """Yield what the tables do not say."""
    known = [series for series in trend.series if series.is_long_enough]
    if known:
        spread = _range([series.levels.run_to_run for series in known], 2)
        yield f"runs of one code differ by {spread} (standard deviation); {HOW}"
        least = _range([series.levels.least_step for series in known], 1)
        later = "a smaller one later or never" if len(known) == 1 else "by version; a smaller one later or never"
        yield f"from here on a step of {least} is found within {WITHIN} runs about nine times in ten, {later}"
    if len(known) < len(trend.series):
        yield TOO_SHORT
    if trend.by == "commit" and any(point.run.commit is None for point in trend.points):
        yield "runs without a commit are of an older ncu-assist or of no repository: each bench counts as one"
    yield from trend.notes


def bisection_title(found: Bisection) -> str:
    """Return what was looked for: ``add_one/v1 on small: the first commit at which it is slower``."""
    version = f"{found.kernel}/{short_name(found.version)}"
    return f"{version} on {found.workload}: the first commit at which it is {found.symptom}"


def commits_table(found: Bisection) -> Table:
    """Return a row a commit that was measured: both ends, then those between in the order of the search."""
    columns = (Column("commit"), Column("time", "right", "number"), Column("is"), Column("subject", wraps=True))
    rows = tuple(_commit_row(one) for one in (found.good, found.bad, *found.tried))
    return Table("bisection", "Each commit that was measured", columns, rows)


def _commit_row(one: MeasuredCommit) -> tuple[Cell, ...]:
    time = number(duration(one.median_ns, DIGITS), one.median_ns) if one.median_ns else Cell()
    note = f" ({one_line(one.problem)})" if one.problem else ""
    badge = Badge(one.found, COMMIT_TONES[one.found])
    return Cell(one.id[:SHORT_COMMIT]), time, Cell(one.found, badge=badge), Cell(one_line(one.subject) + note)


def conclusion(found: Bisection) -> Iterator[str]:
    """Yield which commit it is, what it touched, and what to try."""
    if len(found.first) > 1:
        names = ", ".join(one[:SHORT_COMMIT] for one in found.first)
        yield f"one of {len(found.first)} commits, those between could not be measured: {names}"
        yield f"try: git log --oneline {found.good.id[:SHORT_COMMIT]}..{found.bad.id[:SHORT_COMMIT]}"
        return
    first = next(one for one in (*found.tried, found.bad) if one.id == found.first[0])
    slower = f", {100 * found.slowdown:+.1f} % in all" if found.slowdown is not None else ""
    yield f"first {found.symptom}: {first.id[:SHORT_COMMIT]} {first.subject}{slower}"
    if found.files:
        yield f"it touches: {', '.join(found.files)}"
    yield f"try: git show {first.id[:SHORT_COMMIT]}"
