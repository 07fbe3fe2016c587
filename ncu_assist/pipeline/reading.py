"""Answers from the archive: the run a reference names, two runs compared, everything listed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ncu_assist.diff import Diff, diff_runs
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.outcome import KernelListing, VersionOutcome
from ncu_assist.pipeline.foreign_run import default_names
from ncu_assist.pipeline.importing import Effort, import_report
from ncu_assist.project import Project
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import Context
from ncu_assist.store.matching import recorded_runs_matching, timed_together
from ncu_assist.store.references import resolve

JUST_READ = Effort(keep=False, ask_ncu=False)


@contextmanager
def opened(project: Project, reference: str, kernel: str | None) -> Iterator[StoredRun]:
    """Give the run that a reference names; a bare report is read into a run that lives as long as the with block.

    Raises UsageProblem for a reference that names nothing, DamagedData for what cannot be read whole.
    """
    found = resolve(reference, Store(project.reports), Context(project, Path.cwd(), kernel))
    if isinstance(found, StoredRun):
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        yield import_report(Project(Path(folder)), found, default_names(found, kernel, None), JUST_READ)


def compare(project: Project, references: tuple[str, str], workload: str | None, kernel: str | None) -> Diff:
    """Return the comparison of two references, the first being the baseline.

    References that name no run take their times from the newest bench of both sources. Raises as ``opened`` does.
    """
    with ExitStack() as stack:
        baseline, candidate = (stack.enter_context(opened(project, text, kernel)) for text in references)
        free = not any("@" in text.lstrip("@") for text in references)
        timed = timed_together(Store(project.reports), baseline, candidate) if free else None
        return diff_runs(baseline, candidate, workload, timed)


def listing(project: Project, kernel: str | None) -> tuple[KernelListing, ...]:
    """Return all kernels, or the one named, with the run of each version; raises UsageProblem for a wrong name."""
    store = Store(project.reports)
    own = kernel_names(project)
    names = sorted({*own, *store.kernels()})
    if kernel is not None and kernel not in names:
        raise UsageProblem(f"there is no kernel '{kernel}'", did_you_mean(kernel, names))
    chosen = [kernel] if kernel is not None else names
    if kernel in own:
        load_kernel(project, str(kernel))  # named alone, a folder that cannot be read is an error
    return tuple(_with_folder(project, store, n) if n in own else _without_folder(store, n) for n in chosen)


def _with_folder(project: Project, store: Store, name: str) -> KernelListing:
    """Return a kernel with a folder; among others, one that cannot be read says so in its place."""
    try:
        kernel = load_kernel(project, name)
    except UsageProblem as error:
        return KernelListing(name, f"cannot be read: {error.message}", (), None, ())
    versions = tuple(VersionOutcome(v, run) for v, run in recorded_runs_matching(store, kernel).items())
    workloads = tuple(w.name for w in kernel.workloads)
    return KernelListing(name, kernel.summary, workloads, kernel.default_workload.name, versions)


def _without_folder(store: Store, name: str) -> KernelListing:
    newest = {version: store.runs(name, version)[:1] for version in store.versions(name)}
    versions = tuple(VersionOutcome(version, runs[0]) for version, runs in newest.items() if runs)
    return KernelListing(name, "", (), None, versions)
