"""A project whose kernel fits the report that the fake ncu replays, measured on the CPU."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fakes.fake_ncu import install
from in_this_process import Here
from kernel_folder import TOML, write_kernel
from patience import CEILING_S
from requirements import require

from ncu_assist.harness.request import HarnessSettings
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.measuring import MeasureJob
from ncu_assist.project import Project
from ncu_assist.project import Settings as ProjectSettings
from ncu_assist.spec_file import read_kernel

RIGHT = "import torch\n\n\ndef add_one(x, y):\n    torch.add(x, 1.0, out=y)\n"
WRONG = "import torch\n\n\ndef add_one(x, y):\n    torch.add(x, 2.0, out=y)\n"
VERSIONS = {"v0_naive.py": RIGHT, "v1_shared.py": RIGHT}
WORKLOADS = TOML.replace("[workloads.small]", "[workloads.w0]").replace("[workloads.odd]", "[workloads.w1]")


@dataclass
class Notes:
    """A reporter that keeps what was said."""

    notes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def status(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasureJob:
    """Two right versions on two workloads, check, bench and profile; the fake ncu is the first on PATH."""
    require("torch")
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:{os.environ['PATH']}")
    return make_job(tmp_path, VERSIONS)


def make_job(root: Path, versions: dict[str, str], toml: str = WORKLOADS) -> MeasureJob:
    """Return the job of all versions on all workloads of a kernel folder that is written below ``root``."""
    kernel = read_kernel(write_kernel(root, versions, toml))
    project = Project(root, ProjectSettings(version_timeout_s=CEILING_S))
    settings = HarnessSettings(stages=("check", "bench"), trials=1, rounds=12, device="cpu")
    executor = Here(root / "locks")
    return MeasureJob(project, kernel, kernel.versions, kernel.workloads, settings, ProfileOptions(), executor)


def with_limits(job: MeasureJob, **limits: float) -> MeasureJob:
    """Return the job with other limits in its project's settings."""
    settings = replace(job.project.settings, **limits)  # type: ignore[arg-type]
    return replace(job, project=replace(job.project, settings=settings))
