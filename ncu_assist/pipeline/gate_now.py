"""What of stored runs still holds for a gate: kernel.toml and reference.py may have changed since they were made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ncu_assist.errors import UsageProblem
from ncu_assist.project import Project
from ncu_assist.record import Run, WorkloadFacts
from ncu_assist.spec import Kernel, Workload
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import StoredRun
from ncu_assist.versions import short_name

REFERENCE = "source/reference.py"


def kernel_now(project: Project, run: Run) -> Kernel | None:
    """Return the kernel of a run as its folder has it; None for a foreign program and for a folder with mistakes."""
    if run.source_sha256 is None or run.kernel not in kernel_names(project):
        return None
    try:
        return load_kernel(project, run.kernel)
    except UsageProblem:
        return None


def as_now(kernel: Kernel | None, stored: StoredRun) -> StoredRun:
    """Return a run with what it holds on the workloads that kernel.toml has as they were when it was made."""
    run = stored.run
    names = {facts.name for facts in run.workloads if kernel is None or _is_as_now(kernel, facts)}
    if len(names) == len(run.workloads):
        return stored
    timings = tuple(one for one in run.bench.timings if one.workload in names) if run.bench else ()
    held = replace(
        run,
        workloads=tuple(one for one in run.workloads if one.name in names),
        checks=tuple(one for one in run.checks if one.workload in names),
        bench=replace(run.bench, timings=timings) if run.bench else None,
        launches=tuple(one for one in run.launches if one.workload in names),
    )
    return replace(stored, run=held)


def outdated(kernel: Kernel, runs: Sequence[StoredRun], wanted: str | None) -> tuple[str, ...]:
    """Return the workloads on which no run counts, as kernel.toml has changed or renamed what the runs were made on.

    None for one that was removed where others are left. ``wanted`` is the only one that is looked at, None for all;
    raises UsageProblem where kernel.toml has none of that name any more.
    """
    measured = [facts for one in runs for facts in one.run.workloads if wanted in (None, facts.name)]
    held = {facts.name for facts in measured if _is_as_now(kernel, facts)}
    changed = [facts for facts in measured if facts.name not in held]
    if changed and wanted is not None:
        kernel.select_workloads(wanted)
    left = [one for one in kernel.workloads if one.name not in held]
    again = [one.name for one in left if any(one.name == old.name or _is_like(one, old) for old in changed)]
    return tuple(again or ([kernel.default_workload.name] if changed and not held else []))


def without_folder(project: Project, sides: Sequence[StoredRun]) -> Iterator[str]:
    """Yield which kernels have no folder that could tell what has changed since their runs were made."""
    own = {one.run.kernel for one in sides if one.run.source_sha256 is not None}
    for kernel in sorted(own - set(kernel_names(project))):
        yield f"kernels/{kernel} has no kernel.toml: only stored runs were judged, whatever has changed since"


def other_references(project: Project, sides: Sequence[StoredRun]) -> Iterator[str]:
    """Yield which runs were checked against another reference.py than there is now."""
    old = dict.fromkeys(short_name(one.run.version) for one in sides if _is_of_another_reference(project, one))
    if old:
        yield f"reference.py has changed since results were checked against it: those of {' and '.join(old)}"


def _is_of_another_reference(project: Project, stored: StoredRun) -> bool:
    """Tell whether a run was checked, and reference.py is there and is not as it was then."""
    kept = stored.run.files.get(REFERENCE)
    if kept is None or not stored.run.checks:
        return False
    try:
        now = (project.kernels / stored.run.kernel / "reference.py").read_bytes()
    except OSError:  # reading the kernel's folder says so, where there is one
        return False
    return hashlib.sha256(now).hexdigest() != kept.sha256


def _is_as_now(kernel: Kernel, facts: WorkloadFacts) -> bool:
    return any(one.name == facts.name and _is_like(one, facts) for one in kernel.workloads)


def _is_like(workload: Workload, facts: WorkloadFacts) -> bool:
    return workload.dtype == facts.dtype and workload.integers == facts.integers
