"""The source lines of some launches of a report, all together: what each cost and wasted, and the few to look at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.source.assembly import with_instruction
from ncu_assist.ncu.source.metrics import NOT_ISSUED, SAMPLES, STALL_COLUMN
from ncu_assist.ncu.tables import Launches
from ncu_assist.record import Launch

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.ncu.report import Report
    from ncu_assist.ncu.source.reading import SourceLines, SourceTables
    from ncu_assist.ncu.source.tables import Place

MOST_LAUNCHES = 20  # whose lines are read, the longest: up to 30 ms each
MOST_OF_TIME = 0.9  # launches beyond it are not read, 40 to 100 ms each: lines of short helpers explain nothing
INTERVAL = "smsp__pcsamp_interval_cycles"  # ncu samples a long launch less often
EXCESSES = ("sectors_excessive", "wavefronts_excessive")
ISSUED = f"{STALL_COLUMN}selected"  # the state of a warp that issues: sampled, but no stall
COST, NS = "cost", "ns"
BARRIER = "barrier"
NO_SAMPLES = "no warp states were sampled: ncu-assist profile samples them, as ncu --set full does"
NO_LINES = "the code has no line numbers: compile with -lineinfo"
CSV = "a CSV export holds no source lines"


@dataclass(frozen=True)
class LineSums:
    """A row for each file and line, and the imported files whole, by name.

    ``frame``, by file and line: cost (samples times what each counts for, see ``sample_weights``), ns (the share of a
    launch's samples times its duration, NaN where that is not known), samples, instructions, the excesses, samples by
    stall reason as cost is, launches (the places of those that ran the line, a tuple), and source, the text of the
    line. ``total`` is the cost of all code, also that without a line. ``lined`` are the launches with any lines.
    """

    frame: pd.DataFrame
    total: float
    stalls: tuple[str, ...]
    texts: Mapping[str, str] = field(repr=False)
    lined: frozenset[int] = frozenset()
    barriers: Mapping[Place, Place] = field(default_factory=dict, repr=False)  # as ``SourceLines`` has them

    def stall_of(self, row: pd.Series[Any]) -> str | None:
        """Return the reason that most warps at a line waited for, in ncu's spelling; None where none waited."""
        waits = {name: float(row[name]) for name in self.stalls if row[name] > 0}
        return max(waits, key=lambda name: waits[name]).removeprefix(STALL_COLUMN) if waits else None

    def barrier_of(self, place: Place, stall: str | None) -> Place | None:
        """Return the place of the barrier that warps at a line with this stall are held by, where it is another."""
        return self.barriers.get(place) if stall == BARRIER else None


def longest(records: Sequence[Launch], launches: Sequence[int]) -> list[int]:
    """Return those of these launches, by their places among those of the report, whose lines are worth the reading."""
    return sorted(launches, key=lambda i: -(records[i].duration_ns or 0.0))[:MOST_LAUNCHES]


def most_of_time(records: Sequence[Launch], launches: Sequence[int]) -> list[int]:
    """Return the longest of a chain of launches, as many as most of the time goes to; all of unknown durations."""
    total = sum(records[place].duration_ns or 0.0 for place in launches)
    read, covered = [], 0.0
    for place in longest(records, launches):
        if total and covered >= MOST_OF_TIME * total:
            break
        read.append(place)
        covered += records[place].duration_ns or 0.0
    return read


def line_sums(
    report: Report, launches: Sequence[int], source: SourceTables | SourceLines | None = None
) -> LineSums | str:
    """Return the lines of these launches together, or why there are none.

    ``source`` is what was read of them already. Raises DamagedData as ``Report.source`` does.
    """
    if report.lossy:
        return CSV
    source = source or report.source_lines(launches)
    frame = source.lines
    stalls = [c for c in map(str, frame) if c.startswith(STALL_COLUMN) and not c.endswith(NOT_ISSUED) and c != ISSUED]
    weights = sample_weights(report, frame)
    own = frame.groupby("launch")[SAMPLES].transform("sum")
    times = frame["launch"].map({launch: report.records[launch].duration_ns for launch in launches}).astype(float)
    costs = {COST: frame[SAMPLES] * weights, NS: frame[SAMPLES] / own * times}
    frame = frame.assign(**costs, **{c: frame[c] * weights for c in stalls})
    total = float(frame[COST].sum())
    if total <= 0:
        return NO_SAMPLES
    if frame["line"].isna().all():
        return NO_LINES
    groups = frame.groupby(["file", "line"], observed=True, sort=True)
    sums = groups[[COST, NS, SAMPLES, "instructions", *EXCESSES, *stalls]].sum(min_count=1)
    sums = sums.assign(
        source=groups["source"].first(), launches=groups["launch"].agg(lambda own: tuple(sorted(set(own))))
    )
    lined = frozenset(frame.loc[frame["line"].notna(), "launch"])
    return LineSums(sums, total, tuple(stalls), source.texts, lined, source.barriers)


def pass_ns(report: Report, launch: int) -> float | None:
    """Return the time in which the L1 caches of all SMs together pass one sector or wavefront, one a cycle each.

    None where the launch does not say its SMs and their clock.
    """
    values = Launches(report.contents)
    count, clock = (_first(values, launch, key) for key in ("sm_count", "sm_clock"))
    return 1e9 / (count * clock) if count and clock else None


def known(value: float) -> float | None:
    """Return a number, None for NaN."""
    return None if math.isnan(value) else float(value)


def sample_weights(report: Report, frame: pd.DataFrame) -> pd.Series[float]:
    """Return what a sample of each row counts for, so that a share of all samples is a share of the time.

    The samples of a launch share its duration: one of few warps would else count less than one of many. Where a
    duration is not known, a sample counts for the cycles to the next, 1 where a report has that not either. ``frame``
    has the columns launch, the place in the report, and samples.
    """
    own = {
        int(launch): float(frame.loc[frame["launch"] == launch, SAMPLES].sum()) for launch in frame["launch"].unique()
    }
    times = {launch: report.records[launch].duration_ns for launch in own}
    known = {launch: time for launch, time in times.items() if time is not None}
    if len(known) == len(times):
        return frame["launch"].map(
            {launch: time / own[launch] if own[launch] else 0.0 for launch, time in known.items()}
        )
    values = Launches(report.contents)
    cycles = {launch: values.number(launch, INTERVAL) for launch in own}
    return frame["launch"].map({launch: 1.0 if math.isnan(each) else each for launch, each in cycles.items()})


def _first(values: Launches, launch: int, key: str) -> float | None:
    row = CATALOGUE[key]
    return row.value({name: values.number(launch, name) for name in row.every_name})


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
    barrier_file: str | None = None  # where the stall is a barrier on another line: of which file it is
    barrier_line: int | None = None


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
    top = sums.frame.nlargest(TOP, COST)
    return HotSpots(tuple(_line(at, row, sums) for at, row in top.iterrows() if row[COST] > 0), launches, len(read))


def _line(key: object, row: pd.Series[float], sums: LineSums) -> HotLine:
    assert isinstance(key, tuple)
    lines = sums.texts.get(str(key[0]), "").split("\n")
    source: object = with_instruction(lines, int(key[1])) or row["source"]
    excess = {name: known(row[name]) for name in EXCESSES}
    stall = sums.stall_of(row)
    barrier = sums.barrier_of((str(key[0]), int(key[1])), stall)
    return HotLine(
        file=str(key[0]),
        line=int(key[1]),
        source=source if isinstance(source, str) else None,
        share=float(row[COST]) / sums.total,
        samples=int(row[SAMPLES]),
        stall=stall,
        **excess,
        barrier_file=barrier[0] if barrier else None,
        barrier_line=barrier[1] if barrier else None,
    )
