"""Print how much processor time commands take, in that of programs that are not ours.

    python benchmarks/command_budget.py [--times 10] [--only NAME …] [--results FILE]       (from the project's root)

Over the recorded archive the unit is ``python -c "import pandas"``. Commands that begin with `large` are of a report of
111 MB, 93 launches; their unit is NVIDIA's reader, asked for every value of that report, as it takes memory as they do.

Each is the least of several runs, of the process and its children together, taken in turns with its unit: other work on
the machine lengthens both alike, and no run is shorter for it. `verify` is of a hundred runs. Modules are compiled
before, as in an installed package. Prints one JSON object: the ratios beside what each may be at most, the seconds of
the units, and the memory of the largest process; the exit code is 1 where one is above its limit. ``--results``
compares with kept seconds: the exit code is 1 then where one has grown by more than a fifth. Growth is that of the time
outside of the kernel: where memory is in pieces, the kernel takes longer for the same work of a large command. That of
a large one is by the unit in which it is less: a machine may be slower at one of them alone.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import large_report

ROOT = Path(__file__).resolve().parent.parent
IMPORT = "import pandas"
READER = """\
import ncu_report
for launches in ncu_report.load_report("large.ncu-rep"):
    for launch in launches:
        for name in launch.metric_names():
            launch[name].value()
"""
KERNEL = "lightning_decode"
COMMANDS = {
    "list": ("list",),
    "show": ("show", f"{KERNEL}/v6"),
    "diff": ("diff", f"{KERNEL}/v3", f"{KERNEL}/v7"),
    "history": ("history", KERNEL),
    "gate": ("gate", KERNEL),
    "explain": ("explain", "l2-bound"),
    "verify": ("verify",),
}
REPORT, LAUNCHES = ROOT / "tests" / "data" / "library_full_h200_2025.3.1.ncu-rep.zst", 93
LARGE = {
    "large show": ("show", "large.ncu-rep", "--lines"),
    "large import": ("import", "large.ncu-rep", "--version", "large"),
    "large page": ("report", "large.ncu-rep", "--output", "large.html", "--force"),
    "large lines": ("export", "large.ncu-rep", "--table", "lines", "--output", "lines.csv", "--force"),
}
OF_READER = "NVIDIA's reader"
UNITS = {IMPORT: IMPORT, OF_READER: READER}
AT_MOST = {"list": 1.2, "show": 1.2, "diff": 1.2, "history": 1.2, "gate": 1.2, "explain": 0.5, "verify": 3.5}
MB_AT_MOST = dict.fromkeys(LARGE, 400)
HUNDRED = 100
GROWN = 1.2  # a fifth
OURS = ("PYTHONDONTWRITEBYTECODE", "COLUMNS")
THREADS = "_NUM_THREADS"  # of OpenMP, OpenBLAS …: numpy starts fewer, and an import of pandas costs a fifth less


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=[*COMMANDS, *LARGE], default=[*COMMANDS, *LARGE])
    parser.add_argument("--results", type=Path, help="a JSON object that this printed before")
    asked = parser.parse_args()
    found = measured(asked.only, asked.times)
    if asked.results:
        limits = dict.fromkeys(asked.only, GROWN)
        shown = found["growth"] = growth(found["user_s"], json.loads(asked.results.read_text())["user_s"], asked.only)
    else:
        limits, shown = {name: AT_MOST[name] for name in asked.only if name in AT_MOST}, found["ratios"]
    above = {name: shown[name] for name, limit in limits.items() if shown[name] > limit}
    full = {name: found["mb"][name] for name, limit in MB_AT_MOST.items() if found["mb"].get(name, 0) > limit}
    said = {"at_most": limits, "above": above, "mb_at_most": MB_AT_MOST, "mb_above": full}
    sys.stdout.write(json.dumps(found | said, indent=1) + "\n")
    return 1 if above or full else 0


def growth(now: dict[str, float], kept: dict[str, float], names: Sequence[str]) -> dict[str, float]:
    """Return the time of commands over the kept one, each in the unit of its own in which that is less."""
    return {
        name: round(min(now[name] / now[unit] * kept[unit] / kept[name] for unit in units_of(name)), 3)
        for name in names
    }


def units_of(name: str) -> tuple[str, ...]:
    """Return what a command's time is measured in, its own unit first."""
    return (OF_READER, IMPORT) if name in LARGE else (IMPORT,)


def measured(names: Sequence[str], times: int) -> dict[str, Any]:
    """Return the least time of the units and of each command, their ratios, and their memory in MB."""
    compileall.compile_dir(ROOT / "ncu_assist", quiet=1)
    python = [sys.executable]
    every = {unit: [*python, "-c", UNITS[unit]] for name in names for unit in units_of(name)}
    every |= {name: [*python, "-m", "ncu_assist", *(COMMANDS | LARGE)[name]] for name in names}
    least: dict[str, float] = {}
    least_user: dict[str, float] = {}
    largest: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("kernels", "reports"):
            (root / name).symlink_to(ROOT / name)
        if not LARGE.keys().isdisjoint(names):
            large_report.main(str(REPORT), str(LAUNCHES), str(root / "large.ncu-rep"))
        for _ in range(times):
            for name, argv in every.items():
                is_apart = name in LARGE or name == OF_READER
                user, system, megabytes = used(argv, _apart(root) if is_apart else root)
                least[name] = min(user + system, least.get(name, user + system))
                least_user[name] = min(user, least_user.get(name, user))
                largest[name] = max(megabytes, largest.get(name, 0.0))
    runs = sum(1 for _ in (ROOT / "reports").glob("*/*/*/run.json"))
    for seconds in (least, least_user):
        if "verify" in seconds:
            seconds["verify"] *= HUNDRED / runs
    return {
        "seconds": {name: round(took, 3) for name, took in least.items()},
        "ratios": {name: round(least[name] / least[units_of(name)[0]], 3) for name in names},
        "user_s": {name: round(took, 4) for name, took in least_user.items()},
        "mb": {name: round(largest[name]) for name in names},
    }


def _apart(root: Path) -> Path:
    """Return a new project with the large report, so that nothing is found that was kept of it."""
    folder = Path(tempfile.mkdtemp(dir=root))
    (folder / "large.ncu-rep").symlink_to(root / "large.ncu-rep")
    (folder / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    return folder


def used(argv: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Return the processor time of a program and its children, outside of the kernel and in it, and the largest's MB.

    That memory is at least what this process takes, which a child begins as. The output is thrown away, the end must be
    a good one.

    A gate may find a regression (3) or be unclear (4), as the recorded versions have it.
    """
    kept = {name: value for name, value in os.environ.items() if name not in OURS and not name.endswith(THREADS)}
    environment = {**kept, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    child = subprocess.Popen(
        argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, spent = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3, 4):
        raise SystemExit(f"{' '.join(argv)} ended with {child.returncode}: {said.decode(errors='replace')[-500:]}")
    return spent.ru_utime, spent.ru_stime, spent.ru_maxrss / 1000


if __name__ == "__main__":
    sys.exit(main())
