"""How long it takes to read all scalar metrics of a report: ours, ncu_report name by name, and ncu's CSV export.

    python benchmarks/report_reading.py REPORT.ncu-rep [--repeats 5]

Prints one JSON object with medians in seconds. Where there is no ncu, its row is absent. Each way starts afresh every
time, in turn. ``ours_child_s`` and ``nvidia_loop_s`` are without the start of their process; ``ours_s`` is the whole
call, child process and frame included.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ncu_assist import read_report
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.ncu.command import find_ncu

LOOP = """
import sys, time
import ncu_report
started = time.perf_counter()
rows = []
for part in ncu_report.load_report(sys.argv[1]):
    for action in part:
        rows.append({name: action.metric_by_name(name).value() for name in action.metric_names()})
print(time.perf_counter() - started, sum(map(len, rows)))
"""
CHILD = """
import sys, time
from ncu_assist.ncu import reader
import ncu_report
started = time.perf_counter()
status = reader.main(sys.argv[1:])
print(time.perf_counter() - started)
sys.exit(status)
"""


def main() -> None:
    """Measure each way in turn, and print medians and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {}
    for _ in range(arguments.repeats):
        for name, seconds in _round(arguments.report).items():
            times.setdefault(name, []).append(seconds)
    medians = {name: statistics.median(each) for name, each in times.items()}
    report = read_report(arguments.report)
    facts = {"launches": len(report.launches), "metrics": len(report.metrics), "bytes": arguments.report.stat().st_size}
    sys.stdout.write(json.dumps(facts | medians | _ratios(medians) | {"all": times}, indent=1) + "\n")


def _round(path: Path) -> dict[str, float]:
    found = {"ours_s": _ours(path), "ours_child_s": _ours_child(path), "nvidia_loop_s": _loop(path)}
    with contextlib.suppress(EnvironmentProblem):
        found["ncu_csv_pandas_s"] = _csv(path, find_ncu())
    return found


def _ratios(medians: dict[str, float]) -> dict[str, float]:
    ratios = {
        "loop_over_ours": medians["nvidia_loop_s"] / medians["ours_child_s"],
        "loop_over_ours_with_start": medians["nvidia_loop_s"] / medians["ours_s"],
    }
    if "ncu_csv_pandas_s" in medians:
        ratios["csv_over_ours_with_start"] = medians["ncu_csv_pandas_s"] / medians["ours_s"]
    return ratios


def _ours(path: Path) -> float:
    import pandas  # noqa: F401  importing it is not reading

    started = time.perf_counter()
    _ = read_report(path).launches
    return time.perf_counter() - started


def _ours_child(path: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return float(_python(CHILD, "scalars", str(path), path.name, folder, str(2 << 30)).split()[0])


def _loop(path: Path) -> float:
    return float(_python(LOOP, str(path)).split()[0])


def _python(program: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    ).stdout


def _csv(path: Path, ncu: Path) -> float:
    import pandas as pd

    started = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        subprocess.run([ncu, "--import", path, "--csv", "--page", "raw"], stdout=out, check=True)
        out.seek(0)
        pd.read_csv(out, low_memory=False)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
