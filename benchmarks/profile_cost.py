"""What ncu-assist adds to ncu: one plain ncu process, our profile, one ncu process a version, back to back.

usage: python benchmarks/profile_cost.py [KERNEL]     (on a GPU, from the project's root; writes profile_cost.json)
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends import build_versions
from ncu_assist.harness.client import only, profile_command
from ncu_assist.harness.request import HarnessRequest, new_request, write_request
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.measuring import measure
from ncu_assist.pipeline.ncu_stage import ncu_stage
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.pipeline.profiling import STARTING
from ncu_assist.project import Project, find_project


class Stopwatch:
    """A reporter that remembers when the ncu stage began."""

    def __init__(self) -> None:
        self.ncu_started = 0.0

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        if text == STARTING:
            self.ncu_started = time.perf_counter()


def plain_ncu_s(project: Project, request: HarnessRequest) -> float:
    """Return the seconds of one ncu process over the versions of a request, with nothing of ours around it."""
    job = replace(request, settings=replace(request.settings, stages=("profile",)))
    command = profile_command(Path(os.path.relpath(write_request(job), project.root)))
    stage = ncu_stage(project, Path(job.out), None, ProfileOptions())  # type: ignore[arg-type]
    (Path(job.out) / "tmp").mkdir(exist_ok=True)
    done = process.run(stage.argv(command), env=stage.environment(), cwd=project.root)
    if done.exit_code != 0:
        sys.exit(done.stdout + done.stderr)
    return done.seconds


def main(kernel: str) -> None:
    project = find_project(Path.cwd())
    job = plan(project, MeasureRequest(kernel), ("check", "bench"), ProfileOptions())
    measure(replace(job, options=None), Stopwatch())  # builds, compiles Triton: everything cached from here on
    builds = build_versions(job.kernel, job.versions, project.work)
    request = new_request(job.kernel, builds, job.workloads, job.settings, project.work)
    plain = plain_ncu_s(project, request)
    watch, started = Stopwatch(), time.perf_counter()
    measure(job, watch)
    ended = time.perf_counter()
    plain_again = plain_ncu_s(project, request)
    one_by_one = sum(plain_ncu_s(project, only(request, (version,))) for version in request.versions)
    figures = {
        "versions": len(request.versions),
        "plain_ncu_s": [plain, plain_again],
        "ncu_stage_s": ended - watch.ncu_started,
        "profile_s": ended - started,
        "one_ncu_a_version_s": one_by_one,
    }
    mean = (plain + plain_again) / 2
    figures |= {
        "stage_over_plain": figures["ncu_stage_s"] / mean,  # type: ignore[operator]
        "profile_over_plain": figures["profile_s"] / mean,  # type: ignore[operator]
        "one_by_one_over_profile": one_by_one / figures["profile_s"],  # type: ignore[operator]
        "one_by_one_over_stage": one_by_one / figures["ncu_stage_s"],  # type: ignore[operator]
    }
    text = json.dumps(figures, indent=1)
    (Path(os.environ.get("OUT", ".")) / "profile_cost.json").write_text(text)
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "lightning_decode")
