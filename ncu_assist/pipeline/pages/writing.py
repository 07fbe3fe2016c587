"""Write the pages of an archive: which ones a request needs, where they go, and what they may link to.

The modules that make a page are imported when one is made, for a report outside an archive while it is read.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.timing import Pair
from ncu_assist.atomic import is_stream, open_output
from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, UsageProblem
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection
from ncu_assist.pipeline.importing import stem
from ncu_assist.pipeline.opened_reports import BareReport, named
from ncu_assist.pipeline.pages.beside import WantedPage, get_makers_ready, made_beside
from ncu_assist.project import Project
from ncu_assist.render.table import RUN_PAGE, Link, diff_name, href_to
from ncu_assist.render.words.values import shown_path
from ncu_assist.steps import Reporter, steps
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.choosing import Context, known_kernels
from ncu_assist.store.index import RunHead
from ncu_assist.store.report_names import REPORT_ENDINGS
from ncu_assist.store.writing import write_hint

if TYPE_CHECKING:
    from ncu_assist.analysis.archive import ArchiveState, KernelLadder, PageKind, Written, WrittenPage
    from ncu_assist.pipeline.pages.readable import PageStore
    from ncu_assist.record import Run

GENERATOR = b'<meta name="generator" content="ncu-assist '  # of page.html.j2
HEAD = 4_000  # bytes of a page that contain GENERATOR
INDEX = "index.html"
PAGE_SUFFIXES = ("", ".html", ".htm")  # a browser prints a page as PDF
NEAR = 0.8  # similarity at which a word is taken for a misspelt kernel name
OF_PAGES = (  # modules that take 0.8 s to import
    "pandas",
    "ncu_assist.pipeline.pages.run",
    "ncu_assist.render.html.page",
    "ncu_assist.render.terminal.archive",
)
ALL_ALONE, ALL_ALONE_HINT = (
    "--all writes all pages, each to its usual place",
    "drop REFERENCE, --kernel and --output",
)


def check_place(path: Path, force: bool) -> None:
    """Raise UsageProblem if no page may be written: no such folder, a folder, or a file that is no page of ours."""
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "would be in a folder that does not exist"
        raise UsageProblem(f"{path} {what}", "name another file with --output")
    if not force and not is_stream(path) and (path.exists() or path.is_symlink()) and not is_our_page(path):
        raise UsageProblem(
            f"{path} already exists and is not a page of ncu-assist", "--force to replace it, or --output"
        )
    if path.suffix.lower() not in PAGE_SUFFIXES:
        raise UsageProblem(f"{path.name}: a page is HTML", f"--output {shlex.quote(str(path.with_suffix('.html')))}")


def is_our_page(path: Path) -> bool:
    """Return whether a file is a page that this tool wrote; a link is not."""
    if path.is_symlink() or not path.is_file():  # a FIFO would be read for ever
        return False
    try:
        with path.open("rb") as file:
            return GENERATOR in file.read(HEAD)
    except OSError:
        return False


def made_of(path: Path, reference: str) -> bool:
    """Return whether a page of ours is made of a run; its footer names all of its runs."""
    return is_our_page(path) and reference.encode("utf-8", "replace") in path.read_bytes()


def write_page(path: Path, text: str, force: bool = False) -> None:
    """Write a page, flushed to disk before it gets its name.

    Raises UsageProblem as ``check_place`` does, EnvironmentProblem for a disk error, which leaves no file behind.
    """
    check_place(path, force)
    try:
        with open_output(path, sync=True) as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        hint = write_hint(error, path.parent.resolve(), "name another file with --output")
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror or error}", hint) from error


@dataclass
class Pages:
    """Writes the pages of one archive: ``done`` lists them in order, ``problems`` says why others could not be made.

    ``planned`` are diffs that will be written after the runs that link to them. ``redact`` leaves out who measured
    where.
    """

    project: Project
    reporter: Reporter
    force: bool = False
    redact: bool = True
    done: list[WrittenPage] = field(default_factory=list)
    problems: list[NcuAssistError] = field(default_factory=list)
    planned: set[Path] = field(default_factory=set)

    @property
    def store(self) -> PageStore:
        from ncu_assist.pipeline.pages.readable import PageStore

        return PageStore(self.project.reports)

    def run(self, stored: StoredRun, path: Path | None = None, made: Callable[[], str] | None = None) -> None:
        """Write the page of a run, by default into its folder. Raises DamagedData for files that were changed."""
        place = path or stored.folder / RUN_PAGE
        try:
            self._write("run", stored.reference, place, made or self.run_text(stored, path is None))
        except DamagedData as error:
            if path is None:
                self.withdraw(stored.folder, error.message)
            raise

    def run_text(self, stored: StoredRun, is_beside: bool = True) -> Callable[[], str]:
        """Return a function that makes the page of a run, for its folder or for elsewhere."""
        from ncu_assist.pipeline.pages.run import run_page

        beside = self._diffs_beside(stored.folder.parent) if is_beside else frozenset()
        return partial(run_page, stored, self.store, is_beside, beside, self.redact)

    def runs(self, what: str, runs: Sequence[StoredRun | RunHead]) -> None:
        """Write the pages of runs into their folders; the problem of any of them is noted. ``what`` names the steps."""
        from ncu_assist.pipeline.pages.readable import of_no_machine

        reports = self.project.reports

        def opened(one: StoredRun | RunHead) -> StoredRun:
            return self.store.opened(one) if isinstance(one, RunHead) else of_no_machine(one)

        def wanted(run: Run | RunHead) -> WantedPage:
            diffs = self._diffs_beside(reports / run.kernel / run.version)
            return WantedPage(run.kernel, run.version, run.run_id, tuple(sorted(diffs)))

        def make(one: StoredRun | RunHead) -> str:
            return self.run_text(opened(one))()

        makers = [partial(make, one) for one in runs]
        with made_beside(reports, self.redact, [wanted(one.run) for one in runs], makers) as made:
            for one, page in steps(what, list(zip(runs, made, strict=True))):
                self.tried(partial(lambda one, page: self.run(opened(one), made=page), one, page))

    def plan(self, ladder: KernelLadder, of: set[str] | None = None) -> None:
        """Note which diffs ``ladder`` will write."""
        self.planned |= {diff_path(pair) for pair, _ in _pairs(ladder, of)}

    def withdraw(self, folder: Path, problem: str) -> None:
        """Replace the pages that show a damaged run, its own and its diffs, by a page with the problem."""
        from ncu_assist.render.html.page import damaged_html

        kernel, version, run_id = folder.parts[-3:]
        name = f"{kernel}/{version}@{run_id}"
        diffs = (path for path in sorted(folder.parent.parent.glob(f"*/{diff_name('*')}")) if made_of(path, name))
        for path in (folder / RUN_PAGE, *diffs):
            up = 2 if path.name == RUN_PAGE else 1
            text = damaged_html(name, problem.removeprefix(f"{name}: "), kernel, up)
            if is_our_page(path) and path.read_bytes() != text.encode("utf-8", "replace"):
                write_page(path, text)
                self.reporter.note(f"withdrawn, as {name} is damaged: {shown_path(path, Path.cwd())}")

    def diff(self, pair: Pair, workload: str | None) -> None:
        """Write the page that compares two versions into the folder of the second."""
        from ncu_assist.render.html.page import damaged_html

        title = f"{pair[0].reference} {pair[1].reference}"
        path = diff_path(pair)
        try:
            self._write("diff", title, path, lambda: self._diff_page(pair, workload))
        except DamagedData as error:  # other pages may link to it
            if not path.exists() or is_our_page(path):
                write_page(path, damaged_html(title.replace(" ", " or "), error.message, pair[1].run.kernel, 1))
            raise

    def ladder(self, ladder: KernelLadder, of: set[str] | None = None) -> None:
        """Write the diffs of neighbours of which one is in ``of`` (None: all), then the ladder."""
        from ncu_assist.render.html.ladder import ladder_html

        history = ladder.history
        self._withdraw_all(ladder.damaged)
        for pair, workload in steps("pages of steps", list(_pairs(ladder, of))):
            self.tried(partial(self.diff, pair, workload))
        folder = self.project.reports / history.kernel
        there = frozenset({f"../{INDEX}", *_pages_below(folder)})
        self._write("ladder", history.kernel, folder / INDEX, lambda: ladder_html(ladder, there))

    def ladder_alone(self, ladder: KernelLadder, path: Path) -> None:
        """Write a ladder to a place of its own, without links to other pages."""
        from ncu_assist.render.html.ladder import ladder_html

        self._write("ladder", ladder.history.kernel, path, lambda: ladder_html(ladder))

    def bundle(self, ladder: KernelLadder, path: Path) -> None:
        """Write a ladder with its runs and diffs as one file, to be sent."""
        self._write("bundle", ladder.history.kernel, path, lambda: self.bundled(ladder))

    def bundled(self, ladder: KernelLadder) -> str:
        """Return a ladder with its runs and diffs as one page; the problem of any of them is noted."""
        from ncu_assist.pipeline.pages.run import run_page
        from ncu_assist.render.html.index import bundle_html
        from ncu_assist.render.html.ladder import ladder_html

        self.plan(ladder)
        pages: dict[str, str] = {}

        def add(path: Path, made: Callable[[], str]) -> None:
            name = path.relative_to(self.project.reports / ladder.history.kernel)
            self.reporter.status(f"writing {name}")
            pages[href_to(name)] = made()

        for stored in steps("pages of runs", list(_shown_runs(ladder))):
            beside = frozenset(path.name for path in self.planned if path.parent == stored.folder.parent)
            made = partial(run_page, stored, self.store, True, beside, self.redact)
            self.tried(partial(add, stored.folder / RUN_PAGE, made))
        for pair, workload in steps("pages of steps", list(_pairs(ladder, None))):
            self.tried(partial(add, diff_path(pair), partial(self._diff_page, pair, workload, pages)))
        return bundle_html({INDEX: ladder_html(ladder, frozenset(pages)), **pages})

    def index(self, known: Callable[[], ArchiveState] | None = None) -> None:
        """Write the index over everything, which ``known`` tells, with links to the pages that exist."""
        from ncu_assist.pipeline.pages.index import archive_state
        from ncu_assist.render.html.index import index_html

        reports, state = self.project.reports, known() if known else archive_state(self.project)
        self._withdraw_all(state.damaged)
        there = frozenset(path for path in _index_links(state) if (reports / path).is_file())
        self._write("index", "", reports / INDEX, lambda: index_html(state, there))

    def _withdraw_all(self, damaged: Iterable[Damage]) -> None:
        for damage in (one for one in damaged if not one.is_newer):  # a newer version also made the pages of those
            self.withdraw(self.project.reports / damage.path, damage.problem)

    def _diffs_beside(self, folder: Path) -> frozenset[str]:
        """Return the diffs in a version's folder, including those still to be written."""
        there = {path.name for path in folder.glob(diff_name("*")) if is_our_page(path)}
        return frozenset(there | {path.name for path in self.planned if path.parent == folder})

    def tried(self, write: Callable[[], None]) -> None:
        """Write one of several pages; a problem of a run or a kernel is noted and does not stop the others.

        Raises EnvironmentProblem, which would affect all pages.
        """
        try:
            write()
        except EnvironmentProblem:
            raise
        except NcuAssistError as error:
            self.problems.append(error)

    def written(self, asked: WrittenPage) -> Written:
        """Return the written pages and the problems; ``asked`` is the requested page."""
        from ncu_assist.analysis.archive import Written

        problems = tuple(error.message + (f"; try: {error.hint}" if error.hint else "") for error in self.problems)
        return Written(tuple(self.done), asked, problems, max((e.exit_code for e in self.problems), default=0))

    def _write(self, kind: PageKind, of: str, path: Path, made: Callable[[], str]) -> None:
        from ncu_assist.analysis.archive import WrittenPage

        self.reporter.status(f"writing the page of {kind} {of}" if of else f"writing the {kind}")
        if self.project.reports.is_dir() and path.is_relative_to(self.project.reports):
            path.parent.mkdir(parents=True, exist_ok=True)  # a packed run has no folder
        check_place(path, self.force)  # before the work
        write_page(path, made(), self.force)
        self.done.append(WrittenPage(kind, of, path))

    def _diff_page(self, pair: Pair, workload: str | None, pages: Collection[str] = ()) -> str:
        """Return the page of a diff; besides those on disk it may link to ``pages``, relative to the ladder."""
        from ncu_assist.analysis.diff import DiffOptions
        from ncu_assist.pipeline.pages.diff import diff_page
        from ncu_assist.pipeline.reading import informed

        before, after = (one.run for one in pair)
        links = (f"../{before.version}/{before.run_id}/{RUN_PAGE}", f"{after.run_id}/{RUN_PAGE}")
        there = pair[1].folder.parent
        below = [href_to(one.version, one.run_id, RUN_PAGE) for one in (before, after)]
        known = [
            href_to(link) if (there / link).is_file() or name in pages else ""
            for link, name in zip(links, below, strict=True)
        ]
        crumbs = (Link("All kernels", f"../../{INDEX}"), Link(after.kernel, f"../{INDEX}"))
        options = informed(self.store, pair, DiffOptions(workload))
        return diff_page(pair, self.store, options, self.redact, crumbs, (known[0], known[1]))


