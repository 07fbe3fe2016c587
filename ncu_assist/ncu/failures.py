"""What ncu's messages mean: fragments that stay the same across releases, their cause, what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.sandbox.folders import open_regular

MOST_BYTES = 1 << 24  # of a log that are read at once; the rest is there the next time
# ==PROF== Profiling "name" - 0 (1/20): 0%....50%....100% - 38 passes
# (1/20) stands there only under --launch-count, and neither it nor the number where kernels are filtered by name. What
# ncu has to say while a launch is replayed, such as that it takes long, stands in the middle: 0%==WARNING== ..., and
# on the next line ....50%....100% - 38 passes. So whatever comes before its next ==PROF== belongs to a launch.
LAUNCH = re.compile(
    r'^==PROF== Profiling "(?P<name>.*)"(?: - \d+)?(?: \(\d+/\d+\))?:(?P<rest>(?: *\d.*)?(?:\n(?!==PROF== ).*)*)$',
    re.MULTILINE,
)
BEGIN = b"==PROF== Profiling "
PASSES = re.compile(r"- (\d+) pass")  # "pass" or "passes", the last letters perhaps not yet written
PERCENT = re.compile(r"(\d+)%(\.*)")
PERCENT_PER_DOT = 10
KERNEL_LINE = re.compile(r"^\s*\d+\. (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch in the log, numbered from 0 in its order; ``passes`` is None until ncu has finished it."""

    name: str
    index: int
    percent: int
    passes: int | None


@dataclass(frozen=True)
class LogFacts:
    """A whole log: the finished launches in order, one not finished, ncu's warnings and errors."""

    profiled: tuple[ProfiledLaunch, ...]
    unfinished: tuple[ProfiledLaunch, ...]
    warnings: tuple[str, ...]
    errors: tuple[str, ...]
    kernels_seen: tuple[str, ...]  # what ncu offers when its filter matched nothing


def read_log(text: str) -> LogFacts:
    """Return the facts of a log; a launch counts as profiled only when its line says how many passes it took."""
    launches = _launches(text.encode(errors="replace"), 0)
    return LogFacts(
        profiled=tuple(launch for launch in launches if launch.passes is not None),
        unfinished=tuple(launch for launch in launches if launch.passes is None),
        warnings=_messages(text, "WARNING"),
        errors=_messages(text, "ERROR"),
        kernels_seen=_kernels_seen(text),
    )


class LogFollower:
    """Reads a log while ncu writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0  # bytes read so far, without those of a launch that ncu is not done with
        self._done = 0  # launches in those
        self._last: ProfiledLaunch | None = None

    def poll(self) -> tuple[ProfiledLaunch, ...]:
        """Return the launches that began, advanced or ended since the last call; none while there is no log."""
        try:
            with open_regular(self._path) as log:  # whoever is profiled could put a pipe or a link in its place
                log.seek(self._read)
                data = log.read(MOST_BYTES)
        except OSError:
            return ()
        news = [one for one in _launches(data, self._done) if one != self._last]
        whole = _finished(data)
        self._read += len(whole)
        self._done += len(_launches(whole, 0))
        if news:
            self._last = news[-1]
        return tuple(news)


def _finished(data: bytes) -> bytes:
    """Return the whole lines, up to a last launch that is not finished."""
    whole = data[: data.rfind(b"\n") + 1]
    launches = _launches(whole, 0)
    return whole[: whole.rfind(BEGIN)] if launches and launches[-1].passes is None else whole


def _launches(data: bytes, first: int) -> list[ProfiledLaunch]:
    text = data.decode(errors="replace")
    return [_launch(match, index) for index, match in enumerate(LAUNCH.finditer(text), first)]


def _launch(match: re.Match[str], index: int) -> ProfiledLaunch:
    passes = PASSES.search(match["rest"])
    marks = PERCENT.findall(match["rest"])
    percent = int(marks[-1][0]) + PERCENT_PER_DOT * len(marks[-1][1]) if marks else 0
    return ProfiledLaunch(match["name"], index, min(percent, 100), int(passes[1]) if passes else None)


def _messages(text: str, kind: str) -> tuple[str, ...]:
    """Return the messages of a kind, each with the lines that belong to it: up to the next '==' or a launch's rest."""
    further = r"\n(?!==|\.|\d+%| - \d+ pass|Available Kernels).*"
    found = re.findall(rf"(?:^|(?<=[%.]))=={kind}== (.*(?:{further})*)", text, re.MULTILINE)
    return tuple(message.strip() for message in found)


def _kernels_seen(text: str) -> tuple[str, ...]:
    _, _, after = text.partition("Available Kernels:")
    return tuple(KERNEL_LINE.findall(after.split("\n==")[0]))


