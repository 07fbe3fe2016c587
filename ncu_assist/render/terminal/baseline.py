"""The baseline of a kernel on a terminal."""

from __future__ import annotations

from ncu_assist.outcome import BaselineInForce
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, to_text
from ncu_assist.render.words import origin
from ncu_assist.store import StoredRun


def baseline_text(shown: BaselineInForce, style: Style | None = None) -> str:
    """Return which run ``@baseline`` names, since when, and what is known of it."""
    from rich.text import Text

    if shown.run is None:
        return to_text([Text(line) for line in _none(shown)], style)
    lines = [Text(one_line(shown.run.reference), style="bold"), Text(_standing(shown))]
    lines += [Text(_facts(shown.run), style="dim")]
    lines += [Text(f"note: {one_line(text)}", style="red") for text in _failed_checks(shown.run)]
    return to_text(lines, style)


def _none(shown: BaselineInForce) -> list[str]:
    """Return that a kernel has no baseline, why, and how it gets one."""
    set_ = "the one that was set is cleared" if shown.cleared else "none is set"
    lines = [f"{one_line(shown.kernel)} has no baseline: {set_}, and {one_line(shown.missing)}"]
    return [*lines, *([f"try: {one_line(shown.to_set)}"] if shown.to_set else [])]


def _standing(shown: BaselineInForce) -> str:
    """Return for which kernel it is the baseline, and since when or why."""
    text = f"is @baseline of {one_line(shown.kernel)}"
    if shown.is_set:
        return f"{text} since {one_line(shown.since)}" if shown.since else text
    return f"{text} again" if shown.cleared else f"{text}, as none was set"


def _facts(stored: StoredRun) -> str:
    """Return where the run was measured, and its time on the first of its workloads, which is the default one."""
    run = stored.run
    where = origin(run.source, run)
    timing = run.timing(run.workloads[0].name) if run.workloads else None
    return f"{where}; {duration(timing.median_ns)} on {one_line(timing.workload)}" if timing else where


def _failed_checks(stored: StoredRun) -> list[str]:
    wrong = [check for check in stored.run.checks if not check.passed]
    return [f"its check failed on {check.workload}, so it has no time there" for check in wrong]
