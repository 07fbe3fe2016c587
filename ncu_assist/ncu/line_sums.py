"""The source lines of some launches of a report, all together: what each cost and wasted, and the few to look at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.source.contents import COUNTERS, NO_LINE, NOT_ISSUED, SAMPLES, STALL_COLUMN
from ncu_assist.ncu.source.tables import LineTexts, stall_counts, with_instruction
from ncu_assist.ncu.tables import Launches
from ncu_assist.record import Launch

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ncu_assist.ncu.report import Report
    from ncu_assist.ncu.source.contents import LaunchSource
    from ncu_assist.ncu.source.reading import SourceTables
    from ncu_assist.ncu.source.tables import Place

    Array = np.ndarray[Any, Any]

MOST_LAUNCHES = 20  # whose lines are read, the longest: up to 30 ms each
MOST_OF_TIME = 0.9  # launches beyond it are not read, 40 to 100 ms each: lines of short helpers explain nothing
INTERVAL = "smsp__pcsamp_interval_cycles"  # ncu samples a long launch less often
EXCESSES = ("sectors_excessive", "wavefronts_excessive")
ISSUED = f"{STALL_COLUMN}selected"  # the state of a warp that issues: sampled, but no stall
COST, NS = "cost", "ns"
BARRIER = "barrier"
NO_SAMPLES = "nothing was sampled by line: ncu-assist profile samples warps there, as ncu --set full does"
TOO_SHORT = "ncu sampled warps by line, but so short a launch has no sample"
INTERRUPTED = "the program ended while its kernel was profiled: no warp states were written"
NO_LINES = "the code has no line numbers: compile with -lineinfo"
PRINTED = "a printed page holds no source lines"


@dataclass(frozen=True)
class LineCost:
    """A line, all compared launches together.

    ``ns`` is its share of the warp samples of each launch times the duration of that under ncu; ``share`` is that of
    the time of all code that was read, as a page on one run has it. ``launches`` are those that ran it. Excesses and
    instructions are None where they were not counted. ``is_wasteful`` where the excess is no trifle beside the time of
    all.
    """

    file: str
    line: int
    text: str | None  # None where the source was not imported
    ns: float
    share: float
    samples: int = 0
    stall: str | None = None  # the reason most of its warps waited for, in ncu's spelling
    sectors_excessive: float | None = None  # of global memory, L2
    wavefronts_excessive: float | None = None  # of shared memory, L1
    instructions: float | None = None
    is_wasteful: bool = False
    launches: tuple[int, ...] = ()
    barrier_file: str | None = None  # where the stall is a barrier on another line: of which file it is
    barrier_line: int | None = None
    barrier_text: str | None = None

    @property
    def place(self) -> Place:
        return self.file, self.line

    @property
    def waits_at(self) -> LineCost:
        """Return the line where its warps wait: the barrier's where one holds them, which are sampled behind it."""
        if not (self.barrier_file and self.barrier_line):
            return self
        return replace(self, file=self.barrier_file, line=self.barrier_line, text=self.barrier_text)

    @property
    def excess(self) -> float:
        """Return excess sectors and wavefronts together: each is a pass through L1 that a better access saves."""
        return (self.sectors_excessive or 0.0) + (self.wavefronts_excessive or 0.0)


