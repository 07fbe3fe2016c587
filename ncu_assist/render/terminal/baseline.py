"""The baseline of a kernel on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.archive import BaselineInForce
from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, table, to_text
from ncu_assist.render.words import origin

if TYPE_CHECKING:
    from rich.console import RenderableType

TO_SET = "where none is set it is v0; to set one: ncu-assist baseline set KERNEL/VERSION"


def baseline_text(shown: BaselineInForce, style: Style | None = None) -> str:
    """Return which run ``@baseline`` names, since when, and what is known of it."""
    from rich.text import Text

    if shown.run is None:
        return to_text([Text(line) for line in _none(shown)], style)
    lines = [Text(one_line(shown.run.reference), style="bold"), Text(_standing(shown))]
    lines += [Text(_facts(shown.run), style="dim")]
    lines += [Text(f"note: {one_line(text)}", style="red") for text in _failed_checks(shown.run)]
    return to_text(lines, style)


def baselines_text(every: Sequence[BaselineInForce], style: Style | None = None) -> str:
    """Return the baseline of each kernel, a line each, and below them what keeps a kernel from having one."""
    from rich.text import Text

    if not every:
        return to_text([Text("there are no kernels: no kernels/*/kernel.toml and no run in reports/")], style)
    made = table(("kernel", "left"), ("baseline", "left"), ("set", "left"), ("time", "left"))
    for one in every:
        version = one.run.run.version if one.run else "-"
        since = one.since[:10] if one.since else "yes" if one.is_set else "no"
        made.add_row(*(one_line(text) for text in (one.kernel, version, since, _time(one.run) or "-")))
    parts: list[RenderableType] = [made]
    for one in every:
        if one.exit_code:
            lines = [f"{one_line(one.kernel)}: {one_line(one.missing)}", f"try: {one_line(one.to_set)}"]
        else:
            lines = [] if one.run else _none(one)
        parts += [Text(line, style="red" if one.exit_code else "") for line in lines]
    return to_text([*parts, Text(TO_SET, style="dim")], style)


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


def _facts(stored: ArchivedRun) -> str:
    """Return where the run was measured, and its time on the first of its workloads, which is the default one."""
    where = origin(stored.run.source, stored.run)
    time = _time(stored)
    return f"{where}; {time}" if time else where


def _time(stored: ArchivedRun | None) -> str:
    """Return the time of a run on the first of its workloads; empty where it has none."""
    workloads = stored.run.workloads if stored else ()
    timing = stored.run.timing(workloads[0].name) if stored and workloads else None
    return f"{duration(timing.median_ns)} on {one_line(timing.workload)}" if timing else ""


def _failed_checks(stored: ArchivedRun) -> list[str]:
    wrong = [check for check in stored.run.checks if not check.passed]
    return [f"its check failed on {check.workload}, so it has no time there" for check in wrong]
