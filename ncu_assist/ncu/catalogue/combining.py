"""How launches make one value: each metric declares it, and of a name that no catalogue has ncu's rollup says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

How = Literal["sum", "mean", "max", "formula", "none"]


@dataclass(frozen=True)
class Combining:
    """How the launches of one kernel make one value.

    ``sum``: counts add up. ``mean``: a ratio, weighted by what it is a ratio over: ``weights`` says that in keys of the
    catalogue, as a sum of products; where a report lacks one, the next is taken, and without any there is no value.
    ``formula``: that of a derived metric, over its combined parts. ``max``: the largest. ``none``: no value unless all
    launches have the same.

    Over different kernels only sums hold, and what is no property of a kernel: ``of_device``.
    """

    how: How
    weights: tuple[str, ...] = ()
    of_device: bool = False

    @property
    def over_kernels(self) -> bool:
        """Whether launches of different kernels make one value."""
        return self.how == "sum" or self.of_device


def mean_by(*weights: str) -> Combining:
    return Combining("mean", weights)


SUM: Final = Combining("sum")
MAX: Final = Combining("max")
FORMULA: Final = Combining("formula")
FORMULA_OF_DEVICE: Final = Combining("formula", of_device=True)
NOT_AT_ALL: Final = Combining("none")
OF_DEVICE: Final = Combining("none", of_device=True)
CLOCK: Final = Combining("mean", ("duration",), of_device=True)  # cycles over time, whichever kernel runs

# What ratios are ratios over. Where a report lacks the counter, the next says the same, or nearly: the cycles of a unit
# are its clock times the time; since Volta a scheduler issues one instruction in a cycle in which it issues.
BY_TIME: Final = mean_by("duration")
BY_SM_ELAPSED: Final = mean_by("sm_cycles_elapsed", "cycles", "sm_clock * duration")
BY_SM_ACTIVE: Final = mean_by("sm_cycles_active")
BY_L1_ACTIVE: Final = mean_by("l1_cycles_active", "sm_cycles_active")
BY_SCHEDULER_ACTIVE: Final = mean_by("scheduler_cycles_active", "sm_cycles_active")
BY_SCHEDULER_ELAPSED: Final = mean_by("scheduler_cycles_elapsed", "sm_cycles_elapsed", "cycles", "sm_clock * duration")
BY_L2_ELAPSED: Final = mean_by("l2_clock * duration", "duration")  # its clock does not follow the kernel
BY_DRAM_ELAPSED: Final = mean_by("dram_clock * duration", "duration")  # the same
BY_ISSUED: Final = mean_by("instructions_issued", "issued_per_cycle * scheduler_cycles_active", "instructions")
BY_INSTRUCTIONS: Final = mean_by("instructions", "instructions_issued")

COUNTS = ("memory_", "smsp__pcsamp_", "sass__inst_executed", "smsp__inst_executed", "thread_inst_executed")
ELAPSED, ACTIVE = ("sustained_elapsed", "per_cycle_elapsed"), ("sustained_active", "per_cycle_active")
OF_UNIT: dict[str, Combining] = {
    **dict.fromkeys(("sm", "l1tex", "idc", "tpc", "gpc"), BY_SM_ELAPSED),
    "smsp": BY_SCHEDULER_ELAPSED,
    **dict.fromkeys(("lts", "ltc"), BY_L2_ELAPSED),
    **dict.fromkeys(("dram", "fbpa"), BY_DRAM_ELAPSED),
    "gpu": BY_TIME,  # the largest of several units, each with cycles of its own
}
WHILE_ACTIVE: dict[str, Combining] = {"sm": BY_SM_ACTIVE, "smsp": BY_SCHEDULER_ACTIVE, "l1tex": BY_L1_ACTIVE}


def combining_of(name: str) -> Combining:
    """Return how a metric that no catalogue has is put together, from ncu's name; not at all where it does not say.

    A sum over all units and a mean of them add up over launches; the busiest unit need not be the same in each.
    """
    head, _, rest = name.partition("__")
    unit = head.rpartition(".")[2]  # SM_B.TriageCompute.l1tex__…
    rollups = rest.split(".")[1:]
    if unit in ("launch", "device"):
        return NOT_AT_ALL
    if not rollups:
        is_count = name.startswith(COUNTS) and not name.endswith(("_pct", "_ratio"))
        return SUM if is_count else NOT_AT_ALL
    if rollups[0] in ("max", "min"):
        return NOT_AT_ALL
    last = rollups[-1]
    if last in ("sum", "avg"):
        return SUM
    if last == "per_second":
        return BY_TIME
    if last.endswith(ELAPSED):
        return OF_UNIT.get(unit, NOT_AT_ALL)
    return WHILE_ACTIVE.get(unit, NOT_AT_ALL) if last.endswith(ACTIVE) else NOT_AT_ALL
