"""A diff and a gate as JSON, schemas ncu-assist.diff/1 and ncu-assist.gate/1, with what explains a diff."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.diff import Change, Diff, DiffSide, LaunchDiff, outlier
from ncu_assist.analysis.diff.lines import LineChange, LineChanges
from ncu_assist.analysis.diff.why import BoundBy, Factor, Factors, Why
from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, NotMeasured, Unmeasured
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.record import Launch
from ncu_assist.render.json.values import answer, cycles_json, device, timing
from ncu_assist.render.words.gate import reason_words, why_unmeasured
from ncu_assist.render.words.verdicts import next_command, outlier_words, verdict_line


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
        "l2_reuse": {"baseline": why.l2_reuse[0], "candidate": why.l2_reuse[1]} if why.l2_reuse else None,
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
        "became": change.became,
        "text": change.text,
        "delta_ns": change.delta_ns,
        "pipe_ns": change.pipe_ns,
        "is_material": change.is_material,
        "beyond_noise": change.is_beyond,
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
            "outlier": _outlier(diff),
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
        "explanation": verdict.meaning,
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


def gate_json(gate: Gate | NotMeasured) -> dict[str, Any]:
    """Return a gate; ``outcome`` is pass, regression, unclear or ``not measured``, the exit code 0, 3, 4 or 4.

    ``not_measured`` names the versions without a run that counts; a side that is one is null, there are then no checks,
    and ``next`` is the command that measures it.

    Values are in the unit of the metric, of ``time`` medians in ns. ``delta`` is in points for percentages, else
    relative, as are ``delta_low`` and ``delta_high``, the 99 % interval of a time; ``limit`` is as it was typed, its
    ``limit_amount`` of the kind ``relative`` (0.02 is 2 %), ``points``, ``absolute`` or ``value`` (what the candidate
    is), in the ``direction`` rise or fall. ``noise``, in the unit of the metric, is how much further a counter may go
    and be kept, and twice that before it is broken; 0 for what repeats exactly, null for a time. ``sm_clocks_mhz``,
    baseline first, where they differ.
    Of a time ``delta_cycles`` is the same in SM cycles, ``words`` the verdict, ``by_clock`` where that explains it.
    ``window`` are the runs that times were held against where those are several, the newest first: the baseline of a
    time is then their lowest level.
    """
    if isinstance(gate, NotMeasured):
        return _not_measured(gate)
    return answer(
        "gate",
        {
            "kernel": gate.candidate.run.kernel,
            "baseline": gate.baseline.reference,
            "candidate": gate.candidate.reference,
            "outcome": gate.outcome,
            "source": gate.source,
            "checks": [_gate_check(check) for check in gate.checks],
            "differences": [asdict(one) for one in gate.differences],
            "forced": gate.forced,
            "notes": gate.notes,
            "window": [stored.reference for stored in gate.window],
            "not_measured": [],
            "next": None,
        },
    )


def gates_json(some: GateSet) -> dict[str, Any]:
    """Return the gates of all versions that changed since a commit; ``first`` are those without anything before."""
    content = {"since": some.since, "exit_code": some.exit_code, "first": some.first, "removed": some.removed}
    return answer("gates", {**content, "gates": [gate_json(one) for one in some.gates]})


def _not_measured(gate: NotMeasured) -> dict[str, Any]:
    baseline, candidate = (
        None if isinstance(side, Unmeasured) else side.reference for side in (gate.baseline, gate.candidate)
    )
    return answer(
        "gate",
        {
            "kernel": gate.missing[0].kernel,
            "baseline": baseline,
            "candidate": candidate,
            "outcome": gate.outcome,
            "source": None,
            "checks": [],
            "differences": [],
            "forced": [],
            "notes": gate.notes,
            "window": [],
            "not_measured": [
                {
                    "kernel": side.kernel,
                    "version": side.version,
                    "side": "candidate" if side is gate.candidate else "baseline",
                    "reason": why_unmeasured(side),
                    "run": side.run.reference if side.run else None,
                }
                for side in gate.missing
            ],
            "next": gate.next,
        },
    )


def _gate_check(check: GateCheck) -> dict[str, Any]:
    limit = check.limit
    return {
        "workload": check.workload,
        "metric": limit.metric.key,
        "label": limit.metric.label,
        "unit": limit.metric.unit,
        "limit": limit.text,
        "limit_amount": limit.amount,
        "limit_kind": limit.kind,
        "direction": "rise" if limit.rise else "fall",
        "baseline": check.baseline,
        "candidate": check.candidate,
        "delta": check.delta,
        "delta_low": check.low,
        "delta_high": check.high,
        "verdict": check.verdict,
        "outcome": check.outcome,
        "noise": check.noise,
        "sm_clocks_mhz": list(check.clocks_mhz) if check.clocks_mhz else None,
        "delta_cycles": check.cycles,
        "words": check.words or check.verdict,
        "by_clock": check.by_clock,
        "reason": reason_words(check) or None,
        "next": check.next or None,
    }
