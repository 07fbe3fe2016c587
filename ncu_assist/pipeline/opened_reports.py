"""Reports that are opened: one that is in no archive in the place of a run, and one beside its stored run.

Nothing of them is written anywhere, and what several readers ask of one is read once. The children that read start at
once: what is only needed afterwards is imported while they work, and so not at the top of this module.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ncu_assist.analysis.launches import narrowed
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.frame import is_used
from ncu_assist.frame.columns import Columns, Values
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection
from ncu_assist.ncu.kept_report import contents_of
from ncu_assist.ncu.line_sums import NO_LINES
from ncu_assist.ncu.report import Limits, Report
from ncu_assist.ncu.tables import timeline_frame
from ncu_assist.pipeline.derived import KnownReport
from ncu_assist.pipeline.importing import RunNames, foreign_run, report_notes, sent, stem
from ncu_assist.project import Project
from ncu_assist.rules.model.libraries import library_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import Context
from ncu_assist.store.reading import FACTS
from ncu_assist.store.references import resolve_all
from ncu_assist.versions import IMPORTED

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.ncu.contents import Contents
    from ncu_assist.record import Launch, Run

T = TypeVar("T")
Stopped = Callable[[], bool]


def together(jobs: Sequence[Callable[[Stopped], T]]) -> list[T]:
    """Return what each job returns; a job is given a function to ask whether it is to end.

    Raises what the first that fails raises; the others are then told to end, as by Ctrl-C.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(max(1, len(jobs))) as pool:
        working = [pool.submit(job, stop.is_set) for job in jobs]
        try:
            ended, _ = wait(working, return_when=FIRST_EXCEPTION)
            problems = [one.exception() for one in working if one in ended]
            for problem in filter(None, problems):
                raise problem
            return [one.result() for one in working]
        except BaseException:
            stop.set()
            raise


@dataclass(frozen=True)
class BareReport(StoredRun):
    """A report as a run without an id, called by its path as the user typed it."""

    title: str
    report: Report

    @property
    def reference(self) -> str:
        return self.title

    @property
    def keeps_report(self) -> bool:
        return not self.report.lossy

    def metrics(self) -> pd.DataFrame:
        return self.report.metrics

    def by_launch(self) -> dict[int, Values]:
        return _by_launch(self.report.contents)

    def report_file(self, folder: Path) -> Path | None:
        return self.report.path


def named_by_content(stored: StoredRun) -> StoredRun:
    """Return a run with a digest to name it by: that of a report that is in no archive is the hash of its file."""
    if not isinstance(stored, BareReport):
        return stored
    with stored.report.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return replace(stored, run=replace(stored.run, digest=digest))


def launch_numbers(run: Run, report: Report) -> tuple[int, ...]:
    """Return which launches of the run those of its report are: a recorded run keeps the report of one workload,
    that of a program which was repeated the first.

    Raises DamagedData where they are others.
    """
    whole = {launch.workload for launch in run.launches}
    parts = [[launch for launch in run.launches if launch.workload == name] for name in sorted(filter(None, whole))]
    first = [launch for launch in run.launches if launch.repeat == 0]  # of a program that ran several times
    for chosen in (run.launches, *parts, first):
        bare = [[replace(one, index=0, workload=None, repeat=0) for one in own] for own in (chosen, report.records)]
        if bare[0] == bare[1]:
            return tuple(launch.index for launch in chosen)
    raise DamagedData("the archived report has other launches than the run", "ncu-assist verify")


