"""What versions are compared with: a device copy of the same bytes; the copy engine where those lie on the host; the
best rate of what computes where operations, not bytes, set the least time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ncu_assist.ceilings import Floor

if TYPE_CHECKING:
    from ncu_assist.record import Run, Timing
    from ncu_assist.store import StoredRun
    from ncu_assist.verdict import Verdict


@dataclass(frozen=True)
class Yardstick:
    """What is timed beside every version; ``title`` heads a column of shares, which are ``formula``."""

    title: str
    what: str
    formula: str

    @property
    def name(self) -> str:
        """What it is without its article."""
        return self.what.split(" ", 1)[1]

    @property
    def meaning(self) -> str:
        return f"time of {self.what} over the median"

    @property
    def legend(self) -> str:
        return f"{self.title}: {self.meaning}, 100 % as fast"


COPY = Yardstick("of copy", "a device copy of the same bytes", "copy_ns / median_ns")
LINK = Yardstick("of link", "the copy engine with the same bytes from the host", "link_ns / median_ns")
OPERATIONS = Yardstick("of floor", "a loop of the same operations at the best rate", "floor_ns / median_ns")


def yardstick(timings: Iterable[Timing | None], floors: Iterable[Floor | None] = ()) -> Yardstick:
    """Return what versions of one kernel are compared with; a device copy where that is nothing."""
    if any(_is_of_operations(floor) for floor in floors):
        return OPERATIONS
    return LINK if any(timing and timing.link_ns and not timing.copy_ns for timing in timings) else COPY


class TimedWorkload(Protocol):
    """What was timed on a workload, with the least time of that workload."""

    @property
    def timing(self) -> Timing | None: ...
    @property
    def floor(self) -> Floor | None: ...


def measure_of(timed: Iterable[TimedWorkload]) -> Yardstick:
    """Return what versions of one kernel, or workloads of one version, are compared with."""
    known = list(timed)
    return yardstick((one.timing for one in known), (one.floor for one in known))


def yardstick_ns(timing: Timing | None, floor: Floor | None = None) -> float | None:
    """Return the time of what a version is compared with; None where that is nothing."""
    if floor is not None and _is_of_operations(floor):
        return floor.ns
    return (timing.copy_ns or timing.link_ns) if timing else None


def share(timing: Timing | None, floor: Floor | None = None) -> float | None:
    """Return the time of the yardstick over that of a version: 1 is as fast; None where one of them is missing."""
    beside = yardstick_ns(timing, floor)
    return beside / timing.median_ns if timing and beside and timing.median_ns > 0 else None


class AgainstYardstick:
    """What is compared with a yardstick: a version on a workload, in a history or in a run."""

    @property
    def measure(self: TimedWorkload) -> Yardstick:
        """What it is compared with."""
        return measure_of([self])

    @property
    def yardstick_ns(self: TimedWorkload) -> float | None:
        """The time of what it is compared with."""
        return yardstick_ns(self.timing, self.floor)

    @property
    def share(self: TimedWorkload) -> float | None:
        """The time of the yardstick over its own, whichever that is: 1 is as fast; None where one is missing."""
        return share(self.timing, self.floor)

    def share_of(self: TimedWorkload, measure: Yardstick) -> float | None:
        """None where it is compared with something else: floors are of a workload and of a GPU."""
        return share(self.timing, self.floor) if measure_of([self]) is measure else None


def _is_of_operations(floor: Floor | None) -> bool:
    return floor is not None and floor.is_of_operations


@dataclass(frozen=True)
class OwnAgainstLibrary:
    """The fastest own version and the fastest of libraries on a workload, by median, among those that passed its check.

    ``verdict`` is on the own version against the library, by paired samples; None where no bench timed both.
    """

    workload: str
    own: str
    own_ns: float
    library: str
    library_ns: float
    verdict: Verdict | None

    @property
    def ratio(self) -> float | None:
        """The time of the library over the own one: 2 is twice as fast as the library; None where no bench has both."""
        return self.verdict.speedup if self.verdict else None


Judge = Callable[["StoredRun", "StoredRun", str], "Verdict"]  # on a candidate against a baseline


def own_against_library(
    versions: Iterable[tuple[str, bool, StoredRun | None]], workload: str, judge: Judge
) -> OwnAgainstLibrary | None:
    """Return how one's own stand to libraries on a workload; None where one of the two has no time.

    ``versions`` are names, whether each is a library's or a framework's own, and the run that shows it.
    """
    known = [
        (timing, name, is_peer, stored)
        for name, is_peer, stored in versions
        if stored and (timing := _passed(stored.run, workload))
    ]
    owned, peers = ([one for one in known if one[2] is is_peer] for is_peer in (False, True))
    if not owned or not peers:
        return None
    own, library = (min(some, key=lambda one: one[0].median_ns) for some in (owned, peers))
    verdict = judge(library[3], own[3], workload) if own[0].bench_id == library[0].bench_id else None
    paired = verdict if verdict and verdict.pairs else None
    return OwnAgainstLibrary(workload, own[1], own[0].median_ns, library[1], library[0].median_ns, paired)


def least_against_libraries(
    versions: Iterable[tuple[str, Mapping[str, StoredRun]]],
    libraries: Mapping[str, StoredRun],
    speedup: Callable[[StoredRun, StoredRun, str], float | None],
) -> tuple[str, str, float] | None:
    """Return the own version whose least ratio to the fastest libraries is the largest, with that workload and ratio.

    ``versions`` are one's own, with their runs by workload; ``libraries`` the runs of the fastest library by workload;
    ``speedup`` is that of a candidate over a baseline in one bench. None where no version was timed, and passed its
    check, in the benches of the libraries on all these workloads.
    """
    found = []
    for version, runs in versions:
        passed = ((name, runs[name]) for name in libraries if name in runs and _passed(runs[name].run, name))
        ratios = [(ratio, name) for name, stored in passed if (ratio := speedup(libraries[name], stored, name))]
        if ratios and len(ratios) == len(libraries):
            found.append((*min(ratios), version))
    ratio, workload, version = max(found, default=(0.0, "", ""))
    return (version, workload, ratio) if version else None


def _passed(run: Run, workload: str) -> Timing | None:
    timing = run.timing(workload)
    return timing if timing and timing.median_ns > 0 and not run.is_wrong(workload) else None
