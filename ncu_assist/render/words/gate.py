"""A gate in words: what was compared with what, limits, what moved, what was not kept and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from ncu_assist.analysis.gate import (
    ACROSS_LIMIT,
    ACROSS_MARGIN,
    BASELINE_ITSELF,
    CHECK_FAILED,
    MAY_BE_NOISE,
    NOT_COUNTED,
    NOT_MEASURED,
    TOO_FEW_RUNS,
    WORST_FIRST,
    Gate,
    GateCheck,
    GateSet,
    GateWord,
    NotMeasured,
    Unmeasured,
)
from ncu_assist.quantity import DIGITS, number_of, quantity
from ncu_assist.render.words.trend import percent
from ncu_assist.render.words.verdicts import fewer_cycles, of_both, origin
from ncu_assist.verdict import MARGIN, REASONS
from ncu_assist.verdict.levels import FEWEST
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.gate.limits import Limit
    from ncu_assist.analysis.records import ArchivedRun
    from ncu_assist.record import Source

SENTENCES = {
    ACROSS_LIMIT: "beyond the limit as measured, and the 99 % interval reaches back inside",
    ACROSS_MARGIN: f"the 99 % interval reaches across {100 * MARGIN:g} %, the least that is told apart",
    TOO_FEW_RUNS: f"{FEWEST} earlier runs that measured the same are the least that make a level",
    BASELINE_ITSELF: "the candidate is the baseline itself, so nothing can have got worse",
    MAY_BE_NOISE: "it may be noise: it is beyond the limit by less than twice what repeats of a kernel may be apart",
}


def reason_words(check: GateCheck) -> str:
    """Return why a check was not kept; empty for one that was, and where the numbers say it all."""
    if check.reason == CHECK_FAILED:
        return f"the check of {check.detail.version} failed there: {check.detail.text}"
    if check.reason == NOT_COUNTED:
        return _not_counted(check)
    if check.is_inside and check.reason == ACROSS_LIMIT:
        return "nothing shows that it is beyond the limit, and the 99 % interval reaches across"
    likely = f"likely {check.detail.likely}, but " if check.detail.likely else ""
    meaning = SENTENCES.get(check.reason) or (REASONS[check.reason].meaning if check.reason else "")
    return likely + meaning


def _not_counted(check: GateCheck) -> str:
    """Return which side lacks a metric, why, and what it has that is spelled like it."""
    if check.detail.text:  # it was counted, and says nothing: of different kernels, of no traffic
        return f"no value in {' or '.join(version for version, _ in check.detail.lacking)}: {check.detail.text}"
    sides = " or ".join(f"{version}{_profiled(section_set)}" for version, section_set in check.detail.lacking)
    near = f"; did you mean '{check.detail.nearest}'?" if check.detail.nearest else ""
    return f"not counted in {sides}{near}"


def _profiled(section_set: str | None) -> str:
    if section_set is None:
        return " (it was not profiled there)"
    return f" (section set {section_set})" if section_set else ""


GATE_LETTERS = 1000  # letters of one line
SHORT: dict[GateWord, str] = {"pass": "ok", "regression": "FAIL", "unclear": "UNCLEAR"}
UNMEASURED = "NOT MEASURED"
MOST_DIGITS = 12
THREE_DIGITS = 0.01  # of a value: with three digits a smaller change may not be seen
NOT_HERE: dict[Source, str] = {
    "live": "a run of another machine",
    "recorded": "a recorded run",
    "imported": "an imported report",
}
UNNAMED = "all launches"  # of a program that knows of no workload


def gate_title(gate: Gate | NotMeasured) -> str:
    """Return what was compared with what, e.g. ``lightning_decode/v7 against v6``."""
    baseline, candidate = sides(gate)
    kernel = _kernel_and_version(gate.candidate)[0]
    if isinstance(gate, NotMeasured) and not gate.window and gate.baseline == gate.candidate:  # the only version
        return _reference_of(gate.candidate)
    is_named = _is_short(gate) or bool(gate.by_window if isinstance(gate, Gate) else gate.window)
    return f"{kernel}/{candidate} against {baseline}" if is_named else f"{candidate} against {baseline}"


def gate_heading(gate: Gate | NotMeasured) -> str:
    """Return the title, and that nobody chose what it is held against where v0 stands in for a baseline."""
    stands_in = isinstance(gate, Gate) and gate.stands_in
    return f"{gate_title(gate)}, as no baseline is set" if stands_in else gate_title(gate)


def sides(gate: Gate | NotMeasured) -> tuple[str, str]:
    """Return what to call baseline and candidate: ``v6`` and ``v7``, or references where those do not tell."""
    if isinstance(gate, Gate) and gate.by_window:
        return _window(gate), short_name(gate.candidate.run.version)
    if isinstance(gate, NotMeasured) and gate.window:
        return gate.window, short_name(_kernel_and_version(gate.candidate)[1])
    if _is_short(gate):
        return short_name(_kernel_and_version(gate.baseline)[1]), short_name(_kernel_and_version(gate.candidate)[1])
    return _reference_of(gate.baseline), _reference_of(gate.candidate)


def _window(gate: Gate) -> str:
    """Return what several runs are called that one is held against: ``the last 10 runs``, and of which version."""
    if not gate.window:
        return "no earlier run"
    version, own = (short_name(stored.run.version) for stored in (gate.window[0], gate.candidate))
    of = f" of {version}" if version != own else ""
    return f"the last {number_of(len(gate.window), 'run')}{of}"


def _is_short(gate: Gate | NotMeasured) -> bool:
    one, other = _kernel_and_version(gate.baseline), _kernel_and_version(gate.candidate)
    archived = all(isinstance(side, Unmeasured) or side.run.run_id for side in (gate.baseline, gate.candidate))
    return archived and one[0] == other[0] and short_name(one[1]) != short_name(other[1])


def _kernel_and_version(side: ArchivedRun | Unmeasured) -> tuple[str, str]:
    return (side.kernel, side.version) if isinstance(side, Unmeasured) else (side.run.kernel, side.run.version)


def _reference_of(side: ArchivedRun | Unmeasured) -> str:
    return f"{side.kernel}/{side.version}" if isinstance(side, Unmeasured) else side.reference


def why_unmeasured(side: Unmeasured) -> str:
    """Return why no run counts for a version."""
    if side.misnamed is not None:
        return side.misnamed.problem
    if side.gone:
        return f"{side.since} has runs of it that are gone or changed here: {', '.join(side.gone)}"
    if side.since:
        return f"as {side.since} has it, it was not measured on this machine"
    if side.workloads and side.run is not None:
        names = ", ".join(side.workloads)
        return f"kernel.toml has changed, and no run is on {names} as it says now; the last run is {side.run.reference}"
    if side.shared and side.run is not None:
        changed = f"{' and '.join(side.shared)} {'have' if len(side.shared) > 1 else 'has'} changed"
        return f"{changed}, and it has no run since; the last run is {side.run.reference}"
    if side.needs_live and side.run is not None:
        source = NOT_HERE[side.run.run.source]
        gone = f", and {short_name(side.version)} has changed since" if side.is_stale else ""
        return f"{side.run.reference} is {source} and --require-live is given{gone}"
    if side.run is not None:
        return f"it has changed since it was measured; the last run, of it as it was, is {side.run.reference}"
    return "it has no run" + (f", and cannot have one here: {side.skipped}" if side.skipped else "")


def not_measured_summary(gate: NotMeasured) -> str:
    """Return the overall word, and of what."""
    names = " and ".join(short_name(side.version) for side in gate.missing)
    return f"{gate.outcome}: {names}, so nothing was judged"


def gate_provenance(gate: Gate) -> str:
    """Return where and when the runs were measured."""
    return of_both(sides(gate), [origin(stored.run.source, stored.run) for stored in (gate.baseline, gate.candidate)])


def workload_words(check: GateCheck) -> str:
    """Return the workload of a check."""
    return check.workload if check.workload is not None else UNNAMED


def limit_words(limit: Limit) -> str:
    """Return what a limit allows, e.g. ``2 %``, ``+0``, ``5 pt``, ``at most 0``."""
    if limit.kind == "value":
        return f"at {'most' if limit.rise else 'least'} {quantity(limit.amount, limit.metric.unit)}"
    sign = limit.text[0] if limit.text[0] in "+-" else ""
    if limit.kind == "absolute" and limit.amount == 0:
        return f"{sign}0"
    if limit.kind == "relative":
        return f"{sign}{100 * limit.amount:g} %"
    return (
        f"{sign}{limit.amount:g} pt" if limit.kind == "points" else f"{sign}{quantity(limit.amount, limit.metric.unit)}"
    )


def noise_words(check: GateCheck) -> str:
    """Return how much further than its limit a counter may go and be kept, e.g. ``2.6 pt``; empty for what is exact."""
    if not check.noise:
        return ""
    if check.limit.kind == "points":
        return f"{check.noise:.1f} pt"
    if check.limit.kind == "relative" and check.baseline:
        return f"{100 * check.noise / abs(check.baseline):.1f} %"
    return quantity(check.noise, check.limit.metric.unit)


def with_noise(check: GateCheck) -> str:
    """Return a limit and the noise on top of it, e.g. ``1 pt + 2.6 pt noise``."""
    noise = noise_words(check)
    return f"{limit_words(check.limit)} + {noise} noise" if noise else limit_words(check.limit)


def moved(check: GateCheck) -> str:
    """Return by how much a metric moved, e.g. ``+3.1 %``, ``-2.0 pt``, ``=``; ``-`` where nobody knows.

    Of a limit on what the candidate is, that.
    """
    if check.limit.kind == "value":
        return "-" if check.candidate is None else quantity(check.candidate, check.limit.metric.unit)
    if check.baseline is not None and check.baseline == check.candidate and not check.limit.is_on_time:
        return "="
    if check.delta is not None:
        in_points = check.limit.metric.unit == "%"
        return f"{check.delta:+.1f} pt" if in_points else percent(check.delta)
    return values(check) or "-"


def within(check: GateCheck, label: str = "") -> str:
    """Return by how much a metric moved, and of a time between which ends of its 99 % interval, where there is one.

    ``label`` names the interval, if nothing above it does.
    """
    if check.low is None or check.high is None or check.delta is None:
        return moved(check)
    low, high = (percent(end).removesuffix(" %") for end in (check.low, check.high))
    return f"{moved(check)} ({label}{low} to {high})"


def values(check: GateCheck) -> str:
    """Return both values, e.g. ``0 to 1.50 M``, with as many digits as tell them apart; empty where a side has none."""
    if check.baseline is None or check.candidate is None:
        return ""
    before, after, unit = check.baseline, check.candidate, check.limit.metric.unit
    is_close = 0 < abs(after - before) < THREE_DIGITS * abs(before)
    if is_close and before == int(before) and after == int(after):
        return f"{before:.12g} to {after:.12g}"
    unit = "" if unit == "cycle" else unit  # which the name of the metric says
    tries = [[quantity(side, unit, most) for side in (before, after)] for most in range(DIGITS + is_close, MOST_DIGITS)]
    return " to ".join(next((both for both in tries if both[0] != both[1]), tries[0]))


def summary(gate: Gate) -> str:
    """Return the overall word and how many checks came to what, e.g. ``regression: 1 of 20 checks failed``."""
    count = {word: sum(check.outcome == word for check in gate.checks) for word in SHORT}
    total, unclear = len(gate.checks), count["unclear"]
    checks = number_of(total, "check")
    if gate.outcome == "pass":
        open_ = f", of which {unclear} {'show' if unclear > 1 else 'shows'} nothing beyond the limit" if unclear else ""
        return f"pass: {checks} on {_workloads(gate)}{open_}"
    also = f", {unclear} {'are' if unclear > 1 else 'is'} unclear" if unclear else ""
    if gate.outcome == "regression":
        return f"regression: {count['regression']} of {checks} failed{also}"
    return f"unclear: {unclear} of {checks} could not be settled"


def _workloads(gate: Gate) -> str:
    names = {check.workload for check in gate.checks}
    return f"{len(names)} workloads" if len(names) > 1 else workload_words(gate.checks[0])


NOTHING_CHANGED = "no version has changed"
FIRST, REMOVED = "nothing to hold it against yet", "removed"


def set_summary(some: GateSet) -> str:
    """Return what came of all versions that changed, in a line."""
    counts = {word: sum(one.outcome == word for one in some.gates) for word in (*WORST_FIRST, NOT_MEASURED)}
    told = [f"{count} {word}" for word, count in counts.items() if count]
    told += [f"{len(some.first)} with {FIRST}"] if some.first else []
    told += [f"{len(some.removed)} {REMOVED}"] if some.removed else []
    return f"since {some.since}: {', '.join(told) or NOTHING_CHANGED}"


def unjudged(some: GateSet) -> list[str]:
    """Return a line for each version that was not judged: nothing is there before it, or it is gone."""
    return [f"{name}: {FIRST}" for name in some.first] + [f"{name}: {REMOVED}" for name in some.removed]


def caveats(gate: Gate) -> Iterator[str]:
    """Yield what has to be known beside the checks: what was forced, what differs, what was left out."""
    for reason in gate.forced:
        yield f"forced: compared although {REASONS[reason].meaning}"
    if not gate.is_of_this_machine:
        yield f"nothing was measured on this machine: {sides(gate)[1]} is {NOT_HERE[gate.candidate.run.source]}"
    if gate.differences:
        told = "; ".join(f"{one.what}: {one.baseline} against {one.candidate}" for one in gate.differences)
        yield f"besides the version these differ: {told}"
    yield from (f"note: {note}" for note in gate.notes)
    yield from _by_clock(gate)
    yield from _clocks(gate)
    yield from _kept_as_noise(gate)


def _by_clock(gate: Gate) -> Iterator[str]:
    """Yield the times that another clock explains, each with what it is in cycles."""
    for check in gate.checks:
        if check.by_clock and check.delta is not None and check.cycles is not None:
            told = f"{percent(check.delta)} in time, {fewer_cycles(1 / (1 + check.cycles))}"
            yield f"note: {check.words} on {workload_words(check)}: {told}"


def _clocks(gate: Gate) -> Iterator[str]:
    """Yield the SM clocks of both sides on the workloads where they differ: that is no merit of either version."""
    apart = {workload_words(check): check.clocks_mhz for check in gate.checks if check.clocks_mhz}
    if apart:
        told = ", ".join(f"{before:.0f} and {after:.0f} MHz on {name}" for name, (before, after) in apart.items())
        yield f"note: SM clocks of {' and '.join(sides(gate))} differ: {told}"


def _kept_as_noise(gate: Gate) -> Iterator[str]:
    """Yield for each limit the checks that were kept although they are beyond it."""
    kept: dict[str, list[str]] = {}
    for check in gate.checks:
        if check.outcome == "pass" and check.noise and (check.excess or 0.0) > 0:
            limit = f"{check.limit.metric.key} (limit {with_noise(check)})"
            kept.setdefault(limit, []).append(f"{workload_words(check)} {moved(check)}")
    for limit, every in kept.items():
        yield f"note: kept as noise: {', '.join(every)}, {limit}"


def by_workload(gate: Gate) -> dict[str, list[GateCheck]]:
    """Return the checks of each workload."""
    found: dict[str, list[GateCheck]] = {}
    for check in gate.checks:
        found.setdefault(workload_words(check), []).append(check)
    return found


Complaint = tuple[GateWord, str, str]  # of checks that came to the same: the outcome, what is said, what to try


def complaints(gate: Gate) -> list[Complaint]:
    """Return what was not kept, what is unclear first, so that what failed stands last."""
    broken = [_of_broken(check) for check in gate.checks if check.outcome == "regression" and not _is_alike(check)]
    together = [_of_unclear(checks) for checks in _groups(gate)]
    return sorted([*together, *broken], key=lambda one: one[0] == "regression")


def _is_alike(check: GateCheck) -> bool:
    """Tell whether the reason of a check says all of it, so that one line does for several workloads."""
    return check.outcome == "unclear" or check.verdict == "wrong"


def _groups(gate: Gate) -> Iterator[Sequence[GateCheck]]:
    """Yield the checks of one limit that have the same reason."""
    groups: dict[tuple[str, ...], list[GateCheck]] = {}
    for check in gate.checks:
        if _is_alike(check) and check.outcome != "pass":
            alike = check.outcome, check.limit.metric.key, check.limit.text, reason_words(check)
            groups.setdefault(alike, []).append(check)
    yield from groups.values()


def _of_unclear(checks: Sequence[GateCheck]) -> Complaint:
    noises = {noise_words(check) for check in checks}
    where = ", ".join(_workload_and_move(check, len(noises) > 1) for check in checks)
    limit = with_noise(checks[0]) if len(noises) == 1 else f"{limit_words(checks[0].limit)} + noise"
    message = f"{where} ({checks[0].limit.metric.key}, limit {limit}): {reason_words(checks[0])}"
    return checks[0].outcome, message, _for_all(checks)


def _workload_and_move(check: GateCheck, tell_noise: bool) -> str:
    """Return a workload and how its metric moved; of a time the ends of its interval."""
    if tell_noise:
        return f"{workload_words(check)} {moved(check)} ({noise_words(check)} noise)"
    if check.is_inside and check.settles_at is not None:
        return f"{workload_words(check)} settles at {ceil(1000 * check.settles_at) / 10:g} %"
    if check.low is not None and check.high is not None:
        return f"{workload_words(check)} {percent(check.low)} to {percent(check.high)}"
    return f"{workload_words(check)} {moved(check)}" if check.delta is not None else workload_words(check)


def _for_all(checks: Sequence[GateCheck]) -> str:
    """Return one command for several workloads."""
    command = checks[0].next
    return command if len(checks) == 1 or not command else f"{command.rpartition(' --workload ')[0]} --workload all"


def _of_broken(check: GateCheck) -> Complaint:
    """Return what is said of a limit that was broken; of a counter, with its values."""
    limit, both, why = with_noise(check), values(check), reason_words(check)
    shown = moved(check)
    detail = "" if check.limit.is_on_time or shown == both else f"{both}, "
    reason = f": {why}" if why else ""
    message = f"{workload_words(check)} {check.limit.metric.key} {shown} ({detail}limit {limit}){reason}"
    return "regression", message, ""
