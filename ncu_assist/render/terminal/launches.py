"""The launches of a run and the kernels of a trace on a terminal, in the width that there is, and what would pay."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from ncu_assist.analysis.triage import Triage
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.render.words.launches import (
    OF_WORKLOAD,
    TO_FLOOR,
    chosen_words,
    launch_table,
    payoff_sentences,
    share_words,
    spread_sentences,
    unjudged_words,
)
from ncu_assist.render.words.triage import (
    copies_table,
    copy_lines,
    groups_table,
    next_commands,
    profiled_lines,
    profiled_table,
    time_lines,
    triage_provenance,
    triage_title,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.render.table import Table

MOST_ROWS, MOST_SENTENCES = 20, 3
KERNEL, DIAGNOSIS = 1, 6
# Columns that are cut where a line has no room for them, down to so many letters, in this order.
CUTS = ((KERNEL, 22), (DIAGNOSIS, 18), (KERNEL, 14), (DIAGNOSIS, 12))
NUMBERS, MOST_NUMBERS = 0, 9
GAP = 2
BEFORE_UNIT, KEPT = re.compile(r"(?<=\d) (?=[%nµms])"), "\N{NO-BREAK SPACE}"  # where no line ends

MOST_KERNELS = 12  # with all else it fits a screen
KERNEL_LETTERS = 46  # of a name: two lines of its column
PROFILED_LETTERS = 30
BESIDE = ("kernel", "one launch", "diagnosis", "could be", "of all")  # the run stands in the commands below


def launches_text(
    shown: RunView, width: int, most: int = MOST_ROWS, sentences: int = MOST_SENTENCES
) -> list[RenderableType]:
    """Return the launches with what each is bound by, what would pay, and what was left out; nothing without any."""
    from rich.text import Text

    if not shown.groups:
        return []
    lines = _lines(launch_table(shown, most), width)
    parts: list[RenderableType] = [Text(""), Text(lines[0], style="bold"), *map(Text, lines[1:])]
    parts += [Text(line, style="dim") for line in _below(shown, most)]
    parts += [Text(line) for line in spread_sentences(shown)]
    return [*parts, *_payoffs(shown, width, sentences)]


def _payoffs(shown: RunView, width: int, most: int) -> list[RenderableType]:
    from rich.text import Text

    sentences = payoff_sentences(shown, most)
    if not sentences or sum(len(group.rows) for group in shown.groups) < 2:
        return []
    whole = (BEFORE_UNIT.sub(KEPT, one) for one in sentences)
    wrapped = (textwrap.wrap(one, width, initial_indent="  ", subsequent_indent="    ") for one in whole)
    lines = (line.replace(KEPT, " ") for lines in wrapped for line in lines)
    return [Text(""), Text("What would pay", style="bold"), *map(Text, lines)]


def _below(shown: RunView, most: int) -> list[str]:
    rest = shown.groups[most:]
    shares = [group.share for group in rest if group.share is not None]
    time = f", {share_words(sum(shares))} of the time" if shares else ""
    left = f"and {sum(len(one.rows) for one in rest)} launches more{time}: --json has all" if rest else ""
    floors = [row.floor for group in shown.groups for row in group.rows if row.floor]
    legend = OF_WORKLOAD if any(one.of_workload for one in floors) else TO_FLOOR
    return [line for line in (left, unjudged_words(shown), chosen_words(shown), legend if floors else "") if line]


def _lines(made: Table, width: int) -> list[str]:
    """Return a table as lines: NVTX ranges stand below their kernels, and what is too long for a line is cut."""
    cells = [[column.title for column in made.columns], *([cell.text for cell in row] for row in made.rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(made.columns))]
    widths[NUMBERS] = min(widths[NUMBERS], MOST_NUMBERS)
    gap = GAP
    if sum(widths) + gap * (len(widths) - 1) > width:
        gap = 1
    for place, least in CUTS:
        over = sum(widths) + gap * (len(widths) - 1) - width
        widths[place] -= max(0, min(over, widths[place] - least))
    found = []
    for place, row in enumerate(cells):
        texts = [_fitted(text, size) for text, size in zip(row, widths, strict=True)]
        aligned = (
            text.rjust(size) if column.align == "right" else text.ljust(size)
            for text, size, column in zip(texts, widths, made.columns, strict=True)
        )
        found.append((" " * gap).join(aligned).rstrip())
        note = made.rows[place - 1][KERNEL].note if place else ""
        indent = " " * (widths[NUMBERS] + gap)
        found += [f"{indent}in {_fitted(note, width - len(indent) - 3)}"] if note else []
    return found


def _fitted(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…"


def triage_text(found: Triage, style: Style | None = None) -> str:
    """Return a triage as text; a page or JSON has every kernel."""
    from rich.text import Text

    kernels = groups_table(found, MOST_KERNELS, KERNEL_LETTERS)
    parts: list[RenderableType] = [
        Text(triage_title(found), style="bold"),
        Text(one_line(triage_provenance(found)), style="dim"),
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
