"""The archive as a whole: save a run, list what is there newest first, name what is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.frame.columns import Samples
from ncu_assist.record import Run
from ncu_assist.store.findings import FINDINGS, decode_findings
from ncu_assist.store.folders import DRAFTS, RUN_JSON, Damage, foreign_files, is_folder_name, leftovers, run_folders
from ncu_assist.store.reading import CODE, FACTS, INSTANCES, METRICS, SAMPLES, StoredRun, open_run
from ncu_assist.store.writing import write_run
from ncu_assist.versions import version_order

DERIVED_FILES = ("report.html",)  # made from a run later on, and made again at will: no hash


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
        stored = _ReadOnce(stored.run, stored.folder)
        broken = [problem for name in stored.run.files for problem in _changed(stored, name)]
        yield from ((problem, False) for problem in broken or _wrong_counts(stored))
        yield from ((problem, True) for problem in ([] if broken else _newer(stored)))


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
        yield f"{RUN_JSON} lists {len(listed)} launches, ncu's log says {logged}"
    if METRICS not in stored.run.files:
        return
    measured, is_double = stored.measured()
    if measured != sorted(listed):
        yield f"{METRICS} holds {len(measured)} launches, {RUN_JSON} lists {len(listed)}"
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
            yield f"{FINDINGS} speaks of launches that {RUN_JSON} does not list"
            return


def _wrong_code(stored: StoredRun) -> Iterator[str]:
    code = stored.code()
    known = {launch.kernel for launch in stored.run.launches}
    if code and not known.issuperset(one.kernel for one in code.launches):
        yield f"{CODE} speaks of kernels that {RUN_JSON} does not list"


def _wrong_facts(stored: StoredRun) -> Iterator[str]:
    facts = stored.report_facts()
    if facts is None:
        return
    listed = {launch.index: launch.kernel for launch in stored.run.launches}
    if any(listed.get(number) != one.kernel for number, one in zip(facts.numbers, facts.launches, strict=True)):
        yield f"{FACTS} speaks of launches that {RUN_JSON} does not list"
    if INSTANCES in stored.run.files and not {*stored.instance_launches()} <= {*range(len(facts.launches))}:
        yield f"{INSTANCES} speaks of launches that {FACTS} does not list"


def _without_reference(stored: StoredRun, error: DamagedData) -> str:
    return error.message.removeprefix(f"{stored.reference}: ")


@dataclass(frozen=True)
class Store:
    """The folder ``reports/`` of a project; it need not exist before the first save."""

    reports: Path

    def save(self, run: Run, files: Mapping[str, bytes | Path]) -> StoredRun:
        """Write a run, its files' sizes and hashes filled in, and return it as it reads back.

        Raises EnvironmentProblem when the disk is full or may not be written to (nothing is left behind), UsageProblem
        for a run that exists already.
        """
        return open_run(write_run(self.reports, run, files))

    def kernels(self) -> tuple[str, ...]:
        """Return the kernels with at least one run folder, sorted."""
        return tuple(sorted({folder.parts[-3] for folder in self._folders(None, None)}))

    def versions(self, kernel: str) -> tuple[str, ...]:
        """Return the versions of a kernel with at least one run folder, v10 after v9."""
        return tuple(sorted({f.parts[-2] for f in self._folders(kernel, None)}, key=version_order))

    def runs(self, kernel: str | None = None, version: str | None = None) -> list[StoredRun]:
        """Return the runs that can be read, newest first; ``version`` is a full name. Damaged ones are left out."""
        found = [r for r in (_open(f) for f in self._folders(kernel, version)) if isinstance(r, StoredRun)]
        return sorted(found, key=_age, reverse=True)

    def everything(self) -> tuple[list[StoredRun], list[Damage]]:
        """Return what ``runs`` and ``damaged`` do, each folder opened once: many records take time."""
        opened = [one if isinstance(one, Damage) else _open(one) for one in run_folders(self.reports)]
        found = [one for one in opened if isinstance(one, StoredRun)]
        return sorted(found, key=_age, reverse=True), [one for one in opened if isinstance(one, Damage)]

    def damaged(self, kernel: str | None = None) -> list[Damage]:
        """Return the runs that ``runs`` leaves out, of all kernels or one, and why.

        A folder of a kernel or a version that cannot be read is one of them: nobody knows what it holds. Cheap: sizes
        are compared, not hashes.
        """
        opened = (one if isinstance(one, Damage) else _open(one) for one in run_folders(self.reports, kernel))
        return [one for one in opened if isinstance(one, Damage)]

    def folders(self) -> list[Path]:
        """Return the folders of all runs, those of damaged ones too. Opens none."""
        return list(self._folders(None, None))

    def unreadable(self) -> list[Damage]:
        """Return the folders that cannot be looked into, so that nobody knows which runs they hold. Opens no run."""
        return [one for one in run_folders(self.reports) if isinstance(one, Damage)]

    def verify(self, deep: bool = True) -> list[Damage]:
        """Return everything that is not as it was written, interrupted writes and foreign files included.

        ``deep`` reads every file: hashes, columns, and the number of launches against the record and ncu's log.
        """
        found = [Damage(_path(folder), "is the rest of an interrupted write") for folder in leftovers(self.reports)]
        for one in run_folders(self.reports):
            if isinstance(one, Damage):
                found.append(one)
            else:
                found += [Damage(_path(one), said, is_newer) for said, is_newer in problems_of(one, deep)]
        return found

    def _folders(self, kernel: str | None, version: str | None) -> Iterator[Path]:
        """Yield run folders and no drafts; a name that could not have been saved, such as ``..``, matches nothing."""
        if version == DRAFTS or any(name is not None and not is_folder_name(name) for name in (kernel, version)):
            return
        yield from (one for one in run_folders(self.reports, kernel, version) if isinstance(one, Path))


def _open(folder: Path) -> StoredRun | Damage:
    try:
        return open_run(folder)
    except DamagedData as error:
        return Damage(_path(folder), error.message, isinstance(error, NewerData))


def _path(folder: Path) -> str:
    return "/".join(folder.parts[-3:])


def _age(stored: StoredRun) -> tuple[str, tuple[int, str], int, str]:
    """When a run was made, to the second as its record says; of two within one by when they were written."""
    run = stored.run
    return run.created, version_order(run.version), stored.folder.stat().st_mtime_ns, run.run_id