def _pairs(ladder: KernelLadder, of: set[str] | None) -> Iterator[tuple[Pair, str | None]]:
    """Yield the pairs of neighbours of which one is in ``of`` (None: all), each with a workload of both."""
    from ncu_assist.pipeline.pages.index import neighbours

    for pair, workload in neighbours(ladder.history):
        if of is None or of & {one.run.version for one in pair}:
            yield pair, workload


def _shown_runs(ladder: KernelLadder) -> list[StoredRun]:
    """Return the runs that currently show a kernel's versions."""
    cells = (one for row in ladder.history.rows for one in row.cells)
    return list({one.stored.reference: one.stored for one in cells if one.stored}.values())


def diff_path(pair: Pair) -> Path:
    """Return the path of a diff's page."""
    return pair[1].folder.parent / diff_name(pair[0].run.version)


def _pages_below(folder: Path) -> Iterator[str]:
    """Yield the pages of runs and diffs in a kernel's folder, relative to it."""
    for pattern in (f"*/*/{RUN_PAGE}", f"*/{diff_name('*')}"):
        yield from (path.relative_to(folder).as_posix() for path in folder.glob(pattern) if path.is_file())


def _index_links(state: ArchiveState) -> Iterator[str]:
    for one in state.kernels:
        run = one.shown.run
        yield f"{one.kernel}/{INDEX}"
        yield f"{one.kernel}/{run.version}/{run.run_id}/{RUN_PAGE}"


