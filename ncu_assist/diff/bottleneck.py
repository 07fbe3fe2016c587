"""Which resource a kernel keeps busiest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.derived import DERIVED, Derived
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE

BUSY_PERCENT = 60.0  # NVIDIA's SpeedOfLight rule: below it on all units, latency is the likely limit
LATENCY = "latency"
RESOURCES = {"DRAM": "dram_throughput", "L2": "l2_busy", "L1": "l1_busy", "SM": "sm_throughput"}
MEMORY = ("memory", "memory_throughput")  # the busiest of the first three, where a report has only that


@dataclass(frozen=True)
class Bottleneck:
    """The busiest resource and its share of peak, in percent; ``latency`` when none is busy."""

    name: str
    percent: float


def bottleneck(values: Mapping[str, float | None]) -> Bottleneck | None:
    """Return what the catalogue's throughputs say; None where too few were collected to say it."""
    shares = {name: share for name, key in RESOURCES.items() if (share := values.get(key)) is not None}
    memory = values.get(MEMORY[1])
    if memory is not None and memory > max((share for name, share in shares.items() if name != "SM"), default=-1.0):
        shares.setdefault(MEMORY[0], memory)
    if not shares:
        return None
    name = max(shares, key=lambda resource: shares[resource])
    if shares[name] < BUSY_PERCENT and set(shares) == {"SM"}:
        return None  # the memory may be busy: nobody looked
    return Bottleneck(name if shares[name] >= BUSY_PERCENT else LATENCY, shares[name])


def bottleneck_of_launch(values: Mapping[str, float]) -> Bottleneck | None:
    """Return what ``bottleneck`` does, from the values of one launch by ncu's name."""
    return bottleneck({key: _rows[key].value(values) for key in (*RESOURCES.values(), MEMORY[1])})


_rows: dict[str, Metric | Derived] = {**CATALOGUE, **DERIVED}
