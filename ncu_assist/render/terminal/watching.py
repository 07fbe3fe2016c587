"""Edits of a version that is watched: each as lines that stay, and the last of them as a view that is redrawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.verdicts import verdict_line
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.ladder import Attempt

SHOWN = 10  # attempts
COLORS = {"faster": "green", "slower": "red", "unclear": "yellow"}
LONGEST = 400  # letters of a failure


def attempt_lines(attempt: Attempt) -> list[str]:
    """Return an edit as lines: its verdicts or what failed, and how long that took."""
    name = f"#{attempt.number} {short_name(attempt.version)}"
    after = f", {attempt.seconds:.1f} s after it was saved" if attempt.seconds is not None else ""
    if attempt.failure:
        return [f"{name}: failed{after}: {one_line(attempt.failure, LONGEST)}"]
    if attempt.state == "timed" and attempt.diffs:
        return [f"{name}: timed{after}", *(f"  {verdict_line(diff)}" for diff in attempt.diffs)]
    return [f"{name}: {attempt.state}{after}{_median(attempt)}"]


def watch_view(kernel: str, attempts: Sequence[Attempt], status: str, keys: str) -> RenderableType:
    """Return the last edits as a table, a line on what happens now, and the keys."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table("#", "version", "median", "verdict", "s", box=None, pad_edge=False, expand=False)
    for one in attempts[-SHOWN:]:
        words = [Text(verdict_line(diff), style=COLORS.get(diff.verdict.verdict, "")) for diff in one.diffs]
        said: RenderableType = Group(*words) if words else Text(one.state)
        if one.failure:
            said = Text(f"failed: {one_line(one.failure, LONGEST)}", style="red")
        took = f"{one.seconds:.1f}" if one.seconds is not None else ""
        table.add_row(str(one.number), short_name(one.version), _median(one).removeprefix(", "), said, took)
    return Group(
        Text(f"watching {one_line(kernel)}", style="bold"), table, Text(one_line(status), "dim"), Text(keys, "dim")
    )


def _median(attempt: Attempt) -> str:
    timings = attempt.run.run.timings if attempt.run else ()
    return f", {duration(timings[0].median_ns)}" if timings else ""
