"""What the writer of a version is given: the task, the GPU, and what bounds the time on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.ceilings import Floor as Least

Language = Literal["cuda", "torch-extension", "python"]


@dataclass(frozen=True)
class Argument:
    """One argument of the entry point; ``kind`` is input, output or integer, ``shape`` of an output on the workload."""

    name: str
    kind: Literal["input", "output", "integer"]
    dtype: str = ""
    shape: str = ""


@dataclass(frozen=True)
class WorkloadTime:
    """A workload that a version must be right on; times in nanoseconds, None where it was not timed."""

    name: str
    dtype: str
    integers: dict[str, int]
    default: bool
    median_ns: float | None = None
    copy_ns: float | None = None


@dataclass(frozen=True)
class Bound:
    """How far an output of a type may be from the reference."""

    dtype: str
    norm: float
    rtol: float
    atol: float


@dataclass(frozen=True)
class Task:
    """What is to be computed and how the harness calls it. ``reference`` is the text of reference.py."""

    summary: str
    language: Language
    arguments: tuple[Argument, ...]
    bounds: tuple[Bound, ...]
    bytes_expression: str
    flops_expression: str
    workloads: tuple[WorkloadTime, ...]
    reference: str
    build: str  # compiler and libraries, in words
    libraries_allowed: bool = False


@dataclass(frozen=True)
class Floor:
    """What bounds the time on the workload. Times in nanoseconds, None where something was not measured.

    ``least`` is what bytes or operations take at a measured rate; ``copy_ns``: a device copy of as many bytes, timed
    beside the parent.
    """

    median_ns: float | None
    interval: str  # its quartiles, in words
    cold: bool  # timed with L2 flushed before each call
    bytes: int | None
    flops: int | None
    copy_ns: float | None
    least: Least | None
    peak_bytes_per_second: float | None  # of DRAM, by its clock and width
    in_l2: str  # what of the data fits in L2, empty for none


@dataclass(frozen=True)
class Hardware:
    """The GPU in sentences: what it is, what a multiprocessor holds, what it was measured to reach."""

    name: str
    facts: tuple[str, ...]
    ceilings: tuple[str, ...]
