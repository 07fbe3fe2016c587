"""A run, and the triage of a program, as JSON: schemas ncu-assist.show/1 and ncu-assist.triage/1."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from ncu_assist.analysis.launches import LaunchFloor, LaunchRow, Payoff
from ncu_assist.analysis.records import Coverage
from ncu_assist.analysis.run_view import RunView
from ncu_assist.analysis.triage import GpuTime, KernelGroup, ProfiledGroup, Triage
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.report import NvidiaFinding
from ncu_assist.record import Commit, HostMemory, Profile, Toolchain
from ncu_assist.render.json.values import AnswerKeys, RunKeys, answer, filled, run_facts
from ncu_assist.render.json.workloads import WorkloadKeys, workload
from ncu_assist.render.words.triage import next_commands, profile_command
from ncu_assist.rules.base import Severity
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.libraries import LibraryKernel
from ncu_assist.rules.model.occupancy import (
    ClusterRoom,
    OccupancyCurve,
    TileRoom,
    cluster_room,
    occupancy_curves,
    tile_room,
)
from ncu_assist.rules.model.of_run import RuleResults
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import RESOURCES
from ncu_assist.rules.model.savings import Busiest
from ncu_assist.trace import CopyWay, Recorder
from ncu_assist.verdict import Cycles, Word


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


class JointGainKeys(TypedDict):
    """What two fixes win together."""

    rules: list[str]
    alone: list[float | None]
    together: float | None


class DiagnosisKeys(TypedDict):
    """The diagnosis of a run: of all launches of the workload, or of the one function that most of the time goes to."""

    kernel: str | None
    time_share: float | None
    launches: list[int]
    lacks_counters: bool
    findings: list[FindingKeys]
    warnings: list[WarningKeys]
    unanswered: list[UnansweredKeys]
    joint_gains: list[JointGainKeys]


class LaunchKeys(TypedDict):
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
    findings: list[FindingKeys]
    warnings: list[WarningKeys]
    unanswered: list[UnansweredKeys]


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


class BeforeKeys(TypedDict):
    """The verdict against the version before."""

    version: str
    verdict: Word
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int
    words: str | None
    by_clock: bool | None
    cycles: Cycles | None


class HotLineKeys(TypedDict):
    """A source line, all launches together."""

    file: str
    line: int
    source: str | None
    share: float
    samples: int
    stall: str | None
    sectors_excessive: float | None
    wavefronts_excessive: float | None
    barrier_file: str | None
    barrier_line: int | None


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
    hot_lines: list[HotLineKeys] | None
    nvidia_findings: list[NvidiaFinding] | None
    hot_lines_note: str | None


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


def diagnosis_json(results: RuleResults | None) -> dict[str, Any]:
    """Return ``findings`` with the diagnosis first, ``warnings`` and ``unanswered``; empty lists without counters.

    ``lines`` of findings are empty where the code was not read, and where no line is to blame.
    """
    if results is None:
        return {"findings": [], "warnings": [], "unanswered": []}
    return {
        "findings": [_finding(one, results) for one in results.diagnosis.findings],
        "warnings": [{"id": id, "message": sentence} for id, sentence in results.warnings.items()],
        "unanswered": results.diagnosis.unanswered,
    }


def _diagnosis(results: RuleResults | None) -> dict[str, Any]:
    """Return the diagnosis of a run, and what it is of: all launches, or the kernel that most of the time goes to."""
    part = results.part if results else None
    return {
        "kernel": part.name if part else None,
        "time_share": part.share if part else None,
        "launches": [one.index for one in results.facts.combined.launches] if results else [],
        "lacks_counters": results.diagnosis.lacks_counters if results else True,
        **diagnosis_json(results),
        "joint_gains": [filled(JointGainKeys, one) for one in results.joint_gains] if results else [],
    }


def _finding(ranked: Ranked, results: RuleResults) -> dict[str, Any]:
    finding, facts = ranked.finding, results.about(ranked.finding)
    return filled(
        FindingKeys,
        finding,
        ranked,
        advice=finding.full_advice,
        evidence=[_evidence(key, facts) for key in finding.evidence],
        lines=ranked.places,
        next_limit=_next_limit(ranked.next_limit),
        launches=[one.index for one in facts.combined.launches],
    )


def _next_limit(then: Busiest | None) -> dict[str, Any] | None:
    resource = RESOURCES.get(then.name) if then else None
    counter = resource.busy if resource and resource.busy else None
    return {"unit": then.name, "load": then.reached, "metric": counter} if then else None


def _evidence(key: str, facts: Facts) -> dict[str, Any]:
    """Return one value; ``approximate`` where it was derived from other metrics and is only near."""
    value = {"metric": key, "value": facts.get(key), "unit": ROWS[key].unit}
    return {**value, "approximate": True} if facts.is_approximate(key) else value


def show_json(shown: RunView, command: str = "show") -> dict[str, Any]:
    """Return a run; ``command`` prints the answer. Launches stand by workload, the longest first."""
    close, results = shown.close, shown.counted.results
    order = list(dict.fromkeys(row.launch.workload for row in shown.launches))
    ranked = sorted(
        shown.launches, key=lambda row: (order.index(row.launch.workload), -(row.launch.duration_ns or 0.0))
    )
    alone = results if len(shown.counted.combined.launches) == 1 else None
    return answer(
        command,
        ShowAnswer,
        shown.run,
        **run_facts(shown.run, shown.reference, shown.source),
        workloads=[workload(row) for row in shown.rows],
        launches=[_launch(row) for row in ranked],
        launches_profiled=shown.profiled,
        launches_not_judged=sum(not row.judged for row in ranked),
        focus=shown.focus.launch.index if shown.focus else None,
        across_launches=[_payoff(one) for one in shown.payoffs],
        workload=shown.combined.workload,
        before=filled(BeforeKeys, shown.before.verdict, version=shown.before.version) if shown.before else None,
        bound_by=bound.name if (bound := shown.detail.bottleneck) else None,
        diagnosis=_diagnosis(shown.results),
        metrics=_metrics(shown),
        stalls=shown.combined.stalls,
        occupancy_curves=occupancy_curves(results.facts) if results else [],
        tiles=tile_room(alone.facts) if alone else None,
        clusters=cluster_room(alone.facts) if alone else None,
        stalls_per_launch=_stalls_per_launch(shown),
        hot_lines=[filled(HotLineKeys, one, source=one.text) for one in close.spots.lines] if close.spots else None,
        nvidia_findings=close.nvidia,
        hot_lines_note=close.note or (close.spots.note if close.spots else "") or None,
    )


def _stalls_per_launch(shown: RunView) -> dict[int, dict[str, float]] | None:
    """Return the shares of stall reasons of each of the longest launches; None where they are told of all together."""
    if not shown.combined.is_of_kernels:
        return None
    judged = {row.launch.index for row in shown.launches if row.judged}
    places = [place for place, one in enumerate(shown.combined.launches) if one.index in judged]
    alone = [shown.combined.of_places([place]) for place in places]
    return {one.launches[0].index: one.stalls for one in alone}


def _launch(row: LaunchRow) -> dict[str, Any]:
    return filled(
        LaunchKeys,
        row,
        row.launch,
        time_share=row.share,
        bound_by=row.bottleneck.name if row.bottleneck else None,
        **diagnosis_json(row.results),
    )


def _payoff(payoff: Payoff) -> dict[str, Any]:
    return filled(PayoffKeys, payoff, time_share=payoff.share, winnable_share=payoff.won, advice=payoff.full_advice)


def _metrics(shown: RunView) -> dict[str, Any]:
    return {
        key: filled(
            MetricKeys,
            ROWS[key],
            value=value,
            note=shown.combined.not_applicable.get(key),
            coverage=shown.combined.coverage(key),
            per_launch=_per_launch(shown, key),
        )
        for key, value in shown.combined.values.items()
    }


def _per_launch(shown: RunView, key: str) -> dict[int, float] | None:
    """Return the value of each of the longest launches by number, where they are of different kernels that make none.

    None for what all launches make one value of.
    """
    if not shown.combined.is_of_kernels or ROWS[key].combine.over_kernels:
        return None
    judged = {row.launch.index for row in shown.launches if row.judged}
    values = zip(shown.combined.launches, shown.combined.of_each(key), strict=True)
    return {one.index: value for one, value in values if value is not None and one.index in judged}


def triage_json(found: Triage, kept: str | None) -> dict[str, Any]:
    """Return a triage with every kernel; ``kept`` is the file of the trace, null where there is none."""
    return answer(
        "triage",
        TriageAnswer,
        found,
        command=found.command or None,
        gpu=found.gpu or None,
        trace=kept,
        kernels=[_kernel_group(found, place, one) for place, one in enumerate(found.groups)],
        copies=[filled(TriageCopyKeys, one) for one in found.copies],
        next=list(next_commands(found)),
    )


def _kernel_group(found: Triage, place: int, one: KernelGroup) -> dict[str, Any]:
    return filled(
        TriageKernelKeys,
        one,
        grid=one.grid if any(one.grid) else None,
        block=one.block if any(one.block) else None,
        archived_as=found.archived_as(place),
        profile=profile_command(found, place),
    )
