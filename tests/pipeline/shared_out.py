"""A project of many small kernels whose work fake GPUs replay, and what is held of it in the end."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.fake_gpu import FakeGpu
from fakes.fake_ncu import install
from kernel_folder import write_kernel
from patience import CEILING_S
from pipeline.measured import VERSIONS, WORKLOADS

from ncu_assist.harness.request import HarnessSettings
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.measuring import MeasureJob
from ncu_assist.project import Project, Settings
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store


def make_jobs(
    root: Path, names: list[str], gpu: FakeGpu, counted: bool = True, limit_s: float = CEILING_S
) -> list[MeasureJob]:
    """Return a job for each kernel: two versions on two workloads, check, bench and, if ``counted``, ncu."""
    made = write_kernel(root, VERSIONS, WORKLOADS)
    project = Project(root, Settings(version_timeout_s=limit_s))
    settings = HarnessSettings(stages=("check", "bench"), trials=1, rounds=12, device="cpu")
    options = ProfileOptions() if counted else None
    jobs = []
    for name in names:
        folder = root / "kernels" / name
        shutil.copytree(made, folder)
        kernel = read_kernel(folder)
        jobs.append(MeasureJob(project, kernel, kernel.versions, kernel.workloads, settings, options, gpu))
    shutil.rmtree(made)
    return jobs


def fake_ncu_first(root: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PATH", f"{install(root / 'bin').parent}:{os.environ['PATH']}")


def again(jobs: list[MeasureJob], gpu: FakeGpu) -> list[MeasureJob]:
    return [replace(job, executor=gpu) for job in jobs]


def assert_whole(root: Path, jobs: list[MeasureJob], counted: bool = True) -> None:
    """Each version of each kernel has one run, with all that was asked for, and the archive is sound."""
    store = Store(root / "reports")
    runs = [stored.run for stored in store.runs()]
    expected = Counter((job.kernel.name, version.name) for job in jobs for version in job.versions)
    assert Counter((run.kernel, run.version) for run in runs) == expected
    for run in runs:
        assert {one.workload for one in run.checks} == {one.workload for one in run.timings} == {"w0", "w1"}
        assert len(run.checks) == len(run.timings) == 2
        if counted:
            assert run.launches
    assert not store.damaged()
