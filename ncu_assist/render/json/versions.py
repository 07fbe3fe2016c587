"""All versions of a kernel as JSON: schema ncu-assist.profile/1, and the same for check and bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.ladder import (
    Attempt,
    GpuSpread,
    KernelOutcome,
    LadderCell,
    TuneOutcome,
    Values,
    VersionOutcome,
)
from ncu_assist.harness.sanitizer import Sanitized, SanitizerFinding
from ncu_assist.render.json.values import answer, cycles_json, library_json, run_facts, workload
from ncu_assist.render.words.sanitizer import finding_words


def outcome_json(outcome: KernelOutcome, command: str) -> dict[str, Any]:
    """Return the versions of a kernel; ``command`` names the schema."""
    return answer(
        command,
        {
            "kernel": outcome.kernel,
            "source": outcome.source,
            "workloads": outcome.workloads,
            "versions": [_version(version, outcome) for version in outcome.versions],
            "against_library": [
                library_json(one) for name in outcome.workloads if (one := outcome.against_library(name))
            ],
            "verdicts": [_verdict(diff) for diff in outcome.diffs],
            "exit_code": outcome.exit_code,
        },
    )


def outcomes_json(outcomes: Sequence[KernelOutcome], since: str | None, command: str = "profile") -> dict[str, Any]:
    """Return the kernels of which versions changed since a commit; ``since`` None: since they were measured.

    Of several models of GPUs each is an entry of its own.
    """
    return answer("profiles", {"since": since, "kernels": [outcome_json(one, command) for one in outcomes]})


def spread_json(spread: GpuSpread) -> dict[str, Any]:
    """Return how far GPUs differ."""
    return answer("spread", asdict(spread))


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """Return one edit of a version that is watched, as it stands: one object a line."""
    timings = attempt.run.run.timings if attempt.run else ()
    return answer(
        "watch",
        {
            "attempt": attempt.number,
            "version": attempt.version,
            "state": attempt.state,
            "seconds": attempt.seconds,
            "failure": attempt.failure or None,
            "median_ns": timings[0].median_ns if timings else None,
            "verdicts": [_verdict(diff) for diff in attempt.diffs],
        },
    )


def tune_json(outcome: TuneOutcome) -> dict[str, Any]:
    """Return what came of tuning a version, the fastest combination first, what has no time at the end."""
    ranked = outcome.ranked
    untimed = [(values, row) for values, row in outcome.rows if outcome.timing(row) is None]
    return answer(
        "tune",
        {
            "kernel": outcome.kernel,
            "version": outcome.version,
            "workload": outcome.workload,
            "values": dict(outcome.own),
            "winner": dict(outcome.winner) if outcome.winner else None,
            "verdict": _verdict(outcome.diff) if outcome.diff else None,
            "combinations": [_combination(outcome, values, row) for values, row in (*ranked, *untimed)],
            "kept": str(outcome.kept) if outcome.kept else None,
        },
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


def _verdict(diff: Diff) -> dict[str, Any]:
    verdict = asdict(diff.verdict)
    return {
        "workload": diff.workload,
        "baseline": diff.baseline.version,
        "candidate": diff.candidate.version,
        **verdict,
        **cycles_json(diff.verdict),
    }


def _version(version: VersionOutcome, outcome: KernelOutcome) -> dict[str, Any]:
    status, stored = outcome.status(version), version.run
    facts: dict[str, Any] = {"version": version.version, "status": status, "failure": version.failure or None}
    skipped = None if stored else version.skipped or None
    facts["sanitizer"] = [_sanitized(one) for one in version.sanitized]
    facts |= {"not_served": version.unserved, "not_measured": version.unmeasured, "skipped": skipped}
    if stored is None:
        return {**facts, "workloads": []}
    named = run_facts(stored.run, stored.reference, stored.run.source)
    facts |= {"notes": stored.run.notes, "kept": version.kept}
    return {**named, **facts, "workloads": [_cell(cell) for cell in outcome.cells(version) if cell.row]}


def _sanitized(result: Sanitized) -> dict[str, Any]:
    return {
        "tool": result.tool,
        "workloads": result.workloads,
        "seconds": result.seconds,
        "problem": result.problem or None,
        "findings": [_sanitizer_finding(one) for one in result.findings],
    }


def _sanitizer_finding(one: SanitizerFinding) -> dict[str, Any]:
    other = one.other
    return {
        "id": one.id,
        "sentence": finding_words(one),
        "advice": one.advice,
        "access": one.access,
        "kernel": (one.called_at or one.place).kernel or None,
        "file": one.place.file or None,
        "line": one.place.line,
        "other_file": (other.file or None) if other else None,
        "other_line": other.line if other else None,
        "thread": one.thread,
        "block": one.block,
        "count": one.count,
        "said": one.said,
    }


def _cell(cell: LadderCell) -> dict[str, Any]:
    shared = workload(cell.row) if cell.row else {}
    paired = None if cell.speedup is None else cell.is_paired
    return {
        **shared,
        "speedup_over_v0": cell.speedup,
        "speedup_is_paired": paired,
        "dram_percent": cell.dram_percent,
    }