def named(
    project: Project,
    references: Sequence[str],
    kernel: str | None,
    meanwhile: Sequence[str] = (),
    ahead: bool = False,
    selections: Sequence[LaunchSelection] = (),
    workload: str | None = None,
) -> list[StoredRun]:
    """Return the runs that references name; bare reports are read, at the same time, and stored nowhere.

    ``meanwhile`` are modules that are needed later, and can be imported while reports are read. ``ahead`` reads their
    code at the same time, for who asks for it afterwards. ``selections`` are of the launches of each, all unless given;
    of some launches only those of ``workload``.

    Raises UsageProblem for a reference that names nothing, and for launches that are not there, DamagedData for what
    cannot be read whole.
    """
    context, store = Context(project, Path.cwd(), kernel), Store(project.reports)
    found = opened(references, resolve_all(references, store, context), kernel, meanwhile, ahead)
    wanted, told = [*selections] or [EVERY_LAUNCH] * len(found), dict[int, UsageProblem]()
    some: list[StoredRun] = []
    for place, (stored, selection) in enumerate(zip(found, wanted, strict=True)):
        try:
            some.append(narrowed(stored, selection, workload))
        except UsageProblem as error:
            told[place] = error
    if len(told) == len(found) == 1:
        raise told[0]
    if told:
        first = min(told)
        message, hint = told[first].message, _for_both(references, kernel, wanted, told, workload)
        run = found[first].run
        is_told = message.startswith((run.version, f"{run.kernel}/"))
        raise UsageProblem(message if is_told else f"{references[first]}: {message}", hint)
    return some


BOTH_SIDES = "--launch A --launch B, by the numbers that `show` lists of each; a filter is of both"


def _for_both(
    references: Sequence[str],
    kernel: str | None,
    selections: Sequence[LaunchSelection],
    told: Mapping[int, UsageProblem],
    workload: str | None,
) -> str:
    """Return the diff that can be tried where launches of a side are not there, numbered by each side itself."""
    tried = [told[place].hint if place in told else " ".join(one.options) for place, one in enumerate(selections)]
    if any("," in one for one in tried):
        return BOTH_SIDES
    if not all(one.startswith("--launch ") for one in tried):
        return told[min(told)].hint
    words = ["diff", *(["--kernel", kernel] if kernel else []), *references]
    on = ["--workload", workload] if workload else []
    return f"ncu-assist {shlex.join([*words, *' '.join(dict.fromkeys(tried)).split(), *on])}"


def opened(
    references: Sequence[str],
    found: Sequence[StoredRun | Path],
    kernel: str | None,
    meanwhile: Sequence[str] = (),
    ahead: bool = False,
) -> list[StoredRun]:
    """Return what references were resolved to as runs, the reports among them read; raises as ``named`` does."""
    paths = [one for one in found if isinstance(one, Path)]
    titles = [text for text, one in zip(references, found, strict=True) if isinstance(one, Path)]
    bare = iter(bare_reports(titles, paths, kernel, meanwhile, ahead) if paths else ())
    return [next(bare) if isinstance(one, Path) else one for one in found]


def bare_reports(
    titles: Sequence[str], paths: Sequence[Path], kernel: str | None, meanwhile: Sequence[str] = (), ahead: bool = False
) -> list[BareReport]:
    """Return report files as runs, read at the same time; ``titles`` are their paths as the user typed them.

    ``meanwhile`` are modules that are needed later: they are imported while the children read. ``ahead`` reads code
    with each report. Raises as ``read_report`` does, for the first that cannot be read; the other is then ended, as by
    Ctrl-C.
    """
    jobs: list[Callable[[Stopped], Report | None]] = [partial(_read, path, ahead) for path in paths]
    jobs.append(partial(_import, meanwhile))
    reports = [one for one in together(jobs) if one is not None]
    return [bare_report(title, report, kernel) for title, report in zip(titles, reports, strict=True)]


def _read(path: Path, ahead: bool, stopped: Stopped) -> Report:
    from ncu_assist.ncu.report import read_report

    with sent():
        return read_report(path, stopped=stopped, ahead=ahead)


def _import(names: Sequence[str], stopped: Stopped) -> Report | None:
    for name in names:
        if not stopped():
            import_module(name)
    return None


def bare_report(title: str, report: Report, kernel: str | None) -> BareReport:
    """Return a report that was read as a run; ``title`` is its path as the user typed it."""
    names = RunNames(kernel or IMPORTED, stem(report.path) or report.path.name)
    found = foreign_run(names, report, "imported")
    run = replace(found, run_id="", created="", verified=False, notes=report_notes(report))
    return BareReport(run, report.path.parent, title, report)


