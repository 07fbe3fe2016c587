"""What changed in words: a metric with its values, paired launches with their times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff import Change, Diff, LaunchDiff, flags_heading
from ncu_assist.analysis.records import PER_LAUNCH, Coverage
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from ncu_assist.record import Launch

MOST_DEVIATIONS = 100  # standard deviations; of counters that hardly stray it may be thousands
PART = "*"  # behind a value that is not of all launches


def values_text(change: Change) -> tuple[str, str]:
    """Return the values of both sides; why one is absent, or ``-``."""
    return _value(change, change.baseline, change.baseline_coverage), candidate_text(change)


def candidate_text(change: Change) -> str:
    """Return the value of the candidate."""
    return _value(change, change.candidate, change.candidate_coverage)


def delta_text(change: Change) -> str:
    """Return how far a metric moved, e.g. ``▲ +4.2 %``; with its distance from several baselines: ``…, +3.1@5``."""
    moved = _moved(change)
    return f"{moved}, {score_text(change)}" if moved and change.z is not None else moved


def score_text(change: Change) -> str:
    """Return the standard score over the repeats of the baseline and their number, ``+3.1@5``, as ncu writes it."""
    if change.z is None:
        return ""
    score = (
        f"{change.z:+.1f}"
        if abs(change.z) < MOST_DEVIATIONS
        else f">{MOST_DEVIATIONS}"
        if change.z > 0
        else f"<-{MOST_DEVIATIONS}"
    )
    return f"{score}@{change.repeats}"


def change_word(change: Change) -> str:
    """Return what became of a metric; ``per launch`` where a side has one value a launch and none over all."""
    return "per launch" if change.verdict == "missing" and change.note == PER_LAUNCH else change.verdict


def flags_by_role(diff: Diff) -> list[tuple[str, bool, list[str]]]:
    """Return the flags of each role: the heading, whether they explain a slowdown, and a sentence for each.

    The heading says what the end of each sentence would.
    """
    roles = dict.fromkeys(flag.role for flag in diff.flags)
    told = {role: [flag.message.rpartition(": ")[0] for flag in diff.flags if flag.role == role] for role in roles}
    return [(flags_heading(role, diff.verdict), role == "explains", messages) for role, messages in told.items()]


def _value(change: Change, value: float | None, coverage: Coverage | None) -> str:
    if value is None:
        return change.note or "-"
    return quantity(value, change.unit) + (PART if coverage else "")


def _moved(change: Change) -> str:
    if change.baseline is None or change.candidate is None:
        return ""
    if change.baseline == change.candidate:
        return "="
    sign = "▲" if change.candidate > change.baseline else "▼"
    if change.delta is None:
        return f"{sign} new"
    amount = f"{change.delta:+.1f} pt" if change.in_points else f"{100 * change.delta:+.1f} %"
    if amount.strip("+- %pt") != "0.0":
        return f"{sign} {amount}"
    return "=" if change.verdict == "unchanged" else f"{sign} < 0.1 {amount.split()[1]}"


KERNELS = 8  # names in a line of what one side alone has
LONGEST_NAME = 1000  # no more of a name is looked at
TO = " → "
INVISIBLE = 0.0005  # a change that prints as 0.0 %
PAIRED_BY = {"nvtx": "range", "exact": "exact", "base-name": "name", "similar": "similar", "order": "order"}
PairRow = list[LaunchDiff]


def rows_of(launches: Iterable[LaunchDiff]) -> list[PairRow]:
    """Return the pairs of the same kernels in the same shapes, each as one row, the largest change of time first."""
    rows: dict[object, PairRow] = {}
    for one in launches:
        sides = _alike(one.pair.baseline), _alike(one.pair.candidate)
        rows.setdefault((sides, one.pair.confidence), []).append(one)
    return sorted(rows.values(), key=_moved_ns, reverse=True)


def times_of(row: PairRow) -> tuple[float | None, float | None]:
    """Return the time of either side: of pairs together, of repeats the median of one launch."""
    return _total(one.baseline_ns for one in row), _total(one.candidate_ns for one in row)


def word_of(row: PairRow) -> str | None:
    """Return what became of the time of a row, where all its pairs agree: faster, slower, same; None if unknown."""
    verdicts = {one.verdict.verdict if one.pair.repeats else one.verdict.likely for one in row}
    return verdicts.pop() if len(verdicts) == 1 else None


def label_of(row: PairRow, width: int = LONGEST_NAME) -> str:
    """Return what a row is of: how many launches or which, the kernel, or both where they differ, and how often."""
    pair = row[0].pair
    before, after = (max(side, key=lambda one: one.duration_ns or 0.0) for side in (pair.baseline, pair.candidate))
    times = _times_over(row)
    counts = "" if pair.repeats else chain(len(pair.baseline), len(pair.candidate))
    if counts or before.kernel == after.kernel:
        start = f"{counts}: " if counts else "" if times else f"{_numbers(before, after)} "
        return f"{start}{_middle_cut(after.kernel, width - len(start) - len(times))}{times}"
    left = width - len(times) - len(TO)
    return f"{_middle_cut(before.kernel, left // 2)}{TO}{_middle_cut(after.kernel, left - left // 2)}{times}"


def change_of(before: float | None, after: float | None) -> str:
    """Return how far a time moved, e.g. ``▲ +4.2 %``; empty where a side is not known."""
    if before is None or after is None:
        return ""
    if before == after or (before and abs(after / before - 1) < INVISIBLE):
        return "="
    sign = "▲" if after > before else "▼"
    return f"{sign} {100 * (after / before - 1):+.1f} %" if before else f"{sign} new"


def chain(baseline: int, candidate: int) -> str:
    """Return how many launches stand against how many, e.g. ``3 launches → 1``; empty for one against one."""
    if baseline == candidate:
        return f"{baseline} launches" if baseline > 1 else ""
    return f"{count_of(baseline)} → {candidate}"


def count_of(launches: int) -> str:
    """Return ``1 launch`` or ``3 launches``."""
    return f"{launches} launch" if launches == 1 else f"{launches} launches"


def more_of(rows: Sequence[PairRow]) -> str:
    """Return how many pairs are not shown, and their time."""
    pairs = [one for row in rows for one in row]
    count = "1 more pair" if len(pairs) == 1 else f"{len(pairs)} more pairs"
    before, after = times_of(pairs)
    return count if before is None or after is None else f"{count}: {quantity(before, 'ns')} → {quantity(after, 'ns')}"


def only_in(name: str, launches: Sequence[Launch]) -> str:
    """Return what one side alone launched, the longest first, each kernel with its time where there are several.

    E.g. ``only in a.ncu-rep (3 launches, 12.1 µs): sort ×2 10 µs, scan 2.1 µs``.
    """
    kernels: dict[str, list[Launch]] = {}
    for one in launches:
        kernels.setdefault(one.kernel, []).append(one)
    ordered = sorted(kernels.items(), key=lambda item: -sum(one.duration_ns or 0.0 for one in item[1]))
    shown = [_kernel_alone(kernel, own, len(kernels) > 1) for kernel, own in ordered[:KERNELS]]
    text = ", ".join([*shown, "…"] if ordered[KERNELS:] else shown)
    return f"only in {name} ({count_of(len(launches))}{_known_time(launches, ', ')}): {text}"


def _kernel_alone(kernel: str, launches: Sequence[Launch], with_time: bool) -> str:
    times = f" ×{len(launches)}" if len(launches) > 1 else ""
    return f"{kernel}{times}{_known_time(launches, ' ') if with_time else ''}"


def _known_time(launches: Sequence[Launch], before: str) -> str:
    time = _total(one.duration_ns for one in launches)
    return "" if time is None else f"{before}{quantity(time, 'ns')}"


def _alike(launches: Sequence[Launch]) -> tuple[object, ...]:
    return tuple((one.signature, one.grid, one.block) for one in launches)


def _moved_ns(row: PairRow) -> float:
    before, after = times_of(row)
    often = len(row[0].pair.candidate) if row[0].pair.repeats else 1
    return -1.0 if before is None or after is None else abs(after - before) * often


def _total(times: Iterable[float | None]) -> float | None:
    """Return the sum; None where a part is not known."""
    known = list(times)
    return None if None in known else sum(time for time in known if time is not None)


def _times_over(row: PairRow) -> str:
    """Return how often the work of a row was done, e.g. ``×4``, or ``×4→9`` where the sides differ in it."""
    pair = row[0].pair
    before, after = (len(pair.baseline), len(pair.candidate)) if pair.repeats else (len(row), len(row))
    return "" if before == after == 1 else f" ×{before}" if before == after else f" ×{before}→{after}"


def _numbers(before: Launch, after: Launch) -> str:
    return f"#{after.index}" if before.index == after.index else f"#{before.index}→{after.index}"


def _middle_cut(text: str, limit: int) -> str:
    """Return text on one line, cut in the middle: names of library kernels differ at both ends."""
    line = one_line(text, LONGEST_NAME)
    tail = (limit - 1) // 2
    return line if len(line) <= limit else f"{line[: limit - 1 - tail]}…{line[len(line) - tail :]}"
