"""The pages over many runs: a kernel's versions, and the index of the archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from ncu_assist.analysis.archive import ArchiveState, KernelLadder, KernelState
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import Pair, SampleReader, common_bench, is_timed
from ncu_assist.analysis.history import History, VersionRow
from ncu_assist.analysis.yardstick import own_against_library
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.pipeline.history import Floors, history_of
from ncu_assist.pipeline.pages.readable import PageStore, own_comment, top_comment
from ncu_assist.project import Project
from ncu_assist.sources import source_sha256
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import fastest_run, live_first, newest_of_source, passed
from ncu_assist.store.drafts import DraftArchive
from ncu_assist.store.index import RunHead, by_version
from ncu_assist.versions import is_called, version_order

MOST_SHOWN = 500  # runs of a kernel, the newest, that its page lists
NEAR = 1.05  # times the best median: versions further off are not asked about
Heads = Sequence[RunHead]


def kernel_ladder(project: Project, kernel: str) -> KernelLadder:
    """Return what is known of a kernel with a run, damaged or not; damaged ones are named and stop nothing.

    Raises UsageProblem for a kernel without any run, or whose folder cannot be read.
    """
    store = PageStore(project.reports).without_changed(kernel)
    runs = tuple(store.heads(kernel))
    if not runs and not store.left_out:
        raise UsageProblem(f"{kernel} has not been measured", f"ncu-assist profile {kernel}")
    history = history_of(project, store, kernel)
    drafts, damaged_drafts = DraftArchive(project.reports).everything(kernel)
    return KernelLadder(
        history=history,
        state=kernel_state(project, store, kernel, runs) if runs else None,
        tried=_comments(project, history),
        runs=tuple(map(store.opened, runs[:MOST_SHOWN])),
        damaged=store.left_out,
        heads=runs,
        drafts=tuple(stored.draft for stored in drafts),
        damaged_drafts=tuple(damaged_drafts),
    )


def neighbours(history: History) -> Iterator[tuple[Pair, str | None]]:
    """Yield each version's run after that of the version that it is compared with, and the workload: that shown, else
    the first that both have a run on."""
    rows = {row.version: row for row in history.rows}
    places = sorted(range(len(history.workloads)), key=lambda place: history.workloads[place] != history.shown)
    for row in history.rows:
        other = rows.get(row.before or "")
        runs = ((place, _run(other, place), _run(row, place)) for place in places) if other else ()
        found = next(((place, before, run) for place, before, run in runs if before and run), None)
        if found is not None:
            yield found[1:], history.workloads[found[0]]


def _run(row: VersionRow, place: int) -> StoredRun | None:
    return row.cells[place].stored if row.cells else None


def _shown(history: History) -> dict[str, StoredRun]:
    """Return a run of each version that has one: those of a history are all of one source."""
    found = {row.version: next((one.stored for one in row.cells if one.stored), None) for row in history.rows}
    return {version: stored for version, stored in found.items() if stored is not None}


def _comments(project: Project, history: History) -> dict[str, str]:
    """Return the comment at the top of each version shown, as its file has it now: there stands what was measured.

    The code below it is that of the run. Without a folder it is the comment of the archived source.
    """
    shown = _shown(history)
    if history.kernel not in kernel_names(project):
        return {version: own_comment(stored) for version, stored in shown.items()}
    versions = load_kernel(project, history.kernel).versions
    return {one.name: top_comment(one.path.read_bytes(), one.path.suffix) for one in versions if one.name in shown}


def archive_state(project: Project) -> ArchiveState:
    """Return every kernel that has a run that can be read; what cannot be read is named, and stops nothing."""
    store = PageStore(project.reports)
    runs, damaged = store.whole()
    by_kernel = groupby(sorted(runs, key=_kernel), key=_kernel)  # stable: newest first within a kernel
    kernels = tuple(kernel_state(project, store, kernel, tuple(some)) for kernel, some in by_kernel)
    return ArchiveState(kernels, tuple(runs), tuple(damaged))


@dataclass(frozen=True)
class _KernelRuns:
    """A kernel's runs, newest first, and those that show its versions now, which are open."""

    store: Store
    runs: Heads
    current: Sequence[StoredRun]
    workload: str | None
    summary: str = ""
    problem: str = ""
    peers: frozenset[str] = frozenset()

    @property
    def versions(self) -> list[tuple[str, bool, StoredRun]]:
        """The versions as they are now, whether each is a library's, and its run."""
        return [(one.run.version, one.run.version in self.peers, one) for one in self.current]