def _by_launch(contents: Contents) -> dict[int, Values]:
    """Return what ``StoredRun.by_launch`` does: the numbers that the catalogue knows."""
    import numpy as np

    names = sorted({name for names in contents.name_lists for name in names if is_used(name)})
    place = {name: i for i, name in enumerate(names)}
    codes = [np.array([place.get(name, -1) for name in each], dtype=np.int32) for each in contents.name_lists]
    lists = [codes[one.names] for one in contents.launches]
    code = np.concatenate(lists)
    launch = np.repeat(np.arange(len(lists), dtype=np.int32), [len(each) for each in lists])
    used = code >= 0
    return Columns(launch[used], code[used], names, contents.values[used]).by_launch()


@dataclass(frozen=True)
class OpenedRun(BareReport):
    """A run of the archive beside its opened report, in the place of the run: its tables are those of the archive."""

    stored: StoredRun

    @property
    def keeps_report(self) -> bool:
        return self.stored.keeps_report

    def metrics(self) -> pd.DataFrame:
        return self.stored.metrics()

    def by_launch(self) -> dict[int, Values]:
        return self.stored.by_launch()


def archived_report(
    stored: StoredRun, folder: Path, stopped: Stopped | None = None, timeline: Collection[int] = ()
) -> Report | None:
    """Return the report of a run of the archive, or what stands for one that was dropped; None where it keeps neither.

    A compressed one is written to ``folder``, decompressed, as it is read twice. ``timeline`` are launches as of
    ``read_report``, which raises the same.
    """
    from ncu_assist.ncu.compressed import plain_file
    from ncu_assist.ncu.report import read_report
    from ncu_assist.pipeline.derived import with_code

    path = stored.report_file(folder)
    if path is None:
        return kept_report(stored)
    plain = plain_file(path, folder)
    named = plain if plain == path else plain.rename(folder / path.with_suffix("").name)
    return with_code(read_report(named, stopped=stopped, timeline=timeline), stored)


def with_report(stored: StoredRun, folder: Path, most: int, stopped: Stopped | None = None) -> StoredRun:
    """Return a run with its report opened, which is written to ``folder`` where it is compressed in the archive.

    The run itself where it keeps none, or where that has more than ``most`` launches. Raises as ``read_report`` does.
    """
    from ncu_assist.pipeline.derived import with_code

    if isinstance(stored, BareReport):
        return BareReport(stored.run, stored.folder, stored.title, with_code(stored.report, stored))
    if not stored.keeps_report or len(stored.run.launches) > most:
        return stored
    report = archived_report(stored, folder, stopped)
    return (
        stored
        if report is None
        else OpenedRun(stored.run, stored.folder, stored.reference, report, stored, pack=stored.pack)
    )


class TabledReport(KnownReport):
    """A report that is there as the tables of its run only; ``path`` is that of the first of them."""

    @cached_property
    def instances(self) -> pd.DataFrame:
        assert self.stored is not None
        return self.stored.instances()

    def timeline_of(self, launches: Collection[int] | None) -> pd.DataFrame:
        own = self.instances
        return timeline_frame(own if launches is None else own[own["launch"].isin(launches)])

    @contextlib.contextmanager
    def _opened(self, what: str) -> Iterator[tuple[Path, Path]]:
        raise DamagedData(f"{self.path.name} replaces a report that was dropped, and its {what} was not kept")
        yield  # which makes it the generator that it has to be


def kept_report(stored: StoredRun) -> Report | None:
    """Return what stands for the report that a run dropped; None where it has dropped none.

    Raises DamagedData where one of its tables was changed.
    """
    facts = stored.report_facts()
    if facts is None:
        return None
    contents = contents_of(facts, stored.kept_metrics())
    return TabledReport(stored.folder / FACTS, contents, Limits(), 0, stored=stored)


def of_library(note: str, launches: Sequence[Launch]) -> str:
    """Return why launches have no lines: of kernels that come with libraries, nobody here compiles with -lineinfo."""
    known = [library_kernel(one) for one in launches]
    names = sorted({one.library for one in known if one})
    if note != NO_LINES or not names or not all(known):
        return note
    return f"the code has no line numbers: it is from {'libraries' if names[1:] else 'a library'}, {', '.join(names)}"
