"""What a diff consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.analysis.diff.lines import LineChanges
from ncu_assist.analysis.diff.pairing import Confidence, LaunchPair
from ncu_assist.analysis.diff.why import Why
from ncu_assist.frame import Coverage
from ncu_assist.record import Device, Launch, Source, Timing
from ncu_assist.rules.model.resources import Bottleneck
from ncu_assist.verdict import Verdict

ChangeWord = Literal["improved", "regressed", "changed", "unchanged", "undecided", "missing", "not-comparable"]
Role = Literal["explains", "limit", "side-effect", "none"]
Pairing = Confidence | Literal["sum"]  # sum: several launches of a side stand together


@dataclass(frozen=True)
class DiffSide:
    """One of the two runs, in short. ``workload`` is None where the run knows of none, as a foreign report.

    ``compared`` of its launches the changes cover and, where there are no samples, the verdict; see ``diff.scope``.
    """

    reference: str
    kernel: str
    version: str
    run_id: str
    source: Source
    created: str
    device: Device | None
    workload: str | None
    timing: Timing | None
    duration_ns: float | None  # under ncu, over all launches
    launches: int
    compared: int
    indices: tuple[int, ...]  # of the launches that were compared; of repeats those of the first
    bottleneck: Bottleneck | None  # over what was compared
    notes: tuple[str, ...]  # of the run: what is odd about it or not in it
    is_silent: bool  # whether it launches no kernel on the workload
    has_settings: bool  # whether it is known with which clocks and caches the counters were taken


@dataclass(frozen=True)
class Change:
    """One metric on both sides; None where a side lacks it.

    ``delta`` is candidate minus baseline in points for percentages (unit ``%``), else the relative change (0.1 is 10 %
    more); None where it does not exist, as for a baseline of zero or between runs that cannot be compared.
    """

    metric: str  # key of the catalogue, or stall_<reason>
    label: str
    unit: str
    baseline: float | None
    candidate: float | None
    delta: float | None
    verdict: ChangeWord
    role: Role = "none"
    note: str = ""  # why a side is absent, e.g. n/a (TMA)
    baseline_coverage: Coverage | None = None  # None: the value is of all launches
    candidate_coverage: Coverage | None = None
    noise: float | None = None  # how far one side may stray, in the unit of delta; 0 for what is exact
    beyond: float | None = None  # what a delta must be larger than to be a change, in its unit; 0 for what is exact
    z: float | None = None  # the candidate's distance from the mean of the baseline's repeats, in their deviations
    repeats: int = 0  # of the baseline, where it has several
    is_material: bool = True  # False for waste that is a trifle of the whole

    @property
    def is_raw(self) -> bool:
        """Whether it is a metric that only ncu's name says what it is."""
        return self.label == self.metric

    @property
    def in_points(self) -> bool:
        return self.unit == "%"


@dataclass(frozen=True)
class Flag:
    """A metric that got worse: whether it explains the slowdown, is the new limit, or a side effect; a sentence."""

    metric: str
    role: Role
    message: str


@dataclass(frozen=True)
class LaunchDiff:
    """Launches that were compared. ``pairing`` is ``sum`` for several of a side, else the confidence of the pair.

    ``kernel`` is the longest of the candidate's. ``changes`` is empty where only the time was compared. ``doubt`` is
    the reason code of what speaks against the same work, empty where nothing does.
    """

    kernel: str
    pairing: Pairing
    pair: LaunchPair
    baseline_ns: float | None
    candidate_ns: float | None
    verdict: Verdict
    changes: tuple[Change, ...]
    doubt: str = ""


@dataclass(frozen=True)
class RunDifference:
    """Something other than the version that differs between the runs; a ``hard`` one forbids the comparison."""

    what: str
    baseline: str
    candidate: str
    hard: bool


@dataclass(frozen=True)
class Diff:
    """Two runs compared: the verdict by time, then everything that explains it."""

    baseline: DiffSide
    candidate: DiffSide
    workload: str | None
    verdict: Verdict
    source: Source  # the farther of the two: imported, recorded, live
    changes: tuple[Change, ...]  # the compared launches of a side together; empty where no side has counters
    launches: tuple[LaunchDiff, ...]  # each pair, the largest change of time first
    only_baseline: tuple[Launch, ...]
    only_candidate: tuple[Launch, ...]
    flags: tuple[Flag, ...]
    differences: tuple[RunDifference, ...]
    why: Why | None = None  # None where the runs cannot be compared, or too little was counted
    lines: LineChanges | None = None  # None where the source lines were not read
    forced: str = ""  # the reason code of what forbids the comparison that was made all the same

    @property
    def is_one_run(self) -> bool:
        """Whether a run was compared with itself."""
        return self.baseline.reference == self.candidate.reference
