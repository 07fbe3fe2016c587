"""The recorded archive as a project of its own, its evidence, and a small made-up kernel with a run."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import make_run, metrics_frame, samples_frame, save_run, times
from kernel_folder import PYTHON_VERSION, write_kernel
from recorded_family import copy_family

from ncu_assist.project import Project
from ncu_assist.render.redact import NOBODY
from ncu_assist.sources import source_sha256
from ncu_assist.store import Store, StoredRun, machine_hash
from ncu_assist.suggest.evidence.gathering import evidence
from ncu_assist.suggest.evidence.records import Evidence


@pytest.fixture(scope="session")
def recorded_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of lightning_decode and its runs, without pages and without what was measured here."""
    root = tmp_path_factory.mktemp("recorded")
    copy_family(root)
    for stored in Store(root / "reports").runs():
        if stored.run.machine == machine_hash():
            shutil.rmtree(stored.folder)
    return Project(root)


@functools.cache
def evidence_of(project: Project, version: str) -> Evidence:
    """The evidence on a version of lightning_decode, read once."""
    return evidence(project, f"lightning_decode/{version}", identity=NOBODY)


@pytest.fixture
def v6(recorded_project: Project) -> Evidence:
    return evidence_of(recorded_project, "v6")


def made_project(root: Path, source: str = PYTHON_VERSION, toml: str | None = None, **changes: Any) -> Project:
    """A project whose add_one/v1_torch was measured; ``changes`` are of the run, ``metrics`` None for no counters."""
    versions = {"v1_torch.py": source}
    folder = write_kernel(root, versions, toml) if toml else write_kernel(root, versions)
    _save(Project(root), folder / "v1_torch.py", changes)
    return Project(root)


def _save(project: Project, path: Path, changes: dict[str, Any]) -> StoredRun:
    metrics = changes.pop("metrics", metrics_frame())
    samples = samples_frame(times(100_000.0, 1)) if changes.pop("timed", True) else None
    files = {f"source/{path.name}": path.read_bytes()} if changes.pop("keeps_source", True) else {}
    run = replace(make_run(source_sha256=source_sha256(path)), **changes)
    return save_run(Store(project.reports), run, metrics, samples, **files)
