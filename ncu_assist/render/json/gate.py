"""A gate as JSON, schema ncu-assist.gate/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, NotMeasured, Unmeasured
from ncu_assist.render.json.values import answer
from ncu_assist.render.words.gate import reason_words, why_unmeasured


def gate_json(gate: Gate | NotMeasured) -> dict[str, Any]:
    """Return a gate; ``outcome`` is pass, regression, unclear or ``not measured``, the exit code 0, 3, 4 or 4.

    ``not_measured`` names the versions without a run that counts; a side that is one is null, there are then no checks,
    and ``next`` is the command that measures it.

    Values are in the unit of the metric, of ``time`` medians in ns. ``delta`` is in points for percentages, else
    relative, as are ``delta_low`` and ``delta_high``, the 99 % interval of a time; ``limit`` is as it was typed, its
    ``limit_amount`` of the kind ``relative`` (0.02 is 2 %), ``points`` or ``absolute``, in the ``direction`` rise or
    fall. ``noise``, in the unit of the metric, is how much further a counter may go and be kept, and twice that before
    it is broken; 0 for what repeats exactly, null for a time. ``sm_clocks_mhz``, baseline first, where they differ.
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
            "checks": [_check(check) for check in gate.checks],
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
    content = {"since": some.since, "exit_code": some.exit_code, "first": some.first}
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


def _check(check: GateCheck) -> dict[str, Any]:
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
