"""The launches of a run and the kernels of a trace on a terminal, in the width that there is, and what would pay."""

from __future__ import annotations

import re
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import GAP, broken_lines, fitting_widths, printed, styled, to_text
from ncu_assist.render.words.launches import (
    OF_WORKLOAD,
    TO_FLOOR,
    chosen_words,
    first_numbers,
    floor_units_words,
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
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.analysis.triage import Triage
    from ncu_assist.render.table import Table

MOST_ROWS, MOST_SENTENCES = 20, 3
BRIEF_ROWS, BRIEF_SENTENCES = 4, 1  # of a table, and on what would pay, where all is to fit a screen
NUMBERS, KERNEL, DIAGNOSIS = 0, 1, 6
PAYS = "What would pay, each launch by its first finding"
PAYS_REBUILT = "What would pay: a build with optimisation, then each launch by its first finding"
NARROW_NUMBERS = 9  # letters of a line where there is little room
BEFORE_UNIT, KEPT = re.compile(r"(?<=\d) (?=[%nµms])"), "\N{NO-BREAK SPACE}"  # where no line ends

MOST_KERNELS = 12  # with all else it fits a screen
KERNEL_LETTERS = 46  # of a name: two or three lines of its column
PROFILED_LETTERS = 30
BESIDE = ("kernel", "one launch", "diagnosis", "could be", "of all")  # the run stands in the commands below


def launches_text(shown: RunView, width: int, brief: bool = False) -> list[RenderableType]:
    """Return the launches with what each is bound by, what would pay, and what was left out; nothing without any."""
    most = BRIEF_ROWS if brief else MOST_ROWS
    if not shown.groups:
        return []
    titles, lines = _lines(launch_table(shown, most), width)
    parts: list[RenderableType] = [styled(""), *(styled(line, "bold") for line in titles), *map(styled, lines)]
    parts += [styled(line, "dim") for line in _below(shown, most)]
    parts += [styled(line) for line in spread_sentences(shown)]
    return [*parts, *_payoffs(shown, width, brief)]


def _payoffs(shown: RunView, width: int, brief: bool) -> list[RenderableType]:
    sentences = payoff_sentences(shown, BRIEF_SENTENCES if brief else MOST_SENTENCES, figures=not brief)
    if not sentences or sum(len(group.rows) for group in shown.groups) < 2:
        return []
    whole = (BEFORE_UNIT.sub(KEPT, one) for one in sentences)
    wrapped = (textwrap.wrap(one, width, initial_indent="  ", subsequent_indent="    ") for one in whole)
    lines = (line.replace(KEPT, " ") for lines in wrapped for line in lines)
    is_rebuilt = any(one.of_build for one in shown.payoffs)
    return [styled(""), styled(PAYS_REBUILT if is_rebuilt else PAYS, "bold"), *map(styled, lines)]


def _below(shown: RunView, most: int) -> list[str]:
    rest = shown.groups[most:]
    shares = [group.share for group in rest if group.share is not None]
    time = f", {share_words(sum(shares))} of the time" if shares else ""
    left = f"and {sum(len(one.rows) for one in rest)} launches more{time}: --json has all" if rest else ""
    floors = [row.floor for group in shown.groups for row in group.rows if row.floor]
    legend = OF_WORKLOAD if any(one.of_workload for one in floors) else TO_FLOOR
    told = (left, unjudged_words(shown), chosen_words(shown), legend if floors else "")
    return [line for line in (*told, floor_units_words(shown.groups[:most])) if line]


def _lines(made: Table, width: int) -> tuple[list[str], list[str]]:
    """Return the titles and the rows of a table as lines: what is too long for its column goes on in the next line.

    NVTX ranges stand below their kernels, and so does what a diagnosis leaves unexplained. A name that
    fills a page is cut, and of many numbers the first are told.
    """
    rows = [
        [
            first_numbers(cell.text) if not place else one_line(cell.text, KERNEL_LETTERS)
            for place, cell in enumerate(row)
        ]
        for row in made.rows
    ]
    titles = [column.title for column in made.columns]
    columns = [[row[place] for row in rows] for place in range(len(titles))]
    may_wrap = [column.wraps for column in made.columns]
    widest = [max(map(len, (title, *cells))) for title, cells in zip(titles, columns, strict=True)]
    gap = GAP if sum(widest) + GAP * (len(widest) - 1) <= width else 1
    if gap == 1:
        columns[NUMBERS] = [line for one in columns[NUMBERS] for line in broken_lines(one, NARROW_NUMBERS)]
    widths = fitting_widths(titles, columns, may_wrap, width, gap)

    def lines(row: Sequence[str]) -> Iterator[str]:
        broken = [list(broken_lines(text, size)) for text, size in zip(row, widths, strict=True)]
        for parts in zip_longest(*broken, fillvalue=""):
            aligned = (
                text.rjust(size) if column.align == "right" else text.ljust(size)
                for text, size, column in zip(parts, widths, made.columns, strict=True)
            )
            yield (" " * gap).join(aligned).rstrip()

    found: list[str] = []
    indent = " " * (widths[NUMBERS] + gap)
    for row, cells in zip(rows, made.rows, strict=True):
        found += lines(row)
        note, unknown = cells[KERNEL].note, cells[DIAGNOSIS].note
        found += [f"{indent}in {one_line(note, width - len(indent) - 3)}"] if note else []
        found += [f"{indent}{unknown}"] if unknown else []
    return list(lines(titles)), found


def triage_text(found: Triage) -> str:
    """Return a triage as text; a page or JSON has every kernel."""
    kernels = groups_table(found, MOST_KERNELS, KERNEL_LETTERS)
    parts: list[RenderableType] = [
        styled(triage_title(found), "bold"),
        styled(one_line(triage_provenance(found)), "dim"),
        styled(""),
        printed(kernels),
    ]
    parts += [styled(kernels.note, "dim")] if kernels.note else []
    parts += [styled(""), *map(styled, time_lines(found))]
    copies = copies_table(found)
    if copies is not None:
        parts += [styled(""), printed(copies), *map(styled, copy_lines(found))]
    profiled = profiled_table(found, PROFILED_LETTERS)
    if profiled is not None:
        parts += [styled(""), printed(profiled.only(*BESIDE)), styled(profiled.note, "dim")]
    said = list(profiled_lines(found))
    parts += [styled(""), *map(styled, said)] if said else []
    parts += [styled(f"note: {one_line(note)}", "dim") for note in found.notes]
    parts += [styled("")]
    return to_text(parts) + "".join(f"next: {one}\n" for one in next_commands(found))
