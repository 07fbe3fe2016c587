"""A run, and the triage of a program, as JSON: schemas ncu-assist.show/1 and ncu-assist.triage/1."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ncu_assist.analysis.triage import KernelGroup, Triage
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.render.json.values import answer, cycles_json, run_facts, workload
from ncu_assist.render.words.triage import next_commands, profile_command
from ncu_assist.rules.model.occupancy import cluster_room, occupancy_curves, tile_room
from ncu_assist.rules.model.resources import RESOURCES

if TYPE_CHECKING:
    from ncu_assist.analysis.launches import LaunchRow, Payoff
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.rules.model.diagnosis import JointGain, Ranked
    from ncu_assist.rules.model.facts import Facts
    from ncu_assist.rules.model.of_run import RuleResults
    from ncu_assist.rules.model.savings import Busiest


def diagnosis_json(results: RuleResults | None) -> dict[str, Any]:
    """Return ``findings`` with the diagnosis first, ``warnings`` and ``unanswered``; empty lists without counters.

    ``lines`` of findings are empty where the code was not read, and where no line is to blame.
    """
    if results is None:
        return {"findings": [], "warnings": [], "unanswered": []}
    return {
        "findings": [_finding(one, results) for one in results.diagnosis.findings],
        "warnings": [{"id": id, "message": sentence} for id, sentence in results.warnings.items()],
        "unanswered": [{"rule": one.rule, "missing": list(one.missing)} for one in results.diagnosis.unanswered],
    }


def diagnosis_of_json(results: RuleResults | None) -> dict[str, Any]:
    """Return the diagnosis of a run, and what it is of: all launches, or the kernel that most of the time goes to."""
    part = results.part if results else None
    return {
        "kernel": part.name if part else None,
        "time_share": part.share if part else None,
        "launches": [one.index for one in results.facts.combined.launches] if results else [],
        "lacks_counters": results.diagnosis.lacks_counters if results else True,
        **diagnosis_json(results),
        "joint_gains": [_joint(one) for one in results.joint_gains] if results else [],
    }


def _joint(one: JointGain) -> dict[str, Any]:
    return {"rules": list(one.rules), "alone": list(map(_finite, one.alone)), "together": _finite(one.together)}


def _finite(speedup: float) -> float | None:
    return speedup if math.isfinite(speedup) else None


def _finding(ranked: Ranked, results: RuleResults) -> dict[str, Any]:
    finding, facts = ranked.finding, results.about(ranked.finding)
    return {
        "rule": finding.rule,
        "severity": ranked.severity,
        "message": finding.message,
        "advice": finding.full_advice,
        "estimated_speedup": _finite(ranked.estimated_speedup),
        "evidence": [_evidence(key, facts) for key in finding.evidence],
        "lines": [asdict(place) for place in ranked.places],
        "detail": finding.detail,
        "assumed": finding.assumed,
        "to_floor": ranked.to_floor,
        "next_limit": _next_limit(ranked.next_limit),
        "launches": [one.index for one in facts.combined.launches],
    }


def _next_limit(then: Busiest | None) -> dict[str, Any] | None:
    resource = RESOURCES.get(then.name) if then else None
    counter = resource.busy if resource and resource.busy else None
    return {"unit": then.name, "load": then.load, "metric": counter} if then else None


def _evidence(key: str, facts: Facts) -> dict[str, Any]:
    """Return one value; ``approximate`` where it was derived from other metrics and is only near."""
    value = {"metric": key, "value": facts.get(key), "unit": ROWS[key].unit}
    return {**value, "approximate": True} if facts.is_approximate(key) else value


def show_json(shown: RunView, command: str = "show") -> dict[str, Any]:
    """Return a run; ``command`` prints the answer. ``launches`` are those asked for of the ``launches_profiled``, by
    workload, the longest first, each ``judged`` alone. ``focus`` is the one that text shows, ``across_launches`` what
    would pay over all of them.

    ``hot_lines`` and ``nvidia_findings`` are null, and lines of findings empty, where they were not asked for.
    """
    profile, close = shown.run.profile, shown.close
    order = list(dict.fromkeys(row.launch.workload for row in shown.launches))
    ranked = sorted(
        shown.launches, key=lambda row: (order.index(row.launch.workload), -(row.launch.duration_ns or 0.0))
    )
    return answer(
        command,
        {
            **run_facts(shown.run, shown.reference, shown.source),
            "toolchain": asdict(shown.run.toolchain),
            "profile": asdict(profile) if profile else None,
            "notes": shown.run.notes,
            "host_memory": asdict(shown.run.host_memory) if shown.run.host_memory else None,
            "commit": asdict(shown.run.commit) if shown.run.commit else None,
            "workloads": [workload(row) for row in shown.rows],
            "launches": [_launch(row) for row in ranked],
            "launches_profiled": shown.profiled,
            "launches_not_judged": sum(not row.judged for row in ranked),
            "focus": shown.focus.launch.index if shown.focus else None,
            "across_launches": [_payoff(one) for one in shown.payoffs],
            "workload": shown.combined.workload,
            "before": _before(shown),
            "bound_by": bound.name if (bound := shown.detail.bottleneck) else None,
            "diagnosis": diagnosis_of_json(shown.results),
            "metrics": _metrics(shown),
            "stalls": shown.combined.stalls,
            "occupancy_curves": _occupancy(shown),
            **_room(shown),
            "stalls_per_launch": _stalls_per_launch(shown),
            "hot_lines": None if close.spots is None else [asdict(line) for line in close.spots.lines],
            "nvidia_findings": None if close.nvidia is None else [asdict(finding) for finding in close.nvidia],
            "hot_lines_note": close.note or (close.spots.note if close.spots else "") or None,
        },
    )


def _occupancy(shown: RunView) -> list[dict[str, Any]]:
    """Return how many warps would fit with other blocks, registers and shared memory; none of several shapes."""
    results = shown.counted.results
    return [asdict(one) for one in occupancy_curves(results.facts)] if results else []


def _room(shown: RunView) -> dict[str, Any]:
    """Return the room for tiles and clusters; None for what a launch has none of, and of several launches."""
    results = shown.counted.results if len(shown.counted.combined.launches) == 1 else None
    found = {"tiles": tile_room(results.facts), "clusters": cluster_room(results.facts)} if results else {}
    return {name: asdict(one) if (one := found.get(name)) else None for name in ("tiles", "clusters")}


def _stalls_per_launch(shown: RunView) -> dict[int, dict[str, float]] | None:
    """Return the shares of stall reasons of each of the longest launches; None where they are told of all together."""
    if not shown.combined.is_of_kernels:
        return None
    judged = {row.launch.index for row in shown.launches if row.judged}
    places = [place for place, one in enumerate(shown.combined.launches) if one.index in judged]
    alone = [shown.combined.of_places([place]) for place in places]
    return {one.launches[0].index: one.stalls for one in alone}


def _before(shown: RunView) -> dict[str, Any] | None:
    """Return the verdict against the version before; None where none was timed."""
    if shown.before is None:
        return None
    verdict = shown.before.verdict
    return {
        "version": shown.before.version,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "speedup": verdict.speedup,
        "low": verdict.low,
        "high": verdict.high,
        "pairs": verdict.pairs,
        **cycles_json(verdict),
    }


def _launch(row: LaunchRow) -> dict[str, Any]:
    launch = row.launch
    return {
        "index": launch.index,
        "kernel": launch.kernel,
        "signature": launch.signature,
        "workload": launch.workload,
        "ranges": launch.ranges,
        "grid": launch.grid,
        "block": launch.block,
        "duration_ns": launch.duration_ns,
        "time_share": row.share,
        "winnable_ns": row.winnable_ns,
        "unexplained_ns": row.unexplained_ns,
        "floor": asdict(row.floor) if row.floor else None,
        "library": asdict(row.library) if row.library else None,
        "bound_by": row.bottleneck.name if row.bottleneck else None,
        "judged": row.judged,
        **diagnosis_json(row.results),
    }


def _payoff(payoff: Payoff) -> dict[str, Any]:
    return {
        "rule": payoff.rule,
        "kernel": payoff.kernel,
        "library": asdict(payoff.library) if payoff.library else None,
        "launches": payoff.launches,
        "time_share": payoff.share,
        "winnable_ns": payoff.winnable_ns,
        "winnable_share": payoff.won,
        "advice": payoff.full_advice,
        "assumed": payoff.assumed,
    }


def _metrics(shown: RunView) -> dict[str, Any]:
    return {
        key: {
            "label": ROWS[key].label,
            "unit": ROWS[key].unit,
            "value": value,
            "note": shown.combined.not_applicable.get(key),
            "coverage": asdict(part) if (part := shown.combined.coverage(key)) else None,
            "per_launch": _per_launch(shown, key),
        }
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
        {
            "program": found.program,
            "command": found.command or None,
            "recorder": found.recorder,
            "gpu": found.gpu or None,
            "gpus": found.gpus,
            "trace": kept,
            "launches": found.launches,
            "total_ns": found.total_ns,
            "kernels": [_kernel_group(found, place, one) for place, one in enumerate(found.groups)],
            "time": asdict(found.time) if found.time else None,
            "copies": [{**asdict(one), "bytes_per_second": one.bytes_per_second} for one in found.copies],
            "profiled": [asdict(one) for one in found.profiled],
            "next": list(next_commands(found)),
            "notes": list(found.notes),
        },
    )


def _kernel_group(found: Triage, place: int, one: KernelGroup) -> dict[str, Any]:
    return {
        "kernel": one.kernel,
        "signature": one.signature,
        "grid": one.grid if any(one.grid) else None,
        "block": one.block if any(one.block) else None,
        "launches": one.launches,
        "total_ns": one.total_ns,
        "mean_ns": one.mean_ns,
        "median_ns": one.median_ns,
        "longest_ns": one.longest_ns,
        "share": one.share,
        "cumulative": one.cumulative,
        "library": asdict(one.library) if one.library else None,
        "skip": one.skip,
        "archived_as": found.archived_as(place),
        "profile": profile_command(found, place),
    }
