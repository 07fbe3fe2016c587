"""All versions of a kernel as JSON: schema ncu-assist.profile/1, and the same for check and bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypedDict

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.ladder import (
    Attempt,
    AttemptState,
    GpuSpread,
    KernelOutcome,
    LadderCell,
    SpreadRow,
    TuneOutcome,
    Values,
    VersionOutcome,
    combination_name,
)
from ncu_assist.harness.sanitizer import Sanitized, SanitizerFinding
from ncu_assist.record import Source
from ncu_assist.render.json.values import AnswerKeys, RunKeys, answer, filled, run_facts
from ncu_assist.render.json.workloads import AgainstLibraryKeys, WorkloadKeys, library_json, workload
from ncu_assist.render.words.sanitizer import finding_words
from ncu_assist.verdict import Cycles, Likely, Word


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


class MeasuredVersionKeys(RunKeys):
    """A version with its run."""

    status: str
    failure: str | None
    sanitizer: list[SanitizedKeys]
    not_served: list[str]
    not_measured: list[str]
    skipped: str | None
    notes: list[str]
    kept: bool
    workloads: list[CellKeys]


class OutcomeVerdictKeys(TypedDict):
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
    cycles: Cycles | None
    by_clock: bool | None
    words: str | None


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


def outcome_json(outcome: KernelOutcome, command: str) -> dict[str, Any]:
    """Return the versions of a kernel; ``command`` names the schema."""
    libraries = [outcome.against_library(name) for name in outcome.workloads]
    return answer(
        command,
        OutcomeAnswer,
        outcome,
        versions=[_version(version, outcome) for version in outcome.versions],
        against_library=[library_json(one) for one in libraries if one],
        verdicts=[_verdict(diff) for diff in outcome.diffs],
    )


def outcomes_json(outcomes: Sequence[KernelOutcome], since: str | None, command: str = "profile") -> dict[str, Any]:
    """Return the kernels of which versions changed since a commit; ``since`` None: since they were measured.

    Of several models of GPUs each is an entry of its own.
    """
    return answer("profiles", OutcomesAnswer, since=since, kernels=[outcome_json(one, command) for one in outcomes])


def spread_json(spread: GpuSpread) -> dict[str, Any]:
    """Return how far GPUs differ."""
    return answer("spread", SpreadAnswer, spread)


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """Return one edit of a version that is watched, as it stands: one object a line."""
    timings = attempt.run.run.timings if attempt.run else ()
    return answer(
        "watch",
        WatchAnswer,
        attempt,
        attempt=attempt.number,
        failure=attempt.failure or None,
        median_ns=timings[0].median_ns if timings else None,
        verdicts=[_verdict(diff) for diff in attempt.diffs],
    )


def tune_json(outcome: TuneOutcome) -> dict[str, Any]:
    """Return what came of tuning a version, the fastest combination first, what has no time at the end."""
    untimed = [(values, row) for values, row in outcome.rows if outcome.timing(row) is None]
    names = {row.version: combination_name(outcome.version, values) for values, row in outcome.rows}
    return answer(
        "tune",
        TuneAnswer,
        outcome,
        values=dict(outcome.own),
        winner=dict(outcome.winner) if outcome.winner else None,
        verdict=_verdict(outcome.diff, names) if outcome.diff else None,
        combinations=[_combination(outcome, values, row) for values, row in (*outcome.ranked, *untimed)],
        kept=str(outcome.kept) if outcome.kept else None,
    )


def _combination(outcome: TuneOutcome, values: Values, row: VersionOutcome) -> dict[str, Any]:
    timing = outcome.timing(row)
    return {
        "values": dict(values),
        "median_ns": timing.median_ns if timing else None,
        "samples": timing.samples if timing else 0,
        "dropped_out": outcome.is_dropped(row),
        "failure": row.failure or None,
    }


def _verdict(diff: Diff, names: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    versions = {"baseline": diff.baseline.version, "candidate": diff.candidate.version}
    sides = {side: names.get(version, version) for side, version in versions.items()}
    return filled(OutcomeVerdictKeys, diff.verdict, workload=diff.workload, **sides)


def _version(version: VersionOutcome, outcome: KernelOutcome) -> dict[str, Any]:
    stored, cells = version.run, [_cell(cell) for cell in outcome.cells(version) if cell.row]
    facts = {
        "status": outcome.status(version),
        "failure": version.failure or None,
        "sanitizer": [_sanitized(one) for one in version.sanitized],
        "not_served": version.unserved,
        "not_measured": version.unmeasured,
    }
    if stored is None:
        return filled(UnmeasuredVersionKeys, version, **facts, skipped=version.skipped or None, workloads=[])
    facts |= {"skipped": None, "notes": stored.run.notes, "workloads": cells}
    return filled(MeasuredVersionKeys, version, **run_facts(stored.run, stored.reference, stored.run.source), **facts)


def _sanitized(result: Sanitized) -> dict[str, Any]:
    findings = [_sanitizer_finding(one) for one in result.findings]
    return filled(SanitizedKeys, result, problem=result.problem or None, findings=findings)


def _sanitizer_finding(one: SanitizerFinding) -> dict[str, Any]:
    other = one.other
    return filled(
        SanitizerFindingKeys,
        one,
        sentence=finding_words(one),
        kernel=(one.called_at or one.place).kernel or None,
        file=one.place.file or None,
        line=one.place.line,
        other_file=(other.file or None) if other else None,
        other_line=other.line if other else None,
    )


def _cell(cell: LadderCell) -> dict[str, Any]:
    return filled(
        CellKeys,
        cell,
        **(workload(cell.row) if cell.row else {}),
        speedup_over_v0=cell.speedup,
        speedup_is_paired=None if cell.speedup is None else cell.is_paired,
    )
