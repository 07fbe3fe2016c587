"""The times of one bench as JSON, to be kept in benchmarks/results: of each version and workload, and of the copy.

usage: python benchmarks/bench_results.py KERNEL > FILE     (from the project's root; of the newest bench of KERNEL)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ncu_assist.project import find_project
from ncu_assist.record import Bench, Run, Timing
from ncu_assist.spec_file import load_kernel
from ncu_assist.store import Store


def results(root: Path, kernel: str) -> dict[str, object]:
    """Return GPU, date, and the times of the versions of the newest bench by idea, in the order of their numbers.

    A project of variants numbers them anew, so that their numbers say nothing.
    """
    project = find_project(root)
    names = [version.name for version in load_kernel(project, kernel).versions]
    timed = [(one.run, one.run.bench) for one in Store(project.reports).runs(kernel) if one.run.bench]
    newest, its_bench = max(timed, key=lambda one: one[0].created)
    together = [one for one in timed if one[1].bench_id == its_bench.bench_id]
    return {
        "gpu": newest.device.name if newest.device else None,
        "driver": newest.device.driver if newest.device else None,
        "created": newest.created,
        "versions": [_version(*one) for one in sorted(together, key=lambda one: names.index(one[0].version))],
    }


def _version(run: Run, bench: Bench) -> dict[str, object]:
    return {"version": run.version.partition("_")[2], "workloads": [_workload(one) for one in bench.timings]}


def _workload(timing: Timing) -> dict[str, object]:
    facts = ("workload", "samples", "median_ns", "q1_ns", "q3_ns", "copy_ns")
    return {name: getattr(timing, name) for name in facts}


if __name__ == "__main__":
    json.dump(results(Path.cwd(), sys.argv[1]), sys.stdout, indent=1)
    sys.stdout.write("\n")