@dataclass(frozen=True)
class PageRequest:
    """A request for pages; ``wanted`` is a reference, the path of a report or a kernel; None is the last run.

    ``bundle`` asks for one file of a kernel that contains the pages of its runs and diffs.
    """

    wanted: str | None = None
    kernel: str | None = None
    every: bool = False
    output: Path | None = None
    force: bool = False
    redact: bool = True
    selection: LaunchSelection = EVERY_LAUNCH
    bundle: bool = False


def report(project: Project, request: PageRequest, reporter: Reporter) -> Written:
    """Write the requested pages and return them.

    Raises UsageProblem for an unknown name and for a file in the way, DamagedData for a run that cannot be read.
    """
    pages = Pages(project, reporter, request.force, request.redact)
    _check_selection(pages, request)
    if request.every:
        return _everything(pages, request)
    if request.kernel is None and request.wanted in _kernels(pages):
        return _kernel(pages, str(request.wanted), request)
    reporter.status("reading")
    stored = _named(pages, request)
    if not request.selection.is_of_all and not isinstance(stored, BareReport) and request.output is None:
        raise UsageProblem(
            "the page next to a run has all its launches", "--output FILE.html for a page of some launches"
        )
    if isinstance(stored, BareReport) or request.output is not None:
        name = stem(stored.report.path) if isinstance(stored, BareReport) else stored.run.version
        pages.run(stored, request.output or Path.cwd() / f"{name}.html")
        return pages.written(pages.done[0])
    ladders = _planned(pages, [stored])
    pages.run(stored)
    return _and_around(pages, ladders)


