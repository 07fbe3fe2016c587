"""What counters and times of a proof are judged by: both sides as counted, and what this GPU can reach."""

from __future__ import annotations

from pathlib import Path

from ncu_assist.ceilings import Ceilings, ceilings_of
from ncu_assist.drafts.cheats import Case, Cheat, Peaks, Side, judge
from ncu_assist.drafts.libraries import LIBRARIES
from ncu_assist.frame import combine_tables
from ncu_assist.store import StoredRun
from ncu_assist.suggest.proof.runs import Pair

EVENTS = "events"  # peaks that the same kind of clock has seen
INTEGERS = "int8"  # no rate of floating-point operations
ALL_LIBRARIES = frozenset(name for name, _ in LIBRARIES)


def counted_cheats(runs: Pair, archived: StoredRun, workload: str, libraries: bool, reports: Path) -> tuple[Cheat, ...]:
    """Return every way of cheating that counters and times of parent and draft show, once both were profiled.

    ``archived`` is the run that the draft was made from: its time counts where it is of the same GPU. ``libraries``
    may do the work. Raises DamagedData for files that were changed.
    """
    parent, draft = runs
    facts = draft.run.workload(workload)
    assert facts is not None
    device = draft.run.device
    ceilings = ceilings_of(device, reports) if device else None
    allowed = ALL_LIBRARIES if libraries else frozenset[str]()
    before = _archived_ns(archived, parent, workload)
    return judge(Case(_side(draft, workload), _side(parent, workload, before), facts, _peaks(ceilings), allowed))


def _side(stored: StoredRun, workload: str, archived_ns: float | None = None) -> Side:
    timing = stored.run.timing(workload)
    counted = combine_tables(stored.run, stored.by_launch(), workload)  # of no launch, where none was seen
    return Side(timing.median_ns if timing else None, counted, archived_ns)


def _archived_ns(archived: StoredRun, parent: StoredRun, workload: str) -> float | None:
    """Return the parent's median of before; None of another GPU, or of a bench with another flush."""
    timing, now = archived.run.timing(workload), parent.run
    if timing is None or archived.run.gpu != now.gpu:
        return None
    same = archived.run.bench and now.bench and archived.run.bench.flush == now.bench.flush
    return timing.median_ns if same else None


def _peaks(ceilings: Ceilings | None) -> Peaks:
    if ceilings is None:
        return Peaks()
    tensor = [r for r in ceilings.rates if (r.kind, r.source) == ("tensor", EVENTS) and INTEGERS not in r.name]
    return Peaks(
        dram_bytes_per_second=max((p.bytes_per_second for p in ceilings.dram if p.source == EVENTS), default=None),
        l2_bytes_per_second=max((p.bytes_per_second for p in ceilings.l2 if p.source == EVENTS), default=None),
        flops_per_second=max((rate.per_second for rate in tensor), default=None),
        l2_bytes=ceilings.device.l2_bytes,
    )
