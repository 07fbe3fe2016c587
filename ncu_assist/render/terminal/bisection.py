"""A bisection on a terminal: the commits that were measured, and the first bad one last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.render.words.bisection import commits_table, conclusion, title
from ncu_assist.render.words.history import MOST_SAID

if TYPE_CHECKING:
    from ncu_assist.analysis.bisection import Bisection


def bisection_text(found: Bisection, style: Style | None = None) -> str:
    """Return a bisection as text."""
    from rich.text import Text

    said = [Text(one_line(line, MOST_SAID)) for line in conclusion(found)]
    return to_text(
        [Text(one_line(title(found)), style="bold"), Text(""), printed(commits_table(found)), Text(""), *said], style
    )
