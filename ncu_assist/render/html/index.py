"""The index over everything, the page of a triage, and several pages as one file that can be sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from math import log
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from ncu_assist.analysis.archive import ArchiveState, KernelState
from ncu_assist.analysis.run_view import in_l2
from ncu_assist.analysis.yardstick import COPY, share, yardstick
from ncu_assist.quantity import duration, number_of
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.ladder_tables import UNREADABLE, damaged_table
from ncu_assist.render.html.page import Head, PageSection, page, provenance, scoped, table_section
from ncu_assist.render.table import RUN_PAGE, Cell, Column, Link, RunLinks, Spark, Table, number
from ncu_assist.render.words.floors import OWN_TERM, copy_words, ratio_cell
from ncu_assist.render.words.terms import share_term, source_badge, verdict_cell
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
from ncu_assist.render.words.values import unread
from ncu_assist.render.words.verdicts import level_words
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.triage import Triage

LINES_OF_SUMMARY = 160  # letters
COLUMNS = (
    Column("kernel"),
    Column("best version"),
    Column("time", "right", "number"),
    Column("against the baseline", "left", "number"),
    Column("own versions", order=""),
    Column(OWN_TERM.label, "left", "number", OWN_TERM),
    Column(COPY.title, "right", "number", share_term(COPY)),
    Column("last change"),
    Column("source"),
)
WHY_UNREAD = (
    "These are left out of everything above. A newer ncu-assist wrote them, or the record, the size of a file, or the "
    "hash of the counters, samples, findings or source has changed. Reports are not read here. To check them too: "
    "ncu-assist verify"
)
MOST_LISTED = 200  # runs in the footer; a hash covers the others
MANY = 8  # kernels, from which a filter is of use


def index_html(state: ArchiveState, pages: Collection[str] = ()) -> str:
    """Return the index as a page that lies in ``reports/``; the same archive gives the same bytes.

    ``pages`` are those that it may link to, relative to there.
    """
    return page(_head(state), index_sections(state, pages))


def index_sections(state: ArchiveState, pages: Collection[str] = ()) -> tuple[PageSection, ...]:
    """Return the sections; that of damaged runs has no model where there are none."""
    kernels = kernels_table(state, RunLinks(frozenset(pages)))
    return (
        PageSection("kernels", "Kernels", kernels, "index_kernels.html.j2", _summary(state)),
        table_section("damaged", UNREADABLE, damaged_table(state.damaged), WHY_UNREAD),
    )


def kernels_table(state: ArchiveState, links: RunLinks) -> Table:
    """Return a row a kernel: its best version, how far that got, and when it last changed."""
    rows = tuple(_row(one, links) for one in state.kernels)
    caption = "Every kernel with its best version"
    return Table("kernels-table", caption, COLUMNS, rows, len(rows) >= MANY).without_empty()


def _head(state: ArchiveState) -> Head:
    lost = unread(state.damaged)
    warnings = (f"{lost} left out, listed below",) if lost else ()
    return Head(
        title="All kernels",
        subtitle="the archive of stored runs, and the best version of every kernel in it",
        crumbs=(),
        provenance=provenance(state.runs[:MOST_LISTED], state.runs),
        warnings=warnings,
    )


def _summary(state: ArchiveState) -> str:
    gpus = sorted({one_line(gpu) for gpu in {stored.run.gpu for stored in state.runs} if gpu})
    measured = f", measured on {', '.join(gpus)}" if gpus else ""
    return f"{number_of(len(state.kernels), 'kernel')}, {number_of(len(state.runs), 'run')}{measured}."


def _row(one: KernelState, links: RunLinks) -> tuple[Cell, ...]:
    run = one.shown.run
    page_of_run = links.to(run.kernel, run.version, run.run_id, RUN_PAGE)
    best = Cell(
        run.version,
        link=Link(run.version, page_of_run),
        note=level_words(one.same, one.unclear) if one.best else _why_no_best(one),
    )
    return (
        Cell(one.kernel, link=Link(one.kernel, links.to(one.kernel, "index.html")), note=_note(one)),
        best,
        _time(one),
        _against(one),
        _spark(one),
        ratio_cell(one.against_library, names=True),
        _of_copy(one),
        Cell(one_line(one.changed[:10]), one.changed, note=_runs(one)),
        Cell(run.source, badge=source_badge(run.source), note=one_line(run.device.name) if run.device else ""),
    )


def _runs(one: KernelState) -> str:
    runs, versions = number_of(one.runs, "run"), number_of(one.versions, "version")
    return versions if one.runs == one.versions else f"{versions}, {runs}"


def _note(one: KernelState) -> str:
    told = (one.problem, one.summary)
    return next((one_line(text, LINES_OF_SUMMARY) for text in told if text), "")


def _why_no_best(one: KernelState) -> str:
    return "newest run: none is checked and timed" if one.workload else "newest run"


def _time(one: KernelState) -> Cell:
    timing = one.shown.run.timing(one.workload) if one.workload else None
    if timing is not None:
        return number(duration(timing.median_ns), timing.median_ns, one_line(one.workload or ""))
    return number(duration(one.under_ncu_ns), one.under_ncu_ns, "under ncu") if one.under_ncu_ns is not None else Cell()


def _against(one: KernelState) -> Cell:
    baseline = one.baseline
    if baseline is None or one.verdict is None:
        return Cell(note="is the baseline" if one.best and baseline else "")
    return verdict_cell(one.verdict, f"over {one_line(baseline.run.version)}")


def _spark(one: KernelState) -> Cell:
    """Return the times of one's own versions as a curve on a log scale, with the line of the fastest library."""
    library = one.against_library
    times = [log(ns) for _, ns in one.own_times]
    if len(times) < 2:
        return Cell()
    beside = [log(library.library_ns)] if library else []
    low, high = min((*times, *beside)), max((*times, *beside))
    span = high - low or 1.0
    points = tuple((place / (len(times) - 1), (time - low) / span) for place, time in enumerate(times))
    (first, slow), (last, fast) = one.own_times[0], one.own_times[-1]
    said = f"{short_name(first)} {duration(slow)} to {short_name(last)} {duration(fast)}, log scale"
    said += f"; dashes: {library.library} {duration(library.library_ns)}" if library else ""
    return Cell(spark=Spark(points, one_line(said), (beside[0] - low) / span if beside else None))


