"""What ncu-assist adds to ncu: one plain ncu process, our profile stage by stage, --adaptive, one ncu a version.

usage: python benchmarks/profile_cost.py [KERNEL [VERSION …]] [--one-by-one]

On a GPU, from the project's root, back to back; writes profile_cost.json. Nothing is built before the first profile;
runs go into the project's archive.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ncu_assist import process
from ncu_assist.backends import build_versions
from ncu_assist.harness.client import only, profile_command
from ncu_assist.harness.request import HarnessRequest, new_request, write_request
from ncu_assist.ncu.command import ADAPTIVE, ProfileOptions
from ncu_assist.pipeline import measuring
from ncu_assist.pipeline.measuring import measure
from ncu_assist.pipeline.ncu_stage import NcuStage, ncu_stage
from ncu_assist.pipeline.pages.beside import pages_follow
from ncu_assist.pipeline.pages.writing import pages_of
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import Project, find_project


@dataclass
class Stopwatch:
    """A reporter that remembers when each stage was first and last heard of."""

    heard: dict[str, tuple[float, float]] = field(default_factory=dict)

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        now, stage = time.perf_counter(), text.split(":")[0].split()[0]
        self.heard.setdefault(stage, (now, now))
        self.heard[stage] = self.heard[stage][0], now

    def first(self, stage: str) -> float:
        return self.heard[stage][0]


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


def profile_s(project: Project, kernel: str, versions: Sequence[str], section_set: str) -> dict[str, float]:
    """Return the seconds of each stage of a profile, its pages among them."""
    job = plan(project, MeasureRequest(kernel, tuple(versions)), ("check", "bench"), ProfileOptions(section_set))
    watch, ncu, saving = Stopwatch(), list[tuple[float, float]](), list[tuple[float, float]]()
    run, save = NcuStage.run, measuring._save

    def timed_run(stage: NcuStage, *given: Any) -> Any:
        began = time.perf_counter()
        done = run(stage, *given)
        ncu.append((began, time.perf_counter()))
        return done

    def timed_save(*given: Any) -> Any:
        began = time.perf_counter()
        outcome = save(*given)
        saving.append((began, time.perf_counter()))
        return outcome

    NcuStage.run, measuring._save = timed_run, timed_save  # type: ignore[method-assign]
    try:
        with pages_follow():
            began = time.perf_counter()
            outcome = measure(job, watch)
            measured = time.perf_counter()
            pages_of(project, [one.run for one in outcome.versions if one.run], watch)
            ended = time.perf_counter()
    finally:
        NcuStage.run, measuring._save = run, save  # type: ignore[method-assign]
    return {
        "build_and_start_s": watch.first("check") - began,
        "check_s": watch.first("bench") - watch.first("check"),
        "bench_s": ncu[0][0] - watch.first("bench"),
        "ncu_s": sum(end - start for start, end in ncu),
        "saving_s": saving[0][1] - ncu[-1][1],
        "pages_s": ended - measured,
        "profile_s": measured - began,
        "with_pages_s": ended - began,
    }


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kernel", nargs="?", default="lightning_decode")
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--one-by-one", action="store_true")
    asked = parser.parse_args()
    project = find_project(Path.cwd())
    shutil.rmtree(project.work / "build" / asked.kernel, ignore_errors=True)
    full = profile_s(project, asked.kernel, asked.versions, "full")
    adaptive = profile_s(project, asked.kernel, asked.versions, ADAPTIVE)
    job = plan(project, MeasureRequest(asked.kernel, tuple(asked.versions)), ("check", "bench"), ProfileOptions())
    builds = build_versions(job.kernel, job.versions, project.work)
    request = new_request(job.kernel, builds, job.workloads, job.settings, project.work)
    plain = plain_ncu_s(project, request)
    figures: dict[str, Any] = {"versions": len(request.versions), "plain_ncu_s": plain, "full": full}
    figures |= {"all_but_plain_ncu_s": full["with_pages_s"] - plain, "adaptive": adaptive}
    figures |= {"adaptive_over_full": adaptive["ncu_s"] / full["ncu_s"]}
    if asked.one_by_one:
        one_by_one = sum(plain_ncu_s(project, only(request, (version,))) for version in request.versions)
        figures |= {"one_ncu_a_version_s": one_by_one, "one_by_one_over_plain": one_by_one / plain}
    text = json.dumps(figures, indent=1)
    (Path(os.environ.get("OUT", ".")) / "profile_cost.json").write_text(text)
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