def _check_selection(pages: Pages, request: PageRequest) -> None:
    """Raise UsageProblem if launches of several runs are chosen, or a bundle of anything but a kernel."""
    is_kernel = request.kernel is None and request.wanted in _kernels(pages)
    if request.bundle and (request.every or not is_kernel):
        raise UsageProblem("--bundle is for a kernel: its ladder, runs and diffs in one file", "name a kernel")
    if not request.selection.is_of_all and (request.every or is_kernel):
        raise UsageProblem("--launch and --filter choose launches of one run or report", "name a run or a report")


def page_text(project: Project, request: PageRequest, reporter: Reporter) -> str:
    """Return the requested page, for any place, and write nothing. Raises as ``report`` does."""
    from ncu_assist.pipeline.pages.run import run_page
    from ncu_assist.render.html.ladder import ladder_html

    pages = Pages(project, reporter, redact=request.redact)
    if request.every:
        raise UsageProblem(ALL_ALONE, ALL_ALONE_HINT)
    _check_selection(pages, request)
    if request.kernel is None and request.wanted in _kernels(pages):
        ladder = _ladder(project, str(request.wanted))
        return pages.bundled(ladder) if request.bundle else ladder_html(ladder)
    return run_page(_named(pages, request), pages.store, linked=False, redact=request.redact)


