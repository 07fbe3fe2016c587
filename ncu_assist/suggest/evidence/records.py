"""What a prompt is made of: facts of one run and its kernel, redacted, with numbers as they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.analysis.line_notes import LineNote
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
    floor_ns: float | None = None


@dataclass(frozen=True)
class Bound:
    """How far an output of a type may be from the reference."""

    dtype: str
    norm: float
    rtol: float
    atol: float


@dataclass(frozen=True)
class KernelTask:
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
class FloorFacts:
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
class HardwareFacts:
    """The GPU in sentences: what it is, what a multiprocessor holds, what it was measured to reach."""

    name: str
    facts: tuple[str, ...]
    ceilings: tuple[str, ...]


@dataclass(frozen=True)
class EvidenceItem:
    """A numbered counter of the parent. ``name`` is ncu's metric, else the key of the catalogue or ``stall_<reason>``.

    ``value`` and ``before`` (of the version before, None if unknown) are the numbers that the prompt shows, in
    ``unit``, rounded to three digits: what a reply quotes is held against them. ``metric`` is the label.
    """

    id: str  # E1
    metric: str
    name: str
    value: float
    unit: str
    before: float | None = None


@dataclass(frozen=True)
class SourceText:
    """The parent's own file, by line, and files that it includes, each with notes on its own hot lines.

    ``redacted`` lines are not as they are on disk.
    """

    file: str
    lines: tuple[str, ...]
    margins: tuple[LineNote, ...] = ()
    about_margins: str = ""  # why there are none
    includes: tuple[SourceText, ...] = ()
    redacted: int = 0


@dataclass(frozen=True)
class FindingFacts:
    """A finding of the rules: ``where`` are lines of the source with their part of its waste."""

    id: str
    severity: str
    gain: float | None  # estimated speed-up, None for a remark
    message: str
    advice: str
    is_done: bool = False  # it says that there is nothing left to win here
    where: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()  # ids of items
    explanation: str = ""  # what the hardware does, why it costs time, what to try
    assumed: bool = False


@dataclass(frozen=True)
class LaunchLine:
    """A kernel launch of the call."""

    kernel: str
    duration_ns: float | None
    grid: str
    block: str
    diagnosis: str


@dataclass(frozen=True)
class CallShape:
    """How the call runs: its longest launches of so many, what binds it, how many blocks fit an SM by each limit."""

    launches: tuple[LaunchLine, ...]
    count: int
    bound: str
    occupancy: str
    pipes: str = ""  # how busy each that did something was
    opcodes: str = ""  # the most executed, with their part


@dataclass(frozen=True)
class VersionStory:
    """An earlier version, or a later one that was no faster (``later``): its idea, its time, what moved.

    Of one that was a draft, what that predicted and came (``proved``), and did not come.
    """

    version: str
    idea: str
    outcome: str
    moved: str
    median_ns: float | None
    later: bool = False
    proved: str = ""
    disproved: str = ""


@dataclass(frozen=True)
class FailedDraft:
    """An earlier draft of this kernel that was not kept, why, and what it predicted that came and that did not."""

    id: str
    parent: str
    change: str
    reason: str
    fate: str = "rejected"  # or unproven
    disproved: str = ""
    proved: str = ""


@dataclass(frozen=True)
class RemovedFault:
    """A change that took the same fault away before, in another kernel or in a draft, and what it won."""

    where: str  # softmax/v4_online, or a draft
    change: str
    speedup: float


@dataclass(frozen=True)
class Evidence:
    """All that a prompt says. ``reference`` names the parent, ``before`` the version that ``Item.before`` is of."""

    kernel: str
    version: str
    reference: str
    workload: str
    suffix: str
    task: KernelTask
    hardware: HardwareFacts
    floor: FloorFacts
    source: SourceText
    shape: CallShape
    diagnosis: FindingFacts | None
    further: tuple[FindingFacts, ...]
    unknown: tuple[str, ...]  # what the rules cannot tell, what misleads
    items: tuple[EvidenceItem, ...]
    before: str | None
    story: tuple[VersionStory, ...]
    failed: tuple[FailedDraft, ...]
    joint: str = ""  # what two findings win together, where they carry further than either
    removed: tuple[RemovedFault, ...] = ()  # what the diagnosis was answered with before, the most won first

    @property
    def diagnosis_id(self) -> str:
        """The id of the first finding; ``unexplained`` where there is none."""
        return self.diagnosis.id if self.diagnosis else "unexplained"
