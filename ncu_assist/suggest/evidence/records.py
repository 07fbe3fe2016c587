"""What a prompt is made of: facts of one run and its kernel, redacted, with numbers as they are shown."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.suggest.evidence.given import Floor, Hardware, Task


@dataclass(frozen=True)
class Item:
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
class Margin:
    """What the profiler says of a source line. Shares are of 1; what is None was not counted.

    ``share`` is the line's part of all warp samples, ``stalls`` what most of these waited for, with their parts of it.
    ``sectors`` over ``sectors_ideal`` is how often too much its accesses to global memory move, wavefronts the same of
    shared memory; ``lanes`` are the lanes of 32 that worked.
    """

    line: int
    share: float
    stalls: tuple[tuple[str, float], ...]
    sectors_excessive: float
    sectors_ratio: float | None
    wavefronts_excessive: float
    wavefronts_ratio: float | None
    lanes: float | None


@dataclass(frozen=True)
class SourceText:
    """The parent's own file, by line, and files that it includes. ``redacted`` lines are not as they are on disk."""

    file: str
    lines: tuple[str, ...]
    margins: tuple[Margin, ...] = ()
    about_margins: str = ""  # why there are none
    includes: tuple[tuple[str, str], ...] = ()
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
class Shape:
    """How the call runs: its longest launches of so many, what binds it, how many blocks fit an SM by each limit."""

    launches: tuple[LaunchLine, ...]
    count: int
    bound: str
    occupancy: str


@dataclass(frozen=True)
class Chapter:
    """An earlier version, or a later one that was no faster (``later``): its idea, its time, what moved."""

    version: str
    idea: str
    outcome: str
    moved: str
    median_ns: float | None
    later: bool = False


@dataclass(frozen=True)
class Failed:
    """An earlier draft of this kernel that was not kept, and why."""

    id: str
    parent: str
    change: str
    reason: str


@dataclass(frozen=True)
class Evidence:
    """All that a prompt says. ``reference`` names the parent, ``before`` the version that ``Item.before`` is of."""

    kernel: str
    version: str
    reference: str
    workload: str
    suffix: str
    task: Task
    hardware: Hardware
    floor: Floor
    source: SourceText
    shape: Shape
    diagnosis: FindingFacts | None
    further: tuple[FindingFacts, ...]
    unknown: tuple[str, ...]  # what the rules cannot tell, what misleads
    items: tuple[Item, ...]
    before: str | None
    story: tuple[Chapter, ...]
    failed: tuple[Failed, ...]

    @property
    def diagnosis_id(self) -> str:
        """The id of the first finding; ``unexplained`` where there is none."""
        return self.diagnosis.id if self.diagnosis else "unexplained"
