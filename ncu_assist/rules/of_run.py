"""The diagnosis of a run: of the launches of one workload together, of its longest kernel, and of single launches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncu_assist.ceilings import Ceilings, floor_of
from ncu_assist.frame import Combined
from ncu_assist.record import Run
from ncu_assist.rules import RULES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.diagnosis import Diagnosis, diagnose
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.warnings import Warned, impossible_values, metric_missing, warnings


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
    needed = dict.fromkeys(key for rule in RULES.values() for key in rule.NEEDS)
    warned = (*warnings(facts, caches), *impossible_values(facts, tuple(needed)), *metric_missing(diagnosis))
    return Told(facts, diagnosis, warned)


def told_of_shown(run: Run, combined: Combined, ceilings: Ceilings | None = None) -> Told | None:
    """Return the diagnosis of a run: what ``told_of`` does, but without a workload that of one kernel.

    Launches of several kernels that no workload holds together have nothing to do with each other: their sums say
    nothing, and the kernel that most of the time goes to is judged. A kernel is a function with its template arguments.
    """
    if combined.workload is not None or not combined.is_of_kernels:
        return told_of(run, combined, ceilings)
    own = combined.by_kernel[0]
    told, whole = told_of(run, own, ceilings), combined.duration_ns
    share = own.duration_ns / whole if whole and own.duration_ns else None
    part = KernelPart(own.launches[0].kernel, len(own.launches), len(combined.launches), share)
    return replace(told, part=part) if told else None
