"""What a prompt is made of: facts of one run and its kernel, redacted, with numbers as they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ncu_assist.analysis.diff.lines import base_name
from ncu_assist.ceilings import Floor as Least
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.line_sums import is_stall
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN
from ncu_assist.rules.model.places import own_lines

if TYPE_CHECKING:
    import pandas as pd


LEAST_SHARE = 0.02  # of samples, or of what is wasted: below it a finding is a remark (docs/sources.md)
MOST_NOTES = 12
LEAST_STALL = 0.15  # of the samples of a line; a smaller part says little
TOP_STALLS = 2
WASTES = ("sectors_excessive", "wavefronts_excessive")
COUNTED_COLUMNS = (
    SAMPLES, "sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal", *WASTES, "instructions",
    "thread_instructions",
)  # fmt: skip


@dataclass(frozen=True)
class LineNote:
    """What the profiler says of a source line. Shares are of 1; what is None was not counted.

    ``share`` is the line's part of all warp samples, ``stalls`` what most of these waited for, with their parts of it.
    ``sectors`` over ``sectors_ideal`` is how often too much its accesses to global memory move, wavefronts the same of
    shared memory; ``lanes`` are the lanes of 32 that worked; ``instructions`` is its part of all that warps executed.
    """

    line: int
    share: float
    stalls: tuple[tuple[str, float], ...]
    sectors_excessive: float
    sectors_ratio: float | None
    wavefronts_excessive: float
    wavefronts_ratio: float | None
    lanes: float | None
    instructions: float = 0.0


def line_notes(code: Code, file: str) -> tuple[LineNote, ...]:
    """Return the hot lines of a file, by their number; inlined code of libraries counts for the line that calls it.

    Empty where no line of the file is known.
    """
    frame = own_lines(code)
    stalls = [name for name in map(str, frame) if is_stall(name)]
    own = frame[frame["file"].map(lambda name: name is not None and base_name(str(name)) == file).astype(bool)]
    sums = own.groupby("line", observed=True)[[*COUNTED_COLUMNS, *stalls]].sum()
    totals = frame[list(COUNTED_COLUMNS)].sum()
    rows = {int(str(line)): row for line, row in sums.iterrows()}
    weights = {line: _weight(row, totals) for line, row in rows.items()}
    hot = sorted((line for line in rows if weights[line] >= LEAST_SHARE), key=lambda line: (-weights[line], line))
    return tuple(_line_note(line, rows[line], totals, stalls) for line in sorted(hot[:MOST_NOTES]))


def _weight(row: pd.Series[Any], totals: pd.Series[Any]) -> float:
    """Return a line's part of samples or of a waste, whichever is more."""
    parts = [float(row[name]) / float(totals[name]) for name in (SAMPLES, *WASTES) if totals[name] > 0]
    return max(parts, default=0.0)


def _line_note(line: int, row: pd.Series[Any], totals: pd.Series[Any], stalls: list[str]) -> LineNote:
    samples = float(row[SAMPLES])
    return LineNote(
        line=line,
        share=samples / float(totals[SAMPLES]) if totals[SAMPLES] > 0 else 0.0,
        stalls=_waits(row, stalls, samples),
        sectors_excessive=float(row["sectors_excessive"]),
        sectors_ratio=_ratio(row["sectors"], row["sectors_ideal"]),
        wavefronts_excessive=float(row["wavefronts_excessive"]),
        wavefronts_ratio=_ratio(row["wavefronts"], row["wavefronts_ideal"]),
        lanes=_ratio(row["thread_instructions"], row["instructions"]),
        instructions=_ratio(row["instructions"], totals["instructions"]) or 0.0,
    )


def _waits(row: pd.Series[Any], stalls: list[str], samples: float) -> tuple[tuple[str, float], ...]:
    """Return what most samples of a line waited for, the most frequent first."""
    parts = [(name.removeprefix(STALL_COLUMN), float(row[name]) / samples) for name in stalls if samples > 0]
    ranked = sorted(parts, key=lambda one: (-one[1], one[0]))
    return tuple(one for one in ranked[:TOP_STALLS] if one[1] >= LEAST_STALL)


def _ratio(amount: float, ideal: float) -> float | None:
    return float(amount) / float(ideal) if ideal > 0 else None


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

    @property
    def furthest(self) -> WorkloadTime | None:
        """The workload whose time is most above its floor; None where none has both."""
        known = [(one.median_ns / one.floor_ns, one) for one in self.workloads if one.median_ns and one.floor_ns]
        return max(known, key=lambda pair: pair[0])[1] if known else None


@dataclass(frozen=True)
class FloorFacts:
    """What bounds the time on the workload. Times in nanoseconds, None where something was not measured.

    ``least`` is what bytes or operations take at a measured rate; ``split_ns``: its float32 operations as products of
    TF32, where that is less; ``copy_ns``: a device copy of as many bytes, timed beside the parent.
    """

    median_ns: float | None
    interval: str  # its quartiles, in words
    cold: bool  # timed with L2 flushed before each call
    bytes: int | None
    flops: int | None
    copy_ns: float | None
    least: Least | None
    split_ns: float | None
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