def _of_copy(one: KernelState) -> Cell:
    timing = one.shown.run.timing(one.workload) if one.workload else None
    reached, measure = share(timing, one.floor), yardstick([timing], [one.floor])
    if reached is None:
        return Cell()
    kept = copy_words(in_l2(one.shown.run.workload(one.workload or ""), one.shown.run))
    note = kept if measure is COPY else measure.title
    return number(f"{100 * reached:.0f} %", reached, note)


MAIN = re.compile(r'(<main class="wide" id="content">)(.*?)(</main>)', re.DOTALL)
TIPS = re.compile(r'<div popover id="[^"]+">.*?</div>\n?', re.DOTALL)
# What others read in `export`, and would be most of the file.
LEFT_OUT = re.compile(r'<section class="card" id="(?:metrics|raw)".*?</section>', re.DOTALL)
ITS_CONTENTS = re.compile(r'\s*<li><a href="#(?:metrics|raw)">.*?</li>', re.DOTALL)
HREF = re.compile(r' href="(?!#|data:|https?:)([^"#]*)(?:#([^"]*))?"')


def bundle_html(pages: Mapping[str, str]) -> str:
    """Return pages as one; keys are where they lie, as links name it, the first being that which is shown.

    Links to pages that are none of these lead nowhere. All metrics and logs are left out of all but the first.
    """
    names = {normpath(path): f"p{place}-" for place, path in enumerate(pages)}
    found = {path: _split(text) for path, text in pages.items()}
    (first, (head, _, tail)), *_ = found.items()
    leaves, tips = [], []
    for path, (_, inside, _) in found.items():
        prefix = names[normpath(path)]
        back = f'<p class="back"><a href="{"../" * path.count("/")}{first}">← All versions</a></p>'
        kept = inside if path == first else back + ITS_CONTENTS.sub("", LEFT_OUT.sub("", inside))
        leaf = f'<div class="leaf{" shown" if path == first else ""}" id="content">{kept}</div>'
        leaves.append(_linked(scoped(leaf, prefix), path, names))
        tips.append(scoped("".join(TIPS.findall(pages[path])), prefix))
    return head + "\n".join(leaves) + TIPS.sub("", tail).replace("</body>", f"{''.join(tips)}</body>")


def _split(text: str) -> tuple[str, str, str]:
    """Return what stands before the content of a page, the content, and what stands behind it."""
    found = MAIN.search(text)
    if found is None:
        raise ValueError("what is bundled is no page of ours")
    head = text[: found.end(1)].replace('id="content"', 'id="leaves"').replace('"#content"', '"#leaves"')
    return head, found[2], text[found.start(3) :]


def _linked(text: str, path: str, names: Mapping[str, str]) -> str:
    """Return a part of the file with links to other pages as links within it."""

    def renamed(found: re.Match[str]) -> str:
        prefix = names.get(normpath(join(dirname(path), found[1])))
        return f' href="#{prefix}{found[2] or "content"}"' if prefix else ""

    return HREF.sub(renamed, text)


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
