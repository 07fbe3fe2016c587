"""Write the table of a kernel's worklog from its recorded runs: medians in microseconds, shares of what stood beside.

usage: python benchmarks/worklog_table.py KERNEL     (from the project's root; rewrites kernels/KERNEL/README.md)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ncu_assist.outcome import Sweep
from ncu_assist.pipeline.sweeps import sweeps_of
from ncu_assist.project import find_project
from ncu_assist.record import Run
from ncu_assist.render.yardstick import COPY, share, yardstick, yardstick_ns
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import load_kernel
from ncu_assist.store import Store
from ncu_assist.store.matching import recorded_runs_matching

BETWEEN = re.compile(r"(<!-- table -->\n).*?(<!-- /table -->)", re.DOTALL)


def table(kernel: Kernel, runs: list[Run]) -> str:
    """Return a Markdown table, a row a version, a column a workload; below it what was timed beside.

    Workloads that are for some versions only follow in a table for each sweep.
    """
    timings = [timing for run in runs if run.bench for timing in run.bench.timings]
    beside = yardstick(timings)
    rounds = max((timing.samples + timing.dropped for timing in timings), default=0)
    names = [w.name for w in kernel.workloads if not w.versions]
    lines = [
        f"| µs (share {'of the copy' if beside is COPY else 'of the copy engine'}) | " + " | ".join(names) + " |",
        "|---|" + "--:|" * len(names),
    ]
    lines += [f"| {run.version} | " + " | ".join(_cell(run, name) for name in names) + " |" for run in runs]
    below = beside.name.removeprefix("device ")
    lines.append(f"| {below} | " + " | ".join(_beside(runs[-1], name) for name in names) + " |")
    device = runs[-1].device.name if runs[-1].device else "an unknown GPU"
    note = f"{device}, {runs[-1].created[:10]}, one bench a column, {rounds} interleaved rounds, L2 emptied by reading."
    measured = {facts.name for run in runs for facts in run.workloads}
    swept = (line for sweep in sweeps_of(kernel, measured) for line in ("", *_sweep(sweep, runs)))
    return "\n".join([note, "", *lines, *swept]) + "\n"


def _sweep(sweep: Sweep, runs: list[Run]) -> list[str]:
    run = next(one for one in runs if one.version == sweep.version)
    head = " | ".join(str(value) for value, _ in sweep.points)
    cells = " | ".join(_cell(run, name) for _, name in sweep.points)
    return [f"| {sweep.axis} | {head} |", "|---|" + "--:|" * len(sweep.points), f"| {sweep.version} | {cells} |"]


def _cell(run: Run, workload: str) -> str:
    timing = run.timing(workload)
    if timing is None:
        return "-"
    reached = share(timing)
    return _microseconds(timing.median_ns) + (f" ({reached:.2f})" if reached else "")


def _beside(run: Run, workload: str) -> str:
    found = yardstick_ns(run.timing(workload))
    return _microseconds(found) if found else "-"


def _microseconds(ns: float) -> str:
    return f"{ns / 1e3:.4g}" if ns < 1e7 else f"{ns / 1e3:.0f}"


def main(name: str) -> None:
    project = find_project(Path.cwd())
    kernel = load_kernel(project, name)
    stored = recorded_runs_matching(Store(project.reports), kernel).values()
    path = kernel.folder / "README.md"
    text = table(kernel, [one.run for one in stored if one is not None])
    path.write_text(BETWEEN.sub(lambda match: match[1] + text + match[2], path.read_text()))


if __name__ == "__main__":
    main(sys.argv[1])
