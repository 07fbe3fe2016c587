"""What there is to judge a draft by, and the ways of cheating that a verdict can name."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.frame import Combined
from ncu_assist.record import WorkloadFacts

# Every way of cheating that anything here or in an exam finds, as a verdict says it.
CHEATS = {
    "kept": "outputs or inputs of an earlier call are kept",
    "modified": "inputs are modified",
    "outside": "memory beside its outputs is written",
    "unfinished": "work on another stream is left unfinished",
    "patched": "functions that measure were replaced",
    "reference": "the reference was called",
    "one-seed": "right only for the tested seed",
    "one-shape": "right only for the tested shape",
    "timed": "other results while it is timed",
    "profiler": "different under the profiler",
    "results": "results were tampered with",
    "library": "a library does the work",
    "bytes": "fewer bytes moved than the minimum",
    "peak": "faster than this GPU can be",
    "no-kernel": "no kernel was launched",
    "time": "a time that its launches contradict",
    "parent": "the version beside it was timed wrongly",
}
SECTOR_BYTES = 32  # Nsight Compute, Kernel Profiling Guide, "Memory Tables"


@dataclass(frozen=True)
class Cheat:
    """A way of cheating, by its id in CHEATS, and what was seen."""

    id: str
    words: str

    @property
    def verdict(self) -> str:
        """What stands behind ``rejected: ``."""
        return f"{CHEATS.get(self.id, self.id)} ({self.words})"


@dataclass(frozen=True)
class Peaks:
    """What this GPU can reach at most, as measured: None where it was not. L2's size in bytes."""

    dram_bytes_per_second: float | None = None
    l2_bytes_per_second: float | None = None
    flops_per_second: float | None = None
    l2_bytes: int | None = None


@dataclass(frozen=True)
class Side:
    """One version on the workload: the median of its bench, and what ncu counted of a call; None where there is none.

    ``archived_ns`` is the median of an archived bench on such a GPU.
    """

    bench_ns: float | None = None
    counted: Combined | None = None
    archived_ns: float | None = None

    @property
    def counted_ns(self) -> float | None:
        return self.counted.duration_ns if self.counted and self.counted.launches else None

    @property
    def moved_bytes(self) -> float | None:
        """Bytes between L2 and the multiprocessors, whole sectors; TMA counts, copy engines do not."""
        sectors = self.counted.values["l2_sectors_sm"] if self.counted and self.counted.launches else None
        return None if sectors is None else SECTOR_BYTES * sectors


@dataclass(frozen=True)
class Case:
    """All that there is to judge a draft by. ``allowed`` are libraries that may do the work, by their names."""

    draft: Side
    parent: Side
    workload: WorkloadFacts
    peaks: Peaks = Peaks()
    allowed: frozenset[str] = frozenset()
