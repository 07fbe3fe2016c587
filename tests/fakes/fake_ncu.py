"""A fake ncu for machines without one: answers, logs and fails in the words of the real one, replaying a report.

It understands the command line that ``ncu_assist.ncu.command.profile_argv`` makes, ``--version``,
``--list-sets`` and ``--list-sections``.
``install(folder)`` puts an executable ``ncu`` into a folder for PATH. The environment chooses what it does:

FAKE_NCU_MODE      ok (default), truncated, hang, crash, or a key of MESSAGES: a failure as the real ncu shows it
FAKE_NCU_REPORT    the report to replay (plain or .zst); default: the naive and shared transposes in tests/data
FAKE_NCU_LOG       the log that belongs to it
FAKE_NCU_HOLD      a pipe from which a line is read between the log and the report
FAKE_NCU_RUN       1: also run the command behind ``--``, with its output, before the log is written; also before a
                   failure with exit code 0
FAKE_NCU_RAN       the exit code of the command behind ``--``, which was run before, in place of FAKE_NCU_RUN
FAKE_NCU_FAIL_IF   fail as FAKE_NCU_MODE says only if the command holds this text, else work
FAKE_NCU_ARGV      a file to which the command line and TMPDIR, CUDA_VISIBLE_DEVICES are appended as one JSON object
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
REPORT = DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"
EXPORT = DATA / "transpose_full_h200_2025.3.1.base.csv.zst"  # what ncu exports of it
LOG = DATA / "transpose_full_h200_2025.3.1.log"

VERSION = """NVIDIA (R) Nsight Compute Command Line Profiler
Copyright (c) 2018-2025 NVIDIA Corporation
Version 2025.3.1.0 (build 36398880) (public-release)
"""
SETS = """---------- ---------------------------------------------------------- ------- -----------------
Identifier Sections                                                   Enabled Estimated Metrics
---------- ---------------------------------------------------------- ------- -----------------
basic      LaunchStats, Occupancy, SpeedOfLight, WorkloadDistribution yes     213
detailed   ComputeWorkloadAnalysis, LaunchStats, MemoryWorkloadAnalys no      906
           is, Occupancy, SourceCounters, SpeedOfLight
full       ComputeWorkloadAnalysis, InstructionStats, LaunchStats, Me no      7794
           moryWorkloadAnalysis, Occupancy, PmSampling, SourceCounter
           s, WarpStateStats
roofline   SpeedOfLight, SpeedOfLight_RooflineChart                   no      6649
"""
SECTION_IDS = """\
ComputeWorkloadAnalysis InstructionStats LaunchStats MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Chart
MemoryWorkloadAnalysis_Tables Nvlink Occupancy PmSampling SchedulerStats SourceCounters SpeedOfLight
SpeedOfLight_HierarchicalHalfRooflineChart SpeedOfLight_RooflineChart WarpStateStats WorkloadDistribution
"""
SECTIONS = "".join(
    f"{one:43} {name:30} {enabled:7} {file}\n"
    for one, name, enabled, file in (
        ("Identifier", "Display Name", "Enabled", "Filename"),
        *((one, "a section", "no", f".../{one}.section") for one in SECTION_IDS.split()),
    )
)
CONNECTED = "==PROF== Connected to process 100 (./transpose)\n"
NOTHING = """==PROF== Disconnected from process 100
==WARNING== No kernels were profiled.
"""
SEE_NVTX = (
    "==WARNING== Refer https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html#nvtx-filtering "
    "for NVTX Filtering usage.\n"
)
SEEN = "Available Kernels:\n1. transpose_naive\n2. transpose_shared\n"
HALF = '==PROF== Profiling "transpose_naive" - 0: 0%....50%....100% - 38 passes\n'

# What the real ncu says: exit code and words. Seen with 2025.3.1 on an H200, or read in the strings of its program, but
# for counters-busy, no-driver, other-tool, clocks, profiler-memory, memory-backup, slow: there only the fragment that
# the table looks for is ncu's, the words around it and the exit code are not.
MESSAGES: dict[str, tuple[int, str]] = {
    "permission": (
        1,
        CONNECTED + "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
        "Counters on the target device 0. For instructions on enabling permissions and to get more information see "
        "https://developer.nvidia.com/ERR_NVGPUCTRPERM\n",
    ),
    "counters-busy": (
        9,
        CONNECTED + "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool "
        "(like DCGM) is concurrently collecting profiling data. See "
        "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more details.\n",
    ),
    "library-not-loaded": (9, "==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n"),
    "no-driver": (1, "==ERROR== Profiler failed to connect to the CUDA driver.\n"),
    "other-tool": (1, "==ERROR== The environment variable CUDA_INJECTION64_PATH is already set.\n"),
    "version-mismatch": (1, CONNECTED + "==ERROR== Insufficient driver version to profile on device 0.\n"),
    "clocks": (1, CONNECTED + "==ERROR== Cannot lock GPU clock frequencies on device 0.\n"),
    "lock-file": (1, "==ERROR== Failed to open lock file /tmp/nsight-compute-lock for writing: Permission denied\n"),
    "cannot-write": (
        1,
        "==ERROR== Unable to write to file report.ncu-rep. Please verify this file is not locked, and writable.\n",
    ),
    "profiler-memory": (
        9,
        CONNECTED + "==ERROR== Insufficient free memory for profiling: 8589934592 bytes needed to save and restore.\n",
    ),
    "kernel-failed": (9, CONNECTED + '==ERROR== Failed to profile "transpose_naive" in process 100: UnknownError\n'),
    "application": (11, CONNECTED + HALF + "==ERROR== The application returned an error code (11).\n"),
    "no-program": (
        1,
        "==ERROR== './transpose' does not exist or is not an executable. Please make sure to specify the absolute path "
        "to './transpose' if the executable is not in the local directory.\n",
    ),
    "nvtx-start-end": (
        0,
        CONNECTED
        + NOTHING
        + "==WARNING== Note that specified NVTX include expressions match only start/end ranges.\n"
        + SEE_NVTX,
    ),
    "no-kernels": (0, CONNECTED + NOTHING + SEEN),
    "nvtx-push-pop": (
        0,
        CONNECTED + "==WARNING== Note that specified NVTX include expressions match only push/pop ranges.\n" + SEE_NVTX,
    ),
    "no-metrics": (0, "==WARNING== No metrics to collect found in sections.\n" + CONNECTED),
    "unreadable-report": (
        1,
        "==ERROR== Failed to load report file 'report.ncu-rep'.\n==ERROR== An unknown error occurred.\n",
    ),
    "unknown-option": (1, "==ERROR== unrecognised option '--import-source'. Use --help for further details.\n"),
    "memory-backup": (
        0,
        CONNECTED + "==WARNING== Backing up device memory in system memory. Kernel replay might be slow. Consider "
        "using '--replay-mode application' to avoid memory save-and-restore.\n",
    ),
    "slow": (
        0,
        CONNECTED + "==WARNING== Launching the workload is taking more time than expected. If this continues to hang, "
        "terminate the profile and re-try by profiling the range of all related launches using '--replay-mode range'."
        "\n",
    ),
    "no-source": (
        0,
        CONNECTED + "==WARNING== No source files were imported. Check that the target application was compiled with "
        "-lineinfo.\n",
    ),
    "clocks-left-locked": (
        0,
        CONNECTED + "==WARNING== Failed to reset GPU clocks. Try manually running 'ncu --clock-control reset'.\n",
    ),
}


def install(folder: Path) -> Path:
    """Put an executable ``ncu`` that runs this file into a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    ncu = folder / "ncu"
    ncu.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).resolve()}" "$@"\n')
    ncu.chmod(0o755)
    return ncu


