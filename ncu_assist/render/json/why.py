"""What explains a diff as JSON: the product on the binding resources, the source lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.diff.lines import LineChange, LineChanges, LineCost
from ncu_assist.analysis.diff.why import BoundBy, Factor, Factors, Why


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
    return [_change(change) for change in lines.changes] if lines else []


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


def _change(change: LineChange) -> dict[str, Any]:
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
