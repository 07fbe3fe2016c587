"""A triage on a terminal: the kernels by time, the gaps, the copies, what ncu says of some, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.triage import Triage
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.render.words.triage import (
    copies_table,
    copy_lines,
    groups_table,
    next_commands,
    profiled_lines,
    profiled_table,
    provenance,
    time_lines,
    title,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS = 12  # with all else it fits a screen
LETTERS = 46  # of a name: two lines of its column
PROFILED_LETTERS = 30
BESIDE = ("kernel", "one launch", "diagnosis", "could be", "of all")  # the run stands in the commands below


def triage_text(found: Triage, style: Style | None = None) -> str:
    """Return a triage as text; a page or JSON has every kernel."""
    from rich.text import Text

    kernels = groups_table(found, MOST_ROWS, LETTERS)
    parts: list[RenderableType] = [
        Text(title(found), style="bold"),
        Text(one_line(provenance(found)), style="dim"),
        Text(""),
        printed(kernels),
    ]
    parts += [Text(kernels.note, style="dim")] if kernels.note else []
    parts += [Text(""), *map(Text, time_lines(found))]
    copies = copies_table(found)
    if copies is not None:
        parts += [Text(""), printed(copies), *map(Text, copy_lines(found))]
    profiled = profiled_table(found, PROFILED_LETTERS)
    if profiled is not None:
        parts += [Text(""), printed(profiled.only(*BESIDE)), Text(profiled.note, style="dim")]
    said = list(profiled_lines(found))
    parts += [Text(""), *map(Text, said)] if said else []
    parts += [Text(f"note: {one_line(note)}", style="dim") for note in found.notes]
    parts += [Text("")]
    return to_text(parts, style) + "".join(f"next: {one}\n" for one in next_commands(found))
