"""Triage of a program: record its whole run at little cost, then profile one launch each of what takes the time."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NoReturn

import pandas as pd

from ncu_assist import process
from ncu_assist.analysis.triage import ProfiledGroup, Triage
from ncu_assist.environment import COUNTED_AS_NVML, gpu_here
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed, UsageProblem, did_you_mean
from ncu_assist.executors import EXECUTORS
from ncu_assist.ncu.command import ProfileOptions, find_ncu
from ncu_assist.ncu.failures import ProfiledLaunch
from ncu_assist.pipeline.programs import ProgramCall, build, names_for, profile_program, program_stage
from ncu_assist.pipeline.showing import gather
from ncu_assist.process import Completed
from ncu_assist.project import Project
from ncu_assist.quantity import duration
from ncu_assist.record import Launch
from ncu_assist.render.table import RUN_PAGE
from ncu_assist.steps import Pace, Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.folders import new_run_id
from ncu_assist.trace import NSYS_REPORT, Trace, export_argv, find_nsys, make_trace, read_trace, record_argv

Recording = Literal["auto", "torch", "nsys", "ncu"]
INJECTED = Path(__file__).parents[1] / "harness" / "injected"
FOLDER, SECONDS = "NCU_ASSIST_TRACE_FOLDER", "NCU_ASSIST_TRACE_SECONDS"  # as in injected/sitecustomize.py
PYTHON = re.compile(r"python[\d.]*|torchrun|accelerate|deepspeed|uv|ipython")  # what starts a Python in the end
HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
LOOK_TIMEOUT_S = 60.0
EXPORT_TIMEOUT_S = 1800.0
MOST_UNDER_NCU = 2000  # launches: each takes some ten milliseconds, even for its time alone
ONLY_TIMES = ProfileOptions(
    nvtx_include=None, cache_control="none", metrics=("gpu__time_duration.sum",), max_launches=MOST_UNDER_NCU
)
SHOWN_WORDS = 1500  # letters of what a program said at its end
OF_TORCH = "no process of it imported torch and launched a kernel"


Recorded = tuple[Trace, Path | None, float]  # a trace, the file that keeps it if any, how long the program took with it


def read_file(project: Project, path: Path, reporter: Reporter) -> Trace:
    """Return the trace of a file; a report of Nsight Systems is exported first.

    Raises UsageProblem for a file that is none, EnvironmentProblem where an export needs an nsys that is not here.
    """
    if not path.is_file():
        beside = [str(one) for one in path.parent.glob(f"*{path.suffix}")]
        near = did_you_mean(str(path), beside) if beside else f"that folder has no {path.suffix} file"
        raise UsageProblem(
            f"there is no file '{path}'; {near}", "name a trace, or a program: ncu-assist triage PROGRAM"
        )
    if path.name.endswith(NSYS_REPORT):
        try:
            nsys = find_nsys()
        except EnvironmentProblem as error:
            hint = f"on the machine that recorded it: nsys export --type sqlite {path.name}"
            raise EnvironmentProblem(f"{path} must be exported, and {error.message}", hint) from error
        folder = _folder(project)
        try:
            reporter.status(f"exporting {path.name}")
            _export(nsys, path, folder / f"{path.stem}.sqlite")
            trace = read_trace(folder / f"{path.stem}.sqlite")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    else:
        reporter.status(f"reading {path.name}")
        trace = read_trace(path)
    if trace.kernels.empty:
        hint = "record with CUDA activities: ProfilerActivity.CUDA, or nsys --trace cuda"
        raise StageFailed(f"{path} has no kernel launch", hint)
    return trace


def record(
    project: Project, call: ProgramCall, recording: Recording, seconds: float | None, reporter: Reporter
) -> Recorded:
    """Run a program once and return what its GPU did; ``seconds`` ends it sooner.

    Raises EnvironmentProblem where nothing is here that records it, StageFailed where it launched no kernel.
    """
    chosen = _chosen(call) if recording == "auto" else recording
    if chosen == "nsys":
        find_nsys()
    build(project, call, reporter)
    if chosen == "ncu":
        return _under_ncu(project, call, seconds, reporter)
    folder = _folder(project)
    try:
        return (_under_nsys if chosen == "nsys" else _under_torch)(folder, call, seconds, reporter)
    finally:
        with suppress(OSError):  # only an empty folder goes
            folder.rmdir()


def name_of_file(path: str) -> str:
    """Return what to call the program of a trace of which only the file is known."""
    name = Path(path).name.removesuffix(".gz")
    for ending in (".json", ".sqlite", *NSYS_REPORT, ".pt.trace"):
        name = name.removesuffix(ending)
    return name


def _chosen(call: ProgramCall) -> Recording:
    """Return what records a program best here: torch.profiler a Python that has torch, else nsys, else ncu."""
    if _has_torch(call.command):
        return "torch"
    lacking = []
    for name, find in (("nsys", find_nsys), ("ncu", find_ncu)):
        try:
            find()
        except EnvironmentProblem as error:
            lacking.append(error.message)
        else:
            return "nsys" if name == "nsys" else "ncu"
    said = f"nothing here can record {call.command[0]}: it is not a Python with torch, and {'; '.join(lacking)}"
    raise EnvironmentProblem(
        said,
        "name a Python that has torch, as ncu-assist triage -- python3 train.py; or install Nsight Systems; or "
        "triage a trace that was recorded elsewhere",
    )


def _has_torch(command: Sequence[str]) -> bool:
    name = Path(command[0]).name
    if not PYTHON.fullmatch(name):
        return False
    if not name.startswith("python"):
        return True
    try:
        return process.run([command[0], "-c", HAS_TORCH], timeout_s=LOOK_TIMEOUT_S).exit_code == 0
    except EnvironmentProblem:
        return False


def _folder(project: Project) -> Path:
    """Return a new folder for one recording: that of an earlier run of the program stays."""
    folder = project.work / "triage" / new_run_id(datetime.now(UTC))
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise EnvironmentProblem(f"cannot write to {folder}: {error.strerror}", "make it writable") from error
    return folder


def _run(argv: Sequence[str], call: ProgramCall, env: dict[str, str] | None, reporter: Reporter) -> Completed | None:
    """Run a program and show its last line; None where the user ended it, for what it recorded may be whole."""
    started = time.monotonic()

    def show(line: str) -> None:
        reporter.status(f"{call.name}: {time.monotonic() - started:.0f} s · {line.strip()}")

    reporter.status(f"{call.name}: recording the whole run")
    try:
        return EXECUTORS["local"].run(argv, env={**(env or os.environ), **COUNTED_AS_NVML}, on_line=show)
    except KeyboardInterrupt:
        return None


def _under_torch(kept_in: Path, call: ProgramCall, seconds: float | None, reporter: Reporter) -> Recorded:
    folder = kept_in / "processes"
    folder.mkdir()
    paths = [str(INJECTED), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), FOLDER: str(folder), SECONDS: f"{seconds or 0:g}"}
    done = _run(call.command, call, env, reporter)
    try:
        traces = [(read_trace(path), path) for path in sorted(folder.glob("*.json"))]
        best = max(traces, key=lambda one: one[0].kernels["duration_ns"].sum(), default=None)
        if best is None or best[0].kernels.empty:
            _refuse(done, call, OF_TORCH, "ncu-assist triage --with nsys …, or --with ncu")
        trace, path = best
        others = sum(1 for one, _ in traces if not one.kernels.empty) - 1
        notes = [*_notes(done, call), *([f"{others} more of its processes launched kernels"] if others else [])]
        kept = path.replace(kept_in / f"{call.name}.json")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _noted(trace, notes), kept, done.seconds if done else 0.0


def _under_nsys(kept_in: Path, call: ProgramCall, seconds: float | None, reporter: Reporter) -> Recorded:
    nsys, report = find_nsys(), kept_in / f"{call.name}.nsys-rep"
    done = _run(record_argv(nsys, report, call.command, seconds), call, None, reporter)
    if not report.is_file():
        _refuse(done, call, "nsys wrote no report", "ncu-assist triage --with torch …, or --with ncu")
    target = report.with_suffix(".sqlite")
    reporter.status("exporting the trace")
    _export(nsys, report, target)
    trace = read_trace(target)
    if trace.kernels.empty:
        _refuse(done, call, "it launched no kernel", "nvidia-smi")
    return _noted(trace, _notes(done, call)), target, done.seconds if done else 0.0


def _under_ncu(project: Project, call: ProgramCall, seconds: float | None, reporter: Reporter) -> Recorded:
    if seconds:
        raise UsageProblem("--seconds is for torch.profiler and nsys: under ncu a program is slower", "drop --seconds")
    stage = program_stage(project, secrets.token_hex(6), ONLY_TIMES)
    reporter.note("without Nsight Systems, ncu times each launch alone; gaps and copies are not seen")

    def show(launch: ProfiledLaunch) -> bool:
        reporter.status(f"ncu: launch {launch.index + 1} · {launch.name}")
        return False

    started = time.monotonic()
    capture = stage.run(list(call.command), lambda _: None, show)
    shutil.rmtree(stage.work, ignore_errors=True)
    records = [one for one in capture.report.records if one.duration_ns]
    if not records:
        raise StageFailed("it launched no kernel", shlex.join(call.command))
    device = capture.report.device
    trace = _of_launches(records, device.name if device else "")
    notes = [f"only its first {MOST_UNDER_NCU} launches"] if len(records) == MOST_UNDER_NCU else []
    return _noted(trace, notes), None, time.monotonic() - started


def _of_launches(records: Sequence[Launch], gpu: str) -> Trace:
    """Return launches that ncu timed one by one as a trace, which has no times of day."""
    rows = [
        (place, 0, round(one.duration_ns or 0), 0, *one.grid, *one.block, one.signature)
        for place, one in enumerate(records)
    ]
    sizes = [f"{side}_{axis}" for side in ("grid", "block") for axis in "xyz"]
    kernels = pd.DataFrame(rows, columns=["order", "start_ns", "duration_ns", "device", *sizes, "signature"])
    nothing = pd.DataFrame({name: [] for name in ("start_ns", "duration_ns", "device", "bytes", "way", "memory")})
    return make_trace("ncu", kernels, nothing, gpu, has_times=False)


def _export(nsys: Path, report: Path, target: Path) -> None:
    done = process.run(export_argv(nsys, report, target), timeout_s=EXPORT_TIMEOUT_S)
    if done.exit_code or not target.is_file():
        words = (done.stderr or done.stdout).strip()[-SHOWN_WORDS:]
        raise StageFailed(f"nsys cannot export {report}: {words}", "use the nsys that recorded it, or a newer one")


def _refuse(done: Completed | None, call: ProgramCall, why: str, hint: str) -> NoReturn:
    """Raise what explains that there is no trace: the program's own failure before anything else."""
    if done is None:
        raise KeyboardInterrupt
    if done.exit_code:
        words = (done.stderr or done.stdout).strip()[-SHOWN_WORDS:]
        raise StageFailed(
            f"{call.name} ended with exit code {done.exit_code}, and nothing was recorded:\n{words}",
            f"run it alone: {shlex.join(call.command)}",
        )
    nothing = f"nothing was recorded from {call.name}"
    try:
        gpu_here()
    except EnvironmentProblem as problem:  # whatever recorded it
        raise EnvironmentProblem(f"{nothing}: {problem.message}", problem.hint) from problem
    raise StageFailed(f"{nothing}: {why}", hint)