def prepare_pages(project: Project, kernel: str, count: int) -> None:
    """Do what the pages of a kernel's new runs need and does not depend on them, for ``pages_of`` to find done.

    In a block of ``pages_follow`` this starts makers of ``count`` pages.
    Modules are imported and templates compiled; what is known of its other runs is worked out, and kept.
    """
    get_makers_ready(project.reports, kernel, count)
    for name in OF_PAGES:
        importlib.import_module(name)
    from ncu_assist.pipeline.pages.index import archive_state, kernel_ladder
    from ncu_assist.render.html.ladder import ladder_html

    with contextlib.suppress(NcuAssistError):  # whoever writes the pages is told
        archive_state(project)
        ladder_html(kernel_ladder(project, kernel))


def pages_of(project: Project, runs: Sequence[StoredRun], reporter: Reporter) -> Written | None:
    """Write the pages of new runs and of their kernels, and the index; return None if that failed.

    Diffs are left to `report`: for a ladder of eleven versions, ten diffs took 11 s on an H200 machine. Any error is
    only noted, because the measurement is stored and its pages can be written again at any time.
    """
    pages = Pages(project, reporter)
    if not runs:
        return None
    try:
        from ncu_assist.pipeline.pages.index import archive_state

        ladders = _planned(pages, runs, diffs=False)
        with ThreadPoolExecutor(1) as meanwhile:  # other processes make the pages, or read reports for them
            state = meanwhile.submit(archive_state, project)
            pages.runs("pages", runs)
            written = _and_around(pages, ladders, state.result)
    except Exception as error:  # a bug in a page must not look like a failed measurement
        problem, again = f"{type(error).__name__}: {error}", f"ncu-assist report {runs[-1].run.kernel}"
        reporter.note(f"the runs are stored, but not all of their pages are: {problem}; try: {again}")
        return None
    for problem in written.problems:
        reporter.note(f"no page: {problem}")
    return written