@dataclass(frozen=True)
class LineSums:
    """The lines of some launches, of one call of the work; ``note`` says why there are none, or what they are not of.

    ``texts`` are whole files by the names that lines have, ``own`` is the version's own among these, None for a foreign
    program. ``pass_ns`` is the time that the L1 caches of all SMs together take for one sector or wavefront at their
    peak, one a cycle each: what an excess costs at least where it binds. None where clock or SMs are not known.
    """

    lines: tuple[LineCost, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: str | None = None
    duration_ns: float = 0.0
    pass_ns: float | None = None
    note: str = ""
    lined: frozenset[int] = frozenset()  # the launches whose code was read and has line numbers
    waits: Mapping[str, float] = field(default_factory=dict, repr=False)  # cost of each stall reason

    @property
    def sample_ns(self) -> float:
        """Return the time that a sample stands for, of all lines together."""
        samples = sum(line.samples for line in self.lines)
        return sum(line.ns for line in self.lines) / samples if samples else 0.0

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that lines are in, the one where most time goes first."""
        times: dict[str, float] = {}
        for line in self.lines:
            times[line.file] = times.get(line.file, 0.0) + line.ns
        return tuple(sorted(times, key=lambda name: (-times[name], name)))


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


def line_sums(report: Report, launches: Sequence[int], source: SourceTables | None = None) -> LineSums:
    """Return the lines of these launches together, with the files that were imported, whole.

    ``source`` is what was read of them already. Raises DamagedData as ``Report.source`` does. Made without a data
    frame: what compares two runs needs no other, and pandas takes longer to import than this.
    """
    if report.lossy:
        return LineSums(note=PRINTED)
    source = source or report.source(launches)
    parts = [part for part in map(_LaunchLines, source.found) if part.places]
    weights = _weights(report, {part.launch: part.samples for part in parts})
    times = {launch: report.records[launch].duration_ns for launch in launches}
    total = _plain_sum([part.costs(weights[part.launch]) for part in parts])
    if total <= 0:
        return LineSums(note=_why_none(report, launches))
    if not any(part.lined for part in parts):
        return LineSums(note=NO_LINES)
    lines = tuple(_together(parts, weights, times, total, source))
    lined = frozenset(part.launch for part in parts if part.lined)
    return LineSums(lines, source.texts, lined=lined, waits=dict(_waits(parts, weights)))


def _why_none(report: Report, launches: Sequence[int]) -> str:
    """Return why launches have no samples, in words."""
    if launches and all(report.records[launch].interrupted for launch in launches):
        return INTERRUPTED
    values = Launches(report.contents)
    return TOO_SHORT if any(values.number(launch, INTERVAL) > 0 for launch in launches) else NO_SAMPLES


def _waits(parts: Sequence[_LaunchLines], weights: Mapping[int, float]) -> Iterator[tuple[str, float]]:
    for name in dict.fromkeys(name for part in parts for name in part.stalls):
        yield name.removeprefix(STALL_COLUMN), _plain_sum([part.column(name) * weights[part.launch] for part in parts])


SUMMED = (SAMPLES, "instructions", *EXCESSES)  # columns of a line beside its stall reasons
AnyPlace = tuple[str | None, int]  # file and line, None and 0 where the code has none


class _LaunchLines:
    """The counters of one launch by source line, in the order of files and lines; code without a file is last."""

    def __init__(self, one: LaunchSource) -> None:
        import numpy as np

        names: list[str | None] = [*(file.name for file in one.files), None]  # NO_FILE is the last
        numbers: dict[AnyPlace, int] = {}
        row = np.array(
            [
                numbers.setdefault((names[file], line), len(numbers))
                for function in one.functions
                for file, line in zip(function.files, function.lines, strict=True)
            ],
            dtype=np.int64,
        )
        self.launch = one.launch
        self.places = sorted(numbers, key=lambda place: (place[0] is None, place[0] or "", place[1]))
        self.lined = [place for place in self.places if place[0] is not None and place[1] != NO_LINE]
        order = np.array([numbers[place] for place in self.places], dtype=np.int64)
        stalls = {name: counts for name, counts in stall_counts([one]).items() if is_stall(name)}
        known = {name: COUNTERS[name] for name in SUMMED if COUNTERS[name] in one.metrics}
        counts = {name: one.values[one.metrics.index(metric)] for name, metric in known.items()} | stalls
        self.stalls = list(stalls)
        self._columns = {name: np.bincount(row, own, len(numbers))[order] for name, own in counts.items()}

    @property
    def samples(self) -> float:
        return float(self.column(SAMPLES).sum()) if SAMPLES in self._columns else 0.0

    def column(self, name: str) -> Array:
        """Return a counter of each line, NaN where this launch does not have it."""
        import numpy as np

        return self._columns[name] if name in self._columns else np.full(len(self.places), np.nan)

    def costs(self, weight: float) -> Array:
        return self.column(SAMPLES) * weight


def is_stall(name: str) -> bool:
    """Tell whether a column counts the samples of a stall, and not of a warp that issued."""
    return name.startswith(STALL_COLUMN) and not name.endswith(NOT_ISSUED) and name != ISSUED


def _plain_sum(parts: Sequence[Array]) -> float:
    import numpy as np

    return float(np.nansum(np.concatenate(parts))) if parts else 0.0


def _together(
    parts: Sequence[_LaunchLines],
    weights: Mapping[int, float],
    times: Mapping[int, float | None],
    total: float,
    source: SourceTables,
) -> Iterator[LineCost]:
    """Yield the lines of all launches, each with its sums, by file and number; ``total`` is the cost of all code."""
    import numpy as np

    texts = LineTexts(source.found)
    stalls = sorted({name for part in parts for name in part.stalls})
    columns = (COST, NS, *SUMMED, *stalls)
    places = {place: number for number, place in enumerate(sorted({place for part in parts for place in part.lined}))}
    sums = _Sums(len(places), len(columns))
    ran: dict[AnyPlace, list[int]] = {place: [] for place in places}
    for part in parts:
        weight, time = weights[part.launch], times.get(part.launch)
        samples, own = part.column(SAMPLES), part.samples
        with np.errstate(invalid="ignore", divide="ignore"):
            share = samples / own * (np.nan if time is None else time)
        rows = [part.costs(weight), share, *(part.column(name) for name in SUMMED)]
        rows += [part.column(name) * weight for name in stalls]
        lined = [place in ran for place in part.places]
        sums.add(np.array([places[place] for place in part.lined], dtype=np.int64), np.array(rows)[:, lined])
        for place in part.lined:
            ran[place].append(part.launch)
    for place, row in zip(places, sums.found().T.tolist(), strict=True):
        file, line = str(place[0]), place[1]
        value = dict(zip(columns, row, strict=True))
        said = (texts.of(launch, file, line) for launch in ran[place])
        stall = _longest_wait({name: value[name] for name in stalls})
        barrier = source.barriers.get((file, line)) if stall == BARRIER else None
        yield LineCost(
            file=file,
            line=line,
            text=next((text for text in said if text is not None), None),
            ns=known(value[NS]) or 0.0,
            share=value[COST] / total,
            samples=int(value[SAMPLES]) if value[SAMPLES] == value[SAMPLES] else 0,
            stall=stall,
            sectors_excessive=known(value["sectors_excessive"]),
            wavefronts_excessive=known(value["wavefronts_excessive"]),
            instructions=known(value["instructions"]),
            launches=tuple(sorted(set(ran[place]))),
            barrier_file=barrier[0] if barrier else None,
            barrier_line=barrier[1] if barrier else None,
        )


class _Sums:
    """Sums of rows that are added one launch after the other, compensated (Kahan); NaN where nothing was added."""

    def __init__(self, rows: int, columns: int) -> None:
        import numpy as np

        self._sums, self._lost = np.zeros((columns, rows)), np.zeros((columns, rows))
        self._any = np.zeros((columns, rows), dtype=bool)

    def add(self, rows: Array, values: Array) -> None:
        """Add a column of values to each of these rows, without those that are NaN."""
        import numpy as np

        counted = ~np.isnan(values)
        self._any[:, rows] |= counted
        before, own = self._sums[:, rows], np.where(counted, values, 0.0) - self._lost[:, rows]
        after = before + own
        self._sums[:, rows] = np.where(counted, after, before)
        self._lost[:, rows] = np.where(counted, after - before - own, self._lost[:, rows])

    def found(self) -> Array:
        import numpy as np

        return np.where(self._any, self._sums, np.nan)


def _longest_wait(waits: Mapping[str, float]) -> str | None:
    """Return the reason that most warps waited for, in ncu's spelling; None where none waited."""
    waited = {name: samples for name, samples in waits.items() if samples > 0}
    return max(waited, key=lambda name: waited[name]).removeprefix(STALL_COLUMN) if waited else None


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
    return frame["launch"].map(_weights(report, own))


def _weights(report: Report, own: Mapping[int, float]) -> dict[int, float]:
    """Return the same by launch; ``own`` are the samples of each."""
    times = {launch: report.records[launch].duration_ns for launch in own}
    known = {launch: time for launch, time in times.items() if time is not None}
    if len(known) == len(times):
        return {launch: time / own[launch] if own[launch] else 0.0 for launch, time in known.items()}
    values = Launches(report.contents)
    cycles = {launch: values.number(launch, INTERVAL) for launch in own}
    return {launch: 1.0 if math.isnan(each) else each for launch, each in cycles.items()}


def _first(values: Launches, launch: int, key: str) -> float | None:
    row = CATALOGUE[key]
    return row.value({name: values.number(launch, name) for name in row.every_name})


TOP = 3


@dataclass(frozen=True)
class HotSpots:
    """The top lines of the ``launches_read`` longest of ``launches`` launches; ``note`` says why there are none."""

    lines: tuple[LineCost, ...]
    launches: int
    launches_read: int
    note: str = ""


def hot_spots(report: Report, launches: int, read: Sequence[int], source: SourceTables | None) -> HotSpots:
    """Return the lines that cost most in the launches that were read of so many; ``source`` is what was read."""
    sums = line_sums(report, read, source) if read else LineSums()
    top = sorted(sums.lines, key=lambda one: -one.share)[:TOP]
    written = ((one, sums.texts.get(one.file, "").split("\n")) for one in top)
    told = (replace(one, text=with_instruction(lines, one.line) or one.text) for one, lines in written)
    return HotSpots(tuple(one for one in told if one.share > 0), launches, len(read), sums.note)
