"""The page of a kernel's ladder: its history, what each version tried, every run, the pairs that have a diff."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ncu_assist.analysis.archive import KernelLadder
from ncu_assist.analysis.history import History, Step
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.history import history_of
from ncu_assist.pipeline.pages.index import kernel_state
from ncu_assist.pipeline.pages.readable import own_source, readable
from ncu_assist.project import Project
from ncu_assist.sources import header_comment
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.drafts import DraftArchive

MOST_OF_A_COMMENT = 20_000  # bytes of a source that are looked at for the comment at its top


def kernel_ladder(project: Project, kernel: str) -> KernelLadder:
    """Return what is known of a kernel with a run, damaged or not; damaged ones are named and stop nothing.

    Raises UsageProblem for a kernel without any run, or whose folder cannot be read.
    """
    store = readable(Store(project.reports), kernel)
    runs = tuple(store.runs(kernel))
    if not runs and not store.left_out:
        raise UsageProblem(f"{kernel} has not been measured", f"ncu-assist profile {kernel}")
    history = history_of(project, store, kernel)
    drafts, damaged_drafts = DraftArchive(project.reports).everything(kernel)
    return KernelLadder(
        history=history,
        state=kernel_state(project, store, kernel, runs) if runs else None,
        tried=_comments(project, history),
        runs=runs,
        damaged=store.left_out,
        drafts=tuple(stored.draft for stored in drafts),
        damaged_drafts=tuple(damaged_drafts),
    )


def ladder_page(project: Project, kernel: str, pages: Collection[str] = ()) -> str:
    """Return the page of a kernel; ``pages`` are those that it may link to, relative to ``reports/<kernel>/``."""
    from ncu_assist.render.html.ladder import ladder_html

    return ladder_html(kernel_ladder(project, kernel), frozenset(pages))


@dataclass(frozen=True)
class Neighbours:
    """The runs of a version and of the one that it is compared with, that one first, on a workload of both."""

    pair: tuple[StoredRun, StoredRun]
    workload: str | None


def neighbours(history: History) -> Iterator[Neighbours]:
    """Yield each version's run after that of the version that it is compared with: on the workload shown, else on the
    first that both have a run on."""
    steps = {step.version: step for step in history.steps}
    places = sorted(range(len(history.workloads)), key=lambda place: history.workloads[place] != history.shown)
    for step in history.steps:
        other = steps.get(step.before or "")
        runs = ((place, _run(other, place), _run(step, place)) for place in places) if other else ()
        found = next(((place, before, run) for place, before, run in runs if before and run), None)
        if found is not None:
            yield Neighbours(found[1:], history.workloads[found[0]])


def _run(step: Step, place: int) -> StoredRun | None:
    return step.standings[place].run if step.standings else None


def _shown(history: History) -> dict[str, StoredRun]:
    """Return a run of each version that has one: those of a history are all of one source."""
    found = {step.version: next((one.run for one in step.standings if one.run), None) for step in history.steps}
    return {version: stored for version, stored in found.items() if stored is not None}


def _comments(project: Project, history: History) -> dict[str, str]:
    """Return the comment at the top of each version shown, as its file has it now: there stands what was measured.

    The code below it is that of the run. Without a folder it is the comment of the archived source.
    """
    shown = _shown(history)
    if history.kernel not in kernel_names(project):
        return {version: _archived(stored) for version, stored in shown.items()}
    versions = load_kernel(project, history.kernel).versions
    return {one.name: _comment(one.path.read_bytes(), one.path.suffix) for one in versions if one.name in shown}


def _archived(stored: StoredRun) -> str:
    name = own_source(stored)
    if name is None:
        return ""
    return _comment(stored.read(name), PurePosixPath(name).suffix)


def _comment(source: bytes, suffix: str) -> str:
    return header_comment(source[:MOST_OF_A_COMMENT], suffix)
