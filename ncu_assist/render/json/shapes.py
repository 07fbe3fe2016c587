"""The shape of each answer as types, from which its JSON Schema is made: which keys it has, and what stands in them.

A key that is a record of the rows below names its class; the keys of such a record are its fields. What a key means is
in ``keys.py``.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, get_type_hints

from ncu_assist.analysis.archive import DraftBuild, PageKind
from ncu_assist.analysis.diff.lines import Became
from ncu_assist.analysis.diff.lines import Kind as LineKind
from ncu_assist.analysis.diff.pairing import Confidence
from ncu_assist.analysis.diff.records import ChangeWord, Flag, Pairing, Role, RunDifference
from ncu_assist.analysis.diff.why import Kind as FactorKind
from ncu_assist.analysis.faults_gone import By
from ncu_assist.analysis.faults_gone import Source as EstimateSource
from ncu_assist.analysis.gate import GateWord
from ncu_assist.analysis.gate.limits import Kind as LimitKind
from ncu_assist.analysis.ladder import AttemptState, SpreadRow
from ncu_assist.analysis.launches import LaunchFloor
from ncu_assist.analysis.ledger import FateReason
from ncu_assist.analysis.records import Coverage, Damage, Draft, ModelCost, StoredFinding
from ncu_assist.analysis.run_view import InL2
from ncu_assist.analysis.trend import By as TrendBy
from ncu_assist.analysis.trend import Kind as TrendKind
from ncu_assist.analysis.trend import MeasuredCommit, Symptom
from ncu_assist.analysis.triage import GpuTime, ProfiledGroup
from ncu_assist.ceilings.floor import Kind as FloorKind
from ncu_assist.ceilings.records import Conditions, KnownRate, Origin, Point, Rate, Stage
from ncu_assist.environment import Condition, LastError
from ncu_assist.ncu.catalogue.metric import Better, How
from ncu_assist.ncu.catalogue.noise import NoiseClass
from ncu_assist.ncu.line_sums import HotLine, LineCost
from ncu_assist.ncu.report import NvidiaFinding
from ncu_assist.record import Commit, HostMemory, Profile, Source, Toolchain
from ncu_assist.render.export.columns import Kind as ColumnKind
from ncu_assist.rules.base import Severity
from ncu_assist.rules.model.libraries import LibraryKernel
from ncu_assist.rules.model.occupancy import ClusterRoom, OccupancyCurve, TileRoom
from ncu_assist.rules.model.places import Place
from ncu_assist.spec import Math
from ncu_assist.trace import CopyWay, Recorder
from ncu_assist.verdict import Cycles, Likely, Word


class AnswerKeys(TypedDict):
    """Every answer."""

    schema: str


class DeviceKeys(TypedDict):
    """A GPU, without what tells it apart from others of its model."""

    name: str
    compute_capability: str
    sm_count: int | None
    l2_bytes: int | None
    memory_bytes: int | None
    driver: str | None


class RunKeys(TypedDict):
    """What names a run, and where and when it was measured."""

    reference: str
    kernel: str
    version: str
    run_id: str | None
    source: Source
    created: str | None
    verified: bool
    device: DeviceKeys | None


class TimingKeys(TypedDict):
    """The times of one version on one workload."""

    bench_id: str
    samples: int
    dropped: int
    median_ns: float
    q1_ns: float
    q3_ns: float
    min_ns: float
    sm_clock_mhz: float | None
    empty_ns: float | None
    copy_ns: float | None
    link_ns: float | None
    gpu: str | None


class CheckKeys(TypedDict):
    """The outcome of comparing a version with the reference on one workload."""

    passed: bool
    reason: str
    seeds: list[int]
    norm_error: float | None
    max_error: float | None


class FloorTermKeys(TypedDict):
    """One thing that a workload has to do, and the least time of that alone."""

    kind: FloorKind
    amount: int
    unit: Literal["byte", "flop", "op", "launch"]
    per_second: float
    ns: float
    assumed: bool
    why: str


class FloorKeys(TypedDict):
    """The least time of a workload: that of the longest of its terms."""

    kind: FloorKind
    ns: float
    ratio: float | None
    assumed: bool
    terms: list[FloorTermKeys]


class WorkloadKeys(TypedDict):
    """A workload of a run: what it is, its check, its times, and what they come to."""

    name: str
    dtype: str
    integers: dict[str, int]
    algorithmic_bytes: int | None
    flops: int | None
    host_bytes: int | None
    written_bytes: int | None
    work: dict[str, int]
    check: CheckKeys | None
    timing: TimingKeys | None
    bytes_per_second: float | None
    in_l2: InL2 | None
    flops_per_second: float | None
    share_of_copy: float | None
    share_of_link: float | None
    floor: FloorKeys | None
    floor_ns: float | None
    floor_assumed: bool | None


class CyclesKeys(TypedDict):
    """A verdict in words, and by SM cycles."""

    words: str | None
    by_clock: bool | None
    cycles: Cycles | None


class EvidenceKeys(TypedDict):
    """One counter that a finding rests on."""

    metric: str
    value: float | None
    unit: str
    approximate: NotRequired[bool]


class NextLimitKeys(TypedDict):
    """What is the limit once a fault is gone."""

    unit: str
    load: float
    metric: str | None


class FindingKeys(TypedDict):
    """What one rule says, with what fixing it could win."""

    rule: str
    severity: Severity
    message: str
    advice: str
    estimated_speedup: float | None
    evidence: list[EvidenceKeys]
    lines: list[Place]
    detail: dict[str, str]
    assumed: bool
    to_floor: bool
    next_limit: NextLimitKeys | None
    launches: list[int]


class WarningKeys(TypedDict):
    """What makes a measurement doubtful."""

    id: str
    message: str


class UnansweredKeys(TypedDict):
    """A rule that could not answer."""

    rule: str
    missing: list[str]


class JudgedKeys(TypedDict):
    """What the rules say of some launches."""

    findings: list[FindingKeys]
    warnings: list[WarningKeys]
    unanswered: list[UnansweredKeys]


class JointGainKeys(TypedDict):
    """What two fixes win together."""

    rules: list[str]
    alone: list[float | None]
    together: float | None


class DiagnosisKeys(JudgedKeys):
    """The diagnosis of a run: of all launches of the workload, or of the one function that most of the time goes to."""

    kernel: str | None
    time_share: float | None
    launches: list[int]
    lacks_counters: bool
    joint_gains: list[JointGainKeys]


class LaunchKeys(JudgedKeys):
    """One launch, and what the rules say of it alone."""

    index: int
    kernel: str
    signature: str
    workload: str | None
    ranges: list[str]
    grid: list[int]
    block: list[int]
    duration_ns: float | None
    time_share: float | None
    winnable_ns: float | None
    unexplained_ns: float | None
    floor: LaunchFloor | None
    library: LibraryKernel | None
    bound_by: str | None
    judged: bool


class PayoffKeys(TypedDict):
    """What one change would win over all launches that it is for."""

    rule: str
    kernel: str
    library: LibraryKernel | None
    launches: list[int]
    time_share: float | None
    winnable_ns: float
    winnable_share: float | None
    advice: str
    assumed: bool


class MetricKeys(TypedDict):
    """The value of one metric of the catalogue, over the launches of the workload shown."""

    label: str
    unit: str
    value: float | None
    note: str | None
    coverage: Coverage | None
    per_launch: dict[str, float] | None


class BeforeKeys(CyclesKeys):
    """The verdict against the version before."""

    version: str
    verdict: Word
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int


class ShowAnswer(AnswerKeys, RunKeys):
    """One run, or one report, with what the rules say of it."""

    toolchain: Toolchain
    profile: Profile | None
    notes: list[str]
    host_memory: HostMemory | None
    commit: Commit | None
    workloads: list[WorkloadKeys]
    launches: list[LaunchKeys]
    launches_profiled: int
    launches_not_judged: int
    focus: int | None
    across_launches: list[PayoffKeys]
    workload: str | None
    before: BeforeKeys | None
    bound_by: str | None
    diagnosis: DiagnosisKeys
    metrics: dict[str, MetricKeys]
    stalls: dict[str, float | None]
    occupancy_curves: list[OccupancyCurve]
    tiles: TileRoom | None
    clusters: ClusterRoom | None
    stalls_per_launch: dict[str, dict[str, float | None]] | None
    hot_lines: list[HotLine] | None
    nvidia_findings: list[NvidiaFinding] | None
    hot_lines_note: str | None


class CellKeys(WorkloadKeys):
    """One version on one workload, beside v0."""

    speedup_over_v0: float | None
    speedup_is_paired: bool | None
    dram_percent: float | None


class SanitizerFindingKeys(TypedDict):
    """One thing that compute-sanitizer found in a version, however often it saw it."""

    id: str
    sentence: str
    advice: str
    access: str
    kernel: str | None
    file: str | None
    line: int | None
    other_file: str | None
    other_line: int | None
    thread: list[int]
    block: list[int]
    count: int
    said: str


class SanitizedKeys(TypedDict):
    """What one tool of compute-sanitizer found in a version."""

    tool: str
    workloads: list[str]
    seconds: float
    problem: str | None
    findings: list[SanitizerFindingKeys]


class UnmeasuredVersionKeys(TypedDict):
    """A version without a run."""

    version: str
    status: str
    failure: str | None
    sanitizer: list[SanitizedKeys]
    not_served: list[str]
    not_measured: list[str]
    skipped: str | None
    workloads: list[CellKeys]


class MeasuredVersionKeys(RunKeys, UnmeasuredVersionKeys):
    """A version with its run."""

    notes: list[str]
    kept: bool


class OutcomeVerdictKeys(CyclesKeys):
    """The verdict between the first version and another one."""

    workload: str | None
    baseline: str
    candidate: str
    verdict: Word
    likely: Likely | None
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int
    samples: list[int] | None
    clocks_mhz: list[float] | None


class AgainstLibraryKeys(TypedDict):
    """The fastest own version against the fastest library, on a workload."""

    workload: str
    own: str
    own_ns: float
    library: str
    library_ns: float
    ratio: float | None
    verdict: Word | None
    low: float | None
    high: float | None


class OutcomeAnswer(AnswerKeys):
    """The versions of a kernel, side by side."""

    kernel: str
    source: Source
    workloads: list[str]
    versions: list[Any]
    against_library: list[AgainstLibraryKeys]
    verdicts: list[OutcomeVerdictKeys]
    exit_code: int


class WatchAnswer(AnswerKeys):
    """One saved edit of a version that is watched, as it stands: one line of ``watch --json``."""

    attempt: int
    version: str
    state: AttemptState
    seconds: float | None
    failure: str | None
    median_ns: float | None
    verdicts: list[OutcomeVerdictKeys]


class CombinationKeys(TypedDict):
    """One combination of values."""

    values: dict[str, int]
    median_ns: float | None
    samples: int
    dropped_out: bool
    failure: str | None


class TuneAnswer(AnswerKeys):
    """What came of trying combinations of values of a version."""

    kernel: str
    version: str
    workload: str
    values: dict[str, int]
    winner: dict[str, int] | None
    verdict: OutcomeVerdictKeys | None
    combinations: list[CombinationKeys]
    kept: str | None


class OutcomesAnswer(AnswerKeys):
    """The versions that have changed, kernel by kernel: ``profile --since`` and ``profile --changed``."""

    since: str | None
    kernels: list[OutcomeAnswer]


class SpreadAnswer(AnswerKeys):
    """The same versions on several GPUs: ``bench --spread``."""

    kernel: str
    gpus: list[str]
    rows: list[SpreadRow]
    failures: list[str]


class DiffSideKeys(TypedDict):
    """One of the two runs."""

    reference: str
    kernel: str
    version: str
    run_id: str | None
    source: Source
    created: str | None
    device: DeviceKeys | None
    workload: str | None
    timing: TimingKeys | None
    ncu_duration_ns: float | None
    launches: int
    compared_launches: int
    busiest_percent: float | None
    notes: list[str]


class IntervalKeys(TypedDict):
    """The interval of a speed-up."""

    low: float
    high: float
    confidence: float


class NameOfSidesKeys(TypedDict):
    """A name on both sides."""

    baseline: str | None
    candidate: str | None


class ChangeKeys(TypedDict):
    """One metric on both sides."""

    metric: str
    label: str
    unit: str
    baseline: float | None
    candidate: float | None
    delta: float | None
    verdict: ChangeWord
    role: Role
    note: str | None
    baseline_coverage: Coverage | None
    candidate_coverage: Coverage | None
    noise: float | None
    beyond: float | None
    z: float | None
    repeats: int
    is_material: bool


class NamedLaunchKeys(TypedDict):
    """A launch by its name and its shape."""

    launch: int
    kernel: str
    grid: list[int]
    block: list[int]
    duration_ns: float | None


class LaunchesOfSidesKeys(TypedDict):
    """The launches of both sides that have no partner."""

    baseline: list[NamedLaunchKeys]
    candidate: list[NamedLaunchKeys]


class PairKeys(LaunchesOfSidesKeys):
    """Launches that were compared with each other."""

    kernel: str
    pairing: Pairing
    confidence: Confidence
    repeats: bool
    range: list[str]
    baseline_ns: float | None
    candidate_ns: float | None
    verdict: Word
    likely: Likely | None
    reason: str
    changes: list[ChangeKeys]


class OutlierKeys(TypedDict):
    """The function whose time changed most, where the time of the whole does not show it."""

    baseline: str
    candidate: str
    baseline_ns: float
    candidate_ns: float
    likely: Likely | None
    next: str


class BoundKeys(TypedDict):
    """The resource nearest to its peak."""

    name: str
    group: str
    percent: float
    stall: str | None


class BoundsOfSidesKeys(TypedDict):
    """What binds each side."""

    baseline: BoundKeys | None
    candidate: BoundKeys | None


class PercentOfSidesKeys(TypedDict):
    """A percentage on both sides."""

    baseline: float | None
    candidate: float | None


class RatioOfSidesKeys(TypedDict):
    """A ratio on both sides."""

    baseline: float
    candidate: float


class CountOfSidesKeys(TypedDict):
    """A count on both sides."""

    baseline: int
    candidate: int


class WithinKeys(TypedDict):
    """Between what and what a number is expected."""

    low: float
    high: float


class FactorKeys(TypedDict):
    """One factor of the time."""

    kind: FactorKind
    label: str
    unit: str
    baseline: float
    candidate: float
    gain: float


class ProductKeys(TypedDict):
    """The time of both sides as a product on one resource."""

    resource: str
    busy_percent: PercentOfSidesKeys
    factors: list[FactorKeys]


class WhyKeys(TypedDict):
    """Where the difference in time comes from, by counters."""

    time_ratio: float
    speedup: float | None
    agrees: bool | None
    within: WithinKeys | None
    noise: float
    launches: CountOfSidesKeys
    bound_changed: bool
    bound_by: BoundsOfSidesKeys
    products: list[ProductKeys]
    l2_reuse: RatioOfSidesKeys | None


class LineChangeKeys(TypedDict):
    """A source line whose cost changed."""

    kind: LineKind
    became: Became
    text: str | None
    delta_ns: float
    pipe_ns: float
    is_material: bool
    beyond_noise: bool
    baseline: LineCost | None
    candidate: LineCost | None


class DiffAnswer(AnswerKeys, CyclesKeys):
    """Two runs compared: the verdict by time, then what explains it."""

    baseline: DiffSideKeys
    candidate: DiffSideKeys
    workload: str | None
    verdict: Word
    likely: Likely | None
    reason: str
    explanation: str
    next: str | None
    speedup: float | None
    interval: IntervalKeys | None
    pairs: int
    samples: list[int] | None
    sm_clocks_mhz: list[float] | None
    forced: str | None
    summary: str
    source: Source
    bottleneck: NameOfSidesKeys
    changes: list[ChangeKeys]
    launches: list[PairKeys]
    unpaired: LaunchesOfSidesKeys
    outlier: OutlierKeys | None
    flags: list[Flag]
    differences: list[RunDifference]
    why: WhyKeys | None
    lines: list[LineChangeKeys]
    lines_left: list[LineCost]
    line_notes: NameOfSidesKeys


class GateCheckKeys(TypedDict):
    """One limit on one workload."""

    workload: str | None
    metric: str
    label: str
    unit: str
    limit: str
    limit_amount: float
    limit_kind: LimitKind
    direction: Literal["rise", "fall"]
    baseline: float | None
    candidate: float | None
    delta: float | None
    delta_low: float | None
    delta_high: float | None
    verdict: str
    outcome: GateWord
    noise: float | None
    sm_clocks_mhz: list[float] | None
    delta_cycles: float | None
    words: str
    by_clock: bool
    reason: str | None
    next: str | None


class UnmeasuredSideKeys(TypedDict):
    """A version without a run that counts."""

    kernel: str
    version: str
    side: Literal["baseline", "candidate"]
    reason: str
    run: str | None


class GateAnswer(AnswerKeys):
    """A candidate held against a baseline, limit by limit."""

    kernel: str
    baseline: str | None
    candidate: str | None
    outcome: GateWord | Literal["not measured"]
    source: Source | None
    checks: list[GateCheckKeys]
    differences: list[RunDifference]
    forced: list[str]
    notes: list[str]
    window: list[str]
    not_measured: list[UnmeasuredSideKeys]
    next: str | None


class GatesAnswer(AnswerKeys):
    """A gate for each version that has changed since a commit: ``gate --since``."""

    since: str
    exit_code: int
    first: list[str]
    removed: list[str]
    gates: list[GateAnswer]


class BisectAnswer(AnswerKeys):
    """The first commit at which a version is slower or wrong."""

    kernel: str
    version: str
    workload: str
    symptom: Symptom
    good: MeasuredCommit
    bad: MeasuredCommit
    tried: list[MeasuredCommit]
    first: list[str]
    files: list[str]
    slowdown: float | None


class TrendDifferenceKeys(TypedDict):
    """What differs between the runs on either side of a change."""

    what: str
    before: str
    after: str


class TrendChangeKeys(TypedDict):
    """A change of the time of a version, in one step or creeping."""

    kind: TrendKind
    before: str
    after: str
    change: float
    low: float
    high: float
    runs: int
    per_run: float | None
    differences: list[TrendDifferenceKeys]
    next: str


class TrendRunKeys(TypedDict):
    """One run of a trend."""

    reference: str
    version: str
    created: str
    source: Source
    commit: Commit | None
    source_sha256: str | None
    device: DeviceKeys | None
    toolchain: Toolchain
    median_ns: float
    error: float
    level_ns: float
    samples: int
    sm_clock_mhz: float | None
    bench_id: str
    counters: dict[str, float | None]


class TrendSeriesKeys(TypedDict):
    """The runs of one version, or the fastest of each commit, on one model of GPU."""

    version: str | None
    gpu: str | None
    best: str
    run_to_run: float
    least_step: float | None
    change: float | None
    changes: list[TrendChangeKeys]
    runs: list[TrendRunKeys]


class TrendAnswer(AnswerKeys):
    """How the time of a kernel moved over its runs on one workload."""

    kernel: str
    workload: str
    by: TrendBy
    metrics: list[str]
    series: list[TrendSeriesKeys]
    notes: list[str]


class TriageKernelKeys(TypedDict):
    """The launches of one kernel in one grid and block."""

    kernel: str
    signature: str
    grid: list[int] | None
    block: list[int] | None
    launches: int
    total_ns: float
    mean_ns: float
    median_ns: float
    longest_ns: float
    share: float
    cumulative: float
    library: LibraryKernel | None
    skip: int
    archived_as: str
    profile: str


class TriageCopyKeys(TypedDict):
    """Copies one way, of one kind of host memory."""

    way: CopyWay
    memory: str
    copies: int
    total_ns: float
    bytes: float | None
    bytes_per_second: float | None


class TriageAnswer(AnswerKeys):
    """Where the time of a whole program goes."""

    program: str
    command: str | None
    recorder: Recorder
    gpu: str | None
    gpus: int
    trace: str | None
    launches: int
    total_ns: float
    kernels: list[TriageKernelKeys]
    time: GpuTime | None
    copies: list[TriageCopyKeys]
    profiled: list[ProfiledGroup]
    next: list[str]
    notes: list[str]


class HistoryCellKeys(CyclesKeys):
    """One version on one workload, against the version that it builds on."""

    workload: str | None
    served: bool
    before: str | None
    reference: str | None
    check_passed: bool | None
    median_ns: float | None
    copy_ns: float | None
    link_ns: float | None
    share_of_copy: float | None
    share_of_link: float | None
    floor: FloorKeys | None
    floor_ns: float | None
    floor_bound: str | None
    floor_assumed: bool | None
    share_of_floor: float | None
    in_l2: InL2 | None
    ncu_duration_ns: float | None
    verdict: Word | None
    likely: Likely | None
    reason: str | None
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int | None
    clocks_mhz: list[float] | None
    bottleneck: str | None
    percent: float | None
    bottleneck_launch: int | None


class SweepPointKeys(HistoryCellKeys):
    """A version at one value of an integer of the workload."""

    value: int


class SweepKeys(TypedDict):
    """A version by the value of one integer; its points were not interleaved with each other."""

    version: str
    axis: str
    points: list[SweepPointKeys]


class WorstKeys(TypedDict):
    """The workload on which a version did worst."""

    workload: str | None
    speedup: float | None
    verdict: Word | None


class SlowerKeys(TypedDict):
    """A workload on which a version is slower."""

    workload: str | None
    speedup: float | None


class RenamedKeys(TypedDict):
    """A fault as it was found before, and as it is found now."""

    before: StoredFinding
    now: StoredFinding


class EstimateKeys(TypedDict):
    """What the faults that are gone were estimated to win."""

    low: float | None
    high: float | None


class PredictionKeys(TypedDict):
    """The faults of the version before that are gone, what they were estimated to win, and what was won."""

    source: EstimateSource
    tool: str
    date: str | None
    gone: list[StoredFinding]
    appeared: list[StoredFinding]
    renamed: list[RenamedKeys]
    lessened: list[RenamedKeys]
    worse: list[RenamedKeys]
    another_program: str | None
    estimated: EstimateKeys | None
    achieved: float | None
    achieved_by: By | None


class HistoryRowKeys(TypedDict):
    """One version of a kernel."""

    version: str
    before: str | None
    parents: list[str]
    missing: str | None
    is_peer: bool
    run: RunKeys | None
    cells: list[HistoryCellKeys]
    compared: int
    geomean: float | None
    worst: WorstKeys | None
    slower: list[SlowerKeys]
    prediction: PredictionKeys | None


class OtherGpuRowKeys(TypedDict):
    """One version on another GPU, against the version that it builds on there."""

    version: str
    before: str | None
    reference: str | None
    another_source: bool
    median_ns: float | None
    floor: FloorKeys | None
    share_of_floor: float | None
    verdict: Word | None
    likely: Likely | None
    reason: str | None
    speedup: float | None
    low: float | None
    high: float | None


class OtherGpuKeys(TypedDict):
    """The versions on another GPU model, all by one bench, on `shown_workload`."""

    gpu: str
    bench_id: str
    created: str
    rows: list[OtherGpuRowKeys]
    against_library: list[AgainstLibraryKeys]


class HistoryAnswer(AnswerKeys):
    """All versions of a kernel, each against the one that it builds on."""

    kernel: str
    source: Source | None
    workloads: list[str]
    shown_workload: str | None
    rows: list[HistoryRowKeys]
    against_library: list[AgainstLibraryKeys]
    other_gpus: list[OtherGpuKeys]
    sweeps: list[SweepKeys]
    notes: list[str]


class MisnamedKeys(TypedDict):
    """A source that was probably meant as a version."""

    file: str
    rename_to: str


class ListedVersionKeys(TypedDict):
    """A version and the run that shows it."""

    version: str
    status: Literal["measured", "not measured", "skipped", "cannot be read"]
    skipped: str | None
    run: RunKeys | None
    median_ns: float | None


class ListedKernelKeys(TypedDict):
    """A kernel with its versions."""

    kernel: str
    summary: str | None
    workloads: list[str]
    default_workload: str | None
    only_for: dict[str, list[str]]
    against_library: AgainstLibraryKeys | None
    misnamed: list[MisnamedKeys]
    versions: list[ListedVersionKeys]


class ListAnswer(AnswerKeys):
    """Kernels, their versions, and the run that shows each."""

    kernels: list[ListedKernelKeys]
    damaged: list[Damage]


class VerifyAnswer(AnswerKeys):
    """What of the archive can be read, and what cannot."""

    runs: int
    drafts: int
    damaged: list[Damage]


class PackAnswer(AnswerKeys):
    """What went into packs."""

    runs: int
    files: int
    packs: int
    merged: int
    bytes_before: int
    bytes_after: int
    left: list[Damage]


class PrunedRunKeys(TypedDict):
    """A run that nothing needs."""

    reference: str
    created: str
    bytes: int


class PruneAnswer(AnswerKeys):
    """Which runs nothing needs, and why the others are kept."""

    removed: bool
    runs: list[PrunedRunKeys]
    kept: dict[str, str]


class MergeAnswer(AnswerKeys):
    """What was taken of another archive."""

    runs: int
    same: int
    baselines: int
    drafts: int
    conflicts: list[str]
    damaged: list[Damage]


class QueryAnswer(AnswerKeys):
    """The rows of a query."""

    columns: list[str]
    rows: list[list[str | float | bool | None]]
    more: bool


class NewAnswer(AnswerKeys):
    """What was written to begin with, and what is left to do."""

    files: list[str]
    left: list[str]


class BaselineKeys(TypedDict):
    """Which run ``@baseline`` names."""

    kernel: str
    set: bool
    since: str | None
    cleared: bool
    missing: str | None
    version: str | None
    run_id: str | None
    run: RunKeys | None


class BaselineAnswer(AnswerKeys, BaselineKeys):
    """Which run ``@baseline`` names of one kernel."""


class BaselineOfKernelKeys(BaselineKeys):
    """Which run ``@baseline`` names of one kernel, among those of others."""

    exit_code: int


class BaselinesAnswer(AnswerKeys):
    """Which run ``@baseline`` names of each kernel."""

    kernels: list[BaselineOfKernelKeys]


class PageKeys(TypedDict):
    """A page that was written."""

    kind: PageKind
    of: str | None
    path: str


class ReportAnswer(AnswerKeys):
    """The pages that were written, in that order."""

    asked: str
    pages: list[PageKeys]
    problems: list[str]


class NoiseKeys(TypedDict):
    """How far a metric strays between repeats."""

    chip: str
    long: NoiseClass
    short: NoiseClass


class WayKeys(TypedDict):
    """Another way to know a metric."""

    formula: str
    needs: list[str]
    source: str
    approximate: bool


class RowKeys(TypedDict):
    """A metric of the catalogue: one of ncu's (``metric``) or one that is computed from others (``derived``)."""

    group: NotRequired[str]
    type: Literal["metric", "derived"]
    key: str
    label: str
    unit: str
    meaning: str
    better: Better | None
    exact: bool
    combine: How
    weights: list[str]
    over_kernels: bool
    noise: NoiseKeys
    ways: list[WayKeys]
    name: NotRequired[str | None]
    names: NotRequired[list[str]]
    section: NotRequired[str | None]
    ncu_unit: NotRequired[str]
    ncu_label: NotRequired[str | None]
    lacking: NotRequired[list[str]]
    given: NotRequired[bool]
    formula: NotRequired[str]
    needs: NotRequired[list[str]]
    optional: NotRequired[list[str]]


