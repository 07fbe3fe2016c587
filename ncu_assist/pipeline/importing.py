"""Runs that belong to no kernel folder: reports from anywhere as runs of the archive, and any command profiled."""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ncu_assist.errors import StageFailed
from ncu_assist.executors import EXECUTORS
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command import ProfileOptions, check_set, find_ncu
from ncu_assist.ncu.log import ProfiledLaunch
from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.second_opinion import second_opinion
from ncu_assist.pipeline.archiving import capture_files, profile_facts
from ncu_assist.pipeline.derived import save_judged
from ncu_assist.pipeline.foreign_run import RunNames, check_names, foreign_run, report_notes, sent
from ncu_assist.pipeline.ncu_stage import Capture, NcuLimits, NcuStage, cost_words
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.pipeline.reporter import Pace, Reporter
from ncu_assist.project import Project
from ncu_assist.render.escape import readable
from ncu_assist.store import Store, StoredRun, metrics_parquet
from ncu_assist.store.reading import EXPORT, METRICS, REPORTS
from ncu_assist.store.references import existing_report


def import_report(project: Project, path: Path, names: RunNames) -> StoredRun:
    """Archive a report file. Its bytes at capture are not known, so the run says ``verified: false``.

    Raises UsageProblem if there is no such file or it is no report, DamagedData if it cannot be read whole.
    """
    check_names(names)
    existing_report(path, command="import")
    with sent():
        report = read_report(path)
        opinion = second_opinion(report)
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        files: dict[str, bytes | Path] = {METRICS: metrics_parquet(report.metrics)}
        plain = compressed.plain_file(path, Path(folder))
        files[EXPORT if report.lossy else REPORTS[0]] = compressed.compress_file(plain, Path(folder) / "packed")
        notes = (*report_notes(report), *([opinion] if opinion else []))
        run = replace(foreign_run(names, report, "imported"), verified=False, notes=notes)
        return save_judged(Store(project.reports), run, files)


def profile_program(
    project: Project,
    names: RunNames,
    command: Sequence[str],
    options: ProfileOptions,
    reporter: Reporter,
    build: Callable[[], None] = lambda: None,
) -> StoredRun:
    """Profile a command, started in the current folder, and save what it launched as one run.

    ``build`` makes the program, once it is known that it can be profiled.

    Raises UsageProblem for names or a section set that cannot be, as NcuStage.run does, and StageFailed when no launch
    was profiled. What was finished before a failure, a time limit or Ctrl-C is saved all the same.
    """
    check_names(names)
    check_set(find_ncu(), options.section_set)
    build()
    stage = program_stage(project, secrets.token_hex(6), options)
    most = options.max_launches
    cost = cost_words(options, most) if most else ""
    if cost:
        reporter.note(f"at most {cost}; --max-launches N takes fewer or more")
    pace = Pace(most or 0)

    def show(launch: ProfiledLaunch) -> bool:
        of = f" of at most {most}" if most else ""
        left = pace.left(launch.index) if most else ""
        reporter.status(f"ncu: launch {launch.index + 1}{of} · {launch.name} {launch.percent} %{left}")
        return False

    save = partial(_save, project, names, command, options)
    try:
        capture = stage.run(list(command), lambda _: None, show)
    except (StageFailed, KeyboardInterrupt) as error:
        rest = stage.rest()
        if rest is not None and rest.report.records:
            kept = save(rest, (f"incomplete: {str(error) or 'interrupted'}",))
            reporter.note(f"kept what was finished: {len(kept.run.launches)} launches, {kept.reference}")
        raise
    found = len(capture.report.records)
    if not found:
        raise StageFailed("the program launched no kernel that the filter lets through", "drop or widen --filter")
    if found == options.max_launches:
        reporter.note(f"stopped after {found} launches; --max-launches N profiles more")
    stored = save(capture, ())
    shutil.rmtree(stage.work, ignore_errors=True)
    return stored


def _save(
    project: Project,
    names: RunNames,
    command: Sequence[str],
    options: ProfileOptions,
    capture: Capture,
    notes: tuple[str, ...],
) -> StoredRun:
    report = capture.report
    profile = profile_facts(options, len(report.records), readable(" ".join(command)))
    toolchain = replace(report.toolchain, python=sys.version.split()[0])
    found = foreign_run(names, report, "live")
    run = replace(found, toolchain=toolchain, profile=profile, notes=(*notes, *report.notes))
    shared = VersionCapture(report.records, report.metrics, capture.data, capture.log, report.device, report.toolchain)
    return save_judged(Store(project.reports), run, capture_files(shared))


def dry_run(project: Project, command: Sequence[str], options: ProfileOptions) -> str:
    """Return what profile_program would run, as text for a shell."""
    return program_stage(project, "RUN", options).in_words(command)


def program_stage(project: Project, run: str, options: ProfileOptions) -> NcuStage:
    """Return the stage for a program: in the user's folder, silent as long as it likes, for it may load data first."""
    total_s = project.settings.profile_timeout_s
    folder = project.work / "profile" / run
    return NcuStage(Path.cwd(), folder, EXECUTORS["local"], options, NcuLimits(total_s, total_s))
