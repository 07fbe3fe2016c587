"""Build the history of a kernel from the archive: the run that shows each version, and the verdict on each step.

It includes the floors of the runs, the sweeps over an integer, and which version builds on which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.analysis.history import CounterReader, History, HistoryCell, OtherGpu, Sweep, VersionRow
from ncu_assist.analysis.yardstick import OwnAgainstLibrary, own_against_library
from ncu_assist.ceilings import Ceilings, Floor, ceilings_of, floor_of
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.pipeline.derived import judged_now
from ncu_assist.pipeline.pages.readable import own_comment
from ncu_assist.project import Project
from ncu_assist.sources import HEADER_COMMENT, header_comment, source_sha256
from ncu_assist.spec import ALL, Kernel, Version, Workload, unserved, why_skipped
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.answers import Answers
from ncu_assist.store.choosing import Context, choose_kernel, gpu_model, live_first
from ncu_assist.store.findings import FINDINGS
from ncu_assist.store.index import RunHead, own_source
from ncu_assist.versions import IMPORTED, Descent, Lineage, descent, version_order

if TYPE_CHECKING:
    from ncu_assist.record import Device

LEAST = 2  # points of an axis


@dataclass(frozen=True)
class Floors:
    """What an archive knows of GPUs, and the package of their models."""

    reports: Path
    _known: dict[Device, Ceilings | None] = field(default_factory=dict, repr=False)

    def of(self, stored: StoredRun, workload: str | None) -> Floor | None:
        """Return the least time of a workload on the GPU of a run, None if the GPU or its rates are not known."""
        facts = stored.run.workload(workload) if workload else None
        device = stored.run.device
        if facts is None or device is None:
            return None
        if device not in self._known:
            self._known[device] = ceilings_of(device, self.reports)
        return floor_of(facts, self._known[device], stored.run)


SweptWorkloads = tuple[str, str, tuple[tuple[int, str], ...]]  # version, integer, its values each with a workload


def sweeps_of(kernel: Kernel, measured: Collection[str | None]) -> tuple[SweptWorkloads, ...]:
    """Return the sweeps of kernel.toml over the measured workloads: versions, integers, points.

    The neighbours of a workload for only some versions are those of its dtype that differ from it in a single integer.
    A workload for all versions may be a point, too: it has the value that the ladder is measured with.
    """
    known = [workload for workload in kernel.workloads if workload.name in measured]
    found = (sweep for version in kernel.versions for sweep in _of_version(version, known))
    return tuple(dict.fromkeys(found))


def _of_version(version: Version, known: list[Workload]) -> Iterator[SweptWorkloads]:
    served = [workload for workload in known if version.serves(workload)]
    for own in (workload for workload in served if workload.versions):
        for axis in own.integers:
            points = {one.integers[axis]: one.name for one in served if _differs_in(axis, own, one)}
            if len(points) >= LEAST:
                yield version.name, axis, tuple(sorted(points.items()))


def _differs_in(axis: str, one: Workload, other: Workload) -> bool:
    """Return whether two workloads differ in this integer at most."""
    same = one.dtype == other.dtype and one.integers.keys() == other.integers.keys()
    return same and all(other.integers[name] == value for name, value in one.integers.items() if name != axis)


def lineage_of(store: Store, kernel: str, versions: Sequence[str]) -> Lineage:
    """Return which archived versions build on which, in this order; sources are read on demand.

    Kernels are next to the archive. Reading raises DamagedData for an archived source that was changed.
    """
    folder = Project(store.reports.parent).kernels / kernel

    def said(version: str) -> Descent:
        if kernel == IMPORTED:
            return Descent(())
        newest = next(iter(live_first(store.heads(kernel, version))), None)
        return _descent(store.opened(newest), folder) if newest else Descent()

    return Lineage(versions, cache(said))


def _descent(stored: StoredRun, folder: Path) -> Descent:
    name = own_source(stored.run)
    if name is None:
        return Descent()  # a foreign program
    suffix = PurePosixPath(name).suffix
    now = folder / PurePosixPath(name).name
    if suffix in HEADER_COMMENT and now.is_file() and source_sha256(now) == stored.run.source_sha256:
        return descent(header_comment(now.read_bytes(), suffix))
    return descent(own_comment(stored))


@dataclass(frozen=True)
class _VersionRuns:
    """A version with its runs of one source, this machine's first, newest first; ``changed`` are runs of other sources.

    The runs are entries of the index; only the runs that are shown are opened.
    """

    version: str
    runs: tuple[RunHead, ...]
    changed: tuple[RunHead, ...] = ()
    missing: str = ""
    dtypes: tuple[str, ...] = ()
    unserved: tuple[str, ...] = ()
    is_peer: bool = False


@dataclass(frozen=True)
class _Versions:
    store: Store
    versions: tuple[_VersionRuns, ...]
    lineage: Lineage
    workloads: tuple[str, ...]  # of kernel.toml, in its order
    default: str | None
    kernel: Kernel | None = None


def history(
    project: Project,
    kernel: str | None = None,
    workload: str | None = None,
    gpu: str | None = None,
    page: Callable[[int], slice] = lambda versions: slice(None),
) -> History:
    """Return the versions of a kernel, each against its parent; ``workload`` None or ``all`` means all measured ones.

    ``gpu`` is a model or a part of its name; without it, runs of any GPU count. ``page`` gets the number of versions
    and returns the slice to show; counters are read only for these.

    A version is shown by runs of its current source. On each workload, a run of this machine is preferred to a recorded
    one, and a run with times and counters to one with less. Times are compared within the newest bench of both. A
    kernel without a folder has all its archived versions, in the order of their first runs. Damaged runs are left out
    and named in ``left_out``. Raises UsageProblem for a kernel, workload or GPU that does not exist, DamagedData if
    the files of every run were changed.
    """
    store, context = Store(project.reports), Context(project, Path.cwd())
    name = choose_kernel(store, context, kernel, None)

    def read(whole: Store) -> History:
        """All that the printers of a history need is read here, so that damage is met here and not by them."""
        answers = Answers(whole.reports, name)
        found = history_of(project, whole, name, workload, answers, gpu)
        found = found.page(page(len(found.rows))).read_counters()
        for predicted in (cell.predicted for row in found.rows for cell in row.cells):
            _ = predicted and predicted.findings()
        answers.save()
        return found

    found, left_out = store.read_whole(name, read)
    return replace(found, left_out=left_out)


def history_of(
    project: Project,
    store: Store,
    name: str,
    workload: str | None = None,
    answers: Answers | None = None,
    gpu: str | None = None,
) -> History:
    """Return the history of an existing kernel, as ``history`` does, from the runs that ``store`` lists.

    Counters are read on demand. Results are cached; with ``answers``, once those are saved.
    """
    plan = _of_folder(project, store, name) if name in kernel_names(project) else _of_archive(store, name)
    plan = plan if gpu is None else _on_gpu(plan, name, gpu)
    measured = _measured(plan)
    chosen = measured if workload in (None, ALL) else (_named(name, workload, plan, measured),)
    shown = _shown(plan, chosen)
    floors = Floors(store.reports)
    known = answers or Answers(store.reports, name)
    rows = {row.version: _judged(row, shown, floors, known) for row in _rows(plan, chosen, shown, known)}
    found = History(name, chosen, shown, tuple(rows.values()))
    if plan.kernel is not None:
        only = {one.name: one.versions for one in plan.kernel.workloads if one.versions and one.name in chosen}
        sweeps = tuple(
            Sweep(version, axis, tuple((value, rows[version].cells[chosen.index(at)]) for value, at in points))
            for version, axis, points in sweeps_of(plan.kernel, chosen)
        )
        found = replace(found, sweeps=sweeps, only=only)
    found = replace(found, against_library=tuple(_against_libraries(found, SampleReader(known))))
    if answers is None:
        known.save()
    return _with_others(found, plan, floors)


def _of_folder(project: Project, store: Store, name: str) -> _Versions:
    kernel = load_kernel(project, name)
    versions = tuple(_as_now(store, kernel, version) for version in kernel.versions)
    names = tuple(w.name for w in kernel.workloads)
    return _Versions(store, versions, kernel.lineage, names, kernel.default_workload.name, kernel)


def _as_now(store: Store, kernel: Kernel, version: Version) -> _VersionRuns:
    """Return a version with the runs of its current source, or why there are none."""
    runs, now = live_first(store.heads(kernel.name, version.name)), source_sha256(version.path)
    matching = tuple(stored for stored in runs if stored.run.source_sha256 == now)
    changed = tuple(stored for stored in runs if stored.run.source_sha256 != now)
    missing = "" if matching else _why_missing(store, kernel.name, version, runs)
    apart = unserved(version, kernel.workloads)
    return _VersionRuns(version.name, matching, changed, missing, version.dtypes, apart, version.is_peer)


def _why_missing(store: Store, kernel: str, version: Version, runs: Sequence[RunHead]) -> str:
    if runs:
        return f"has changed since it was measured; the old run is {runs[0].reference}"
    skipped = why_skipped(version)
    return _damage(store, kernel, version.name) or (f"skipped: {skipped}" if skipped else "not measured")


def _damage(store: Store, kernel: str, version: str) -> str:
    """Return the damage of a version that has only damaged runs, empty if it has no runs."""
    of_version = (damage for damage in store.damaged(kernel) if damage.concerns(f"{kernel}/{version}/"))
    return next((f"its run {damage.words}" for damage in of_version), "")


def _of_archive(store: Store, name: str) -> _Versions:
    runs = {version: store.heads(name, version) for version in store.versions(name)}
    first = {version: found[-1].created for version, found in runs.items() if found}
    ordered = sorted(first, key=lambda version: (first[version], version_order(version)))
    versions = tuple(_of_one_source(version, live_first(runs[version])) for version in ordered)
    newest = versions[-1].runs[0].workloads if versions else ()
    return _Versions(store, versions, lineage_of(store, name, ordered), (), newest[0].name if newest else None)


def _of_one_source(version: str, runs: Sequence[RunHead]) -> _VersionRuns:
    shown = runs[0].run.source_sha256
    same, changed = ([r for r in runs if (r.run.source_sha256 == shown) is alike] for alike in (True, False))
    return _VersionRuns(version, tuple(same), tuple(changed))


def _on_gpu(plan: _Versions, kernel: str, wanted: str) -> _Versions:
    """Return the versions with their runs on the one GPU model whose name contains ``wanted``."""
    chosen = gpu_model((stored.run.gpu for known in plan.versions for stored in known.runs), wanted, kernel)

    def there(known: _VersionRuns) -> _VersionRuns:
        kept, changed = (
            tuple(stored for stored in some if stored.run.gpu == chosen) for some in (known.runs, known.changed)
        )
        return replace(known, runs=kept, changed=changed, missing="" if kept else f"not measured on {chosen}")

    return replace(plan, versions=tuple(map(there, plan.versions)))


def _measured(plan: _Versions) -> tuple[str | None, ...]:
    """Return the workloads that any version was run on, or only None if the runs have no workloads."""
    runs = [stored.run for known in plan.versions for stored in known.runs]
    found = dict.fromkeys(facts.name for run in runs for facts in run.workloads)
    ordered = [*(name for name in plan.workloads if name in found), *(n for n in found if n not in plan.workloads)]
    return tuple(ordered) or ((None,) if runs else (plan.default,))


def _named(kernel: str, wanted: str | None, plan: _Versions, measured: tuple[str | None, ...]) -> str | None:
    names = dict.fromkeys([*plan.workloads, *(name for name in measured if name is not None)])
    if wanted in names:
        return wanted
    if not names:
        message = f"the runs of {kernel} have no workloads, so there is no '{wanted}'"
        raise UsageProblem(message, "drop --workload")
    help_ = did_you_mean(str(wanted), [ALL, *names])
    raise UsageProblem(f"{kernel} has no workload '{wanted}'; {help_}", f"ncu-assist history {kernel}")


def _shown(plan: _Versions, workloads: tuple[str | None, ...]) -> str | None:
    """Return the default workload if any version was timed on it, else the first that was."""
    runs = [stored.run for known in plan.versions for stored in known.runs]
    timed = [name for name in workloads if any(is_timed(run, name) for run in runs)] or list(workloads)
    return plan.default if plan.default in timed else timed[0]


def _rows(
    plan: _Versions, workloads: tuple[str | None, ...], shown: str | None, answers: Answers
) -> Iterator[VersionRow]:
    """Yield the versions, each against the nearest that it builds on with a time on the same workload."""
    samples, counters = SampleReader(answers), CounterReader(answers)
    versions = {known.version: known for known in plan.versions}
    for known in plan.versions:
        older = [versions[name] for name in plan.lineage.ancestors(known.version)]
        nearest = {workload: _timed(older, workload) for workload in workloads}
        made = (_cell(plan.store, nearest[name], known, name, samples) for name in workloads)
        cells = [replace(one, counters=counters, samples=samples) for one in made]
        before = _before(cells, nearest, shown) if known.runs else None
        cells = [replace(one, before=one.before or before) if one.stored else one for one in cells]
        parents = plan.lineage.parents(known.version)
        yield VersionRow(known.version, before, tuple(cells), known.missing, known.dtypes, known.is_peer, parents)


def _timed(versions: Sequence[_VersionRuns], workload: str | None) -> _VersionRuns | None:
    """Return the first version with a time on a workload."""
    runs = ((known, _run_on(known, workload)) for known in versions)
    return next((known for known, stored in runs if stored and is_timed(stored.run, workload)), None)


def _before(
    cells: Sequence[HistoryCell], nearest: Mapping[str | None, _VersionRuns | None], shown: str | None
) -> str | None:
    """Return the version to compare with: the one on the workload shown, else on the first that the version serves."""
    served = sorted((one for one in cells if one.served), key=lambda one: one.workload != shown)
    return next((other.version for one in served if (other := nearest[one.workload])), None)


def _cell(
    store: Store, before: _VersionRuns | None, known: _VersionRuns, workload: str | None, samples: SampleReader
) -> HistoryCell:
    run, other = _run_on(known, workload), _run_on(before, workload) if before else None
    sides = [side for side in (other, run) if side and is_timed(side.run, workload)]
    alone = HistoryCell(workload, store.opened(run) if run else None, served=workload not in known.unserved)
    if before is None or other is None or run is None:
        return alone
    predicted = _predicted(before.runs, known.runs, other, workload)
    compared = replace(alone, predicted=store.opened(predicted) if predicted else None, before=before.version)
    if len(sides) < 2:
        return compared
    first, second = map(store.opened, common_bench(before.runs, known.runs, workload) or sides)
    return replace(compared, verdict=verdict_by_time(first, second, workload, samples))


def _against_libraries(found: History, samples: SampleReader) -> Iterator[OwnAgainstLibrary]:
    """Yield the fastest own version against the fastest library, on each workload that versions are compared on."""
    for place in found.places:
        name = found.workloads[place]
        runs = [(row.version, row.is_peer, row.cells[place].stored) for row in found.rows if row.cells]
        one = own_against_library(runs, name, partial(verdict_by_time, samples=samples)) if name is not None else None
        if one is not None:
            yield one


def _judged(row: VersionRow, shown: str | None, floors: Floors, answers: Answers) -> VersionRow:
    """Return a version with its floors, and with findings of the current rules if the run shown has none."""
    cells = []
    for one in row.cells:
        if one.stored is not None:
            judged = judged_now(one.stored, shown, floors.reports, answers) if one.workload == shown else one.judged
            one = replace(one, floor=floors.of(one.stored, one.workload), judged=judged)
        cells.append(one)
    return replace(row, cells=tuple(cells))


Timed = dict[str, RunHead]  # by version


def _with_others(found: History, plan: _Versions, floors: Floors) -> History:
    """Return a history with the times on GPU models other than that of its newest run."""
    shown, above = found.shown, found.newest.gpu if found.newest else None
    if shown is None or above is None:
        return found
    benches: dict[str, dict[str, Timed]] = {}
    for known in plan.versions:
        for stored in (*known.runs, *known.changed):
            gpu = stored.run.gpu
            timing = stored.run.timing(shown) if gpu not in (None, above) else None
            if timing is not None:
                benches.setdefault(str(gpu), {}).setdefault(timing.bench_id, {}).setdefault(known.version, stored)
    samples = SampleReader()
    others = (_other_gpu(found, plan, gpu, benches[gpu], floors, samples) for gpu in sorted(benches))
    return replace(found, others=tuple(others))


def _other_gpu(
    found: History, plan: _Versions, gpu: str, benches: Mapping[str, Timed], floors: Floors, samples: SampleReader
) -> OtherGpu:
    """Return the bench of a GPU that timed the most versions with their current source, the newest of several."""
    as_shown = {bench: _as_shown(plan, timed) for bench, timed in benches.items()}

    def worth(bench: str) -> tuple[int, int, str]:
        timed = benches[bench]
        return len(as_shown[bench]), len(timed), max(stored.run.created for stored in timed.values())

    bench = max(benches, key=worth)
    timed, current = benches[bench], as_shown[bench]
    shown = {version: plan.store.opened(head) for version, head in current.items()}
    runs = [(row.version, row.is_peer, shown.get(row.version)) for row in found.rows]
    names = [name for place in found.places if (name := found.workloads[place]) is not None]
    judge = partial(verdict_by_time, samples=samples)
    against = tuple(one for name in names if (one := own_against_library(runs, name, judge)) is not None)
    return OtherGpu(
        gpu,
        bench,
        plan.store.opened(max(timed.values(), key=lambda head: head.created)).run,
        tuple(_cell_there(found, row, shown, plan.lineage, floors, samples) for row in found.rows),
        tuple(version for version in timed if version not in current),
        against,
    )


def _as_shown(plan: _Versions, timed: Timed) -> Timed:
    """Return the runs of a bench that have the same source as the runs shown."""
    runs = {known.version: known.runs for known in plan.versions}
    return {version: stored for version, stored in timed.items() if stored in runs[version]}


def _cell_there(
    found: History,
    row: VersionRow,
    timed: Mapping[str, StoredRun],
    lineage: Lineage,
    floors: Floors,
    samples: SampleReader,
) -> HistoryCell:
    """Return a version on the workload shown, against the nearest one that it builds on, both from one bench."""
    shown, served, stored = found.shown, found.cell(row).served, timed.get(row.version)
    if stored is None:
        return HistoryCell(shown, served=served)
    before = next((name for name in lineage.ancestors(row.version) if name in timed), None)
    verdict = verdict_by_time(timed[before], stored, shown, samples) if before else None
    return HistoryCell(shown, stored, verdict, before=before, served=served, floor=floors.of(stored, shown))


def _predicted(
    before: Sequence[RunHead], after: Sequence[RunHead], shown: RunHead, workload: str | None
) -> RunHead | None:
    """Return the run whose findings were current when a version was first measured: a later rule cannot predict it.

    Both runs are of the GPU model of ``shown``, the run that shows the version before.
    """
    first = min((stored.run.created for stored in after if stored.run.gpu == shown.run.gpu), default="")
    earlier = [
        stored
        for stored in before
        if FINDINGS in stored.run.files
        and stored.run.created <= first
        and stored.run.gpu == shown.run.gpu
        and any(launch.workload == workload for launch in stored.run.launches)
    ]
    return max(earlier, key=lambda stored: stored.run.created, default=None)


def _run_on(known: _VersionRuns, workload: str | None) -> RunHead | None:
    """Return the run that shows a version on a workload: live before recorded, timed, counted, then the newest.

    The list is in that order (live first, newest first), so the first complete run is the best.
    """
    machine = machine_hash()
    telling = [one for one in _up_to_whole(known.runs, workload) if _says_something(one, workload)]
    return min(telling, key=lambda one: (shown_source(one, machine) != "live", *_lacks(one, workload)), default=None)


def _up_to_whole(runs: Iterable[RunHead], workload: str | None) -> Iterator[RunHead]:
    for one in runs:
        yield one
        if not any(_lacks(one, workload)):
            return


def _lacks(run: RunHead, workload: str | None) -> tuple[bool, bool]:
    return not is_timed(run, workload), not any(workload in (None, launch.workload) for launch in run.launches)


def _says_something(run: RunHead, workload: str | None) -> bool:
    """Return whether a run has a time, counters or a failed check on a workload; a passed check alone is no result."""
    return run.is_wrong(workload) or not all(_lacks(run, workload))
