"""Does an ncu that waits for its request disturb a bench? The same versions timed beside one and alone, in turn.

usage: python benchmarks/beside_ncu.py KERNEL VERSION [VERSION …] [--pairs N]

On a GPU, from the project's root; writes beside_ncu.json: by version and workload, the median of each bench beside an
ncu that starts with it, as in `profile`, over the one that follows alone; the same of two benches alone (how far a
process differs from the next); and the MB of the GPU's memory that the waiting ncu takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from ncu_assist.executors.local import Local
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.ncu_stage import ncu_stage
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import find_project

Medians = Mapping[tuple[str, str], float]  # ns, by version and workload


class Silent:
    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        pass


def bench(job: MeasureJob) -> Medians:
    """Check and time the versions in a process of their own."""
    rows = measure(job, Silent()).versions
    return {(one.version, t.workload): t.median_ns for one in rows if one.run for t in one.run.run.timings}


def used_mb() -> float:
    """Return the used memory of the GPU."""
    ask = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return float(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.splitlines()[0])


def ratios(pairs: list[tuple[Medians, Medians]]) -> dict[str, list[float]]:
    """Return each pair's first over its second."""
    keys = pairs[0][0].keys()
    return {f"{v} {w}": [round(one[v, w] / other[v, w], 4) for one, other in pairs] for v, w in keys}


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kernel")
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--pairs", type=int, default=5)
    asked = parser.parse_args()
    project = find_project(Path.cwd())
    job = plan(project, MeasureRequest(asked.kernel, tuple(asked.versions)), ("check", "bench"))
    waits: list[float] = []

    def beside() -> Medians:
        before = used_mb()
        folder = project.work / "measure" / f"beside-{len(waits)}"
        stage = ncu_stage(project, folder, Local(), ProfileOptions()).begun(Local())
        try:
            found = bench(job)  # from its first moment, as `profile` does
            waits.append(used_mb() - before)
            return found
        finally:
            stage.close()

    def alone() -> Medians:
        return bench(job)

    alone()
    turns = [((beside(), alone()), (alone(), alone())) for _ in range(asked.pairs)]
    beside_it, by_itself = ratios([one for one, _ in turns]), ratios([other for _, other in turns])
    middle = {name: [median(found[name]) for found in (beside_it, by_itself)] for name in beside_it}
    figures: dict[str, Any] = {"beside_over_alone": beside_it, "alone_over_alone": by_itself}
    figures |= {"medians": middle, "gpu_mb_of_waiting_ncu": waits}
    text = json.dumps(figures, indent=1)
    (Path(os.environ.get("OUT", ".")) / "beside_ncu.json").write_text(text)
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
