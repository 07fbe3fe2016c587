"""Runs that belong to no kernel folder: their names and record, and reports from anywhere as runs of the archive."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ncu_assist import __version__
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command_line import options_in
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.second_opinion import second_opinion
from ncu_assist.pipeline.derived import save_judged
from ncu_assist.project import Project
from ncu_assist.record import ROUNDED, Profile, Run, Source, Toolchain
from ncu_assist.render.escape import readable
from ncu_assist.store import Store, StoredRun, machine_hash, metrics_parquet, new_run_id
from ncu_assist.store.naming import is_folder_name
from ncu_assist.store.reading import EXPORT, METRICS, REPORTS
from ncu_assist.store.references import existing_report

IMPORTED = "imported"  # the kernel that reports without another name belong to
SUFFIXES = (".zst", ".xz", ".gz", ".ncu-rep", ".ncu-repz", ".nsight-cuprof-report", ".csv")
UNFIT = re.compile(r"[^A-Za-z0-9_.+-]")  # what may not stand in the name of a folder of the archive
LONGEST_NAME = 100


@dataclass(frozen=True)
class RunNames:
    """Under which kernel and version a foreign run is archived."""

    kernel: str
    version: str


def check_names(names: RunNames) -> None:
    """Raise UsageProblem for a name that cannot be a folder: before minutes of profiling, not after."""
    for what, name in (("kernel", names.kernel), ("version", names.version)):
        if not is_folder_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a {what}", "use letters, digits, _ . + and -")


def default_names(path: Path, kernel: str | None, version: str | None) -> RunNames:
    """Return the names for a report: kernel ``imported`` and the file's own name, made fit, unless others are given."""
    return RunNames(kernel or IMPORTED, version or fit_name(stem(path)) or "report")


def fit_name(name: str) -> str:
    """Return a name made fit for a folder of the archive; empty for one of which nothing is fit."""
    return UNFIT.sub("_", readable(name)).lstrip(".-+")[:LONGEST_NAME]


def stem(path: Path) -> str:
    """Return the name of a report without its endings; empty for one that has nothing else."""
    name = path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def foreign_run(names: RunNames, report: Report, source: Source) -> Run:
    """Return the record of a run made of a report, without notes, as if its bytes were those of its capture."""
    moment = datetime.now(UTC)
    return Run(
        run_id=new_run_id(moment, names.version),
        kernel=names.kernel,
        version=names.version,
        source=source,
        created=moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool=__version__,
        machine=machine_hash(),
        source_sha256=None,
        verified=True,
        device=report.device,
        toolchain=toolchain_of(report),
        workloads=(),
        profile=_profile(report),
        launches=report.records,
    )


def toolchain_of(report: Report) -> Toolchain:
    """Return the versions that a report says."""
    return Toolchain(ncu=report.ncu_version, cuda=report.cuda_version)


def _profile(report: Report) -> Profile | None:
    """Return how the counters of a report were taken, as far as its command line says."""
    o = options_in(report.contents.session.command)
    return Profile(o.section_set, o.clock_control, o.cache_control, o.replay_mode, None, "") if o else None


def import_report(project: Project, path: Path, names: RunNames) -> StoredRun:
    """Archive a report file. Its bytes at capture are not known, so the run says ``verified: false``.

    Raises UsageProblem if there is no such file or it is no report, DamagedData if it cannot be read whole.
    """
    check_names(names)
    existing_report(path, command="import")
    try:
        report = read_report(path)
        opinion = second_opinion(report)
    except DamagedData as error:
        again = error.hint in ("", "profile again")  # whoever imports did not profile
        raise DamagedData(
            error.message, "get the file again from where it was made" if again else error.hint
        ) from error
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        files: dict[str, bytes | Path] = {METRICS: metrics_parquet(report.metrics)}
        plain = compressed.plain_file(path, Path(folder))
        files[EXPORT if report.lossy else REPORTS[0]] = compressed.compress_file(plain, Path(folder) / "packed")
        notes = (*report_notes(report), *([opinion] if opinion else []))
        run = replace(foreign_run(names, report, "imported"), verified=False, notes=notes)
        return save_judged(Store(project.reports), run, files)


def report_notes(report: Report) -> tuple[str, ...]:
    """Return what a run made of a report has to say about it."""
    return (*report.notes, *((ROUNDED,) if report.lossy else ()))
