"""The page of a triage: every kernel and shape, gaps and copies, and the pages of the launches that were profiled."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.analysis.triage import Triage
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.page import Head, PageSection, page, provenance, table_section
from ncu_assist.render.words.triage import (
    copies_table,
    copy_lines,
    groups_table,
    next_commands,
    profiled_lines,
    profiled_table,
    time_lines,
    triage_title,
)
from ncu_assist.render.words.triage import triage_provenance as recorded


def triage_html(found: Triage) -> str:
    """Return the page; the same triage gives the same bytes."""
    head = Head(
        title=one_line(triage_title(found)), subtitle=one_line(recorded(found)), crumbs=(), provenance=provenance(())
    )
    return page(head, tuple(_sections(found)))


def _sections(found: Triage) -> Iterator[PageSection]:
    whole = next(time_lines(found), "")
    yield table_section("profiled", "Profiled", profiled_table(found), whole, tuple(profiled_lines(found)))
    yield table_section("kernels", "Kernels", groups_table(found), legend=(*time_lines(found), *found.notes))
    yield table_section("copies", "Copies", copies_table(found), legend=tuple(copy_lines(found)))
    commands = [(f"{place}", one) for place, one in enumerate(next_commands(found), 1)]
    yield PageSection("next", "Next", commands, "diff_commands.html.j2")
