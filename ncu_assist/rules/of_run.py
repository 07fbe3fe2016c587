"""The diagnosis of a run: of the launches of one workload together, and of single launches."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ceilings import Ceilings
from ncu_assist.frame import Combined
from ncu_assist.record import Run
from ncu_assist.rules import RULES
from ncu_assist.rules.diagnosis import Diagnosis, diagnose
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.warnings import Warned, warnings


@dataclass(frozen=True)
class Told:
    """What the rules say of launches, and what misleads about their measurement."""

    facts: Facts
    diagnosis: Diagnosis
    warnings: tuple[Warned, ...]


def told_of(run: Run, combined: Combined, ceilings: Ceilings | None = None, whole: bool = True) -> Told | None:
    """Return what the rules say of launches of a run together; None without counters.

    ``ceilings`` are those of its GPU (`ceilings.ceilings_of`), None where nobody measured such a GPU.
    ``whole``: they are all that a call on the workload launches, so that its bytes and operations are theirs.
    """
    if not combined.launches or not any(combined.tables):
        return None
    workload = run.workload(combined.workload) if combined.workload and whole else None
    moved, flops = (workload.algorithmic_bytes, workload.flops) if workload else (None, None)
    facts = Facts(combined, run.device, ceilings, moved, flops)
    return Told(facts, diagnose(facts, RULES), warnings(facts))