def _kernels(pages: Pages) -> tuple[str, ...]:
    return known_kernels(Store(pages.project.reports), Context(pages.project, Path.cwd()))


def _ladder(project: Project, kernel: str) -> KernelLadder:
    from ncu_assist.pipeline.pages.index import kernel_ladder

    return kernel_ladder(project, kernel)


def _named(pages: Pages, request: PageRequest) -> StoredRun:
    """Return the requested run; raises UsageProblem, with the nearest kernel if the name looks like one."""
    try:
        wanted = (request.wanted or "@last",)
        (found,) = named(pages.project, wanted, request.kernel, OF_PAGES, True, [request.selection])
        return found
    except UsageProblem as error:
        word = request.wanted or ""
        near = difflib.get_close_matches(word, _kernels(pages), n=1, cutoff=NEAR)
        if not near or word.endswith(REPORT_ENDINGS):
            raise
        message = f"there is no kernel and no version '{request.wanted}'; did you mean '{near[0]}'?"
        raise UsageProblem(message, f"ncu-assist report {near[0]}") from error


def _planned(pages: Pages, runs: Sequence[StoredRun], diffs: bool = True) -> list[tuple[KernelLadder, set[str]]]:
    """Return the ladders of these runs, each with the versions whose diffs are now planned."""
    versions: dict[str, set[str]] = {stored.run.kernel: set() for stored in runs}
    for stored in runs if diffs else ():
        versions[stored.run.kernel].add(stored.run.version)
    found: list[tuple[KernelLadder, set[str]]] = []

    def plan(kernel: str, own: set[str]) -> None:
        found.append((_ladder(pages.project, kernel), own))
        pages.plan(*found[-1])

    for kernel, own in versions.items():
        pages.tried(partial(plan, kernel, own))
    return found


def _and_around(
    pages: Pages,
    ladders: Sequence[tuple[KernelLadder, set[str]]],
    state: Callable[[], ArchiveState] | None = None,
) -> Written:
    """Write the ladders of runs with their diffs, then the index, of ``state`` if that is known."""
    for ladder, versions in ladders:
        pages.tried(partial(pages.ladder, ladder, versions))
    pages.tried(partial(pages.index, state))
    return pages.written(pages.done[0])


def _everything(pages: Pages, request: PageRequest) -> Written:
    if request.wanted is not None or request.kernel is not None or request.output is not None:
        raise UsageProblem(ALL_ALONE, ALL_ALONE_HINT)
    heads, damaged = pages.store.whole()
    pages.problems += [one.error for one in damaged]
    ladders: list[KernelLadder] = []
    for kernel in pages.store.kernels():
        pages.tried(lambda kernel=kernel: ladders.append(_ladder(pages.project, kernel)))  # type: ignore[misc]
    for ladder in ladders:
        pages.plan(ladder)
    pages.runs("pages of runs", heads)
    for ladder in ladders:
        pages.tried(partial(pages.ladder, ladder))
    pages.index()
    return pages.written(pages.done[-1])


def _kernel(pages: Pages, kernel: str, request: PageRequest) -> Written:
    """Write the pages of the runs that currently show a kernel's versions, their diffs, the ladder and the index."""
    ladder = _ladder(pages.project, kernel)
    if request.bundle:
        pages.bundle(ladder, request.output or Path.cwd() / f"{kernel}.html")
        return pages.written(pages.done[0])
    if request.output is not None:
        pages.ladder_alone(ladder, request.output)
        return pages.written(pages.done[0])
    pages.plan(ladder)
    pages.runs("pages of runs", _shown_runs(ladder))
    pages.ladder(ladder)
    asked = pages.done[-1]
    pages.index()
    return pages.written(asked)