def main(argv: list[str]) -> int:
    if argv == ["--version"]:
        sys.stdout.write(VERSION)
        return 0
    if argv == ["--list-sets"]:
        sys.stdout.write(SETS)
        return 0
    if argv == ["--list-sections"]:
        sys.stdout.write(SECTIONS)
        return 0
    if argv[:1] == ["--import"]:
        return _import()
    own, command = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    _record(argv)
    report, log = Path(own[own.index("-o") + 1]), Path(own[own.index("--log-file") + 1])
    return _profile(_mode(command), command, report, log)


def _import() -> int:
    """Export the launches of the recorded report, or refuse it as ncu does a damaged one."""
    import zstandard

    if os.environ.get("FAKE_NCU_MODE") == "unreadable-report":
        exit_code, words = MESSAGES["unreadable-report"]
        sys.stdout.write(words)
        return exit_code
    text = zstandard.ZstdDecompressor().decompressobj().decompress(EXPORT.read_bytes()).decode()
    kept = text.splitlines(keepends=True)
    sys.stdout.writelines(kept[: int(os.environ.get("FAKE_NCU_LINES", len(kept)))])
    return 0


def _mode(command: list[str]) -> str:
    mode = os.environ.get("FAKE_NCU_MODE", "ok")
    return mode if os.environ.get("FAKE_NCU_FAIL_IF", "") in " ".join(command) else "ok"


def runs(command: list[str]) -> bool:
    """Whether the command is run before anything is said of it."""
    mode = _mode(command)
    fails = mode in ("hang", "crash") or (mode in MESSAGES and MESSAGES[mode][0] != 0)
    return os.environ.get("FAKE_NCU_RUN") == "1" and not fails


def _record(argv: list[str]) -> None:
    target = os.environ.get("FAKE_NCU_ARGV")
    if target:
        row = {"argv": argv, **{key: os.environ.get(key) for key in ("TMPDIR", "CUDA_VISIBLE_DEVICES")}}
        with Path(target).open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")


def _profile(mode: str, command: list[str], report: Path, log: Path) -> int:
    if mode in MESSAGES:
        exit_code, words = MESSAGES[mode]
        if runs(command):
            subprocess.call(command)
        log.write_text(words, encoding="utf-8")
        return exit_code
    text = Path(os.environ.get("FAKE_NCU_LOG", LOG)).read_text(encoding="utf-8")
    if mode in ("hang", "crash"):
        log.write_text(text.partition("....100%")[0], encoding="utf-8")
        if mode == "hang":
            while True:
                signal.pause()
        os.kill(os.getpid(), signal.SIGSEGV)
    exit_code = subprocess.call(command) if runs(command) else int(os.environ.get("FAKE_NCU_RAN", "0"))
    if exit_code != 0:
        text += f"==ERROR== The application returned an error code ({exit_code}).\n"
    log.write_text(text, encoding="utf-8")
    if "FAKE_NCU_HOLD" in os.environ:
        Path(os.environ["FAKE_NCU_HOLD"]).read_text()
    data = _report()
    report.write_bytes(data[: len(data) * 2 // 3] if mode == "truncated" else data)
    return exit_code


def _report() -> bytes:
    data = Path(os.environ.get("FAKE_NCU_REPORT", REPORT)).read_bytes()
    if not data.startswith(b"\x28\xb5\x2f\xfd"):
        return data
    import zstandard

    return zstandard.ZstdDecompressor().decompress(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
