"""A diff and a gate as JSON, schemas ncu-assist.diff/1 and ncu-assist.gate/1, with what explains a diff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from ncu_assist.analysis.diff import Change, Coverage, Diff, DiffSide, LaunchDiff, outlier
from ncu_assist.analysis.diff.lines import Became, LineChanges
from ncu_assist.analysis.diff.lines import Kind as LineKind
from ncu_assist.analysis.diff.pairing import Confidence
from ncu_assist.analysis.diff.records import ChangeWord, Flag, Pairing, Role, RunDifference
from ncu_assist.analysis.diff.why import BoundBy, Factors, Why
from ncu_assist.analysis.diff.why import Kind as FactorKind
from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, GateWord, LimitKind, NotMeasured, Unmeasured
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.record import Launch, Source
from ncu_assist.render.json.values import AnswerKeys, DeviceKeys, TimingKeys, answer, device, filled
from ncu_assist.render.words.gate import reason_words, why_unmeasured
from ncu_assist.render.words.verdicts import next_command, outlier_words, verdict_line
from ncu_assist.verdict import Cycles, Likely, Word


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


class PairKeys(TypedDict):
    """Launches that were compared with each other."""

    kernel: str
    pairing: Pairing
    confidence: Confidence
    repeats: bool
    range: list[str]
    baseline: list[NamedLaunchKeys]
    candidate: list[NamedLaunchKeys]
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


class DiffAnswer(AnswerKeys):
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
    words: str | None
    by_clock: bool | None
    cycles: Cycles | None
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


def why_json(why: Why | None) -> dict[str, Any] | None:
    """Return what binds each side and the product of factors on it; null where the counters do not say.

    ``agrees`` says whether the ratio is ``within`` what the bench's interval makes likely, wider by ``noise``. Null
    without a bench, and where a ratio of 1 would be within it as well.
    """
    if why is None:
        return None
    return filled(
        WhyKeys,
        why,
        within={"low": why.expected[0], "high": why.expected[1]} if why.expected else None,
        launches=_sides(why.launches),
        bound_by=_sides((_limit(why.baseline), _limit(why.candidate))),
        products=[_factors(one) for one in why.factors],
        l2_reuse=_sides(why.l2_reuse) if why.l2_reuse else None,
    )


def _sides(values: Sequence[object]) -> dict[str, Any]:
    return dict(zip(("baseline", "candidate"), values, strict=True))


def lines_json(lines: LineChanges | None) -> list[dict[str, Any]]:
    """Return the lines whose cost changed, what explains most first; a side is null where the line is not in it."""
    return [filled(LineChangeKeys, one, beyond_noise=one.is_beyond) for one in lines.changes] if lines else []


def line_notes_json(lines: LineChanges | None) -> dict[str, str | None]:
    """Return why a side has no lines, or of how many launches they are; null where there is nothing to say."""
    baseline, candidate = lines.notes if lines else ("", "")
    return _sides((baseline or None, candidate or None))


def _limit(limit: BoundBy | None) -> dict[str, Any] | None:
    return filled(BoundKeys, limit.bottleneck, stall=limit.stall) if limit else None


def _factors(made: Factors) -> dict[str, Any]:
    factors = [filled(FactorKeys, part) for part in made.parts]
    return {"resource": made.resource, "busy_percent": _sides(made.busy), "factors": factors}


def diff_json(diff: Diff) -> dict[str, Any]:
    """Return a diff.

    ``changes`` are of all launches of a side together, or of those in a pair (``compared_launches``) where a foreign
    program has others too; those of a pair under ``launches`` are empty where only its time was compared.
    """
    verdict, sides = diff.verdict, (diff.baseline, diff.candidate)
    return answer(
        "diff",
        DiffAnswer,
        verdict,
        diff,
        **_sides([_side(one) for one in sides]),
        explanation=verdict.meaning,
        next=next_command(diff) or None,
        interval=None if verdict.low is None else {"low": verdict.low, "high": verdict.high, "confidence": 0.99},
        sm_clocks_mhz=verdict.clocks_mhz,
        forced=diff.forced or None,
        summary=verdict_line(diff),
        bottleneck=_sides([one.bottleneck.name if one.bottleneck else None for one in sides]),
        changes=[_change(change) for change in diff.changes],
        launches=[_launch(launch) for launch in diff.launches],
        unpaired=_sides([_named(diff.only_baseline), _named(diff.only_candidate)]),
        outlier=_outlier(diff),
        why=why_json(diff.why),
        lines=lines_json(diff.lines),
        lines_left=diff.lines.left if diff.lines else [],
        line_notes=line_notes_json(diff.lines),
    )


def _side(side: DiffSide) -> dict[str, Any]:
    return filled(
        DiffSideKeys,
        side,
        run_id=side.run_id or None,
        created=side.created or None,
        device=device(side.device),
        timing=filled(TimingKeys, side.timing) if side.timing else None,
        ncu_duration_ns=side.duration_ns,
        compared_launches=side.compared,
        busiest_percent=side.bottleneck.percent if side.bottleneck else None,
    )


def _outlier(diff: Diff) -> dict[str, Any] | None:
    found = outlier(diff)
    if found is None:
        return None
    pair, (before, after), likely = found
    return {
        "baseline": pair.baseline[0].kernel,
        "candidate": pair.candidate[0].kernel,
        "baseline_ns": before,
        "candidate_ns": after,
        "likely": likely,
        "next": outlier_words(diff, by_path=True)[1],
    }


def _launch(launch: LaunchDiff) -> dict[str, Any]:
    return filled(
        PairKeys,
        launch.verdict,
        launch,
        launch.pair,
        **_sides([_named(launch.pair.baseline), _named(launch.pair.candidate)]),
        changes=[_change(change) for change in launch.changes],
    )


def _named(launches: tuple[Launch, ...]) -> list[dict[str, Any]]:
    return [filled(NamedLaunchKeys, one, launch=one.index) for one in launches]


def _change(change: Change) -> dict[str, Any]:
    return filled(ChangeKeys, change, note=change.note or None)


def gate_json(gate: Gate | NotMeasured) -> dict[str, Any]:
    """Return a gate; ``outcome`` is pass, regression, unclear or ``not measured``, the exit code 0, 3, 4 or 4.

    ``not_measured`` names the versions without a run that counts; a side that is one is null, there are then no checks,
    and ``next`` is the command that measures it.
    """
    if isinstance(gate, NotMeasured):
        sides = [None if isinstance(one, Unmeasured) else one.reference for one in (gate.baseline, gate.candidate)]
        empty: dict[str, Any] = dict.fromkeys(("checks", "differences", "forced", "window"), ())
        return answer(
            "gate",
            GateAnswer,
            gate,
            **_sides(sides),
            **empty,
            kernel=gate.missing[0].kernel,
            source=None,
            not_measured=[_unmeasured(one, gate) for one in gate.missing],
        )
    return answer(
        "gate",
        GateAnswer,
        gate,
        **_sides([gate.baseline.reference, gate.candidate.reference]),
        kernel=gate.candidate.run.kernel,
        checks=[_gate_check(check) for check in gate.checks],
        window=[stored.reference for stored in gate.window],
        not_measured=[],
        next=None,
    )


def _unmeasured(side: Unmeasured, gate: NotMeasured) -> dict[str, Any]:
    return filled(
        UnmeasuredSideKeys,
        side,
        side="candidate" if side is gate.candidate else "baseline",
        reason=why_unmeasured(side),
        run=side.run.reference if side.run else None,
    )


def gates_json(some: GateSet) -> dict[str, Any]:
    """Return the gates of all versions that changed since a commit; ``first`` are those without anything before."""
    return answer("gates", GatesAnswer, some, gates=[gate_json(one) for one in some.gates])


def _gate_check(check: GateCheck) -> dict[str, Any]:
    limit = check.limit
    return filled(
        GateCheckKeys,
        check,
        limit.metric,
        metric=limit.metric.key,
        limit=limit.text,
        limit_amount=limit.amount,
        limit_kind=limit.kind,
        direction="rise" if limit.rise else "fall",
        delta_low=check.low,
        delta_high=check.high,
        sm_clocks_mhz=check.clocks_mhz,
        delta_cycles=check.cycles,
        words=check.words or check.verdict,
        reason=reason_words(check) or None,
        next=check.next or None,
    )
