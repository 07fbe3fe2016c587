"""What is said of limits that were not kept: a line for each that was broken, one for all that are alike in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ncu_assist.analysis.gate import Gate, GateCheck, GateWord
from ncu_assist.render.gate_reasons import reason_words
from ncu_assist.render.gate_words import limit_words, moved, noise_words, percent, values, with_noise, workload_words


@dataclass(frozen=True)
class Complaint:
    """Checks on one limit that came to the same, for the same reason: what is said of them, and what to try."""

    outcome: GateWord
    message: str
    next: str


def complaints(gate: Gate) -> list[Complaint]:
    """Return what was not kept, what is unclear first, so that what failed stands last."""
    broken = [_failed(check) for check in gate.checks if check.outcome == "regression" and not _is_alike(check)]
    together = [_together(checks) for checks in _alike(gate)]
    return sorted([*together, *broken], key=lambda one: one.outcome == "regression")


def _is_alike(check: GateCheck) -> bool:
    """Tell whether the reason of a check says all of it, so that one line does for several workloads."""
    return check.outcome == "unclear" or check.verdict == "wrong"


def _alike(gate: Gate) -> Iterator[Sequence[GateCheck]]:
    """Yield the checks of one limit that have the same reason."""
    groups: dict[tuple[str, ...], list[GateCheck]] = {}
    for check in gate.checks:
        if _is_alike(check) and check.outcome != "pass":
            groups.setdefault((check.outcome, *_about(check), reason_words(check)), []).append(check)
    yield from groups.values()


def _about(check: GateCheck) -> tuple[str, str]:
    return check.limit.metric.key, check.limit.text


def _together(checks: Sequence[GateCheck]) -> Complaint:
    noises = {noise_words(check) for check in checks}
    where = ", ".join(_where(check, len(noises) > 1) for check in checks)
    limit = with_noise(checks[0]) if len(noises) == 1 else f"{limit_words(checks[0].limit)} + noise"
    message = f"{where} ({checks[0].limit.metric.key}, limit {limit}): {reason_words(checks[0])}"
    return Complaint(checks[0].outcome, message, _for_all(checks))


def _where(check: GateCheck, tell_noise: bool) -> str:
    """Return a workload and how its metric moved; of a time the ends of its interval."""
    if tell_noise:
        return f"{workload_words(check)} {moved(check)} ({noise_words(check)} noise)"
    if check.low is not None and check.high is not None:
        return f"{workload_words(check)} {percent(check.low)} to {percent(check.high)}"
    return f"{workload_words(check)} {moved(check)}" if check.delta is not None else workload_words(check)


def _for_all(checks: Sequence[GateCheck]) -> str:
    """Return one command for several workloads."""
    command = checks[0].next
    return command if len(checks) == 1 or not command else f"{command.rpartition(' --workload ')[0]} --workload all"


def _failed(check: GateCheck) -> Complaint:
    """Return what is said of a limit that was broken; of a counter, with its values."""
    limit, both, why = with_noise(check), values(check), reason_words(check)
    shown = moved(check)
    detail = "" if check.limit.is_on_time or shown == both else f"{both}, "
    reason = f": {why}" if why else ""
    message = f"{workload_words(check)} {check.limit.metric.key} {shown} ({detail}limit {limit}){reason}"
    return Complaint("regression", message, "")
