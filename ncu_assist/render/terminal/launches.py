"""Which launches of two runs were paired, how sure that is, and what is left over: a dozen lines at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.diff import Diff
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.launch_words import (
    PAIRED_BY,
    Row,
    change_of,
    label_of,
    more_of,
    only_in,
    rows_of,
    times_of,
    word_of,
)
from ncu_assist.render.terminal.style import Align, table
from ncu_assist.render.words import names

if TYPE_CHECKING:
    from rich.console import RenderableType

ROWS = 8  # with the heading and three lines below, a dozen
ALONE_LINES = 4  # of what one side alone has, where there are few pairs
LABEL_LESS = 55  # columns that the others take: two times, the change, the verdict, by what
SIDE_WIDTH = 10
STRANGERS = ("other-kernel", "no-common-launch")
COLORS: dict[str | None, str] = {"faster": "green", "slower": "red"}


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
    rows = rows_of(diff.launches) if comparable else []
    longest = width if len(rows) > ROWS else ALONE_LINES * width
    more = [more_of(rows[ROWS:])] if rows[ROWS:] else []
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


def _cells(row: Row, width: int) -> list[RenderableType]:
    from rich.text import Text

    before, after = times_of(row)
    word = word_of(row)
    color = COLORS.get(word, "")
    times = [Text("-" if ns is None else quantity(ns, "ns")) for ns in (before, after)]
    return [
        Text(label_of(row, width)),
        *times,
        Text(change_of(before, after), color),
        Text((word or "") if row[0].pair.repeats else "", color),
        Text(PAIRED_BY[row[0].pair.confidence]),
    ]


def _unpaired(diff: Diff) -> list[str]:
    both = zip(sides(diff), (diff.only_baseline, diff.only_candidate), strict=True)
    return [only_in(name, launches) for name, launches in both if launches]
