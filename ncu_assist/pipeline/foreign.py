"""Programs and reports that are not a kernel folder's: profile any command, archive a report from anywhere."""

from __future__ import annotations

import re
import secrets
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ncu_assist import __version__
from ncu_assist.errors import DamagedData, StageFailed, UsageProblem
from ncu_assist.executors import EXECUTORS
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command import ProfileOptions, check_set, find_ncu
from ncu_assist.ncu.log import ProfiledLaunch
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.pipeline.archiving import capture_files, profile_facts
from ncu_assist.pipeline.ncu_stage import Capture, Limits, NcuStage
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.record import Profile, Run, Source, Toolchain
from ncu_assist.store import Store, StoredRun, machine_hash, new_run_id
from ncu_assist.store.naming import is_folder_name

IMPORTED = "imported"  # the kernel that reports without another name belong to
UNFIT = re.compile(r"[^A-Za-z0-9_.+-]")  # what may not stand in the name of a folder of the archive
LONGEST_NAME = 100


@dataclass(frozen=True)
class Names:
    """Under which kernel and version a foreign run is archived."""

    kernel: str
    version: str


def profile_program(
    project: Project, names: Names, command: Sequence[str], options: ProfileOptions, reporter: Reporter
) -> StoredRun:
    """Profile a command, started in the current folder, and save what it launched as one run.

    Raises UsageProblem for names or a section set that cannot be, as NcuStage.run does, and StageFailed when no launch
    was profiled. What was finished before a failure, a time limit or Ctrl-C is saved all the same.
    """
    _check_names(names)
    check_set(find_ncu(), options.section_set)
    stage = _stage(project, secrets.token_hex(6), options)

    def show(launch: ProfiledLaunch) -> bool:
        reporter.status(f"ncu: launch {launch.index + 1} · {launch.name} {launch.percent} %")
        return False

    save = partial(_save, project, names, command, options)
    try:
        capture = stage.run(list(command), lambda _: None, show)
    except (StageFailed, KeyboardInterrupt) as error:
        rest = stage.rest()
        if rest is not None and rest.report.launches:
            kept = save(rest, (f"incomplete: {str(error) or 'interrupted'}",))
            reporter.note(f"kept what was finished: {len(kept.run.launches)} launches, {kept.reference}")
        raise
    found = len(capture.report.launches)
    if not found:
        raise StageFailed("the program launched no kernel that the filter lets through", "drop or widen --filter")
    if found == options.max_launches:
        reporter.note(f"stopped after {found} launches; --max-launches N profiles more")
    stored = save(capture, ())
    shutil.rmtree(stage.work, ignore_errors=True)
    return stored


def _save(
    project: Project,
    names: Names,
    command: Sequence[str],
    options: ProfileOptions,
    capture: Capture,
    notes: tuple[str, ...],
) -> StoredRun:
    shared = _capture(capture.report, capture.data, capture.log)
    profile = profile_facts(options, len(shared.launches), " ".join(command))
    run = replace(_run(names, shared, "live", profile), notes=notes)
    return Store(project.reports).save(run, capture_files(shared))


def dry_run(project: Project, command: Sequence[str], options: ProfileOptions) -> str:
    """Return what profile_program would run, as text for a shell."""
    return _stage(project, "RUN", options).in_words(command)


def _stage(project: Project, run: str, options: ProfileOptions) -> NcuStage:
    """Return the stage for a program: in the user's folder, silent as long as it likes, for it may load data first."""
    total_s = project.settings.profile_timeout_s
    folder = project.work / "profile" / run
    return NcuStage(Path.cwd(), folder, EXECUTORS["local"], options, Limits(total_s, total_s))


def _check_names(names: Names) -> None:
    """Raise UsageProblem for a name that cannot be a folder: before minutes of profiling, not after."""
    for what, name in (("kernel", names.kernel), ("version", names.version)):
        if not is_folder_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a {what}", "use letters, digits, _ . + and -")


def import_report(project: Project, path: Path, names: Names) -> StoredRun:
    """Archive a report file. Its bytes at capture are not known, so the run says ``verified: false``.

    Raises UsageProblem if there is no such file, DamagedData if it cannot be read whole.
    """
    if not path.is_file():
        raise UsageProblem(f"there is no file {path.name}", "give the path of a .ncu-rep")
    try:
        report = read_report(path)
    except DamagedData as error:
        raise DamagedData(error.message, "get the file again from where it was made") from error
    shared = _capture(report, compressed.read_plain(path), "")
    files = capture_files(shared)
    del files["ncu.log"]
    return Store(project.reports).save(replace(_run(names, shared, "imported", None), verified=False), files)


def default_names(path: Path, kernel: str | None, version: str | None) -> Names:
    """Return the names for a report: kernel ``imported`` and the file's own name, made fit, unless others are given."""
    stem = path.name.removesuffix(".zst").removesuffix(".ncu-rep").removesuffix(".ncu-repz")
    fit = UNFIT.sub("_", stem).lstrip(".-+")[:LONGEST_NAME]
    return Names(kernel or IMPORTED, version or fit or "report")


def _capture(report: Report, data: bytes, log: str) -> VersionCapture:
    return VersionCapture(report.launches, report.metrics, data, log, report.device, report.ncu_version)


def _run(names: Names, capture: VersionCapture, source: Source, profile: Profile | None) -> Run:
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
        device=capture.device,
        toolchain=Toolchain(python=sys.version.split()[0] if source == "live" else None, ncu=capture.ncu_version),
        workloads=(),
        profile=profile,
        launches=capture.launches,
    )
