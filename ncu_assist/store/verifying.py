"""What is wrong with a run folder: its files, their hashes, their tables, their counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.store.findings import FINDINGS, decode_findings
from ncu_assist.store.folders import foreign_files
from ncu_assist.store.naming import RUN_JSON
from ncu_assist.store.reading import CODE, METRICS, SAMPLES, StoredRun, open_run
from ncu_assist.store.sample_counts import samples_problem

DERIVED_FILES = ("report.html",)  # made from a run later on, and made again at will: no hash


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
        broken = [problem for name in stored.run.files for problem in _changed(stored, name)]
        yield from ((problem, False) for problem in broken or _wrong_counts(stored))
        yield from ((problem, True) for problem in ([] if broken else _newer(stored)))


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
    metrics = stored.metrics()
    measured = sorted(int(index) for index in metrics["launch"].unique())
    if measured != sorted(listed):
        yield f"{METRICS} holds {len(measured)} launches, {RUN_JSON} lists {len(listed)}"
    if metrics.duplicated(["launch", "metric"]).any():
        yield f"{METRICS} holds a metric twice for one launch"


def _wrong_samples(stored: StoredRun) -> Iterator[str]:
    if stored.run.bench is None:
        return
    if SAMPLES not in stored.run.files:
        yield f"{SAMPLES} is missing although {RUN_JSON} has timings"
        return
    samples = stored.samples()
    own = samples[samples["version"] == stored.run.version]
    workloads = dict.fromkeys([*(timing.workload for timing in stored.run.bench.timings), *map(str, own["workload"])])
    yield from filter(None, (samples_problem(stored.run, own, workload) for workload in workloads))


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


def _without_reference(stored: StoredRun, error: DamagedData) -> str:
    return error.message.removeprefix(f"{stored.reference}: ")
