"""The archive as a whole: save a run, list what is there newest first, name what is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, TypeVar

from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.frame.columns import Samples
from ncu_assist.quantity import number_of
from ncu_assist.record import Run
from ncu_assist.steps import steps
from ncu_assist.store.findings import FINDINGS, decode_findings
from ncu_assist.store.folders import (
    DERIVED_FILES,
    DRAFTS,
    RUN_JSON,
    Damage,
    foreign_files,
    holds_runs,
    is_folder_name,
    kernel_folders,
    leftovers,
    run_folders,
)
from ncu_assist.store.index import RunHead, entries, has_record, shown_problem
from ncu_assist.store.packs import Key, Pack, opened_packs
from ncu_assist.store.reading import CODE, FACTS, INSTANCES, METRICS, SAMPLES, StoredRun, open_packed, open_run
from ncu_assist.store.writing import write_run
from ncu_assist.versions import version_order


def samples_problem(run: Run, found: Samples, workload: str) -> str:
    """Return how the samples of a run's own version on a workload contradict its timing; empty where they agree.

    A workload on which every sample was late has samples and no timing, as none of them is good.
    """
    timing = run.timing(workload)
    late = int(found["late"].sum())
    good = len(found) - late
    if timing is None:
        return f"{SAMPLES} has {good} samples of workload {workload}, {RUN_JSON} no timing of it" if good else ""
    if timing.bench_id not in set(found["bench_id"]):
        return f"{SAMPLES} has no samples of workload {workload}"
    if (good, late) == (timing.samples, timing.dropped):
        return ""
    listed = f"{RUN_JSON} lists {timing.samples} and {timing.dropped}"
    return f"{SAMPLES} has {good} good and {late} late samples of workload {workload}, {listed}"


def problems_of(folder: Path, deep: bool) -> Iterator[tuple[str, bool]]:
    """Yield what is wrong with the run in ``folder``, and whether that is only that a newer version wrote it."""
    try:
        stored = open_run(folder)
    except DamagedData as error:
        yield error.message, isinstance(error, NewerData)
        return
    alien = foreign_files(folder, {RUN_JSON, *DERIVED_FILES, *stored.run.files}, "run")
    yield from ((problem, False) for problem in alien)
    if deep:
        yield from deep_problems(stored)


def packed_problems(pack: Pack, key: Key, deep: bool) -> Iterator[tuple[str, bool]]:
    """Yield what ``problems_of`` does, of a run in a pack."""
    try:
        stored = open_packed(pack, key)
    except DamagedData as error:
        yield error.message, isinstance(error, NewerData)
        return
    alien = sorted(pack.sizes(key).keys() - stored.run.files.keys())
    yield from ((f"{name} is not a file of this run", False) for name in alien)
    if deep:
        yield from deep_problems(stored)


def deep_problems(stored: StoredRun) -> Iterator[tuple[str, bool]]:
    """Yield what is wrong with the files of a run, by their hashes and by what they say of each other."""
    once = _ReadOnce(stored.run, stored.folder, pack=stored.pack)
    broken = [problem for name in once.run.files for problem in _changed(once, name)]
    yield from ((problem, False) for problem in broken or _wrong_counts(once))
    yield from ((problem, True) for problem in ([] if broken else _newer(once)))


@dataclass(frozen=True)
class _ReadOnce(StoredRun):
    """A run of which each file is read once: its hash is held against it, then what it holds."""

    _read: dict[str, bytes] = field(default_factory=dict, repr=False)

    def read(self, name: str) -> bytes:
        if name not in self._read:
            self._read[name] = super().read(name)
        return self._read[name]


def _changed(stored: StoredRun, name: str) -> Iterator[str]:
    try:
        stored.read(name)
    except DamagedData as error:
        yield _without_reference(stored, error)


def _wrong_counts(stored: StoredRun) -> Iterator[str]:
    try:
        yield from _wrong_launches(stored)
        yield from _wrong_samples(stored)
        yield from _wrong_findings(stored)
        yield from _wrong_code(stored)
        yield from _wrong_facts(stored)
        stored.report_bytes()
    except DamagedData as error:
        yield _without_reference(stored, error)


def _wrong_launches(stored: StoredRun) -> Iterator[str]:
    listed = [launch.index for launch in stored.run.launches]
    logged = stored.run.profile.launches_logged if stored.run.profile else None
    if logged is not None and logged != len(listed):
        yield f"{RUN_JSON} lists {number_of(len(listed), 'launch')}, ncu's log says {logged}"
    if METRICS not in stored.run.files:
        return
    measured, is_double = stored.measured()
    if measured != sorted(listed):
        yield f"{METRICS} holds {number_of(len(measured), 'launch')}, {RUN_JSON} lists {len(listed)}"
    if is_double:
        yield f"{METRICS} holds a metric twice for one launch"


def _wrong_samples(stored: StoredRun) -> Iterator[str]:
    if stored.run.bench is None:
        return
    if SAMPLES not in stored.run.files:
        yield f"{SAMPLES} is missing although {RUN_JSON} has timings"
        return
    run, samples = stored.run, stored.sampled()
    sampled = map(str, samples["workload"][samples["version"] == run.version])
    workloads = dict.fromkeys([*(timing.workload for timing in stored.run.bench.timings), *sampled])
    yield from filter(None, (samples_problem(run, samples.of(run.version, one), one) for one in workloads))


def _newer(stored: StoredRun) -> Iterator[str]:
    """Yield the files of a run that a newer version wrote, and that this one goes without."""
    try:
        if FINDINGS in stored.run.files:
            decode_findings(stored.read(FINDINGS), FINDINGS)
    except NewerData as error:
        yield error.message
    except DamagedData:
        return  # which is told already


def _wrong_findings(stored: StoredRun) -> Iterator[str]:
    found = stored.findings()
    known = {(launch.index, launch.kernel) for launch in stored.run.launches}
    workloads = {launch.workload for launch in stored.run.launches}
    for one in found.judged if found else ():
        if one.workload not in workloads or (one.launch is not None and (one.launch, one.kernel) not in known):
            yield f"{FINDINGS} names launches that {RUN_JSON} does not list"
            return


def _wrong_code(stored: StoredRun) -> Iterator[str]:
    code = stored.code()
    known = {launch.kernel for launch in stored.run.launches}
    if code and not known.issuperset(one.kernel for one in code.launches):
        yield f"{CODE} names kernels that {RUN_JSON} does not list"


def _wrong_facts(stored: StoredRun) -> Iterator[str]:
    facts = stored.report_facts()
    if facts is None:
        return
    listed = {launch.index: launch.kernel for launch in stored.run.launches}
    if any(listed.get(number) != one.kernel for number, one in zip(facts.numbers, facts.launches, strict=True)):
        yield f"{FACTS} names launches that {RUN_JSON} does not list"
    if INSTANCES in stored.run.files and not {*stored.instance_launches()} <= {*range(len(facts.launches))}:
        yield f"{INSTANCES} names launches that {FACTS} does not list"


def _without_reference(stored: StoredRun, error: DamagedData) -> str:
    return error.message.removeprefix(f"{stored.reference}: ")


T = TypeVar("T")
Listing = tuple[list[RunHead], list[Damage]]


@dataclass(frozen=True)
class Store:
    """The folder ``reports/`` of a project; it need not exist before the first save.

    The runs ``left_out`` are listed as damaged: see ``without_changed``.
    """

    reports: Path
    left_out: tuple[Damage, ...] = ()
    _seen: dict[str, Listing] | None = field(default=None, repr=False, compare=False, kw_only=True)

    def seen_once(self) -> Self:
        """Return the archive as it is when it is first asked of each kernel: no folder is listed a second time."""
        return replace(self, _seen={})

    def save(self, run: Run, files: Mapping[str, bytes | Path]) -> StoredRun:
        """Write a run, its files' sizes and hashes filled in, and return it as it reads back.

        Raises EnvironmentProblem when the disk is full or may not be written to (nothing is left behind), UsageProblem
        for a run that exists already.
        """
        return open_run(write_run(self.reports, run, files))

    def kernels(self) -> tuple[str, ...]:
        """Return the kernels with at least one run, sorted."""
        folders = [one for one in kernel_folders(self.reports) if isinstance(one, Path)]
        return tuple(sorted(one.name for one in folders if holds_runs(one) or self._has_packed(one.name)))

    def versions(self, kernel: str) -> tuple[str, ...]:
        """Return the versions of a kernel with at least one run, v10 after v9."""
        loose = {folder.parts[-2] for folder in self._folders(kernel, None)}
        return tuple(sorted(loose | {key[0] for pack in self.packs(kernel) for key in pack.runs}, key=version_order))

    def packs(self, kernel: str | None = None) -> list[Pack]:
        """Return the packs that can be read."""
        return [pack for name in self._kernels(kernel) for pack in opened_packs(self.reports, name)[0]]

    def listed(self, kernel: str | None = None, version: str | None = None) -> tuple[list[RunHead], list[Damage]]:
        """Return what the index knows of the runs that can be read, newest first, and what is damaged."""
        if version == DRAFTS or any(name is not None and not is_folder_name(name) for name in (kernel, version)):
            return [], []
        heads, damages = self._listing(kernel, version)
        place = "".join(f"{name}/" for name in (kernel, version) if name)
        lost = {one.path for one in self.left_out}
        heads = [one for one in heads if one.path not in lost]
        damages += [one for one in self.left_out if one not in damages and one.concerns(place)]
        return sorted(heads, key=_age, reverse=True), sorted(damages, key=lambda one: one.path)

    def _listing(self, kernel: str | None, version: str | None) -> Listing:
        """Return the runs, and what is damaged, in lists of the caller's own: as seen before where that is kept."""
        if self._seen is None or (kernel is None and version is not None):
            return self._look(kernel, version)
        heads: list[RunHead] = []
        damages: list[Damage] = []
        for one in kernel_folders(self.reports, kernel):
            if isinstance(one, Damage):
                damages.append(one)
                continue
            if one.name not in self._seen:
                self._seen[one.name] = self._look(one.name, None)
            found, wrong = self._seen[one.name]
            heads += found
            damages += wrong
        if version is None:
            return heads, damages
        place = f"{kernel}/{version}/"
        return [one for one in heads if one.version == version], [one for one in damages if one.concerns(place)]

    def _look(self, kernel: str | None, version: str | None) -> Listing:
        folders: dict[str, list[Path]] = {name: [] for name in self._kernels(kernel)}
        damages: list[Damage] = []
        for one in run_folders(self.reports, kernel, version):
            if isinstance(one, Damage):
                damages.append(one)
            else:
                folders.setdefault(one.parts[-3], []).append(one)
        heads: list[RunHead] = []
        for name, loose in folders.items():
            found, wrong = entries(self.reports, name, loose, version)
            heads += found
            damages += wrong
        return heads, damages

    def whole(self, kernel: str | None = None) -> tuple[list[RunHead], list[Damage]]:
        """Return what can be read whole and what cannot, by the hashes of what a ladder shows too."""
        heads, damages = self.listed(kernel)
        found = [(one, self.problem_of(one)) for one in heads if one.problem != ""]  # of most, nothing is wrong
        wrong = {one.path: problem for one, problem in found if problem}
        changed = [Damage(path, problem) for path, problem in wrong.items()]
        whole = [one for one in heads if one.path not in wrong] if wrong else heads
        return whole, sorted((*damages, *changed), key=lambda one: one.path)

    def problem_of(self, head: RunHead) -> str:
        """Return what is wrong with the files that a ladder goes by; empty for nothing."""
        return shown_problem(self.opened(head)) if head.problem is None else head.problem

    def without_changed(self, kernel: str | None = None) -> Self:
        """Return the archive in which the runs, of a kernel or of all, that ``whole`` calls damaged are left out."""
        place = f"{kernel}/" if kernel else ""
        return replace(self, left_out=tuple(one for one in self.whole(kernel)[1] if one.concerns(place)))

    def read_whole(
        self, kernel: str, read: Callable[[Self], T], is_enough: Callable[[Self], object] | None = None
    ) -> tuple[T, tuple[Damage, ...]]:
        """Return what ``read`` finds of a kernel, and what is left out of it: a second reading has no changed runs.

        Raises DamagedData if what is left is not ``is_enough``, by default any run of the kernel. Only when damage is
        met are the files of all runs read.
        """
        store = self
        try:
            found = read(store)
        except DamagedData:
            store = self.without_changed(kernel)
            if not (is_enough(store) if is_enough else store.heads(kernel)):
                raise
            found = read(store)
        return found, tuple(one for one in store.damaged(kernel) if one.concerns(f"{kernel}/"))

    def read_others(self, stored: StoredRun, read: Callable[[Self], T]) -> tuple[T, tuple[Damage, ...]]:
        """Return what ``read`` finds for a run in the others of its kernel, as ``read_whole`` does.

        Raises DamagedData if the run itself was changed.
        """
        run = stored.run
        own = f"{run.kernel}/{run.version}/{run.run_id}"
        return self.read_whole(run.kernel, read, lambda whole: own not in {one.path for one in whole.left_out})

    def heads(self, kernel: str | None = None, version: str | None = None) -> list[RunHead]:
        """Return what the index knows of the runs that can be read, newest first; ``version`` is a full name.

        ``opened`` opens one of them. Where the index knows it, no record is read.
        """
        return self.listed(kernel, version)[0]

    def opened(self, head: RunHead) -> StoredRun:
        """Return the run of an entry; raises DamagedData where it cannot be read any more."""
        if isinstance(head.place, StoredRun):
            return head.place
        folder = self.reports / head.kernel / head.version / head.run_id
        try:
            return open_packed(head.place, head.key) if head.place else open_run(folder)
        except DamagedData:  # packed since, or into another pack
            now = next((pack for pack in self.packs(head.kernel) if head.key in pack.runs), None)
            if now is None or now == head.place:
                raise
            return open_packed(now, head.key)

    def both(self, pair: tuple[RunHead, RunHead] | None) -> tuple[StoredRun, StoredRun] | None:
        """Return two runs, opened; None for none."""
        return (self.opened(pair[0]), self.opened(pair[1])) if pair else None

    def runs(self, kernel: str | None = None, version: str | None = None) -> list[StoredRun]:
        """Return the runs that can be read, newest first; ``version`` is a full name. Damaged ones are left out.

        All of them are opened: of many, choose among ``heads``.
        """
        return [one for one in map(self._opened, self.heads(kernel, version)) if isinstance(one, StoredRun)]

    def everything(self) -> tuple[list[StoredRun], list[Damage]]:
        """Return what ``runs`` and ``damaged`` do, each run opened once: many records take time."""
        heads, damages = self.listed()
        opened = [self._opened(head) for head in heads]
        lost = [one for one in opened if isinstance(one, Damage)]
        return [one for one in opened if isinstance(one, StoredRun)], [*damages, *lost]

    def damaged(self, kernel: str | None = None) -> list[Damage]:
        """Return the runs that ``runs`` leaves out, of all kernels or one, and why.

        A folder of a kernel or a version, and a pack, that cannot be read is one of them: nobody knows what it holds.
        Cheap: sizes are compared, not hashes.
        """
        return self.listed(kernel)[1]

    def folders(self) -> list[Path]:
        """Return the folders of all runs, those of damaged ones too, and where packed ones would lie. Opens none."""
        packed = (pack.folder(key) for pack in self.packs() for key in pack.runs)
        return list(dict.fromkeys([*self._folders(None, None), *packed]))

    def unreadable(self) -> list[Damage]:
        """Return the folders and packs that cannot be looked into, so that nobody knows which runs they hold.

        Opens no run.
        """
        folders = [one for one in run_folders(self.reports) if isinstance(one, Damage)]
        return folders + [damage for name in self._kernels(None) for damage in opened_packs(self.reports, name)[1]]

    def verify(self, deep: bool = True) -> list[Damage]:
        """Return everything that is not as it was written, interrupted writes and foreign files included.

        ``deep`` reads every file: hashes, columns, and the number of launches against the record and ncu's log.
        """
        found = [Damage(_path(folder), "is left over from an interrupted write") for folder in leftovers(self.reports)]
        packs = [pack for name in self._kernels(None) for pack in opened_packs(self.reports, name)[0]]
        packed = {pack.folder(key) for pack in packs for key in pack.runs}
        for one in steps("verifying runs", list(run_folders(self.reports))):
            if isinstance(one, Damage):
                found.append(one)
            elif one not in packed or has_record(one):
                wrong = [Damage(_path(one), said, is_newer) for said, is_newer in problems_of(one, deep)]
                found += wrong if has_record(one) or not self._packed_since(one) else []
            else:
                found += [Damage(_path(one), said) for said in foreign_files(one, {*DERIVED_FILES}, "run")]
        for name in self._kernels(None):
            found += opened_packs(self.reports, name)[1]
        for pack in packs:
            for key in steps(f"verifying {pack.path.name}", list(pack.runs)):
                place = _path(pack.folder(key))
                wrong = [Damage(place, said, is_newer) for said, is_newer in packed_problems(pack, key, deep)]
                found += wrong if not wrong or pack.path.exists() or not self._packed_since(pack.folder(key)) else []
        return found

    def _packed_since(self, folder: Path) -> bool:
        """Tell whether a run is in a pack now, whole: another process packs while this one verifies."""
        kernel, *key = folder.parts[-3:]
        pack = next((one for one in self.packs(kernel) if (key[0], key[1]) in one.runs), None)
        return pack is not None and not any(packed_problems(pack, (key[0], key[1]), True))

    def _has_packed(self, kernel: str) -> bool:
        return any(pack.runs for pack in opened_packs(self.reports, kernel)[0])

    def _kernels(self, kernel: str | None) -> list[str]:
        if kernel is not None and not is_folder_name(kernel):
            return []
        return [one.name for one in kernel_folders(self.reports, kernel) if isinstance(one, Path)]

    def _opened(self, head: RunHead) -> StoredRun | Damage:
        try:
            return self.opened(head)
        except DamagedData as error:
            return Damage(head.path, error.message, isinstance(error, NewerData))

    def _folders(self, kernel: str | None, version: str | None) -> Iterator[Path]:
        """Yield run folders and no drafts; a name that could not have been saved, such as ``..``, matches nothing."""
        if version == DRAFTS or any(name is not None and not is_folder_name(name) for name in (kernel, version)):
            return
        yield from (one for one in run_folders(self.reports, kernel, version) if isinstance(one, Path))


def _path(folder: Path) -> str:
    return "/".join(folder.parts[-3:])


def _age(head: RunHead) -> tuple[str, tuple[int, str], int, str]:
    """When a run was made, to the second as its record says; of two within one by when they were written."""
    return head.created, version_order(head.version), head.written_ns, head.run_id
