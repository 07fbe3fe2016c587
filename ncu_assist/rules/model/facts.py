"""What rules look at: the counters of one launch or of launches together, the chip, the workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TypeVar

from ncu_assist.ceilings import Ceilings, ChipFacts, Floor, bytes_in_flight, chip_facts
from ncu_assist.frame import Combined
from ncu_assist.ncu.catalogue.noise import SHORT_NS
from ncu_assist.record import Device
from ncu_assist.rules.model.resources import PARTS, SM_PARTS, Resource

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Facts:
    """The counters of launches that are judged together, and of their workload bytes, operations and dtype, if known.

    ``dtype`` is that of inputs and outputs, as kernel.toml names it, and ``work`` the operations by what does them.
    ``floor`` is the least time of the workload, and ``median_ns`` what a bench took for it; None where that is not
    known, and of launches that are a part of it. ``host_bytes`` have to come from the host in a call of which the
    launches are a part: its floor, of the call, says nothing of them. ``sections`` of ncu that the report holds, by
    identifier; empty where that is not known. ``left`` is what part of its work a unit keeps, 0 to 1, once some fault
    is gone, by the name of the unit: of the kernel as it would be then. ``unoptimised``: of each kernel whose code was
    built without optimisation, by its signature, how often warps executed each opcode (without modifiers); without the
    kernels of which the code was not read. ``straight``: the kernels, by signature, whose code was read, and in which
    no instruction was executed more than once a warp.
    """

    combined: Combined
    device: Device | None = None
    ceilings: Ceilings | None = None
    algorithmic_bytes: int | None = None
    flops: int | None = None
    dtype: str | None = None
    work: Mapping[str, int] = field(default_factory=dict)
    floor: Floor | None = None
    median_ns: float | None = None
    host_bytes: int | None = None
    sections: tuple[str, ...] = ()
    left: Mapping[str, float] = field(default_factory=dict)
    unoptimised: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    straight: frozenset[str] = frozenset()

    def get(self, key: str) -> float | None:
        """Return a metric by its key; None where it is absent, or says nothing of this kernel."""
        return self.combined.values[key]

    def is_approximate(self, key: str) -> bool:
        """Tell whether ``get`` is near what was asked for, and not the same: derived from other metrics."""
        return self.combined.is_approximate(key)

    def value(self, key: str) -> float:
        """Return a metric that the rule declared to need, or 0 for one that there is none of."""
        found = self.get(key)
        return 0.0 if found is None else found

    def lacks(self, *keys: str) -> bool:
        """Tell whether the report lacks any of these metrics."""
        return any(self.get(key) is None for key in keys)

    def stall(self, reason: str) -> float:
        """Return the share of a stall reason in the states of all warps, in percent."""
        return self.combined.stalls.get(reason, 0.0)

    def only(self, launches: tuple[int, ...]) -> Facts:
        """Return the facts of some of the launches, by index; without any the facts as they are."""
        chosen = [one for one in self.combined.launches if one.index in launches]
        return replace(self, combined=self.combined.only(chosen)) if chosen else self

    @cached_property
    def by_kernel(self) -> tuple[Facts, ...]:
        """Return the facts of each kernel, the longest first; itself where there is one.

        Bytes, operations and floor of the workload are those of the call, and of none of several kernels.
        """
        parts = self.combined.by_kernel
        if len(parts) < 2:
            return (self,)
        return tuple(replace(self, combined=one, algorithmic_bytes=None, flops=None, floor=None) for one in parts)

    @cached_property
    def by_shape(self) -> tuple[Facts, ...]:
        """Return the facts of the launches of one kernel, grid and block, in the order in which they ran."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, one in enumerate(self.combined.launches):
            groups.setdefault((one.signature, one.grid, one.block), []).append(place)
        if len(groups) < 2:
            return (self,)
        return tuple(replace(self, combined=self.combined.of_places(own)) for own in groups.values())

    @property
    def opcodes(self) -> dict[str, float]:
        """How often warps executed each opcode of those of its kernels that were built without optimisation."""
        found: dict[str, float] = {}
        for kernel in {one.signature or one.kernel for one in self.combined.launches}:
            for opcode, count in self.unoptimised.get(kernel, {}).items():
                found[opcode] = found.get(opcode, 0.0) + count
        return found

    @property
    def is_straight(self) -> bool:
        """Whether it is known that no instruction of these launches was executed more than once a warp."""
        return bool(self.straight) and all(one.signature in self.straight for one in self.combined.launches)

    @property
    def duration_ns(self) -> float:
        return self.combined.duration_ns or 0.0

    @property
    def times_floor(self) -> float | None:
        """How often the floor fits in the time: no change of this workload makes it faster by more; at least 1.

        By the time of a bench, as the floor is. Under ncu a short launch lacks what it costs to start one, which the
        floor of a few bytes consists of: nothing is said of it then.
        """
        if self.floor is None:
            return None
        time = self.median_ns or (None if self.is_short else self.duration_ns)
        return max(1.0, time / self.floor.ns) if time else None

    @property
    def is_interrupted(self) -> bool:
        """Whether the program ended while its only launch was profiled: what is missing then is nobody's choice."""
        launches = self.combined.launches
        return bool(launches) and all(one.interrupted for one in launches)

    @property
    def is_short(self) -> bool:
        """Whether ratios are put together from short passes (warning ``short-kernel``)."""
        return (self.combined.typical_ns or 0.0) < SHORT_NS

    @property
    def chip(self) -> ChipFacts | None:
        return chip_facts(self.device.compute_capability) if self.device else None

    @property
    def bytes_needed_in_flight(self) -> int | None:
        """Bytes that each multiprocessor must have under way to fill DRAM."""
        return bytes_in_flight(self.device.name, self.device.compute_capability) if self.device else None

    def busy(self, resource: Resource) -> float:
        """Return how busy a resource was from start to end, 0 to 1; 0 where that was not counted."""
        share = resource.share(self.combined.values)
        return 0.0 if share is None else share / 100.0

    def busiest(self, without: tuple[str, ...] = ()) -> tuple[Resource, float] | None:
        """Return the busiest resource but some, and how busy it was, 0 to 1."""
        shares = [(one, self.busy(one)) for one in (*PARTS, *SM_PARTS) if one.name not in without]
        return max(shares, key=lambda pair: pair[1], default=None)


def once(ask: Callable[[Facts], Answer]) -> Callable[[Facts], Answer]:
    """Make a question that every rule asks one that is answered once for each facts: the answer is kept with them."""

    @wraps(ask)
    def answer(facts: Facts) -> Answer:
        kept = vars(facts)
        name = f"once {ask.__module__}.{ask.__name__}"
        if name not in kept:
            kept[name] = ask(facts)
        found: Answer = kept[name]
        return found

    return answer
