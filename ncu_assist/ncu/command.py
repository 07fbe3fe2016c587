"""The ncu program: where it is, what it can do, the exact command of a profiling run, and what a command asked for."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ncu_assist import process
from ncu_assist.environment import COUNTED_AS_NVML
from ncu_assist.errors import EnvironmentProblem, UsageProblem, did_you_mean

CUDA_LINK = Path("/usr/local/cuda")  # where NVIDIA's packages put the current toolkit
NSIGHT_ROOT = Path("/opt/nvidia/nsight-compute")  # where NVIDIA's packages put every release of ncu
VERSION_LINE = re.compile(r"^Version (\S+)", re.MULTILINE)
SET_LINE = re.compile(r"^(?!Identifier)(\w+) {2,}\S", re.MULTILINE)
ANSWER_TIMEOUT_S = 60.0  # `ncu --list-sets` takes about a second, more on a cold network disk
EXTENSION = ".ncu-rep"  # without it ncu 2026.3 and later write another format
SECTION_LINE = re.compile(r"^(?!Identifier|-)(\w+) {2,}\S", re.MULTILINE)
ADAPTIVE = "adaptive"
# What rules ask for, by the section that has it (benchmarks/adaptive_loss.py). Of --set full that leaves out what none
# asks for: PM sampling, links and NUMA, the rooflines by cache level and of tensor operations.
MEMORY_SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "WorkloadDistribution",
    "SchedulerStats",
    "WarpStateStats",
    "SourceCounters",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Chart",
    "MemoryWorkloadAnalysis_Tables",
)
COMPUTE_SECTIONS = (
    "ComputeWorkloadAnalysis",
    "InstructionStats",
    "SpeedOfLight_RooflineChart",
    "SpeedOfLight_HierarchicalHalfRooflineChart",
)
ALL_SECTIONS = (*MEMORY_SECTIONS, *COMPUTE_SECTIONS)
INSTALL_HINT = "install Nsight Compute (package nsight-compute or the CUDA toolkit) or put ncu on PATH"


@dataclass(frozen=True)
class ProfileOptions:
    """What a profiling run collects. ``nvtx_include`` 'name/' is a push/pop range, None profiles every launch."""

    section_set: str = "full"
    clock_control: str = "none"
    cache_control: str = "all"
    replay_mode: str = "kernel"
    nvtx_include: str | None = "ncu-assist/"
    kernel_filter: str | None = None  # an exact name or 'regex:…'
    max_launches: int | None = None
    skip_launches: int = 0  # of those that the filter lets through
    metrics: tuple[str, ...] = ()  # these alone instead of the section set
    sections: tuple[str, ...] = ()  # the same


def set_words(options: ProfileOptions) -> list[str]:
    """Return how our own command line asks for what is collected."""
    return ["--adaptive"] if options.section_set == ADAPTIVE else ["--set", options.section_set]


def find_ncu(env: Mapping[str, str] = os.environ, cuda_link: Path = CUDA_LINK, nsight_root: Path = NSIGHT_ROOT) -> Path:
    """Return the ncu to use: on PATH, in CUDA_HOME, in the usual places, the newest release last.

    Raises EnvironmentProblem when there is none.
    """
    on_path = shutil.which("ncu", path=env.get("PATH", ""))
    candidates = [Path(on_path)] if on_path else []
    if env.get("CUDA_HOME"):
        candidates.append(Path(env["CUDA_HOME"]) / "bin" / "ncu")
    candidates.append(cuda_link / "bin" / "ncu")
    candidates += sorted(nsight_root.glob("*/ncu"), key=lambda path: numbers_of(path.parent.name), reverse=True)
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise EnvironmentProblem("ncu (Nsight Compute) is not installed here, so no counters can be measured", INSTALL_HINT)


def version_of(ncu: Path) -> str:
    """Return the version of an ncu, such as '2025.3.1.0'; raises EnvironmentProblem when it does not say one."""
    match = VERSION_LINE.search(_answer(ncu, "--version"))
    if match is None:
        raise EnvironmentProblem(f"{ncu} does not say which version it is", INSTALL_HINT)
    return match.group(1)


def list_sets(ncu: Path) -> tuple[str, ...]:
    """Return the names of the section sets that an ncu knows."""
    return tuple(SET_LINE.findall(_answer(ncu, "--list-sets")))


@functools.cache
def list_sections(ncu: Path) -> tuple[str, ...]:
    """Return the identifiers of the sections that an ncu knows."""
    return tuple(SECTION_LINE.findall(_answer(ncu, "--list-sections")))


SETS_OF_ALL = ("detailed", "full")  # in every release that we know; `basic` was once `default`


def check_set(ncu: Path, name: str) -> None:
    """Raise UsageProblem for a section set that does not exist; ncu itself only warns and collects nothing.

    It is not asked for the sets of all releases: that would be a process more.
    """
    if name in SETS_OF_ALL:
        return
    known = list_sets(ncu)
    if name not in known:
        raise UsageProblem(f"ncu has no section set '{name}'; {did_you_mean(name, known)}", "ncu --list-sets")


def profile_argv(ncu: Path, options: ProfileOptions, report: Path, log: Path, command: Sequence[str]) -> list[str]:
    """Return the command line that profiles ``command`` into ``report`` (always .ncu-rep), ncu's own words in ``log``.

    Each flag is there because its absence hurt somebody: ncu obeys a config file in the current folder, for example.
    """
    target = report if report.suffix == EXTENSION else report.with_name(report.name + EXTENSION)
    collected = [word for one in options.sections for word in ("--section", one)] or ["--set", options.section_set]
    collected = ["--metrics", ",".join(options.metrics)] if options.metrics else collected
    argv = [str(ncu), "--config-file", "off", *collected, "--import-source", "yes"]
    argv += ["--target-processes", "all", "--check-exit-code", "yes", "--nvtx"]
    if options.nvtx_include is not None:
        argv += ["--nvtx-include", options.nvtx_include]
    argv += ["--clock-control", options.clock_control, "--cache-control", options.cache_control]
    argv += ["--replay-mode", options.replay_mode]
    if options.kernel_filter is not None:
        argv += ["--kernel-name", options.kernel_filter]
    if options.skip_launches:
        argv += ["--launch-skip", str(options.skip_launches)]
    if options.max_launches is not None:
        argv += ["--launch-count", str(options.max_launches), "--kill", "yes"]  # else the program runs on to its end
    return [*argv, "--log-file", str(log), "-f", "-o", str(target), "--", *command]


def child_environment(base: Mapping[str, str], tmpdir: Path, gpu_uuid: str | None) -> dict[str, str]:
    """Return the environment for ncu: a private TMPDIR for its lock file, one GPU, no other tool, no stub driver.

    GPUs are counted as NVML does.
    """
    env = {key: value for key, value in base.items() if key != "CUDA_INJECTION64_PATH"}
    env |= {**COUNTED_AS_NVML, "TMPDIR": str(tmpdir)}
    if gpu_uuid is not None:
        env["CUDA_VISIBLE_DEVICES"] = gpu_uuid
    if "LD_LIBRARY_PATH" in env:
        folders = env["LD_LIBRARY_PATH"].split(":")
        env["LD_LIBRARY_PATH"] = ":".join(f for f in folders if Path(f).name != "stubs")
    return env


def _answer(ncu: Path, question: str) -> str:
    done = process.run([str(ncu), question], timeout_s=ANSWER_TIMEOUT_S)
    if done.exit_code != 0 or done.timed_out:
        words = (done.stderr or done.stdout).strip()[-500:]
        raise EnvironmentProblem(f"'{ncu} {question}' failed with exit code {done.exit_code}: {words}", INSTALL_HINT)
    return done.stdout


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which it is older or newer than another."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


PROGRAMS = re.compile(r"(ncu|nv-nsight-cu-cli)(\.exe)?")
UNKNOWN = "unknown"
# What ncu does unless told (Nsight Compute CLI, Command Line Options): its clocks are the base clocks.
DEFAULTS = {"--set": "basic", "--clock-control": "base", "--cache-control": "all", "--replay-mode": "kernel"}
CHOOSES_SECTIONS = ("--section", "--metrics", "--section-folder")


def options_in(command: str | None) -> ProfileOptions | None:
    """Return what a command line of ncu asked for; None where there is none, or its texts were blanked."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return None
    if not words or not PROGRAMS.fullmatch(PurePath(words[0]).name):
        return None
    own = words[1 : words.index("--")] if "--" in words else words[1:]
    given = _given(own)
    if "--set" not in given and any(word.partition("=")[0] in CHOOSES_SECTIONS for word in own):
        given["--set"] = UNKNOWN
    said = DEFAULTS | given
    return ProfileOptions(said["--set"], said["--clock-control"], said["--cache-control"], said["--replay-mode"])


def _given(words: list[str]) -> dict[str, str]:
    """Return the options that were given, as ``--name value`` or ``--name=value``; the last of several counts."""
    found = {}
    for word, after in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in DEFAULTS and (equals or after):
            found[name] = value if equals else after
    return found
