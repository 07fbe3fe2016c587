"""A diff as JSON, schema ncu-assist.diff/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.diff import Change, Diff, DiffSide, LaunchDiff
from ncu_assist.record import Launch
from ncu_assist.render.json.values import answer, cycles_json, device, timing
from ncu_assist.render.json.why import left_json, line_notes_json, lines_json, why_json
from ncu_assist.render.words import next_command, verdict_line
from ncu_assist.verdict import REASONS


def diff_json(diff: Diff) -> dict[str, Any]:
    """Return a diff; ``speedup`` above 1 means that the candidate is faster, percentages differ in points.

    ``changes`` are of all launches of a side together, or of those in a pair (``compared_launches``) where a foreign
    program has others too; those of a pair under ``launches`` are empty where only its time was compared. Their
    ``baseline_coverage`` and ``candidate_coverage`` are null where the value is of all these launches. ``confidence``
    says by what launches were paired, ``pairing`` is ``sum`` where a side has several that add up; where they are
    ``repeats`` of one launch, times and values are medians.
    """
    return answer(
        "diff",
        {
            "baseline": _side(diff.baseline),
            "candidate": _side(diff.candidate),
            "workload": diff.workload,
            **_verdict(diff),
            "forced": diff.forced or None,
            "summary": verdict_line(diff),
            "source": diff.source,
            "bottleneck": {"baseline": _bound(diff.baseline), "candidate": _bound(diff.candidate)},
            "changes": [_change(change) for change in diff.changes],
            "launches": [_launch(launch) for launch in diff.launches],
            "unpaired": {"baseline": _named(diff.only_baseline), "candidate": _named(diff.only_candidate)},
            "flags": [asdict(flag) for flag in diff.flags],
            "differences": [asdict(difference) for difference in diff.differences],
            "why": why_json(diff.why),
            "lines": lines_json(diff.lines),
            "lines_left": left_json(diff.lines),
            "line_notes": line_notes_json(diff.lines),
        },
    )


def _verdict(diff: Diff) -> dict[str, Any]:
    verdict = diff.verdict
    return {
        "verdict": verdict.verdict,
        "likely": verdict.likely,
        "reason": verdict.reason,
        "explanation": REASONS[verdict.reason].meaning,
        "next": next_command(diff) or None,
        "speedup": verdict.speedup,
        "interval": None if verdict.low is None else {"low": verdict.low, "high": verdict.high, "confidence": 0.99},
        "pairs": verdict.pairs,
        "samples": list(verdict.samples) if verdict.samples else None,
        "sm_clocks_mhz": list(verdict.clocks_mhz) if verdict.clocks_mhz else None,
        **cycles_json(verdict),
    }


def _side(side: DiffSide) -> dict[str, Any]:
    return {
        "reference": side.reference,
        "kernel": side.kernel,
        "version": side.version,
        "run_id": side.run_id or None,
        "source": side.source,
        "created": side.created or None,
        "device": device(side.device),
        "workload": side.workload,
        "timing": timing(side.timing),
        "ncu_duration_ns": side.duration_ns,
        "launches": side.launches,
        "compared_launches": side.compared,
        "busiest_percent": side.bottleneck.percent if side.bottleneck else None,
        "notes": side.notes,
    }


def _bound(side: DiffSide) -> str | None:
    return side.bottleneck.name if side.bottleneck else None


def _launch(launch: LaunchDiff) -> dict[str, Any]:
    return {
        "kernel": launch.kernel,
        "pairing": launch.pairing,
        "confidence": launch.pair.confidence,
        "repeats": launch.pair.repeats,
        "range": list(launch.pair.range),
        "baseline": _named(launch.pair.baseline),
        "candidate": _named(launch.pair.candidate),
        "baseline_ns": launch.baseline_ns,
        "candidate_ns": launch.candidate_ns,
        "verdict": launch.verdict.verdict,
        "likely": launch.verdict.likely,
        "reason": launch.verdict.reason,
        "changes": [_change(change) for change in launch.changes],
    }


def _named(launches: tuple[Launch, ...]) -> list[dict[str, Any]]:
    return [
        {
            "launch": one.index,
            "kernel": one.kernel,
            "grid": list(one.grid),
            "block": list(one.block),
            "duration_ns": one.duration_ns,
        }
        for one in launches
    ]


def _change(change: Change) -> dict[str, Any]:
    return {**asdict(change), "note": change.note or None}