FAILED, ENVIRONMENT, ADVICE = StageFailed.exit_code, EnvironmentProblem.exit_code, 0
BY_HAND = "with a program that launches the kernel, then `ncu-assist import FILE.ncu-rep`"
TIMING_ONLY = "if that is not possible, `ncu-assist bench` measures time without counters"
APPLICATION_CODE = re.compile(r"The application returned an error code \((\d+)\)")
SIGNALS = {
    6: "aborted",
    9: "killed, perhaps for lack of memory",
    11: "segmentation fault",
    15: "terminated from outside",
}
BUSY_EXIT_CODE = 9  # of an ncu that finds another one, with another TMPDIR, on the same GPU
NO_KERNELS = "no-kernels"
RAW_LIMIT = 1500  # characters of ncu's own words in a message


class NothingProfiled(StageFailed):
    """ncu and the program came to their ends, and no launch was counted."""


@dataclass(frozen=True)
class Failure:
    """A known message. ``exit_code`` is ours: 5 a failed run, 6 the machine, 0 advice that does not fail a run."""

    id: str
    fragments: tuple[str, ...]
    cause: str
    cure: str
    exit_code: int


FAILURES: tuple[Failure, ...] = (
    Failure(
        "permission",
        ("ERR_NVGPUCTRPERM", "InsufficientPermissions"),
        "this user may not read GPU performance counters (RmProfilingAdminOnly: 1 in /proc/driver/nvidia/params, or a "
        "container without CAP_SYS_ADMIN)",
        "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0, or start the container with "
        f"--cap-add=SYS_ADMIN; {TIMING_ONLY}",
        ENVIRONMENT,
    ),
    Failure(
        "counters-busy",
        ("driver resource was unavailable",),
        "another profiler or DCGM holds the performance counters of this GPU",
        "stop the other ncu or nsys, or run `dcgmi profile --pause`",
        ENVIRONMENT,
    ),
    Failure(
        "library-not-loaded",
        ("Failed to initialize the profiler: LibraryNotLoaded", "LibraryNotLoaded"),
        "ncu's profiling library cannot work here: a sandboxed kernel (gVisor) or a broken installation",
        f"use another host, or install Nsight Compute again; {TIMING_ONLY}",
        ENVIRONMENT,
    ),
    Failure(
        "no-driver",
        ("failed to connect to the CUDA driver", "Failed to connect to the CUDA driver"),
        "there is no NVIDIA driver, or the stub library comes before it on LD_LIBRARY_PATH",
        "check `nvidia-smi`; remove …/stubs from LD_LIBRARY_PATH",
        ENVIRONMENT,
    ),
    Failure(
        "other-tool",
        ("CUDA_INJECTION64_PATH",),
        "another tool is injected into the program",
        "unset CUDA_INJECTION64_PATH",
        ENVIRONMENT,
    ),
    Failure(
        "version-mismatch",
        ("Insufficient driver version", "Profiling is not supported on device"),
        "this ncu does not support this driver or GPU",
        "use the ncu that came with the driver's CUDA release; `ncu-assist doctor` shows both versions",
        ENVIRONMENT,
    ),
    Failure(
        "clocks",
        ("Cannot lock GPU clock frequencies", "Failed to lock GPU clocks"),
        "the GPU's clocks cannot be locked: MIG, vGPU or no privilege",
        f"run `ncu --clock-control none --set full -o FILE` {BY_HAND}",
        ENVIRONMENT,
    ),
    Failure(
        "lock-file",
        ("lock file", "Failed to access the temporary directory"),
        "the file nsight-compute-lock in the temporary folder belongs to another user, or the folder is not writable",
        "set TMPDIR to a folder of your own",
        ENVIRONMENT,
    ),
    Failure(
        "cannot-write",
        ("Unable to write to file",),
        "ncu cannot write its report",
        "check that the folder is writable and the disk not full",
        ENVIRONMENT,
    ),
    Failure(
        "profiler-memory",
        ("Insufficient free memory for profiling",),
        "saving and restoring the kernel's memory between passes needs more memory than is free",
        f"use a smaller section set (--quick), or run `ncu --replay-mode application --set full -o FILE` {BY_HAND}",
        FAILED,
    ),
    Failure(
        "kernel-failed",
        ("Failed to profile", "UnknownError"),
        "ncu could not profile this kernel: a driver bug, a cooperative launch or a device graph",
        f"run `ncu --replay-mode application --set full -o FILE` {BY_HAND}; `ncu-assist doctor` prints the versions",
        FAILED,
    ),
    Failure(
        "application",
        ("The application returned an error code",),
        "the profiled program failed, not the profiler",
        "run the program without ncu and read its error output",
        FAILED,
    ),
    Failure(
        "no-program",
        ("does not exist or is not an executable",),
        "the program to profile does not exist",
        "check the command after `--`",
        FAILED,
    ),
    Failure(
        "nvtx-start-end",
        ("match only start/end ranges",),
        "the NVTX filter has no '/' so it matches start/end ranges only",
        "write it with a '/' at its end: 'name/' matches push/pop ranges",
        FAILED,
    ),
    Failure(
        NO_KERNELS,
        ("No kernels were profiled",),
        "no launch matched: the filter is wrong, the work happens elsewhere, or the program ended before its launch",
        "compare the filter with the names of the kernels",
        FAILED,
    ),
    Failure(
        "nvtx-push-pop",
        ("match only push/pop ranges",),
        "the NVTX filter ends with '/' so it matches push/pop ranges only",
        "check the range's name; write it without the '/' if it is a start/end range",
        FAILED,
    ),
    Failure(
        "no-metrics",
        ("No metrics to collect found in sections",),
        "the section set does not exist in this ncu, so nothing was collected",
        "`ncu --list-sets` lists the sets",
        FAILED,
    ),
    Failure(
        "unreadable-report",
        ("Failed to load report file", "Could not open report file"),
        "the report is damaged, missing, or newer than its reader",
        "profile again, or install a newer ncu-report",
        FAILED,
    ),
    Failure(
        "unknown-option",
        ("unrecognised option",),
        "this release of ncu does not know an option that ncu-assist uses",
        "install a newer Nsight Compute",
        ENVIRONMENT,
    ),
    Failure(
        "memory-backup",
        ("Backing up device memory in system memory",),
        "the kernel's memory is so large that ncu saves it in system memory, which is slow",
        "use a smaller workload, or a longer time limit",
        ADVICE,
    ),
    Failure(
        "slow",
        ("more time than expected",),
        "the kernel waits for another one that ncu holds back (NCCL, a spin barrier), or takes very long",
        f"name other kernels with --filter, or run `ncu --replay-mode range --set full -o FILE` {BY_HAND}",
        ADVICE,
    ),
    Failure(
        "no-source",
        ("No source files were imported",),
        "the kernels were built without -lineinfo, so no source lines can be shown",
        "compile with -lineinfo; versions of a kernel folder have it",
        ADVICE,
    ),
    Failure(
        "clocks-left-locked",
        ("Failed to reset GPU clocks",),
        "a killed ncu left the clocks locked",
        "run `ncu --clock-control reset`",
        ADVICE,
    ),
)