class NcuNameKeys(TypedDict):
    """A name that ncu has, and the catalogue has not."""

    name: str
    kind: str | None
    unit: str
    rollups: list[str]
    chips: list[str]


class MetricsAnswer(AnswerKeys):
    """The catalogue of metrics, or what of it was asked for."""

    chip: str | None
    instead_of: str | None
    metrics: list[RowKeys]
    lacking: list[str]
    names: list[NcuNameKeys]


TryKeys = TypedDict("TryKeys", {"try": str})  # a word of Python's own


class StallSubjectKeys(TryKeys):
    """A warp stall reason."""

    type: Literal["stall reason"]
    name: str
    waits_for: str
    better: Better | None
    counted_as: str
    sampled_as: str
    lacking: list[str]


class NvidiaRuleKeys(TypedDict):
    """A rule of Nsight Compute."""

    type: Literal["rule"]
    name: str
    section: str
    finds: str
    look_at: list[str]


class NameSubjectKeys(NcuNameKeys):
    """A name of ncu, read part by part."""

    type: Literal["name"]
    rollup: str | None
    rollup_meaning: str | None
    parts: dict[str, str]
    see_also: list[str]


class RuleSubjectKeys(TypedDict):
    """A rule of ncu-assist."""

    type: Literal["diagnosis"]
    name: str
    text: str
    needs: list[str]
    uses: list[str]


