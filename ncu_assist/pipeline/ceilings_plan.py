"""What `ceilings` measures, and the points that come of it: streams, sizes, pipes, how often, which metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import median, quantiles
from typing import TYPE_CHECKING, Literal

from ncu_assist.ceilings import Point, Rate, Spread
from ncu_assist.ceilings.records import Under
from ncu_assist.harness.ceilings import DEFAULT_WAY, MIXES, Probe, ProbeResult
from ncu_assist.ncu.catalogue.chips import chip_of, on_chip
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES

if TYPE_CHECKING:
    import pandas as pd

MIB = 1 << 20
SIZES = tuple(MIB * n for n in (32, 64, 128, 256, 512, 1024, 2048, 4096))
QUICK_SIZES = tuple(MIB * n for n in (32, 256, 1024))
MEMORY_SHARE = 0.35  # of the GPU's memory that the largest stream may move: it has a buffer to read and one to write
LINK_BYTES, QUICK_LINK_BYTES = 256 * MIB, 64 * MIB
L2_SHARES = (0.15, 0.25, 0.4)  # of L2's size: a chip of two partitions keeps some lines in both
EVENT_SAMPLES, QUICK_EVENT_SAMPLES = 25, 7
SHORT_SAMPLES, LONG_SAMPLES, SHORT_BYTES = 5, 3, 128 * MIB  # launches under ncu; short ones repeat less well
# Rounds of a kernel's loop that take about 0.4 ms on an H200.
PIPE_ROUNDS = {"fma": 350, "fp64": 175, "fp16": 350, "imad": 175, "alu": 175, "xu": 45, "lsu": 90}
SHARED_ROUNDS = 350
TENSOR_ROUNDS = {"mma_bf16": 3500, "mma_fp16": 3500, "mma_tf32": 3500, "mma_int8": 3500, "wgmma_bf16": 1500}
MATMUL = "matmul_bf16"
LINKS = ("host_to_device", "device_to_host", "zero_copy_read", "zero_copy_write", "zero_copy_sectors")

DURATION, SM_CLOCK = "gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second"
MEMORY_CLOCK = "dram__cycles_elapsed.avg.per_second"
DRAM_READ, DRAM_WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
CYCLES, L2_SECTORS = "sm__cycles_active.avg", "lts__t_sectors_op_read.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
PIPE = "sm__inst_executed_pipe_"
TENSOR = "sm__pipe_tensor_cycles_active"
COUNTERS = {  # probe -> what says how busy its pipe was
    "fma": f"{PIPE}fma",
    "fp64": f"{PIPE}fp64",
    "fp16": f"{PIPE}fma_type_fp16",
    "imad": f"{PIPE}fmaheavy",
    "alu": f"{PIPE}alu",
    "xu": f"{PIPE}xu",
    "lsu": f"{PIPE}lsu",
    **dict.fromkeys(("mma_bf16", "mma_fp16", "mma_tf32", "mma_int8", "wgmma_bf16"), TENSOR),
    "wavefronts": WAVEFRONTS,
}
SHARE, ELAPSED_SHARE = ".avg.pct_of_peak_sustained_active", ".sum.pct_of_peak_sustained_elapsed"
DRAM_METRICS = (DURATION, DRAM_READ, DRAM_WRITTEN, SM_CLOCK, MEMORY_CLOCK)
NS_PER_S, HZ_PER_MHZ = 1e9, 1e6
UNITS: dict[str, Literal["inst", "byte", "op"]] = {"pipe": "inst", "shared": "byte", "tensor": "op"}
RATE_KINDS: dict[str, Literal["pipe", "shared", "tensor"]] = {"pipe": "pipe", "shared": "shared", "tensor": "tensor"}


def event_probes(memory_bytes: int, quick: bool) -> tuple[Probe, ...]:
    """Return what is timed by events: everything, the largest streams first, so that clocks are up for the small."""
    samples = QUICK_EVENT_SAMPLES if quick else EVENT_SAMPLES
    streams = [Probe("dram", mix, samples, size) for size in reversed(_sizes(memory_bytes, quick)) for mix in MIXES]
    link_bytes = min(QUICK_LINK_BYTES if quick else LINK_BYTES, max(_sizes(memory_bytes, quick)))
    links = [Probe("link", name, QUICK_EVENT_SAMPLES, link_bytes) for name in LINKS]
    rest = _pipe_probes(QUICK_EVENT_SAMPLES)
    return (*streams, Probe("empty", "empty", samples), *rest, Probe("tensor", MATMUL, samples), *links)


def counted_streams(memory_bytes: int, quick: bool, timed: Mapping[str, ProbeResult]) -> tuple[Probe, ...]:
    """Return the streams that ncu counts, each moved in the way that events found fastest."""
    found = []
    for size in _sizes(memory_bytes, quick):
        for mix in MIXES:
            probe = Probe("dram", mix, SHORT_SAMPLES if size <= SHORT_BYTES else LONG_SAMPLES, size)
            result = timed.get(probe.id)
            found.append(replace(probe, way=result.way if result and not result.problem else DEFAULT_WAY))
    return tuple(found)


def counted_pipes(quick: bool) -> tuple[Probe, ...]:
    """Return what else ncu counts; links and torch's matrix product are left to events."""
    return _pipe_probes(1 if quick else 2)


