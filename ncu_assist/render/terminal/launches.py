"""Which launches of two runs were paired, how sure that is, and what is left over: a dozen lines at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ncu_assist.diff import Diff, LaunchDiff
from ncu_assist.quantity import quantity
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Align, table
from ncu_assist.render.words import names

if TYPE_CHECKING:
    from rich.console import RenderableType

ROWS = 8  # with the heading and three lines below, a dozen
ALONE_LINES = 4  # of what one side alone has, where that is all there is to say
KERNELS = 8  # names in a line of what one side alone has
LABEL_LESS = 55  # columns that the others take: two times, the change, the verdict, by what
SIDE_WIDTH = 10
LONGEST_NAME = 1000  # no more of a name is looked at
ARROW = " → "
STRANGERS = ("other-kernel", "no-common-launch")
INVISIBLE = 0.0005  # a change that prints as 0.0 %
PAIRED_BY = {"nvtx": "range", "exact": "exact", "base-name": "name", "order": "order"}
COLORS: dict[str | None, str] = {"faster": "green", "slower": "red"}
Row = list[LaunchDiff]


def paired_launches(diff: Diff, width: int) -> list[RenderableType]:
    """Return the pairs, the largest change of time first; nothing where one range holds all, as a version's call does.

    Of runs that cannot be compared there are none, but what each launched where that is what forbids it.
    Pairs of the same kernels in the same shapes stand in one row. Cells are cut to ``width``, never wrapped.
    """
    from rich.text import Text

    alone = len(diff.launches) == 1 and diff.launches[0].pair.confidence == "nvtx"
    rest = _unpaired(diff)
    if not rest and (alone or not diff.launches):
        return []
    comparable = diff.verdict.verdict != "not-comparable"
    if not comparable and diff.verdict.reason not in STRANGERS:
        return []
    rows = sorted(_rows(diff.launches), key=_moved_ns, reverse=True) if comparable else []
    longest = width if comparable else ALONE_LINES * width
    more = [_more(rows[ROWS:])] if rows[ROWS:] else []
    parts: list[RenderableType] = [Text("")]
    if rows:
        before, after = sides(diff)
        times: list[tuple[str, Align]] = [(before, "right"), (after, "right"), ("change", "right")]
        made = table(("launch", "left"), *times, ("", "left"), ("by", "left"))
        for row in rows[:ROWS]:
            made.add_row(*_cells(row, width - LABEL_LESS))
        parts.append(made)
    return [*parts, *(Text(one_line(line, longest)) for line in (*more, *rest))]


def sides(diff: Diff) -> tuple[str, str]:
    """Return what the columns are called: the sides by name, unless they are alike in what can be shown of them."""
    short = [one_line(side, SIDE_WIDTH) for side in names(diff)]
    return (short[0], short[1]) if short[0] != short[1] else ("baseline", "candidate")


def chain(baseline: int, candidate: int) -> str:
    """Return how many launches stand against how many, e.g. ``3 launches → 1``; empty for one against one."""
    if baseline == candidate:
        return f"{baseline} launches" if baseline > 1 else ""
    return f"{_launches(baseline)} → {candidate}"


def _launches(count: int) -> str:
    return f"{count} launch" if count == 1 else f"{count} launches"


def _rows(launches: Iterable[LaunchDiff]) -> list[Row]:
    """Return the pairs of the same kernels in the same shapes, each as one row."""
    rows: dict[object, Row] = {}
    for one in launches:
        sides = _alike(one.pair.baseline), _alike(one.pair.candidate)
        rows.setdefault((sides, one.pair.confidence), []).append(one)
    return list(rows.values())


def _alike(launches: Sequence[Launch]) -> tuple[object, ...]:
    return tuple((one.signature, one.grid, one.block) for one in launches)


def _moved_ns(row: Row) -> float:
    before, after = _times(row)
    often = len(row[0].pair.candidate) if row[0].pair.repeats else 1
    return -1.0 if before is None or after is None else abs(after - before) * often


def _times(row: Row) -> tuple[float | None, float | None]:
    """Return the time of either side: of pairs together, of repeats the median of one launch."""
    return _total(one.baseline_ns for one in row), _total(one.candidate_ns for one in row)


def _total(times: Iterable[float | None]) -> float | None:
    """Return the sum; None where a part is not known."""
    known = list(times)
    return None if None in known else sum(time for time in known if time is not None)


def _cells(row: Row, width: int) -> list[RenderableType]:
    from rich.text import Text

    before, after = _times(row)
    verdicts = {one.verdict.verdict if one.pair.repeats else one.verdict.likely for one in row}
    word = verdicts.pop() if len(verdicts) == 1 else None
    color = COLORS.get(word, "")
    times = [Text("-" if ns is None else quantity(ns, "ns")) for ns in (before, after)]
    return [
        Text(_label(row, width)),
        *times,
        Text(_change(before, after), color),
        Text((word or "") if row[0].pair.repeats else "", color),
        Text(PAIRED_BY[row[0].pair.confidence]),
    ]


def _label(row: Row, width: int) -> str:
    """Return what a row is of: how many launches or which, the kernel, or both where they differ, and how often."""
    pair = row[0].pair
    before, after = (max(side, key=lambda one: one.duration_ns or 0.0) for side in (pair.baseline, pair.candidate))
    times = _times_over(row)
    counts = "" if pair.repeats else chain(len(pair.baseline), len(pair.candidate))
    if counts or before.kernel == after.kernel:
        start = f"{counts}: " if counts else "" if times else f"{_numbers(before, after)} "
        return f"{start}{_middle_cut(after.kernel, width - len(start) - len(times))}{times}"
    left = width - len(times) - len(ARROW)
    return f"{_middle_cut(before.kernel, left // 2)}{ARROW}{_middle_cut(after.kernel, left - left // 2)}{times}"


def _times_over(row: Row) -> str:
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


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    if before == after or (before and abs(after / before - 1) < INVISIBLE):
        return "="
    sign = "▲" if after > before else "▼"
    return f"{sign} {100 * (after / before - 1):+.1f} %" if before else f"{sign} new"


def _more(rows: Sequence[Row]) -> str:
    pairs = [one for row in rows for one in row]
    count = "1 more pair" if len(pairs) == 1 else f"{len(pairs)} more pairs"
    before, after = _times(pairs)
    return count if before is None or after is None else f"{count}: {quantity(before, 'ns')} → {quantity(after, 'ns')}"


def _unpaired(diff: Diff) -> list[str]:
    both = zip(sides(diff), (diff.only_baseline, diff.only_candidate), strict=True)
    return [_only(name, launches) for name, launches in both if launches]


def _only(name: str, launches: Sequence[Launch]) -> str:
    time = _total(one.duration_ns for one in launches)
    known = "" if time is None else f", {quantity(time, 'ns')}"
    counts = Counter(one.kernel for one in launches).most_common()
    shown = [f"{kernel} ×{count}" if count > 1 else kernel for kernel, count in counts[:KERNELS]]
    kernels = ", ".join([*shown, "…"] if counts[KERNELS:] else shown)
    return f"only in {name} ({_launches(len(launches))}{known}): {kernels}"