class WarningSubjectKeys(TypedDict):
    """A warning of ncu-assist."""

    type: Literal["warning"]
    name: str
    text: str


class WordSubjectKeys(TypedDict):
    """A word of the field or of ncu-assist."""

    type: Literal["word"]
    name: str
    text: str


class ExplainAnswer(AnswerKeys):
    """What each name stands for; ``type`` says which keys a subject has."""

    subjects: list[Any]


class PredictionsKeys(TypedDict):
    """How many predictions of models came true."""

    true: int
    told: int
    untold: int
    rate: float | None


class TallyKeys(TypedDict):
    """What drafts of one kind came to."""

    name: str
    drafts: int
    kept: int
    rejected: int
    unproven: int
    flawed: int
    cost: ModelCost
    compared: int
    expected: float | None
    measured: float | None
    predictions: PredictionsKeys


class BestDraftKeys(TypedDict):
    """The best draft of a round."""

    id: str
    version: str | None
    model: str | None
    speedup: float | None
    low: float | None
    high: float | None


class RoundKeys(TypedDict):
    """One round on a kernel."""

    kernel: str
    round: int
    drafts: int
    kept: int
    best: BestDraftKeys | None


class LedgerAnswer(AnswerKeys):
    """All drafts of models, and what became of them."""

    kernel: str | None
    total: TallyKeys
    models: list[TallyKeys]
    diagnoses: list[TallyKeys]
    rounds: list[RoundKeys]
    reasons: list[FateReason]
    drafts: list[Draft]
    damaged: list[Damage]


