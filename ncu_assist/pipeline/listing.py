"""What the archive holds: kernels with the run of each version, baselines, drafts, and what cannot be read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.archive import BaselineInForce
from ncu_assist.analysis.ladder import KernelListing, VersionOutcome
from ncu_assist.analysis.ledger import Ledger, ledger_of
from ncu_assist.errors import NcuAssistError, UsageProblem
from ncu_assist.project import Project
from ncu_assist.sources import misnamed
from ncu_assist.spec import Version, why_skipped
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.baselines import clear_baseline, get_baseline, set_baseline
from ncu_assist.store.choosing import Context, choose_kernel, known_kernels, refuse_unreadable, unknown
from ncu_assist.store.drafts import DraftArchive
from ncu_assist.store.matching import recorded_runs_matching
from ncu_assist.store.references import resolve


def left_out(project: Project, place: str = "") -> tuple[Damage, ...]:
    """Return what of the archive cannot be read at or above a place such as ``add_one/``, of all of it by default."""
    kernel = place.partition("/")[0] or None  # runs of others are not opened
    return tuple(damage for damage in Store(project.reports).damaged(kernel) if damage.concerns(place))


def beside(project: Project, reference: str, stored: StoredRun) -> tuple[Damage, ...]:
    """Return what cannot be read where a reference looked for a run, and might have found another than ``stored``.

    Nothing for a report, and for a reference that names one run by its id.
    """
    version, at, which = reference.rpartition("/")[2].partition("@")
    if not stored.run.run_id or (version and at and which != "last"):
        return ()
    run = stored.run
    return left_out(project, f"{run.kernel}/{run.version}/" if version else f"{run.kernel}/")


def listing(project: Project, kernel: str | None) -> tuple[KernelListing, ...]:
    """Return all kernels, or the one named, with the run of each version; raises UsageProblem for a wrong name."""
    store = Store(project.reports)
    own = kernel_names(project)
    names = sorted({*own, *store.kernels()})
    if kernel is not None and kernel not in names:
        refuse_unreadable(store, kernel, None)
        raise unknown(f"there is no kernel '{kernel}'", kernel, names)
    chosen = [kernel] if kernel is not None else names
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
    runs = recorded_runs_matching(store, kernel)
    damages = store.damaged(name) if None in runs.values() else ()
    versions = tuple(_listed(name, version, runs[version.name], damages) for version in kernel.versions)
    workloads = tuple(w.name for w in kernel.workloads)
    only = {w.name: w.versions for w in kernel.workloads if w.versions}
    return KernelListing(name, kernel.summary, workloads, kernel.default_workload.name, versions, only, strays)


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
    known = known_kernels(Store(project.reports), Context(project, Path.cwd()))
    found, damaged = DraftArchive(project.reports).everything(kernel)
    if kernel is not None and kernel not in known and not found and not damaged:
        raise unknown(f"there is no kernel '{kernel}'", kernel, known)
    return ledger_of((stored.draft for stored in found), kernel, damaged)


def pin(project: Project, reference: str, kernel: str | None) -> BaselineInForce:
    """Make the run that ``reference`` names now the baseline of its kernel, until another is set or it is cleared.

    It is that run, not its version: editing or measuring the version again does not move the baseline. Raises
    UsageProblem for a reference that names no run of the archive, EnvironmentProblem where reports/ is read-only.
    """
    store = Store(project.reports)
    stored = resolve(reference, store, Context(project, Path.cwd(), kernel))
    if isinstance(stored, Path):
        message = f"{reference} is a report, and only a run in the archive can be a baseline: files move and change"
        name = f" --kernel {shlex.quote(kernel)}" if kernel else ""
        raise UsageProblem(message, f"ncu-assist import {shlex.quote(reference)}{name}")
    set_baseline(store, stored)
    return in_force(project, stored.run.kernel)


def in_force(project: Project, kernel: str | None) -> BaselineInForce:
    """Return what ``@baseline`` means, as ``baseline_of`` does; raises UsageProblem also where it means nothing."""
    found = baseline_of(project, kernel)
    if found.run is None:
        raise UsageProblem(f"no baseline is set: {found.missing}", found.to_set or "ncu-assist list")
    return found


def baseline_of(project: Project, kernel: str | None) -> BaselineInForce:
    """Return what ``@baseline`` means: the run that was set, else the one of v0, else none. No kernel: as for `show`.

    Raises UsageProblem where the run that was set is gone.
    """
    store, context = Store(project.reports), Context(project, Path.cwd(), kernel)
    name = choose_kernel(store, context, kernel, None)
    pinned = get_baseline(store, name)
    try:
        stored = resolve(f"{name}/@baseline", store, context)
    except UsageProblem as error:
        if pinned is None:
            to_set = _to_set(store, name) or error.hint
            return BaselineInForce(name, False, None, None, missing=error.message, to_set=to_set)
        raise UsageProblem(f"the baseline is gone: {error.message}", f"ncu-assist baseline clear {name}") from error
    assert isinstance(stored, StoredRun)
    return BaselineInForce(name, pinned is not None, pinned.since if pinned else None, stored)


def all_in_force(project: Project) -> tuple[BaselineInForce, ...]:
    """Return what ``@baseline`` means of each kernel that has a folder or a run; what is wrong with one is its own."""
    store = Store(project.reports)
    return tuple(_in_force_or_why(project, store, name) for name in known_kernels(store, Context(project, Path.cwd())))


def _in_force_or_why(project: Project, store: Store, kernel: str) -> BaselineInForce:
    is_set = True  # what cannot be read was set too
    try:
        is_set = get_baseline(store, kernel) is not None
        return baseline_of(project, kernel)
    except NcuAssistError as error:
        why, hint, code = error.message, error.hint, error.exit_code
        return BaselineInForce(kernel, is_set, None, None, missing=why, to_set=hint, exit_code=code)


def unpin(project: Project, kernel: str) -> BaselineInForce:
    """Forget the baseline of a kernel and return what ``@baseline`` means from now on, v0, measured or not.

    Raises UsageProblem for a kernel that does not exist, EnvironmentProblem where reports/ is read-only.
    """
    store = Store(project.reports)
    name = choose_kernel(store, Context(project, Path.cwd()), kernel, None)
    was_set = clear_baseline(store, name)
    return replace(baseline_of(project, name), cleared=was_set)


def _to_set(store: Store, kernel: str) -> str:
    """Return the command that makes the last run the baseline; empty for a kernel without a run."""
    runs = store.runs(kernel)
    return f"ncu-assist baseline set {kernel}/{runs[-1].run.version}" if runs else ""