def diagnose(text: str, exit_code: int) -> tuple[Failure, ...]:
    """Return the known failures that ncu's words or its exit code show, in the order of the table."""
    found = tuple(row for row in FAILURES if any(fragment in text for fragment in row.fragments))
    if not found and exit_code == BUSY_EXIT_CODE:
        return tuple(row for row in FAILURES if row.id == "counters-busy")
    return found


def profiling_error(text: str, exit_code: int) -> NcuAssistError:
    """Return the error for a profiling run that failed: the cause and ncu's own words, the cure as hint.

    EnvironmentProblem (6) where the machine is the cause, StageFailed (5) otherwise and for words nobody knows;
    NothingProfiled, which is one of those, where nothing failed but that.
    """
    known = diagnose(text, exit_code)
    row = next((failure for failure in known if failure.exit_code != ADVICE), known[0] if known else None)
    kind = _kind(row, exit_code)
    cause = row.cause if row is not None else f"ncu failed with exit code {exit_code}"
    hint = row.cure if row is not None else "ncu-assist doctor"
    return kind(f"profiling failed: {cause}{_details(text)}\n{_own_words(text)}".rstrip(), hint)


def _kind(row: Failure | None, exit_code: int) -> type[NcuAssistError]:
    if row is not None and row.exit_code == ENVIRONMENT:
        return EnvironmentProblem
    return NothingProfiled if row is not None and row.id == NO_KERNELS and exit_code == 0 else StageFailed


def _details(text: str) -> str:
    code = APPLICATION_CODE.search(text)
    if code is not None:
        number = int(code.group(1))
        return f" (exit code {number}{': ' + SIGNALS[number] if number in SIGNALS else ''})"
    kernels = read_log(text).kernels_seen
    return f"; kernels seen: {', '.join(kernels)}" if kernels else ""


def _own_words(text: str) -> str:
    """Return ncu's errors, or its warnings where it says no error, or whatever else it said last."""
    facts = read_log(text)
    said = "\n".join(f"  ncu: {words}" for words in facts.errors or facts.warnings)
    return (said or text.strip()[-RAW_LIMIT:])[:RAW_LIMIT]
