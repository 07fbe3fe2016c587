"""The few source lines that say most about some launches of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_assist.ncu.line_sums import COST, EXCESSES, LineSums, known, line_sums
from ncu_assist.ncu.report import Report
from ncu_assist.ncu.source.metrics import SAMPLES
from ncu_assist.ncu.source.reading import SourceTables

if TYPE_CHECKING:
    import pandas as pd

TOP = 3


@dataclass(frozen=True)
class HotLine:
    """A source line, all launches together. ``share`` is its part of all samples, 1 for all; excess None if unknown."""

    file: str
    line: int
    source: str | None  # None where the source was not imported
    share: float
    samples: int
    stall: str | None  # the reason most of its warps waited for, in ncu's spelling
    sectors_excessive: float | None  # of global memory, L2
    wavefronts_excessive: float | None  # of shared memory, L1


@dataclass(frozen=True)
class HotSpots:
    """The top lines of the ``launches_read`` longest of ``launches`` launches; ``note`` says why there are none."""

    lines: tuple[HotLine, ...]
    launches: int
    launches_read: int
    note: str = ""


def hot_spots(report: Report, launches: int, read: Sequence[int], source: SourceTables | None) -> HotSpots:
    """Return the lines that cost most in the launches that were read of so many; ``source`` is what was read."""
    sums = line_sums(report, read, source) if read else ""
    if isinstance(sums, str):
        return HotSpots((), launches, len(read), sums)
    return HotSpots(_lines(sums), launches, len(read))


def _lines(sums: LineSums) -> tuple[HotLine, ...]:
    """Return the lines with most samples. A sample counts for the cycles between two of them."""
    top = sums.frame.nlargest(TOP, COST)
    return tuple(_line(key, row, sums) for key, row in top.iterrows() if row[COST] > 0)


def _line(key: object, row: pd.Series[float], sums: LineSums) -> HotLine:
    assert isinstance(key, tuple)
    source: object = row["source"]
    excess = {name: known(row[name]) for name in EXCESSES}
    return HotLine(
        file=str(key[0]),
        line=int(key[1]),
        source=source if isinstance(source, str) else None,
        share=float(row[COST]) / sums.total,
        samples=int(row[SAMPLES]),
        stall=sums.stall_of(row),
        **excess,
    )
