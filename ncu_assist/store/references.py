"""References on the command line: ``[kernel/]version[@run]``, ``@last``, ``@best``, ``@baseline``, a report's path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ncu_assist.errors import DamagedData, UsageProblem, did_you_mean
from ncu_assist.spec import source_sha256
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store.archive import Store
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import Context, choose_kernel, sources_of, versions_of
from ncu_assist.store.machine import machine_hash, shown_source
from ncu_assist.store.matching import best_run, live_first, newest_matching
from ncu_assist.store.naming import is_called, with_short_names
from ncu_assist.store.reading import StoredRun

FORMS, PACKED = (".ncu-rep", ".ncu-repz", ".csv"), ("", ".zst", ".xz", ".gz")
REPORT_ENDINGS = tuple(form + packed for form in FORMS for packed in PACKED)


def resolve(text: str, store: Store, context: Context) -> StoredRun | Path:
    """Return what a reference means: a stored run, or the path of a report that exists.

    A version means its newest run of the source as it is now, a run measured on this machine before a recorded one;
    with ``@run`` (an id, the beginning of one, or ``last``) any run may be named. Raises UsageProblem, with the nearest
    names or the candidates, for a reference that means nothing or more than one thing, DamagedData for a damaged run.
    """
    if text.endswith(REPORT_ENDINGS):
        return _report(context.folder / text)
    before, at, after = text.partition("@")
    kernel, slash, version = before.rpartition("/")
    if not version and after in SYMBOLS:
        return SYMBOLS[after](store, context, choose_kernel(store, context, kernel or None, None))
    if not version or (at and not after) or (slash and not kernel):
        raise UsageProblem(f"'{text}' is no reference", _FORMS if not at else did_you_mean(text, _SYMBOL_NAMES))
    chosen = choose_kernel(store, context, kernel or None, version)
    name = full_name(store, context, chosen, version)
    return _one_run(store, chosen, name, after) if after else _current(store, context, chosen, name)


def full_name(store: Store, context: Context, kernel: str, version: str) -> str:
    """Return the full name of a version of ``kernel``; raises UsageProblem with the nearest when there is none.

    The version in the kernel's folder goes before archived ones of the same number that were renamed since.
    """
    known = versions_of(store, context, kernel)
    found = [name for name in known if name == version] or [name for name in known if is_called(name, version)]
    if not found:
        raise UsageProblem(f"{kernel} has no version '{version}'", did_you_mean(version, with_short_names(known)))
    return found[0]


def _report(path: Path) -> Path:
    if path.is_file():
        return path
    near = [p.name for p in path.parent.iterdir() if p.name.endswith(REPORT_ENDINGS)] if path.parent.is_dir() else []
    raise UsageProblem(
        f"there is no report {path.name} in that folder", did_you_mean(path.name, near) if near else "ncu-assist list"
    )


def _current(store: Store, context: Context, kernel: str, version: str) -> StoredRun:
    """Return the run that shows a version now. Without its source, as for a foreign program, the newest one does."""
    source = next((v for v in sources_of(context, kernel) if v.name == version), None)
    runs = live_first(store.runs(kernel, version))
    found = newest_matching(store, kernel, source) if source else next(iter(runs), None)
    if found is not None:
        return found
    if not runs:
        _refuse_damaged(store, f"{kernel}/{version}/")
        raise UsageProblem(f"{kernel}/{version} has not been measured", f"ncu-assist profile {kernel} {version}")
    raise UsageProblem(
        f"{kernel}/{version} has changed since it was measured ({runs[0].run.created})",
        f"ncu-assist profile {kernel} {version}, or name the old run: {runs[0].reference}",
    )


def _one_run(store: Store, kernel: str, version: str, run_id: str) -> StoredRun:
    runs = store.runs(kernel, version)
    if run_id == "last" and runs:
        return runs[0]
    found = [r for r in runs if r.run.run_id.startswith(run_id)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageProblem(f"'{run_id}' begins {len(found)} runs", ", ".join(r.run.run_id for r in found))
    _refuse_damaged(store, f"{kernel}/{version}/{run_id}")
    known = did_you_mean(run_id, [r.run.run_id for r in runs])
    raise UsageProblem(f"{kernel}/{version} has no run '{run_id}'", known)


def _refuse_damaged(store: Store, path: str) -> None:
    for damage in store.damaged():
        if damage.path.startswith(path):
            raise DamagedData(f"{damage.path} is damaged: {damage.problem}", "ncu-assist verify")


def _last(store: Store, context: Context, kernel: str) -> StoredRun:
    now = {v.name: source_sha256(v.path) for v in sources_of(context, kernel)}
    for stored in live_first(store.runs(kernel)):
        source = shown_source(stored.run, machine_hash())
        if source != "recorded" or now.get(stored.run.version, stored.run.source_sha256) == stored.run.source_sha256:
            return stored
    raise UsageProblem(f"{kernel} has not been measured", f"ncu-assist profile {kernel}")


def _best(store: Store, context: Context, kernel: str) -> StoredRun:
    names = versions_of(store, context, kernel)
    runs = live_first([run for run in (_current_or_none(store, context, kernel, name) for name in names) if run])
    workload = _default_workload(context, kernel, runs)
    best = best_run(runs, workload)
    if best is None:
        where = f"on workload {workload}" if workload else "on any workload"
        raise UsageProblem(f"no version of {kernel} is checked and timed {where}", f"ncu-assist profile {kernel}")
    return best


def _baseline(store: Store, context: Context, kernel: str) -> StoredRun:
    baseline = get_baseline(store, kernel)
    if baseline is not None and baseline.run_id is not None:
        return _one_run(store, kernel, baseline.version, baseline.run_id)
    name = full_name(store, context, kernel, baseline.version if baseline else "v0")
    return _current(store, context, kernel, name)


def _current_or_none(store: Store, context: Context, kernel: str, version: str) -> StoredRun | None:
    try:
        return _current(store, context, kernel, version)
    except UsageProblem:
        return None


def _default_workload(context: Context, kernel: str, runs: list[StoredRun]) -> str:
    if kernel in kernel_names(context.project):
        return load_kernel(context.project, kernel).default_workload.name
    return next((w.name for r in runs for w in r.run.workloads), "")


SYMBOLS: dict[str, Callable[[Store, Context, str], StoredRun]] = {
    "last": _last,
    "best": _best,
    "baseline": _baseline,
}
_SYMBOL_NAMES = tuple(f"@{name}" for name in SYMBOLS)
_FORMS = "use version, kernel/version, version@run, @last, @best, @baseline or the path of a report"
