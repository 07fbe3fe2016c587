"""What each section of ncu costs: passes and seconds a launch, and the metrics that it brings; needs a GPU and ncu.

usage: python benchmarks/section_costs.py OUT KERNEL VERSION [WORKLOAD] [--choices-only]      (from the project's root)

One ncu process each over the same call: every section that `profile --adaptive` may choose alone, its two
choices, and the full set. Writes OUT/section_costs.json: for each its passes, the seconds between the start of the
launch's first pass and its last, the seconds of the process, and the names of its metrics.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from ncu_assist.backends import build_versions
from ncu_assist.executors.local import Local
from ncu_assist.harness.client import profile_command
from ncu_assist.harness.request import new_request, write_request
from ncu_assist.ncu.command import ALL_SECTIONS, MEMORY_SECTIONS, ProfileOptions, find_ncu, list_sections
from ncu_assist.ncu.failures import ProfiledLaunch
from ncu_assist.pipeline.ncu_stage import ncu_stage
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import find_project

PASSES = "profiler__replayer_passes"


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("kernel")
    parser.add_argument("version")
    parser.add_argument("workload", nargs="?")
    parser.add_argument("--choices-only", action="store_true")
    asked = parser.parse_args()
    project = find_project(Path.cwd())
    known = list_sections(find_ncu())
    choices = {"memory": MEMORY_SECTIONS, "all": ALL_SECTIONS}
    if not asked.choices_only:
        choices |= {name: (name,) for name in ALL_SECTIONS}
    choices = {name: tuple(one for one in some if one in known) for name, some in choices.items()}
    job = plan(project, MeasureRequest(asked.kernel, (asked.version,), asked.workload), ("profile",), ProfileOptions())
    builds = build_versions(job.kernel, job.versions, project.work)
    request = new_request(job.kernel, builds, job.workloads, job.settings, project.work)
    found = {"sections_known": list(known)}
    for name, sections in {**choices, "full": ()}.items():
        own = replace(request, out=f"{request.out}/{name}", settings=replace(request.settings, stages=("profile",)))
        Path(own.out).mkdir(parents=True, exist_ok=True)
        command = profile_command(Path(os.path.relpath(write_request(own), project.root)))
        stage = ncu_stage(project, Path(own.out), Local(), ProfileOptions(sections=sections))
        steps: list[float] = []

        def step(_: ProfiledLaunch, steps: list[float] = steps) -> bool:
            steps.append(time.perf_counter())
            return False

        began = time.perf_counter()
        capture = stage.run(command, lambda _: None, step)
        metrics = capture.report.metrics
        passes = metrics[metrics["metric"] == PASSES]["value"].tolist()
        found[name] = {  # type: ignore[assignment]
            "passes": passes,
            "launch_s": steps[-1] - steps[0] if steps else None,
            "process_s": time.perf_counter() - began,
            "metrics": sorted(set(metrics["metric"].astype(str))),
        }
        sys.stdout.write(f"{name:45} {passes} passes, {found[name]['process_s']:.1f} s\n")  # type: ignore[call-overload]
        sys.stdout.flush()
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / f"section_costs_{asked.kernel}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