DraftInFolder = TypedDict("DraftInFolder", {**get_type_hints(Draft), "folder": str})  # type: ignore[misc]


class SuggestAnswer(AnswerKeys):
    """Drafts of a next version, or the prompt that would ask for them."""

    drafts: list[DraftInFolder]
    written: list[str]
    ended: str | None
    builds: list[DraftBuild]
    prompt: str | None
    prompt_id: str | None
    tokens: int | None
    dropped: list[str]


class GpuKeys(TypedDict):
    """What one GPU reached when it was measured."""

    source: Origin
    path: str | None
    device: DeviceKeys | None
    created: str
    tool: str
    conditions: Conditions
    dram: list[Point]
    l2: list[Point]
    link: list[Point]
    rates: list[Rate]
    stages: list[Stage]
    notes: list[str]


class CeilingsAnswer(AnswerKeys):
    """Rates that were measured of GPUs, and what is known of the one asked for."""

    reference: NotRequired[str]
    device: NotRequired[DeviceKeys | None]
    known: NotRequired[list[KnownRate]]
    gpus: list[GpuKeys]


class DoctorAnswer(AnswerKeys):
    """Whether this machine can measure, and what is missing."""

    can_measure: bool
    conditions: list[Condition]


class BugReportAnswer(AnswerKeys):
    """What a maintainer asks for first."""

    version: str
    python: str
    platform: str
    packages: dict[str, str]
    last_error: LastError | None
    conditions: list[Condition]


