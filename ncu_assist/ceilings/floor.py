"""The least time that a workload can take on a GPU: what it has to move or compute, at the rates measured there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ncu_assist.ceilings.interpolation import dram_ceiling, link_ceiling
from ncu_assist.ceilings.records import Ceiling, Ceilings
from ncu_assist.record import WorkloadFacts

NS = 1e9
TENSOR_RATES = ("wgmma_bf16", "mma_bf16")  # the faster first; half types are multiplied at the same rate
TENSOR_DTYPES = ("bfloat16", "float16")
HALF_ASSUMED = "that half of the bytes are written is assumed"

Bound = Literal["DRAM", "the link from the host", "the tensor cores"]
TENSOR_CORES: Bound = "the tensor cores"


@dataclass(frozen=True)
class Floor:
    """The time that ``amount`` of ``unit`` takes at the rate that ``bound`` was measured to reach.

    ``assumed`` where that was not measured for just this; ``why`` says in words where the rate is from.
    """

    bound: Bound
    amount: int
    unit: Literal["byte", "flop"]
    per_second: float
    why: str
    assumed: bool

    @property
    def ns(self) -> float:
        return self.amount / self.per_second * NS


def floor_of(facts: WorkloadFacts, ceilings: Ceilings | None) -> Floor | None:
    """Return what sets the least time of a workload; None where no rate was measured for it.

    That is the host link for what has to cross it, else DRAM for the bytes in their mix of reads and writes, or the
    tensor cores for the operations of a half type, whichever takes longer.
    """
    if ceilings is None:
        return None
    if facts.host_bytes is not None:
        link = link_ceiling(ceilings)
        return _at("the link from the host", facts.host_bytes, link) if link else None
    known = [one for one in (_dram(facts, ceilings), _tensor(facts, ceilings)) if one is not None]
    return max(known, key=lambda one: one.ns, default=None)


def _dram(facts: WorkloadFacts, ceilings: Ceilings) -> Floor | None:
    moved = facts.algorithmic_bytes or 0
    written = moved // 2 if facts.written_bytes is None else facts.written_bytes
    found = dram_ceiling(ceilings, moved - written, written, "events")
    if found is None:
        return None
    known = _at("DRAM", moved, found)
    unsure = facts.written_bytes is None
    return replace(known, assumed=True, why=f"{known.why}; {HALF_ASSUMED}") if unsure else known


def _at(bound: Bound, moved: int, found: Ceiling) -> Floor:
    why = found.why.replace(" under events", "")  # as everything that a floor is of
    return Floor(bound, moved, "byte", found.bytes_per_second, why, found.assumed)


def _tensor(facts: WorkloadFacts, ceilings: Ceilings) -> Floor | None:
    rates = [ceilings.rate("tensor", name, "events") for name in TENSOR_RATES]
    rate = next((one for one in rates if one is not None), None)
    if rate is None or facts.dtype not in TENSOR_DTYPES or not facts.flops:
        return None
    return Floor(TENSOR_CORES, facts.flops, "flop", rate.per_second, f"measured on {ceilings.where}", False)