def _notes(done: Completed | None, call: ProgramCall) -> list[str]:
    if done is None:
        return ["interrupted: only what was recorded until then"]
    return [f"{call.name} ended with exit code {done.exit_code}: only what it did until then"] if done.exit_code else []


def _noted(trace: Trace, notes: Sequence[str]) -> Trace:
    return replace(trace, notes=(*trace.notes, *notes))


def options_for(found: Triage, group: int, section_set: str) -> ProfileOptions:
    """Return how ncu profiles the one launch that stands for a group."""
    one = found.groups[group]
    return ProfileOptions(
        section_set, nvtx_include=None, kernel_filter=one.kernel, max_launches=1, skip_launches=one.skip
    )


def profile_top(
    project: Project,
    found: Triage,
    call: ProgramCall,
    top: int,
    section_set: str,
    reporter: Reporter,
    seconds: float = 0.0,
) -> tuple[Triage, list[StoredRun], int]:
    """Profile a launch of each of the first groups, and return the triage with what ncu says, the runs, an exit code.

    ``seconds`` is what one run of the program took. What fails for one group is said of it, and the others go on.
    """
    count = min(top, len(found.groups))
    each = f", at most {duration(seconds * 1e9, 2)} and what ncu takes" if seconds else ""
    reporter.note(f"ncu, launches to profile: {count}; for each, the program runs once more, up to that launch{each}")
    profiled, runs, exit_code, pace = [], [], 0, Pace(count)
    for place in range(count):
        reporter.status(f"ncu: {place + 1} of {count} · {found.groups[place].kernel}{pace.left(place)}")
        try:
            names = names_for(project, call, found.archived_as(place), None)
            stored = profile_program(project, names, call.command, options_for(found, place, section_set), reporter)
        except NcuAssistError as error:
            profiled.append(ProfiledGroup(place, problem=f"{error.message}; try: {error.hint}"))
            exit_code = max(exit_code, error.exit_code)
            if isinstance(error, EnvironmentProblem):  # which would meet the others alike
                break
            continue
        runs.append(stored)
        profiled.append(_judged(project, found, place, stored))
    return replace(found, profiled=tuple(profiled)), runs, exit_code


def _judged(project: Project, found: Triage, place: int, stored: StoredRun) -> ProfiledGroup:
    """Return what the rules say of a launch, and what that means for the whole program."""
    shown = gather(stored, store=Store(project.reports))
    group, launch = found.groups[place], stored.run.launches[0]
    first = shown.results.diagnosis.first if shown.results else None
    other = (
        f"ncu met another launch, of {_shape(launch.grid)} blocks of {_shape(launch.block)} threads: "
        "the program's launches differ from run to run"
    )
    is_other = any(group.grid) and (launch.grid, launch.block) != (group.grid, group.block)
    saving = found.saving(place, first.estimated_speedup) if first else (None, None)
    return ProfiledGroup(
        group=place,
        reference=stored.reference,
        page=os.path.relpath(stored.folder / RUN_PAGE),
        rule=first.finding.rule if first else "",
        message=first.finding.message if first else "",
        advice=first.finding.full_advice if first else "",
        duration_ns=launch.duration_ns,
        estimated_speedup=first.estimated_speedup if first else None,
        saved_ns=saving[0],
        saved_share=saving[1],
        problem=other if is_other else "",
    )


def _shape(sizes: tuple[int, int, int]) -> str:
    return "x".join(map(str, sizes))