class ColumnKeys(TypedDict):
    """A column of an exported table."""

    name: str
    type: ColumnKind
    unit: str | None


class ExportedRunKeys(TypedDict):
    """What names the run; of a bare report the first four are null."""

    reference: str | None
    kernel: str | None
    version: str | None
    run_id: str | None
    source: Source
    created: str | None
    verified: bool
    device: DeviceKeys | None


class ExportAnswer(AnswerKeys):
    """One table of a run or a report."""

    table: str
    redacted: bool
    run: ExportedRunKeys
    notes: list[str]
    columns: list[ColumnKeys]
    rows: list[dict[str, Any]]


class OutputKeys(TypedDict):
    """One tensor that a kernel writes."""

    dtype: str
    shape: list[str | int]


class ToleranceKeys(TypedDict):
    """How far an output of one dtype may be from the reference."""

    norm: float
    rtol: float
    atol: float


class HostKeys(TypedDict):
    """What lies in pinned memory of the host."""

    inputs: list[str]
    bytes: str


class KernelToml(TypedDict):
    """What a kernel computes, on which data, and how exactly: ``kernel.toml``."""

    summary: str
    inputs: list[str]
    arguments: list[str]
    numbers: NotRequired[list[str]]
    bytes: str
    flops: str
    outputs: dict[str, OutputKeys]
    tolerance: dict[str, ToleranceKeys]
    workloads: dict[str, dict[str, int | str | bool | list[str]]]
    host: NotRequired[HostKeys]
    math: NotRequired[Math]
    work: NotRequired[dict[Math, str]]