def kernel_state(project: Project, store: Store, kernel: str, runs: Heads) -> KernelState:
    """Return what the archive knows of a kernel with these runs, at least one, newest first."""
    known = _known(project, store, kernel, runs)
    best = fastest_run(live_first(list(known.current)), known.workload) if known.workload else None
    shown = best or store.opened(runs[0])
    state = KernelState(
        kernel=kernel,
        summary=known.summary,
        workload=known.workload,
        best=best,
        baseline=None,
        verdict=None,
        shown=shown,
        source=shown.run.source,
        versions=len({head.version for head in runs}),
        runs=len(runs),
        changed=runs[0].created,
        problem=known.problem,
        floor=Floors(project.reports).of(shown, known.workload),
        own_times=_own_times(known),
    )
    try:
        judge = partial(verdict_by_time, samples=SampleReader())
        beside = own_against_library(known.versions, known.workload, judge) if known.workload else None
        return _beside_best(
            _compared(replace(state, against_library=beside), _baseline(store, kernel, known), known), known
        )
    except DamagedData as error:
        return replace(state, problem=error.message)


def _own_times(known: _KernelRuns) -> tuple[tuple[str, float], ...]:
    """Return the medians of one's own versions on the workload, in ns, in their order; those that passed its check."""
    own = [one.run for one in known.current if one.run.version not in known.peers]
    ordered = sorted(own, key=lambda run: version_order(run.version))
    timed = [(run, run.timing(known.workload)) for run in ordered if known.workload and passed(run, known.workload)]
    return tuple((run.version, timing.median_ns) for run, timing in timed if timing)


def _compared(state: KernelState, baseline: StoredRun | None, known: _KernelRuns) -> KernelState:
    """Return a state with the verdict of best against baseline, from one bench of both sources where there is one."""
    if baseline is None or state.best is None or not is_timed(baseline.run, state.workload):
        return replace(state, baseline=baseline)
    if baseline.run.source_sha256 == state.best.run.source_sha256 and baseline.run.version == state.best.run.version:
        return replace(state, baseline=baseline)
    before, after = (_of_same_source(known.runs, one) for one in (baseline, state.best))
    pair = known.store.both(common_bench(before, after, state.workload)) or (baseline, state.best)
    return replace(state, baseline=baseline, verdict=verdict_by_time(*pair, state.workload, SampleReader()))


def _beside_best(state: KernelState, known: _KernelRuns) -> KernelState:
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


def _baseline(store: Store, kernel: str, known: _KernelRuns) -> StoredRun | None:
    """Return the run that ``@baseline`` means; None where that has none."""
    chosen = get_baseline(store, kernel)
    if chosen is not None and chosen.run_id is not None:
        found = next((head for head in known.runs if head.key == (chosen.version, chosen.run_id)), None)
        return store.opened(found) if found else None
    name = chosen.version if chosen else "v0"
    return next((stored for stored in known.current if is_called(stored.run.version, name)), None)


def _known(project: Project, store: Store, kernel: str, runs: Heads) -> _KernelRuns:
    problem = ""
    if kernel in kernel_names(project):
        try:
            return _of_folder(store, load_kernel(project, kernel), runs)
        except UsageProblem as error:
            problem = f"cannot be read: {error.message}"
    current = [store.opened(live_first(some)[0]) for some in by_version(runs).values()]
    timed = [timing.workload for stored in current if stored.run.bench for timing in stored.run.bench.timings]
    return _KernelRuns(store, runs, current, next(iter(timed), None), problem=problem)


def _of_folder(store: Store, kernel: Kernel, runs: Heads) -> _KernelRuns:
    heads = by_version(runs)
    there = [version for version in kernel.versions if version.name in heads]
    found = [newest_of_source(heads[version.name], source_sha256(version.path)) for version in there]
    current = [store.opened(head) for head in found if head is not None]
    peers = frozenset(version.name for version in kernel.versions if version.is_peer)
    return _KernelRuns(store, runs, current, kernel.default_workload.name, kernel.summary, peers=peers)


def _of_same_source(runs: Heads, stored: StoredRun) -> Heads:
    wanted = stored.run.version, stored.run.source_sha256
    return [head for head in runs if (head.version, head.source_sha256) == wanted]


def _kernel(head: RunHead) -> str:
    return head.kernel
