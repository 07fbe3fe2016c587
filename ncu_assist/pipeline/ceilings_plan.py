"""What `ceilings` measures: which streams, sizes and pipes, how often, and which metrics ncu collects for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ncu_assist.harness.ceilings.plan import DEFAULT_WAY, MIXES, Probe, ProbeResult
from ncu_assist.ncu.catalogue.available_names import on_chip
from ncu_assist.ncu.catalogue.chips import chip_of

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
