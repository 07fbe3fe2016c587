"""What a GPU reached when it was measured: curves of bandwidth, rates of pipes, and under which conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.record import Device, Toolchain

SCHEMA = "ncu-assist.ceilings/1"

Under = Literal["ncu", "events"]
Origin = Literal["live", "recorded", "imported"]


@dataclass(frozen=True)
class Spread:
    """Repeated times in short, in seconds."""

    median: float
    q1: float
    q3: float
    count: int


@dataclass(frozen=True)
class Point:
    """One point of a curve: bytes moved in how long.

    ``bytes_per_second`` follows from the median. ``counted_…`` is what ncu's counters say reached DRAM, None under
    events. ``footprint_bytes`` is the buffer that was read again and again, None for a stream.
    """

    name: str
    read_bytes: int
    write_bytes: int
    bytes: int
    source: Under
    seconds: Spread
    bytes_per_second: float
    counted_read_bytes: float | None = None
    counted_write_bytes: float | None = None
    footprint_bytes: int | None = None
    sm_clock_mhz: float | None = None
    way: int = 0  # of memory.cu


@dataclass(frozen=True)
class Rate:
    """What one pipe reached. ``unit`` is inst (of a warp), byte, or op (one multiplication or addition).

    ``pct_of_peak`` is ncu's for ``metric``, while SMs are active; both None under events.
    """

    kind: Literal["pipe", "shared", "tensor"]
    name: str
    unit: Literal["inst", "byte", "op"]
    source: Under
    seconds: Spread
    per_second: float
    per_cycle_per_sm: float | None
    pct_of_peak: float | None = None
    metric: str | None = None
    sm_clock_mhz: float | None = None


@dataclass(frozen=True)
class Stage:
    """One part of the measurement; ``problem`` is empty if all of it was done."""

    name: str
    seconds: float
    problem: str = ""


@dataclass(frozen=True)
class Conditions:
    """How it was measured. ``ncu_flags`` are those of `profile`; clocks in MHz as ncu counted them, medians.

    ``probes_sha256`` is of the kernels and the plan that measured; empty in older files.
    """

    toolchain: Toolchain
    ncu_flags: tuple[str, ...] = ()
    clock_control: str | None = None
    cache_control: str | None = None
    flush: str | None = None  # before each sample under events
    empty_seconds: float | None = None  # an empty kernel between the same events
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: tuple[float, float] | None = None
    throttle_reasons: tuple[str, ...] | None = None
    probes_sha256: str = ""


@dataclass(frozen=True)
class Ceilings:
    """All that was measured on one GPU. ``origin``: shipped ones are recorded, those sent imported."""

    device: Device
    created: str  # ISO 8601, UTC
    tool: str  # version of ncu-assist
    conditions: Conditions
    dram: tuple[Point, ...] = ()
    l2: tuple[Point, ...] = ()
    link: tuple[Point, ...] = ()
    rates: tuple[Rate, ...] = ()
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    origin: Origin = "live"
    schema: str = SCHEMA
    digest: str = ""  # over this record without the digest itself

    @property
    def where(self) -> str:
        """Which GPU was measured, as seen from the one that they are asked for."""
        return "this GPU" if self.origin == "live" else f"another {self.device.name}"

    def rate(self, kind: str, name: str, source: Under) -> Rate | None:
        """Return what a pipe reached, None where it was not measured."""
        return next((r for r in self.rates if (r.kind, r.name, r.source) == (kind, name, source)), None)


@dataclass(frozen=True)
class Ceiling:
    """A bandwidth that this GPU can reach; ``assumed`` where it was not measured for just this, ``why`` in words."""

    bytes_per_second: float
    assumed: bool
    why: str
