"""The fastest version of one's own against the fastest of libraries and frameworks, on a workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncu_assist.record import Run, Timing


@dataclass(frozen=True)
class OwnAgainstLibrary:
    """The fastest own version and the fastest of libraries on a workload, by median, among those that passed its check.

    ``ratio`` is the time of the library over the own one, of medians of one bench: 2 is twice as fast as the library;
    None where no bench timed both.
    """

    workload: str
    own: str
    own_ns: float
    library: str
    library_ns: float
    ratio: float | None


def own_against_library(versions: Iterable[tuple[str, bool, Run | None]], workload: str) -> OwnAgainstLibrary | None:
    """Return how one's own stand to libraries on a workload; None where one of the two has no time.

    ``versions`` are names, whether each is a library's or a framework's own, and the run that shows it.
    """
    known = [(name, is_peer, timing) for name, is_peer, run in versions if run and (timing := _passed(run, workload))]
    owned = [(name, timing) for name, is_peer, timing in known if not is_peer]
    peers = [(name, timing) for name, is_peer, timing in known if is_peer]
    if not owned or not peers:
        return None
    (own, fast), (library, beside) = (min(some, key=lambda one: one[1].median_ns) for some in (owned, peers))
    ratio = beside.median_ns / fast.median_ns if beside.bench_id == fast.bench_id else None
    return OwnAgainstLibrary(workload, own, fast.median_ns, library, beside.median_ns, ratio)


def _passed(run: Run, workload: str) -> Timing | None:
    timing = run.timing(workload)
    return timing if timing and timing.median_ns > 0 and not run.is_wrong(workload) else None
