"""What the archive holds: kernels with the run of each version, the ledger of drafts, and what cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import KernelListing, VersionOutcome
from ncu_assist.analysis.yardstick import OwnAgainstLibrary, own_against_library
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.project import Project
from ncu_assist.record import Run
from ncu_assist.sources import SOURCES, misnamed
from ncu_assist.spec import Version, why_skipped
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.choosing import Context, known_kernels, recorded_runs_matching, refuse_unreadable, unknown

if TYPE_CHECKING:
    from ncu_assist.analysis.diff.records import DiffSide
    from ncu_assist.analysis.ledger import Ledger


def left_out(project: Project, place: str = "", store: Store | None = None) -> tuple[Damage, ...]:
    """Return what of the archive cannot be read at or above a place such as ``add_one/``, of all of it by default."""
    kernel = place.partition("/")[0] or None  # runs of others are not opened
    return tuple(damage for damage in (store or Store(project.reports)).damaged(kernel) if damage.concerns(place))


def beside(project: Project, reference: str, run: Run | DiffSide) -> tuple[Damage, ...]:
    """Return what cannot be read where a reference looked for a run, and might have found another than ``run``.

    Nothing for a report, and for a reference that names one run by its id.
    """
    version, at, which = reference.rpartition("/")[2].partition("@")
    if not run.run_id or (version and at and which != "last"):
        return ()
    return left_out(project, f"{run.kernel}/{run.version}/" if version not in ("", run.kernel) else f"{run.kernel}/")


def listed_kernels(project: Project) -> list[str]:
    """Return the names of all kernels: those with a folder, and those with runs."""
    return sorted({*kernel_names(project), *Store(project.reports).kernels()})


def listed(
    project: Project, kernel: str | None, among: Sequence[str]
) -> tuple[tuple[KernelListing, ...], tuple[Damage, ...]]:
    """Return the kernels ``among`` all or the one named, with what is left out of it or of all kernels.

    The archive is looked through once. Raises UsageProblem for a wrong name.
    """
    store = Store(project.reports).seen_once()
    kernels = listing(project, kernel, among, store)
    damages = left_out(project, f"{kernel}/" if kernel else "", store)
    return kernels, tuple(dict.fromkeys((*damages, *(one for found in kernels for one in found.left_out))))


def listing(
    project: Project, kernel: str | None, among: Sequence[str] | None = None, store: Store | None = None
) -> tuple[KernelListing, ...]:
    """Return all kernels, those ``among`` them or the one named, with the run of each version.

    Raises UsageProblem for a wrong name.
    """
    store = store or Store(project.reports).seen_once()
    own = kernel_names(project)
    names = listed_kernels(project) if among is None or kernel not in (None, *own) else among
    if kernel is not None and kernel not in (*own, *names):
        refuse_unreadable(store, kernel, None)
        if kernel.endswith(tuple(SOURCES)) and (Path.cwd() / kernel).is_file():
            from ncu_assist.pipeline.planning import no_kernel

            raise no_kernel(project, kernel, Path.cwd())
        raise unknown(f"there is no kernel '{kernel}'", kernel, names)
    chosen = [kernel] if kernel is not None else names if among is None else among
    if kernel in own:
        load_kernel(project, str(kernel))  # named alone, a folder that cannot be read is an error
    return tuple(_with_folder(project, store, n) if n in own else _without_folder(store, n) for n in chosen)


def _with_folder(project: Project, store: Store, name: str) -> KernelListing:
    """Return a kernel with a folder; among others, one that cannot be read says so in its place."""
    strays = misnamed(project.kernels / name)
    try:
        kernel = load_kernel(project, name)
    except UsageProblem as error:
        told = error.message + (f"; try: {error.hint}" if error.hint and "\n" not in error.message else "")
        return KernelListing(name, f"cannot be read: {told}", (), None, (), misnamed=strays)
    workloads = tuple(w.name for w in kernel.workloads)
    only = {w.name: w.versions for w in kernel.workloads if w.versions}
    default = kernel.default_workload.name
    contradicting: list[Damage] = []

    def read(whole: Store) -> KernelListing:
        runs = recorded_runs_matching(whole, kernel)
        damages = whole.damaged(name) if None in runs.values() else ()
        versions = tuple(_listed(name, version, runs[version.name], damages) for version in kernel.versions)
        beside = None
        try:
            beside = _against_library(whole, name, versions, default)
        except DamagedData as error:
            if whole is store:
                raise
            contradicting.append(Damage((error.of or name).replace("@", "/"), error.problem))  # not as its record says
        return KernelListing(name, kernel.summary, workloads, default, versions, only, strays, beside)

    found, damaged = store.read_whole(name, read, lambda _: True)
    return replace(found, left_out=(*damaged, *contradicting))


def _against_library(
    store: Store, kernel: str, versions: Sequence[VersionOutcome], workload: str
) -> OwnAgainstLibrary | None:
    """Return the fastest own version against the fastest library; a verdict that `history` found is not made anew.

    Raises DamagedData for samples that were changed.
    """
    from ncu_assist.analysis.diff.comparing import verdict_by_time
    from ncu_assist.analysis.diff.timing import SampleReader

    answers = Answers(store.reports, kernel)
    runs = ((one.version, one.is_peer, one.run) for one in versions)
    found = own_against_library(runs, workload, partial(verdict_by_time, samples=SampleReader(answers)))
    answers.save()
    return found


def _listed(kernel: str, version: Version, run: StoredRun | None, damages: Sequence[Damage]) -> VersionOutcome:
    if run is not None:
        return VersionOutcome(version.name, run, is_peer=version.is_peer)
    is_unknown = any(damage.concerns(f"{kernel}/{version.name}/") for damage in damages)
    why = why_skipped(version)
    return VersionOutcome(version.name, None, skipped=why, unreadable=is_unknown, is_peer=version.is_peer)


def _without_folder(store: Store, name: str) -> KernelListing:
    heads = {version: store.heads(name, version) for version in store.versions(name)}
    newest = {version: store.opened(found[0]) if found else None for version, found in heads.items()}
    versions = tuple(VersionOutcome(version, run, unreadable=run is None) for version, run in newest.items())
    return KernelListing(name, "", (), None, versions)


def ledger(project: Project, kernel: str | None = None) -> Ledger:
    """Return what came of the drafts of a kernel, None: of all; damaged ones are named in it and count nowhere.

    Raises UsageProblem for a kernel that does not exist.
    """
    from ncu_assist.analysis.ledger import ledger_of
    from ncu_assist.store.drafts import DraftArchive

    known = known_kernels(Store(project.reports), Context(project, Path.cwd()))
    found, damaged = DraftArchive(project.reports).everything(kernel)
    if kernel is not None and kernel not in known and not found and not damaged:
        raise unknown(f"there is no kernel '{kernel}'", kernel, known)
    return ledger_of((stored.draft for stored in found), kernel, damaged)
