"""What the rules say of a run, in the form that its archive keeps: every workload, and every launch of a chain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ncu_assist import __version__
from ncu_assist.ceilings import Ceilings
from ncu_assist.columns import Values
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.record import Launch, Run
from ncu_assist.rules import RULES
from ncu_assist.rules.diagnosis import Ranked
from ncu_assist.rules.of_run import told_of
from ncu_assist.store.findings import Findings, Judged, StoredFinding

MOST_LAUNCHES = 20  # of one workload that are judged one by one, the longest: a program has thousands


def findings_of(run: Run, tables: Mapping[int, Values], ceilings: Ceilings | None) -> Findings:
    """Return what the rules of this version say of a run; ``tables`` are the counters of each launch.

    ``ceilings`` are those of its GPU, None where nobody measured such a GPU.
    """
    workloads = dict.fromkeys(launch.workload for launch in run.launches)
    judged = [one for name in workloads for one in _of_workload(run, combine_tables(run, tables, name), ceilings)]
    return Findings(__version__, tuple(RULES), tuple(judged))


def judged(run: Run, combined: Combined, ceilings: Ceilings | None, whole: bool = True) -> Judged | None:
    """Return what the rules say of launches of a run together, as ``told_of`` does; None without counters."""
    told = told_of(run, combined, ceilings, whole)
    if told is None:
        return None
    only = combined.launches[0] if len(combined.launches) == 1 else None
    return Judged(
        workload=combined.workload,
        whole=whole,
        launch=only.index if only else None,
        kernel=only.kernel if only else None,
        duration_ns=combined.duration_ns,
        findings=tuple(_stored(one) for one in told.diagnosis.findings),
        unanswered=tuple(one.rule for one in told.diagnosis.unanswered),
    )


def judged_alone(launches: Sequence[Launch]) -> list[Launch]:
    """Return the launches of one workload that are judged one by one, the longest first."""
    return sorted(launches, key=lambda one: -(one.duration_ns or 0.0))[:MOST_LAUNCHES]


def _of_workload(run: Run, combined: Combined, ceilings: Ceilings | None) -> Iterator[Judged]:
    """Yield what is said of a workload as a whole, then of each of its launches where it has several."""
    single = judged_alone(combined.launches) if len(combined.launches) > 1 else []
    alone = (judged(run, combined.only([one]), ceilings, whole=False) for one in single)
    yield from (one for one in (judged(run, combined, ceilings), *alone) if one is not None)


def _stored(ranked: Ranked) -> StoredFinding:
    finding = ranked.finding
    saved, speedup = _finite(ranked.saved_ns), _finite(ranked.estimated_speedup)
    detail, assumed = finding.detail, finding.assumed
    return StoredFinding(finding.rule, ranked.severity, saved, speedup, detail, assumed, ranked.to_floor)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
