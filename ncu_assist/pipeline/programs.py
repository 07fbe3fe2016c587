"""Programs, scripts, functions and sources that a user names beside kernels: as commands, built and profiled."""

from __future__ import annotations

import itertools
import os
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends.nvcc import BUILD_TIMEOUT_S, find_arch, find_nvcc
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed, UsageProblem
from ncu_assist.executors import EXECUTORS
from ncu_assist.harness.client import TimeLimits
from ncu_assist.ncu.command import ProfileOptions, check_set, find_ncu
from ncu_assist.ncu.failures import ProfiledLaunch
from ncu_assist.pipeline.archiving import capture_files, profile_facts
from ncu_assist.pipeline.derived import save_judged
from ncu_assist.pipeline.importing import RunNames, check_names, fit_name, foreign_run
from ncu_assist.pipeline.ncu_stage import Capture, NcuStage, cost_words
from ncu_assist.pipeline.planning import has_main, no_kernel
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.project import Project
from ncu_assist.quantity import number_of
from ncu_assist.record import Launch
from ncu_assist.render.escape import readable
from ncu_assist.spec_file import function_name, kernel_names
from ncu_assist.steps import Pace, Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.versions import VERSION_NUMBER

CUDA = ".cu"
SCRIPT = ".py"
FUNCTION = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")  # module:function, as in entry points
INTERPRETER = re.compile(r"python[\d.]*|torchrun|accelerate|uv|bash|sh|env")  # what is called so runs another
ENDINGS = (SCRIPT, CUDA, ".sh", ".out", ".exe")
CALL = (
    "import functools, importlib, sys; sys.path.insert(0, ''); "
    "functools.reduce(getattr, {names!r}.split('.'), importlib.import_module({module!r}))()"
)
FIND = "import importlib.util, sys; sys.path.insert(0, ''); sys.exit(importlib.util.find_spec({top!r}) is None)"
LOOK_TIMEOUT_S = 60.0  # a Python on a cold network disk
SHOWN_LOG = 2000  # letters of a compiler's words


@dataclass(frozen=True)
class ProgramCall:
    """A program to profile: ``name`` is what its runs are archived under, ``compiles`` what builds it before."""

    name: str
    command: tuple[str, ...]
    compiles: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """What is built and run, as a shell would take it."""
        return " && ".join(shlex.join(one) for one in (self.compiles, self.command) if one)


def names_program(project: Project, word: str) -> bool:
    """Tell whether a word is a program, a script, a source or a function, and no kernel of the project."""
    if word in kernel_names(project) or (_exists(word) and project.kernels.resolve() in Path(word).resolve().parents):
        return False
    is_source = word.endswith((CUDA, SCRIPT)) and _is_file(word)
    return is_source or bool(FUNCTION.fullmatch(word)) or _executable(word) is not None


def call_of(project: Project, words: Sequence[str], flags: Sequence[str] = ()) -> ProgramCall:
    """Return how what these words name is built and run; ``flags`` are more for nvcc.

    Raises UsageProblem for what is no program: it says what is missing.
    """
    word, *arguments = words
    if word.endswith(CUDA) and _is_file(word):
        return _compiled(project, word, arguments, flags)
    if flags:
        raise UsageProblem(f"--nvcc-flags is for a .cu file, and {word} is not one", "drop --nvcc-flags")
    if word.endswith(SCRIPT) and _is_file(word) and not (os.sep in word and os.access(word, os.X_OK)):
        return ProgramCall(_name_of(words), (_python(), word, *arguments))
    if (function := FUNCTION.fullmatch(word)) and not _exists(word):
        return _function(function[1], function[2], arguments)
    program = _executable(word)
    if program is None:
        raise _no_program(project, word)
    return ProgramCall(_name_of(words), (program, *arguments))


def names_for(project: Project, call: ProgramCall, kernel: str | None, version: str | None) -> RunNames:
    """Return what a run is archived under: the program's name and the version after the last, unless names are given.

    Raises UsageProblem where the program is called like a kernel of the project, whose versions are sources.
    """
    name = kernel or call.name
    if kernel is None and name in kernel_names(project):
        said = f"'{name}' is a kernel of this project, and its versions are files of its folder"
        raise UsageProblem(said, f"ncu-assist profile --kernel {name}_program -- {shlex.join(call.command)}")
    return RunNames(name, version or _next_version(Store(project.reports), name))


