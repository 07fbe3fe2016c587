"""The state of the whole archive, for the index: each kernel's best version against its baseline, damaged runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ncu_assist.analysis.archive import ArchiveState, KernelState
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.pipeline.floors import Floors
from ncu_assist.pipeline.pages.readable import PageStore
from ncu_assist.project import Project
from ncu_assist.sources import source_sha256
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.matching import best_run, live_first, newest_of_source, passed
from ncu_assist.versions import is_called

NEAR = 1.05  # times the best median: versions further off are not asked about
Runs = tuple[StoredRun, ...]


def archive_state(project: Project) -> ArchiveState:
    """Return every kernel that has a run that can be read; what cannot be read is named, and stops nothing."""
    store = PageStore(project.reports)
    runs, damaged = store.everything()
    by_kernel = groupby(sorted(runs, key=_kernel), key=_kernel)  # stable: newest first within a kernel
    kernels = tuple(kernel_state(project, store, kernel, tuple(some)) for kernel, some in by_kernel)
    return ArchiveState(kernels, tuple(runs), tuple(damaged))


@dataclass(frozen=True)
class _Known:
    """A kernel's runs, newest first, and those that show its versions now."""

    runs: Runs
    current: Runs
    workload: str | None
    summary: str = ""
    problem: str = ""


def kernel_state(project: Project, store: Store, kernel: str, runs: Runs) -> KernelState:
    """Return what the archive knows of a kernel with these runs, at least one, newest first."""
    known = _known(project, kernel, runs)
    best = best_run(live_first(list(known.current)), known.workload) if known.workload else None
    shown = best or runs[0]
    state = KernelState(
        kernel=kernel,
        summary=known.summary,
        workload=known.workload,
        best=best,
        baseline=None,
        verdict=None,
        shown=shown,
        source=shown.run.source,
        versions=len({stored.run.version for stored in runs}),
        runs=len(runs),
        changed=runs[0].run.created,
        problem=known.problem,
        floor=Floors(project.reports).of(shown, known.workload),
    )
    try:
        return _beside_best(_compared(state, _baseline(store, kernel, known), known), known)
    except DamagedData as error:
        return replace(state, problem=error.message)


def _compared(state: KernelState, baseline: StoredRun | None, known: _Known) -> KernelState:
    """Return a state with the verdict of best against baseline, from one bench of both sources where there is one."""
    if baseline is None or state.best is None or not is_timed(baseline.run, state.workload):
        return replace(state, baseline=baseline)
    if baseline.run.source_sha256 == state.best.run.source_sha256 and baseline.run.version == state.best.run.version:
        return replace(state, baseline=baseline)
    before, after = (_of_same_source(known.runs, one) for one in (baseline, state.best))
    pair = common_bench(before, after, state.workload) or (baseline, state.best)
    return replace(state, baseline=baseline, verdict=verdict_by_time(*pair, state.workload, SampleReader()))


def _beside_best(state: KernelState, known: _Known) -> KernelState:
    """Return a state with the versions that are as fast as the best by verdict, or may be, the closest first."""
    best, workload = state.best, state.workload
    timing = best.run.timing(workload) if best and workload else None
    if best is None or workload is None or timing is None:
        return state
    others = (one for one in known.current if one.reference != best.reference and one.run.gpu == best.run.gpu)
    times = ((one, one.run.timing(workload)) for one in others if passed(one.run, workload))
    near = [(found.median_ns, one) for one, found in times if found and found.median_ns <= NEAR * timing.median_ns]
    samples = SampleReader()
    verdicts = [
        (one.run.version, verdict_by_time(one, best, workload, samples).verdict)
        for _, one in sorted(near, key=lambda pair: pair[0])
    ]
    same, unclear = (tuple(name for name, word in verdicts if word == wanted) for wanted in ("same", "unclear"))
    return replace(state, same=same, unclear=unclear)


def _baseline(store: Store, kernel: str, known: _Known) -> StoredRun | None:
    """Return the run that ``@baseline`` means; None where that has none."""
    chosen = get_baseline(store, kernel)
    if chosen is not None and chosen.run_id is not None:
        return next((r for r in known.runs if (r.run.version, r.run.run_id) == (chosen.version, chosen.run_id)), None)
    name = chosen.version if chosen else "v0"
    return next((stored for stored in known.current if is_called(stored.run.version, name)), None)


def _known(project: Project, kernel: str, runs: Runs) -> _Known:
    problem = ""
    if kernel in kernel_names(project):
        try:
            return _of_folder(load_kernel(project, kernel), runs)
        except UsageProblem as error:
            problem = f"cannot be read: {error.message}"
    versions = dict.fromkeys(stored.run.version for stored in runs)
    current = tuple(live_first([r for r in runs if r.run.version == version])[0] for version in versions)
    timed = [timing.workload for stored in current if stored.run.bench for timing in stored.run.bench.timings]
    return _Known(runs, current, next(iter(timed), None), problem=problem)


def _of_folder(kernel: Kernel, runs: Runs) -> _Known:
    by_version = {version: [r for r in runs if r.run.version == version.name] for version in kernel.versions}
    found = [newest_of_source(some, source_sha256(version.path)) for version, some in by_version.items() if some]
    current = tuple(stored for stored in found if stored is not None)
    return _Known(runs, current, kernel.default_workload.name, kernel.summary)


def _of_same_source(runs: Runs, stored: StoredRun) -> Sequence[StoredRun]:
    wanted = stored.run.version, stored.run.source_sha256
    return [one for one in runs if (one.run.version, one.run.source_sha256) == wanted]


def _kernel(stored: StoredRun) -> str:
    return stored.run.kernel
