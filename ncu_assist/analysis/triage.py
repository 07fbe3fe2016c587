"""Where the time of a whole program goes: kernels by name and shape, gaps between them, copies; and what to profile."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ncu_assist.record import Launch
from ncu_assist.rules.model.libraries import LibraryKernel, library_kernel
from ncu_assist.trace import CopyWay, Recorder, Trace

SHAPE = ["grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"]
GROUP = ["kernel", "signature", *SHAPE]
MOST_GAPS = 3  # that are named
LONGEST_NAME, DIGITS = 40, 6  # letters of a part of a folder's name, and of a hash in it
# Ends of the bands that gaps fall into. The host needs 2 to 10 µs for a launch (CUDA C++ Best Practices, launch
# overhead; frameworks several times that), data and synchronisation take milliseconds.
BANDS_NS = (10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class KernelGroup:
    """The launches of one kernel in one grid and block, in the order of their time.

    ``share`` is of the time of all kernels, ``cumulative`` with the groups before it. ``signature`` has the template
    arguments; sizes are zeros where the trace does not say them. ``skip`` is how many launches of its function ncu has
    to skip before the one that stands for the group.
    """

    kernel: str
    signature: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    total_ns: float
    median_ns: float
    longest_ns: float
    share: float
    cumulative: float
    skip: int

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.launches

    @cached_property
    def library(self) -> LibraryKernel | None:
        """The library that the kernel comes with; None for one of somebody's own."""
        return library_kernel(Launch(0, self.kernel, self.signature, None, (), self.grid, self.block, self.median_ns))


@dataclass(frozen=True)
class GpuGap:
    """A time in which the GPU had nothing to do; ``at_ns`` is since the first kernel or copy."""

    at_ns: float
    duration_ns: float
    after: str
    before: str


@dataclass(frozen=True)
class GapBand:
    """Gaps from ``least_ns`` up to ``most_ns``, None for no end."""

    least_ns: float
    most_ns: float | None
    gaps: int
    total_ns: float


@dataclass(frozen=True)
class GpuTime:
    """How one GPU spent the time from its first work to its last.

    ``kernels_ns`` is the time in which a kernel ran, also where several ran at once; ``copies_ns`` that in which only
    copies did; ``idle_ns`` that of neither.
    """

    span_ns: float
    kernels_ns: float
    copies_ns: float
    idle_ns: float
    longest: tuple[GpuGap, ...]
    bands: tuple[GapBand, ...]


@dataclass(frozen=True)
class CopyGroup:
    """Copies one way, of one kind of host memory; ``bytes`` is None where the trace does not say them."""

    way: CopyWay
    memory: str
    copies: int
    total_ns: float
    bytes: float | None

    @property
    def bytes_per_second(self) -> float | None:
        return self.bytes / self.total_ns * 1e9 if self.bytes and self.total_ns else None


