"""The pages that a reference, a report's file, a kernel or the whole archive asks for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ncu_assist.analysis.archive import KernelLadder, Written
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.importing import stem
from ncu_assist.pipeline.opened_reports import BareReport
from ncu_assist.pipeline.pages.index import kernel_ladder
from ncu_assist.pipeline.pages.writing import Pages
from ncu_assist.pipeline.reading import named
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.store import StoredRun
from ncu_assist.store.choosing import Context, known_kernels
from ncu_assist.store.references import REPORT_ENDINGS

NEAR = 0.8  # how alike a word must be to a kernel's name to be that, misspelt

OF_PAGES = ("pandas", "ncu_assist.pipeline.pages.run", "ncu_assist.render.html.compiled")  # 0.6 s to import

ALL_ALONE, ALL_ALONE_HINT = (
    "--all writes all pages, each to its place",
    "leave out what to report, --kernel and --output",
)


@dataclass(frozen=True)
class PageRequest:
    """What is asked for; ``wanted`` is a reference, the path of a report or a kernel, None: the last run."""

    wanted: str | None = None
    kernel: str | None = None
    every: bool = False
    output: Path | None = None
    force: bool = False
    redact: bool = True


def report(project: Project, request: PageRequest, reporter: Reporter) -> Written:
    """Write the pages and return what was written.

    Raises UsageProblem for what is not there and for a file in the way, DamagedData for a run that cannot be read.
    """
    pages = Pages(project, reporter, request.force, request.redact)
    if request.every:
        return _everything(pages, request)
    if request.kernel is None and request.wanted in _kernels(pages):
        return _kernel(pages, str(request.wanted), request)
    reporter.status("reading")
    stored = _named(pages, request)
    if isinstance(stored, BareReport) or request.output is not None:
        pages.run(stored, request.output or Path.cwd() / f"{_stem(stored)}.html")
        return pages.written(pages.done[0])
    ladders = _planned(pages, [stored])
    pages.run(stored)
    return _and_around(pages, [stored], ladders)


def page_text(project: Project, request: PageRequest, reporter: Reporter) -> str:
    """Return the page that is asked for, to lie anywhere; nothing is written. Raises as ``report`` does."""
    from ncu_assist.pipeline.pages.run import run_page
    from ncu_assist.render.html.ladder import ladder_html

    pages = Pages(project, reporter)
    if request.every:
        raise UsageProblem(ALL_ALONE, ALL_ALONE_HINT)
    if request.kernel is None and request.wanted in _kernels(pages):
        return ladder_html(kernel_ladder(project, str(request.wanted)))
    return run_page(_named(pages, request), pages.store, linked=False, redact=request.redact)


def pages_of(project: Project, runs: Sequence[StoredRun], reporter: Reporter) -> Written | None:
    """Write the pages of runs just measured, of their kernels, and the index; None where that was not possible.

    Diffs are left to `report`: a ladder of eleven versions took 11 s for ten of them on an H200 machine. Whatever goes
    wrong is noted: the measurement is stored, and its pages can be written again at any time.
    """
    pages = Pages(project, reporter)
    if not runs:
        return None
    try:
        ladders = _planned(pages, runs, diffs=False)
        for stored in runs:
            pages.tried(partial(pages.run, stored))
        written = _and_around(pages, runs, ladders)
    except Exception as error:  # a bug in a page must not look like a failed measurement
        problem, again = f"{type(error).__name__}: {error}", f"ncu-assist report {runs[-1].run.kernel}"
        reporter.note(f"the runs are stored, but not all of their pages are: {problem}; try: {again}")
        return None
    for problem in written.problems:
        reporter.note(f"no page: {problem}")
    return written


def _kernels(pages: Pages) -> tuple[str, ...]:
    return known_kernels(pages.store, Context(pages.project, Path.cwd()))


def _named(pages: Pages, request: PageRequest) -> StoredRun:
    """Return the run that is wanted; raises UsageProblem with the nearest kernel where that is what was meant."""
    try:
        return named(pages.project, (request.wanted or "@last",), request.kernel, meanwhile=OF_PAGES, ahead="sass")[0]
    except UsageProblem as error:
        word = request.wanted or ""
        near = difflib.get_close_matches(word, _kernels(pages), n=1, cutoff=NEAR)
        if not near or word.endswith(REPORT_ENDINGS):
            raise
        message = f"there is no kernel and no version '{request.wanted}'; did you mean '{near[0]}'?"
        raise UsageProblem(message, f"ncu-assist report {near[0]}") from error


def _planned(pages: Pages, runs: Sequence[StoredRun], diffs: bool = True) -> list[tuple[KernelLadder, set[str]]]:
    """Return the ladders of these runs, each with the versions whose diffs are then known to be written."""
    versions: dict[str, set[str]] = {stored.run.kernel: set() for stored in runs}
    for stored in runs if diffs else ():
        versions[stored.run.kernel].add(stored.run.version)
    found: list[tuple[KernelLadder, set[str]]] = []

    def plan(kernel: str, own: set[str]) -> None:
        found.append((kernel_ladder(pages.project, kernel), own))
        pages.plan(*found[-1])

    for kernel, own in versions.items():
        pages.tried(partial(plan, kernel, own))
    return found


def _and_around(pages: Pages, runs: Sequence[StoredRun], ladders: Sequence[tuple[KernelLadder, set[str]]]) -> Written:
    """Write the ladders of runs, with the diffs that they have a part in, and the index."""
    for ladder, versions in ladders:
        pages.tried(partial(pages.ladder, ladder, versions))
    pages.tried(pages.index)
    return pages.written(pages.done[0])


def _everything(pages: Pages, request: PageRequest) -> Written:
    if request.wanted is not None or request.kernel is not None or request.output is not None:
        raise UsageProblem(ALL_ALONE, ALL_ALONE_HINT)
    runs, damaged = pages.store.everything()
    pages.problems += [one.error for one in damaged]
    ladders: list[KernelLadder] = []
    for kernel in pages.store.kernels():
        pages.tried(lambda kernel=kernel: ladders.append(kernel_ladder(pages.project, kernel)))  # type: ignore[misc]
    for ladder in ladders:
        pages.plan(ladder)
    for stored in runs:
        pages.tried(partial(pages.run, stored))
    for ladder in ladders:
        pages.tried(partial(pages.ladder, ladder))
    pages.index()
    return pages.written(pages.done[-1])


def _kernel(pages: Pages, kernel: str, request: PageRequest) -> Written:
    """Write the pages of the runs that show a kernel's versions now, their diffs, the ladder, the index."""
    ladder = kernel_ladder(pages.project, kernel)
    if request.output is not None:
        pages.ladder_alone(ladder, request.output)
        return pages.written(pages.done[0])
    pages.plan(ladder)
    shown = {one.stored.reference: one.stored for row in ladder.history.rows for one in row.cells if one.stored}
    for stored in shown.values():
        pages.tried(partial(pages.run, stored))
    pages.ladder(ladder)
    asked = pages.done[-1]
    pages.index()
    return pages.written(asked)


def _stem(stored: StoredRun) -> str:
    return stem(stored.report.path) if isinstance(stored, BareReport) else stored.run.version
