"""What ``doctor`` found, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.environment import Condition, Examination
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, table, to_text

if TYPE_CHECKING:
    from rich.console import RenderableType

DETAIL_LIMIT = 200  # characters; compilers and drivers can be wordy
VERDICTS = {
    True: "✓ this machine can measure",
    False: "✗ this machine cannot measure; show, diff and recorded runs work without",
}


def doctor_text(examination: Examination, style: Style | None = None) -> str:
    """Return the conditions as text, each lack with its fix, and the verdict last."""
    from rich.text import Text

    made = table(("", "left"), ("", "left"))
    made.show_header = False
    for column in made.columns:
        column.no_wrap = False
    for condition in examination.conditions:
        made.add_row(_mark(condition), _words(condition))
    verdict = Text(VERDICTS[examination.can_measure], style="green" if examination.can_measure else "red")
    return to_text([made, verdict], style)


def _mark(condition: Condition) -> RenderableType:
    from rich.text import Text

    if condition.state == "ok":
        return Text(f"✓ {condition.name}", style="green")
    return Text(f"{'✗' if condition.needed else '-'} {condition.name}", style="red" if condition.needed else "yellow")


def _words(condition: Condition) -> str:
    fix = f"\n  try: {one_line(condition.fix, DETAIL_LIMIT)}" if condition.fix else ""
    return one_line(condition.detail, DETAIL_LIMIT) + fix