def build(project: Project, call: ProgramCall, reporter: Reporter) -> None:
    """Build what has to be built; raises StageFailed with the compiler's words."""
    if not call.compiles:
        return
    reporter.status(f"building {call.command[0]}")
    try:
        (project.work / "programs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(f"cannot build in {project.work}: {error.strerror}", "make it writable") from error
    done = process.run(call.compiles, timeout_s=BUILD_TIMEOUT_S)
    if done.exit_code or done.timed_out:
        said = (done.stdout + done.stderr).strip()[:SHOWN_LOG] or f"nvcc ended with exit code {done.exit_code}"
        raise StageFailed(f"{call.compiles[-1]} does not compile:\n{said}", "fix it, or pass --nvcc-flags '…'")


def full_command(names: RunNames, options: ProfileOptions, call: ProgramCall) -> str:
    """Return the command of ours that says everything which was found out, to be typed again."""
    words = ["ncu-assist", "profile", "--kernel", names.kernel, "--version", names.version]
    words += ["--set", options.section_set, "--max-launches", str(options.max_launches)]
    words += ["--skip-launches", str(options.skip_launches)] if options.skip_launches else []
    chosen = f"nvtx:{options.nvtx_include.rstrip('/')}" if options.nvtx_include else options.kernel_filter
    words += ["--filter", chosen] if chosen else []
    ours = shlex.join([*words, "--", *call.command])
    return f"{shlex.join(call.compiles)} && {ours}" if call.compiles else ours


def profile_program(
    project: Project,
    names: RunNames,
    command: Sequence[str],
    options: ProfileOptions,
    reporter: Reporter,
    build: Callable[[], None] = lambda: None,
    repeats: int = 1,
) -> StoredRun:
    """Profile a command, started in the current folder, and save what it launched as one run.

    ``build`` makes the program, once it is known that it can be profiled. With ``repeats`` it runs so many times, and
    the run has the launches of all: the report that it keeps is of the first.

    Raises UsageProblem for names or a section set that cannot be, as NcuStage.run does, and StageFailed when no launch
    was profiled. What was finished before a failure, a time limit or Ctrl-C is saved all the same.
    """
    check_names(names)
    check_set(find_ncu(), options.section_set)
    build()
    most = options.max_launches
    cost = cost_words(options, most * repeats) if most else ""
    if cost:
        reporter.note(f"at most {cost}; --max-launches N takes fewer or more")
    captures: list[Capture] = []
    pace = Pace((most or 0) * repeats)
    save = partial(_save, project, names, command, options)
    for repeat in range(repeats):
        stage = program_stage(project, secrets.token_hex(6), options)

        def show(launch: ProfiledLaunch, repeat: int = repeat) -> bool:
            of = f" of at most {most}" if most else ""
            again = f"{repeat + 1} of {repeats} · " if repeats > 1 else ""
            left = pace.left(repeat * most + launch.index) if most else ""
            reporter.status(f"ncu: {again}launch {launch.index + 1}{of} · {launch.name} {launch.percent} %{left}")
            return False

        try:
            captures.append(stage.run(list(command), lambda _: None, show))
        except (NcuAssistError, KeyboardInterrupt) as error:
            rest = stage.rest()
            captures += [rest] if rest is not None and rest.report.records else []
            if captures:
                kept = save(captures, (f"incomplete: {str(error) or 'interrupted'}",))
                reporter.note(
                    f"kept what was finished: {number_of(len(kept.run.launches), 'launch')}, {kept.reference}"
                )
            raise
        found = len(captures[0].report.records)
        if not found:
            raise StageFailed("the filter matches no kernel that the program launched", "drop or widen --filter")
        if most and found == most > 1 and repeat == 0:
            reporter.note(f"stopped after {found} launches; --max-launches N profiles more")
        shutil.rmtree(stage.work, ignore_errors=True)
    return save(captures, ())


def _save(
    project: Project,
    names: RunNames,
    command: Sequence[str],
    options: ProfileOptions,
    captures: Sequence[Capture],
    notes: tuple[str, ...],
) -> StoredRun:
    """Save the launches of all captures as one run, each capture being a repeat."""
    import pandas as pd

    first, report = captures[0], captures[0].report
    records: list[Launch] = []
    tables = []
    for repeat, capture in enumerate(captures):
        tables.append(capture.report.metrics.assign(launch=capture.report.metrics["launch"] + len(records)))
        records += [replace(one, index=len(records) + one.index, repeat=repeat) for one in capture.report.records]
    metrics = pd.concat(tables, ignore_index=True) if len(tables) > 1 else report.metrics
    log = "".join(capture.log for capture in captures)
    profile = profile_facts(options, len(records), readable(" ".join(command)))
    toolchain = replace(report.toolchain, python=sys.version.split()[0])
    found = replace(foreign_run(names, report, "live"), launches=tuple(records))
    said = (f"the program ran {len(captures)} times; its report is from the first",) if len(captures) > 1 else ()
    run = replace(found, toolchain=toolchain, profile=profile, notes=(*notes, *said, *report.notes))
    shared = VersionCapture(tuple(records), metrics, first.data, log, report.device, report.toolchain)
    return save_judged(Store(project.reports), run, capture_files(shared))


def dry_run(project: Project, command: Sequence[str], options: ProfileOptions) -> str:
    """Return what profile_program would run, as text for a shell."""
    return program_stage(project, "RUN", options).in_words(command)


def program_stage(project: Project, run: str, options: ProfileOptions) -> NcuStage:
    """Return the stage for a program: in the user's folder, silent as long as it likes, for it may load data first."""
    total_s = project.settings.profile_timeout_s
    folder = project.work / "profile" / run
    return NcuStage(Path.cwd(), folder, EXECUTORS["local"], options, TimeLimits(total_s, total_s))


def _compiled(project: Project, word: str, arguments: Sequence[str], flags: Sequence[str]) -> ProgramCall:
    name = _name_of([word])
    if not has_main(Path(word)):
        said = f"{word} has no main(), so it is not a program; give it a main(), or make a kernel folder"
        raise UsageProblem(said, f"ncu-assist new {function_name(Path(word).stem)} --from {shlex.quote(word)}")
    nvcc = find_nvcc()
    number = find_arch(nvcc).removeprefix("sm_")
    target = os.path.relpath(project.work / "programs" / name)
    gencode = ("-gencode", f"arch=compute_{number},code=sm_{number}")
    optimized = () if any(flag.startswith("-O") for flag in flags) else ("-O3",)
    argv = (str(nvcc.path), *optimized, "-lineinfo", *gencode, *flags, *nvcc.library_flags, "-o", target)
    return ProgramCall(name, (target, *arguments), (*argv, word))


def _function(module: str, names: str, arguments: Sequence[str]) -> ProgramCall:
    if arguments:
        raise UsageProblem(
            f"{module}:{names} is called without arguments, but {arguments[0]} was given",
            "call it with its arguments from a script, or from a function without any",
        )
    python, top = _python(), module.partition(".")[0]
    found = process.run([python, "-c", FIND.format(top=top)], timeout_s=LOOK_TIMEOUT_S)
    if found.exit_code:
        raise UsageProblem(f"{python} finds no module '{top}' here", f"{python} -c 'import {top}'")
    return ProgramCall(program_name(names.rpartition(".")[2]), (python, "-c", CALL.format(module=module, names=names)))


def _no_program(project: Project, word: str) -> UsageProblem:
    if _exists(word) or os.sep in word or Path(word).suffix:
        return no_kernel(project, word, Path.cwd())
    if word in kernel_names(project):
        return UsageProblem(f"'{word}' is a kernel of this project, not a program", f"ncu-assist profile {word}")
    is_begun = any(Path.cwd().glob(f"{escape(word)}*"))
    hint = f"ls {shlex.quote(word)}*" if is_begun else f"name the path of {word}, or put its folder on PATH"
    return UsageProblem(f"there is no program '{word}' on PATH, and no such file", hint)


def _name_of(words: Sequence[str]) -> str:
    """Return what to call the runs of a command: what an interpreter or a launcher runs, not itself."""
    first, *rest = (Path(word).name for word in words)
    if INTERPRETER.fullmatch(first):
        scripts = [word for word in rest if word.endswith((SCRIPT, ".sh"))]
        modules = [after.rpartition(".")[2] for word, after in itertools.pairwise(words) if word == "-m"]
        first = next(iter([*modules, *scripts]), first)
    ending = next((one for one in ENDINGS if first.endswith(one)), "")
    return program_name(first.removesuffix(ending))


def _next_version(store: Store, kernel: str) -> str:
    numbers = [int(match[1]) for name in store.versions(kernel) if (match := VERSION_NUMBER.fullmatch(name))]
    return f"v{max(numbers, default=0) + 1}"


def _executable(word: str) -> str | None:
    """Return a program as it is started: by its path, or a name on PATH; None where there is none."""
    try:
        if os.sep in word or not shutil.which(word):
            path = word if os.sep in word else f"./{word}"
            return path if _is_file(path) and os.access(path, os.X_OK) else None
    except ValueError:  # a NUL in it
        return None
    return word


def _is_file(word: str) -> bool:
    return _exists(word) and Path(word).is_file()


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):  # a name that is too long, or holds a NUL
        return False


def _python() -> str:
    """Return the Python that the user's scripts run with: the one on PATH, which has their packages; else ours."""
    return next((name for name in ("python", "python3") if shutil.which(name)), sys.executable)


def program_name(name: str) -> str:
    """Return what runs of a program of this name are archived under."""
    return fit_name(name).strip("_") or "program"
