"""The diagnosis of a run: of the launches of one workload together, of its longest kernel, and of single launches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncu_assist.ceilings import Ceilings, floor_of
from ncu_assist.frame import Combined
from ncu_assist.record import Launch, Run
from ncu_assist.rules import RULES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.diagnosis import Diagnosis, diagnose
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.warnings import Warned, metric_missing, warnings


@dataclass(frozen=True)
class KernelPart:
    """The kernel that a diagnosis is of, where it is not of all launches.

    ``share`` is its part of their time, None where that is not known.
    """

    name: str
    launches: int
    of_launches: int
    share: float | None


@dataclass(frozen=True)
class Told:
    """What the rules say of launches, and what misleads about their measurement; ``part`` None: of all shown."""

    facts: Facts
    diagnosis: Diagnosis
    warnings: tuple[Warned, ...]
    part: KernelPart | None = None

    def about(self, finding: Finding) -> Facts:
        """Return the facts of the launches that a finding is about: its evidence is of them."""
        return self.facts.only(finding.launches)

    def where(self, finding: Finding) -> str:
        """Return which launches a finding is about where it is not about all, e.g. ``k, 2 of 10 launches``."""
        own, every = self.about(finding).combined.launches, self.facts.combined.launches
        if len(own) == len(every):
            return ""
        also = f", less so in {finding.elsewhere} more" if finding.elsewhere else ""
        return f"{own[0].kernel}, {len(own)} of {len(every)} launches{also}"


def told_of(run: Run, combined: Combined, ceilings: Ceilings | None = None, whole: bool = True) -> Told | None:
    """Return what the rules say of launches of a run together; None without counters.

    ``ceilings`` are those of its GPU (`ceilings.ceilings_of`), None where nobody measured such a GPU.
    ``whole``: they are all that a call on the workload launches, so that its bytes, operations and dtype are theirs.
    """
    if not combined.launches or not any(combined.tables):
        return None
    workload = run.workload(combined.workload) if combined.workload and whole else None
    facts = Facts(combined, run.device, ceilings)
    if workload:
        timing = run.timing(workload.name)
        facts = replace(
            facts,
            algorithmic_bytes=workload.algorithmic_bytes,
            flops=workload.flops,
            dtype=workload.dtype,
            floor=floor_of(workload, ceilings),
            median_ns=timing.median_ns if timing else None,
        )
    diagnosis = diagnose(facts, RULES)
    caches = run.profile.cache_control if run.profile else None
    return Told(facts, diagnosis, (*warnings(facts, caches), *metric_missing(diagnosis)))


def told_of_shown(run: Run, combined: Combined, ceilings: Ceilings | None = None) -> Told | None:
    """Return the diagnosis of a run: what ``told_of`` does, but without a workload that of one kernel.

    Launches of several kernels that no workload holds together have nothing to do with each other: their sums say
    nothing, and the kernel that most of the time goes to is judged. A kernel is a function with its template arguments.
    """
    kernels: dict[str, list[Launch]] = {}
    for one in combined.launches:
        kernels.setdefault(one.signature or one.kernel, []).append(one)
    if combined.workload is not None or len(kernels) < 2:
        return told_of(run, combined, ceilings)
    own = max(kernels.values(), key=_time_ns)
    told, whole = told_of(run, combined.only(own), ceilings), _time_ns(combined.launches)
    known = all(one.duration_ns is not None for one in combined.launches)
    share = _time_ns(own) / whole if whole and known else None
    part = KernelPart(own[0].kernel, len(own), len(combined.launches), share)
    return replace(told, part=part) if told else None


def _time_ns(launches: list[Launch] | tuple[Launch, ...]) -> float:
    return sum(one.duration_ns or 0.0 for one in launches)
