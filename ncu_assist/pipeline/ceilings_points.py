"""From times and counters to points and rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median, quantiles
from typing import TYPE_CHECKING, Literal

from ncu_assist.ceilings import Point, Rate, Spread
from ncu_assist.ceilings.records import Under
from ncu_assist.harness.ceilings.plan import ProbeResult
from ncu_assist.pipeline import ceilings_plan as plan

if TYPE_CHECKING:
    import pandas as pd

NS_PER_S, HZ_PER_MHZ = 1e9, 1e6
SECTOR_BYTES = 32
UNITS: dict[str, Literal["inst", "byte", "op"]] = {"pipe": "inst", "shared": "byte", "tensor": "op"}
RATE_KINDS: dict[str, Literal["pipe", "shared", "tensor"]] = {"pipe": "pipe", "shared": "shared", "tensor": "tensor"}


@dataclass(frozen=True)
class Counted:
    """The launches that ncu profiled of one probe, as rows of ``Report.launches``."""

    rows: pd.DataFrame

    def values(self, metric: str) -> list[float]:
        """Return the values of a metric that are numbers, launch by launch."""
        if metric not in self.rows.columns:
            return []
        return [float(v) for v in self.rows[metric] if isfinite(float(v))]

    def median(self, metric: str) -> float | None:
        values = self.values(metric)
        return median(values) if values else None

    @property
    def seconds(self) -> Spread | None:
        return spread(self.values(plan.DURATION))


def spread(times_ns: Sequence[float]) -> Spread | None:
    """Return times in short, in seconds; None without any."""
    seconds = sorted(t / NS_PER_S for t in times_ns if t > 0)
    if not seconds:
        return None
    low, middle, high = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    return Spread(middle, low, high, len(seconds))


def by_probe(launches: pd.DataFrame) -> dict[str, Counted]:
    """Return the launches of each probe by its id: the innermost NVTX range that they stand in."""
    ids = launches["ranges"].map(lambda ranges: ranges[-1] if len(ranges) else "")
    return {str(name): Counted(rows) for name, rows in launches.groupby(ids)}


def timed_points(results: Iterable[ProbeResult], kind: str) -> tuple[Point, ...]:
    """Return the points of one kind that events timed."""
    found = (_point(r, spread(r.time_ns), "events", _clock(r)) for r in results if r.probe.kind == kind)
    return tuple(point for point in found if point is not None)


def counted_points(results: Iterable[ProbeResult], counted: Mapping[str, Counted], kind: str) -> tuple[Point, ...]:
    """Return the points of one kind that ncu counted, with the bytes that reached DRAM, or L2 for points of L2."""
    found = []
    for result in results:
        launches = counted.get(result.probe.id)
        if result.probe.kind != kind or launches is None:
            continue
        point = _point(result, launches.seconds, "ncu", _mhz(launches.median(plan.SM_CLOCK)), launches)
        found += [point] if point else []
    return tuple(found)


def _point(
    result: ProbeResult, seconds: Spread | None, source: Under, clock: float | None, counted: Counted | None = None
) -> Point | None:
    if seconds is None or result.problem:
        return None
    probe, moved = result.probe, result.read_bytes + result.write_bytes
    sectors = counted.median(plan.L2_SECTORS) if counted and probe.kind == "l2" else None
    read = counted.median(plan.DRAM_READ) if counted else None
    return Point(
        name=probe.name,
        read_bytes=result.read_bytes,
        write_bytes=result.write_bytes,
        bytes=moved,
        source=source,
        seconds=seconds,
        bytes_per_second=moved / seconds.median,
        counted_read_bytes=read if sectors is None else sectors * SECTOR_BYTES,
        counted_write_bytes=counted.median(plan.DRAM_WRITTEN) if counted else None,
        footprint_bytes=result.footprint_bytes or None,
        sm_clock_mhz=clock,
        way=result.way,
    )


def timed_rates(results: Iterable[ProbeResult], sms: int | None) -> tuple[Rate, ...]:
    """Return the rates that events timed; a cycle is one of the SM clock stamped around each sample."""
    found = []
    for result in results:
        seconds, clock = spread(result.time_ns), _clock(result)
        if result.probe.kind in RATE_KINDS and seconds is not None and not result.problem:
            cycles = seconds.median * clock * HZ_PER_MHZ * sms if clock and sms else None
            found.append(_rate(result, "events", seconds, cycles, clock))
    return tuple(found)


def counted_rates(results: Iterable[ProbeResult], counted: Mapping[str, Counted], sms: int | None) -> tuple[Rate, ...]:
    """Return the rates under ncu; a cycle is one in which a multiprocessor was active.

    Work is known, not counted: assemblers spread half-precision pairs over two pipes, and each counts its own.
    """
    found = []
    for result in results:
        launches = counted.get(result.probe.id)
        if result.problem or result.probe.kind not in RATE_KINDS or launches is None or launches.seconds is None:
            continue
        active = launches.median(plan.CYCLES)
        cycles = active * sms if active and sms else None
        clock = _mhz(launches.median(plan.SM_CLOCK))
        found.append(_rate(result, "ncu", launches.seconds, cycles, clock, launches))
    return tuple(found)


def _rate(
    result: ProbeResult,
    source: Under,
    seconds: Spread,
    cycles: float | None,
    clock: float | None,
    counted: Counted | None = None,
) -> Rate:
    probe, metric = result.probe, None
    if counted:
        metric = plan.share_metric(probe.name)
    return Rate(
        kind=RATE_KINDS[probe.kind],
        name=probe.name,
        unit=UNITS[probe.kind],
        source=source,
        seconds=seconds,
        per_second=result.work / seconds.median,
        per_cycle_per_sm=result.work / cycles if cycles else None,
        pct_of_peak=counted.median(metric) if counted and metric else None,
        metric=metric,
        sm_clock_mhz=clock,
    )


def _clock(result: ProbeResult) -> float | None:
    known = [c for c in result.sm_clock_mhz if c]
    return median(known) if known else None


def _mhz(hertz: float | None) -> float | None:
    return hertz / HZ_PER_MHZ if hertz else None
