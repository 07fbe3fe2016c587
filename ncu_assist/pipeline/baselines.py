"""The baseline of a kernel: the run that ``@baseline`` names, set, shown and cleared."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.archive import BaselineInForce
from ncu_assist.errors import NcuAssistError, UsageProblem
from ncu_assist.project import Project
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.baselines import clear_baseline, get_baseline, set_baseline
from ncu_assist.store.choosing import Context, choose_kernel, known_kernels
from ncu_assist.store.references import resolve


def pin(project: Project, reference: str, kernel: str | None) -> BaselineInForce:
    """Make the run that ``reference`` names now the baseline of its kernel, until another is set or it is cleared.

    It is that run, not its version: editing or measuring the version again does not move the baseline. Raises
    UsageProblem for a reference that names no run of the archive, EnvironmentProblem where reports/ is read-only.
    """
    store = Store(project.reports)
    stored = resolve(reference, store, Context(project, Path.cwd(), kernel))
    if isinstance(stored, Path):
        message = f"{reference} is a report; a baseline must be a run in the archive, because files move and change"
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
            runs = store.runs(name)
            to_set = f"ncu-assist baseline set {name}/{runs[-1].run.version}" if runs else error.hint
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