def pipe_metrics(compute_capability: str) -> tuple[str, ...]:
    """Return the metrics for pipes that this chip has; all of them for a chip whose names were not recorded."""
    counters = tuple(dict.fromkeys(COUNTERS.values()))
    shares = [name + (ELAPSED_SHARE if name == WAVEFRONTS else SHARE) for name in counters]
    wanted = (DURATION, CYCLES, SM_CLOCK, L2_SECTORS, *shares)
    return known_metrics(wanted, compute_capability)


def known_metrics(wanted: tuple[str, ...], compute_capability: str) -> tuple[str, ...]:
    """Return the metrics that this chip has: ncu refuses a list that holds another one."""
    chip = chip_of(compute_capability)
    return tuple(name for name in wanted if on_chip(chip.name).has(name)) if chip else wanted


def share_metric(name: str) -> str:
    """Return ncu's name of how busy the pipe of a probe was."""
    return COUNTERS[name] + (ELAPSED_SHARE if COUNTERS[name] == WAVEFRONTS else SHARE)


def _pipe_probes(samples: int) -> tuple[Probe, ...]:
    l2 = [Probe("l2", f"hit_{100 * share:.0f}_pct", samples, share=share) for share in L2_SHARES]
    pipes = [Probe("pipe", name, samples, rounds=rounds) for name, rounds in PIPE_ROUNDS.items()]
    tensor = [Probe("tensor", name, samples, rounds=rounds) for name, rounds in TENSOR_ROUNDS.items()]
    return (*l2, Probe("shared", "wavefronts", samples, rounds=SHARED_ROUNDS), *pipes, *tensor)


def _sizes(memory_bytes: int, quick: bool) -> tuple[int, ...]:
    fitting = tuple(size for size in (QUICK_SIZES if quick else SIZES) if size <= MEMORY_SHARE * memory_bytes)
    return fitting or QUICK_SIZES[:1]


@dataclass(frozen=True)
class CountedLaunches:
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
        return spread(self.values(DURATION))


def spread(times_ns: Sequence[float]) -> Spread | None:
    """Return times in short, in seconds; None without any."""
    seconds = sorted(t / NS_PER_S for t in times_ns if t > 0)
    if not seconds:
        return None
    low, middle, high = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    return Spread(middle, low, high, len(seconds))


def by_probe(launches: pd.DataFrame) -> dict[str, CountedLaunches]:
    """Return the launches of each probe by its id: the innermost NVTX range that they stand in."""
    ids = launches["ranges"].map(lambda ranges: ranges[-1] if len(ranges) else "")
    return {str(name): CountedLaunches(rows) for name, rows in launches.groupby(ids)}


def timed_points(results: Iterable[ProbeResult], kind: str) -> tuple[Point, ...]:
    """Return the points of one kind that events timed."""
    found = (_point(r, spread(r.time_ns), "events", _clock(r)) for r in results if r.probe.kind == kind)
    return tuple(point for point in found if point is not None)


def counted_points(
    results: Iterable[ProbeResult], counted: Mapping[str, CountedLaunches], kind: str
) -> tuple[Point, ...]:
    """Return the points of one kind that ncu counted, with the bytes that reached DRAM, or L2 for points of L2."""
    found = []
    for result in results:
        launches = counted.get(result.probe.id)
        if result.probe.kind != kind or launches is None:
            continue
        point = _point(result, launches.seconds, "ncu", mhz(launches.median(SM_CLOCK)), launches)
        found += [point] if point else []
    return tuple(found)


def _point(
    result: ProbeResult,
    seconds: Spread | None,
    source: Under,
    clock: float | None,
    counted: CountedLaunches | None = None,
) -> Point | None:
    if seconds is None or result.problem:
        return None
    probe, moved = result.probe, result.read_bytes + result.write_bytes
    sectors = counted.median(L2_SECTORS) if counted and probe.kind == "l2" else None
    read = counted.median(DRAM_READ) if counted else None
    return Point(
        name=probe.name,
        read_bytes=result.read_bytes,
        write_bytes=result.write_bytes,
        bytes=moved,
        source=source,
        seconds=seconds,
        bytes_per_second=moved / seconds.median,
        counted_read_bytes=read if sectors is None else sectors * SECTOR_BYTES,
        counted_write_bytes=counted.median(DRAM_WRITTEN) if counted else None,
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


def counted_rates(
    results: Iterable[ProbeResult], counted: Mapping[str, CountedLaunches], sms: int | None
) -> tuple[Rate, ...]:
    """Return the rates under ncu; a cycle is one in which a multiprocessor was active.

    Work is known, not counted: assemblers spread half-precision pairs over two pipes, and each counts its own.
    """
    found = []
    for result in results:
        launches = counted.get(result.probe.id)
        if result.problem or result.probe.kind not in RATE_KINDS or launches is None or launches.seconds is None:
            continue
        active = launches.median(CYCLES)
        cycles = active * sms if active and sms else None
        clock = mhz(launches.median(SM_CLOCK))
        found.append(_rate(result, "ncu", launches.seconds, cycles, clock, launches))
    return tuple(found)


def _rate(
    result: ProbeResult,
    source: Under,
    seconds: Spread,
    cycles: float | None,
    clock: float | None,
    counted: CountedLaunches | None = None,
) -> Rate:
    probe, metric = result.probe, None
    if counted:
        metric = share_metric(probe.name)
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


def mhz(hertz: float | None) -> float | None:
    """Return a clock in MHz, None where it is not known."""
    return hertz / HZ_PER_MHZ if hertz else None
