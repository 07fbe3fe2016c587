"""A diff as JSON, schema ncu-assist.diff/1, with what explains it: factors of the time, source lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.diff import Change, Diff, DiffSide, LaunchDiff
from ncu_assist.analysis.diff.lines import LineChange, LineChanges, LineCost
from ncu_assist.analysis.diff.why import BoundBy, Factor, Factors, Why
from ncu_assist.record import Launch
from ncu_assist.render.json.values import answer, cycles_json, device, timing
from ncu_assist.render.words.verdicts import next_command, verdict_line
from ncu_assist.verdict import REASONS


def why_json(why: Why | None) -> dict[str, Any] | None:
    """Return what binds each side and the product of factors on it; null where the counters do not say.

    ``gain`` of a factor is what it makes of baseline time over candidate time: the gains of one ``product`` multiply to
    ``time_ratio``, that of the durations under ncu. ``agrees`` says whether that is ``within`` what the bench's
    interval makes likely: wider by ``noise``, how far a ratio of durations under ncu strays. Null without a bench, and
    where a ratio of 1 would be within it as well.
    """
    if why is None:
        return None
    return {
        "time_ratio": why.time_ratio,
        "speedup": why.speedup,
        "agrees": why.agrees,
        "within": {"low": why.expected[0], "high": why.expected[1]} if why.expected else None,
        "noise": why.noise,
        "launches": {"baseline": why.launches[0], "candidate": why.launches[1]},
        "bound_changed": why.bound_changed,
        "bound_by": {"baseline": _limit(why.baseline), "candidate": _limit(why.candidate)},
        "products": [_factors(one) for one in why.factors],
    }


def lines_json(lines: LineChanges | None) -> list[dict[str, Any]]:
    """Return the lines whose cost changed, what explains most first; a side is null where the line is not in it.

    ``delta_ns`` is of the sampled time at the line. ``pipe_ns`` is the time in the pipes of L1 at their peak of the
    excess accesses that the line gained or lost: no part of the line's time, for other lines wait for them too.
    """
    return [_line_change(change) for change in lines.changes] if lines else []


def left_json(lines: LineChanges | None) -> list[dict[str, Any]]:
    """Return the lines of the candidate where most is left to gain, the costliest first."""
    return [_cost(line) for line in lines.left] if lines else []


def line_notes_json(lines: LineChanges | None) -> dict[str, str | None]:
    """Return why a side has no lines, or of how many launches they are; null where there is nothing to say."""
    baseline, candidate = lines.notes if lines else ("", "")
    return {"baseline": baseline or None, "candidate": candidate or None}


def _limit(limit: BoundBy | None) -> dict[str, Any] | None:
    if limit is None:
        return None
    found = limit.bottleneck
    return {"name": found.name, "group": found.group, "percent": found.percent, "stall": limit.stall}


def _factors(made: Factors) -> dict[str, Any]:
    busy = {"baseline": made.busy[0], "candidate": made.busy[1]}
    return {"resource": made.resource, "busy_percent": busy, "factors": [_factor(part) for part in made.parts]}


def _factor(part: Factor) -> dict[str, Any]:
    return {**asdict(part), "gain": part.gain}


def _line_change(change: LineChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "text": change.text,
        "delta_ns": change.delta_ns,
        "pipe_ns": change.pipe_ns,
        "is_material": change.is_material,
        "baseline": _cost(change.baseline) if change.baseline else None,
        "candidate": _cost(change.candidate) if change.candidate else None,
    }


def _cost(line: LineCost) -> dict[str, Any]:
    return {**asdict(line), "launches": list(line.launches)}


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