@dataclass(frozen=True)
class ProfiledGroup:
    """What ncu says of the representative of a group: ``group`` is its place, ``problem`` why there is nothing.

    ``saved_ns`` is what the first finding could save in all launches of the group, ``saved_share`` of the time from
    first work to last, or of all kernels where there are no gaps to know of.
    """

    group: int
    reference: str = ""
    page: str = ""
    rule: str = ""
    message: str = ""
    advice: str = ""
    duration_ns: float | None = None
    estimated_speedup: float | None = None
    saved_ns: float | None = None
    saved_share: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Triage:
    """A whole program: ``program`` is what to call its runs, ``command`` how it is started, empty where not known.

    ``time`` is of the GPU with most work of ``gpus``; None where only durations are known.
    """

    program: str
    command: str
    recorder: Recorder
    gpu: str
    gpus: int
    launches: int
    total_ns: float
    groups: tuple[KernelGroup, ...]
    time: GpuTime | None
    copies: tuple[CopyGroup, ...]
    profiled: tuple[ProfiledGroup, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def whole_ns(self) -> float:
        """What savings are a share of."""
        return self.time.span_ns if self.time else self.total_ns

    def archived_as(self, group: int) -> str:
        """Return the kernel that runs of a group are archived under: program and function, and which of its shapes."""
        one = self.groups[group]
        is_only = sum(each.kernel == one.kernel for each in self.groups) == 1
        shape = "" if is_only else f"_{'x'.join(map(str, one.grid))}"
        kernel = one.kernel
        if len(kernel) > LONGEST_NAME:  # names of libraries begin alike, and differ behind
            kernel = f"{kernel[: LONGEST_NAME - DIGITS]}_{hashlib.sha256(kernel.encode()).hexdigest()[:DIGITS]}"
        return re.sub(r"[^\w.-]", "_", f"{self.program[:LONGEST_NAME]}_{kernel}{shape}", flags=re.ASCII)

    def saving(self, group: int, factor: float) -> tuple[float, float]:
        """Return what all launches of a group would save if each were so many times faster, in ns and as a share."""
        saved = self.groups[group].total_ns * (1 - 1 / factor)
        return saved, saved / self.whole_ns if self.whole_ns else 0.0


def triage(trace: Trace, program: str, command: str = "") -> Triage:
    """Return where the time went; of a trace with at least one kernel."""
    kernels = trace.kernels
    total = float(kernels["duration_ns"].sum())
    devices = kernels.groupby("device")["duration_ns"].sum()
    busiest = int(devices.index[int(devices.to_numpy().argmax())])
    notes = (f"times of GPU {busiest}, the busiest of {len(devices)}",) if len(devices) > 1 else ()
    return Triage(
        program=program,
        command=command,
        recorder=trace.recorder,
        gpu=trace.gpu,
        gpus=len(devices),
        launches=len(kernels),
        total_ns=total,
        groups=tuple(_groups(kernels, total)),
        time=_gpu_time(trace, busiest) if trace.has_times else None,
        copies=tuple(_copies(trace.copies)),
        notes=(*trace.notes, *notes),
    )


def _groups(kernels: pd.DataFrame, total: float) -> Iterator[KernelGroup]:
    places = kernels.groupby("kernel").cumcount().to_numpy()
    times = kernels["duration_ns"].to_numpy(dtype=float)
    of_group = kernels.groupby(GROUP, sort=False).ngroup().to_numpy()
    totals = np.bincount(of_group, weights=times)
    starts = np.searchsorted(np.sort(of_group), np.arange(len(totals) + 1))
    by_group = np.argsort(of_group, kind="stable")
    names, sizes = kernels[["kernel", "signature"]].to_numpy(object), kernels[SHAPE].to_numpy(int)
    cumulative = 0.0
    for place in np.argsort(-totals, kind="stable"):
        rows = by_group[starts[place] : starts[place + 1]]
        own = times[rows]
        cumulative += float(own.sum())
        chosen = rows[_representative(own)]
        x, y, z, *block = map(int, sizes[chosen])
        yield KernelGroup(
            kernel=str(names[chosen][0]),
            signature=str(names[chosen][1]),
            grid=(x, y, z),
            block=(block[0], block[1], block[2]),
            launches=len(rows),
            total_ns=float(own.sum()),
            median_ns=float(np.median(own)),
            longest_ns=float(own.max()),
            share=float(own.sum()) / total if total else 0.0,
            cumulative=cumulative / total if total else 0.0,
            skip=int(places[chosen]),
        )


def _representative(times: np.ndarray) -> int:
    """Return the first launch after the first, which is cold, whose time is in the middle half of all."""
    if len(times) == 1:
        return 0
    low = np.quantile(times[1:], 0.25, method="nearest")
    high = np.quantile(times[1:], 0.75, method="nearest")
    return int(1 + np.flatnonzero((times[1:] >= low) & (times[1:] <= high))[0])


def _gpu_time(trace: Trace, device: int) -> GpuTime:
    kernels, copies = (frame[frame["device"] == device] for frame in (trace.kernels, trace.copies))
    moved = [way if way == "memset" else f"{way} copy" for way in copies["way"]]
    names = np.array([*kernels["kernel"], *moved], dtype=object)
    start = np.concatenate([kernels["start_ns"].to_numpy(), copies["start_ns"].to_numpy()])
    end = start + np.concatenate([kernels["duration_ns"].to_numpy(), copies["duration_ns"].to_numpy()])
    order = np.argsort(start, kind="stable")
    names, start, end = names[order], start[order], end[order]
    reached = np.maximum.accumulate(end)
    gaps = np.maximum(0, start[1:] - reached[:-1])
    last = _holders(end)  # what ended last of all that began before
    longest = sorted(np.argsort(-gaps, kind="stable")[:MOST_GAPS])
    span, idle = int(reached[-1] - start[0]), int(gaps.sum())
    ran = _covered(kernels["start_ns"].to_numpy(), kernels["duration_ns"].to_numpy())
    return GpuTime(
        span_ns=float(span),
        kernels_ns=float(ran),
        copies_ns=float(span - idle - ran),
        idle_ns=float(idle),
        longest=tuple(
            GpuGap(float(reached[at] - start[0]), float(gaps[at]), str(names[last[at]]), str(names[at + 1]))
            for at in sorted(longest, key=lambda at: -gaps[at])
            if gaps[at]
        ),
        bands=tuple(_bands(gaps[gaps > 0])),
    )


def _holders(end: np.ndarray) -> np.ndarray:
    """Return for each place which of those up to it ends last."""
    is_new = end >= np.maximum.accumulate(end)
    return np.maximum.accumulate(np.where(is_new, np.arange(len(end)), 0))


def _covered(start: np.ndarray, duration: np.ndarray) -> int:
    """Return how long at least one of some intervals lasts."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + duration)[order]
    reached = np.maximum.accumulate(end)
    before = np.concatenate([start[:1], reached[:-1]])
    return int(np.maximum(0, end - np.maximum(start, before)).sum())


def _bands(gaps: np.ndarray) -> Iterator[GapBand]:
    least = 0.0
    for most in (*BANDS_NS, None):
        own = gaps[(gaps > least) & (gaps <= (np.inf if most is None else most))]
        if len(own):
            yield GapBand(least, most, len(own), float(own.sum()))
        least = float(most or 0)


def _copies(copies: pd.DataFrame) -> Iterator[CopyGroup]:
    found = []
    every = {(way, str(memory)) for way, memory in zip(copies["way"], copies["memory"], strict=True)}
    for way, memory in sorted(every):
        own = copies[(copies["way"] == way) & (copies["memory"] == memory)]
        moved = float(own["bytes"].sum())
        has_bytes = bool(own["bytes"].notna().all())
        total = float(own["duration_ns"].sum())
        found.append(CopyGroup(way, memory, len(own), total, moved if has_bytes else None))
    yield from sorted(found, key=lambda one: (-one.total_ns, one.way, one.memory))
