"""What the index is made of: the best version of each kernel, against its baseline; damage stops nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from factories import make_run, samples_frame, save_run, times
from kernel_folder import write_kernel

from ncu_assist.analysis.archive import KernelState
from ncu_assist.pipeline.pages.index import archive_state
from ncu_assist.project import Project, find_project
from ncu_assist.sources import discover_versions, source_sha256
from ncu_assist.store import Store
from ncu_assist.store.baselines import set_baseline

VERSIONS = {"v0_torch.py": "x = 0\n", "v1_wide.py": "x = 1\n", "v2_slow.py": "x = 2\n"}
TIMES = {"v0_torch": 20_000.0, "v1_wide": 10_000.0, "v2_slow": 40_000.0}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    return find_project(tmp_path)


def measured(project: Project, kernel: str = "add_one") -> Store:
    """Save one run of each version, all of one bench, of the sources as they are now where there are any."""
    store = Store(project.reports)
    folder = project.kernels / kernel
    now = {v.name: source_sha256(v.path) for v in discover_versions(folder)} if folder.is_dir() else {}
    frames = [samples_frame(times(ns, 3), version=name) for name, ns in TIMES.items()]
    together = pd.concat(frames, ignore_index=True)
    for number, name in enumerate(TIMES):
        created = f"2026-11-2{number}T07:45:00Z"
        run = make_run(kernel=kernel, version=name, created=created, source_sha256=now.get(name, f"{number:02d}" * 32))
        save_run(store, run, samples=together)
    return store


def only(project: Project) -> KernelState:
    (one,) = archive_state(project).kernels
    return one


def test_a_kernel_shows_its_best_version_against_v0(project: Project, tmp_path: Path) -> None:
    write_kernel(tmp_path, VERSIONS)
    measured(project)
    one = only(project)
    assert (one.kernel, one.summary, one.workload, one.source) == ("add_one", "adds one", "small", "live")
    assert one.best
    assert one.baseline
    assert one.verdict
    assert (one.best.run.version, one.baseline.run.version) == ("v1_wide", "v0_torch")
    assert one.verdict.verdict == "faster"
    assert one.verdict.speedup == pytest.approx(2.0, rel=0.01)
    assert (one.versions, one.runs, one.changed) == (3, 3, "2026-11-22T07:45:00Z")


def test_a_version_edited_since_is_not_the_best(project: Project, tmp_path: Path) -> None:
    write_kernel(tmp_path, VERSIONS)
    measured(project)
    (tmp_path / "kernels/add_one/v1_wide.py").write_text("x = 9\n")
    one = only(project)
    assert one.best
    assert one.best.run.version == "v0_torch"
    assert one.verdict is None, "it is the baseline itself"


def test_a_baseline_that_was_set_counts(project: Project, tmp_path: Path) -> None:
    write_kernel(tmp_path, VERSIONS)
    store = measured(project)
    set_baseline(store, store.runs("add_one", "v2_slow")[0])
    one = only(project)
    assert one.baseline
    assert one.verdict
    assert one.baseline.run.version == "v2_slow"
    assert one.verdict.speedup == pytest.approx(4.0, rel=0.01)


def test_a_kernel_without_a_folder_is_shown_by_its_runs(project: Project) -> None:
    measured(project, "foreign")
    one = only(project)
    assert one.best
    assert (one.best.run.version, one.summary, one.workload) == ("v1_wide", "", "small")


def test_an_imported_run_is_shown_without_a_best(project: Project) -> None:
    save_run(Store(project.reports), make_run(source="imported", workloads=(), checks=(), machine=None))
    one = only(project)
    assert one.best is None
    assert (one.shown.run.version, one.source, one.workload) == ("v1_torch", "imported", None)


def test_damage_is_listed_and_stops_nothing(project: Project, tmp_path: Path) -> None:
    write_kernel(tmp_path, VERSIONS)
    store = measured(project)
    (store.runs("add_one", "v2_slow")[0].folder / "run.json").write_text("{")
    (store.reports / "add_one/baseline.json").write_text("{")
    (tmp_path / "kernels/add_one/kernel.toml").write_text("nonsense")
    state = archive_state(project)
    assert [one.path.split("/")[1] for one in state.damaged] == ["v2_slow"]
    assert "baseline.json" in state.kernels[0].problem
    assert len(state.runs) == 2


def test_changed_samples_make_a_run_damaged(project: Project, tmp_path: Path) -> None:
    """By its hash: the file is as long as it was."""
    write_kernel(tmp_path, VERSIONS)
    store = measured(project)
    stored = store.runs("add_one", "v0_torch")[0]
    path = stored.folder / "samples.parquet"
    path.write_bytes(bytes(reversed(path.read_bytes())))
    state = archive_state(project)
    assert [(one.path.split("/")[1], "was changed" in one.problem) for one in state.damaged] == [("v0_torch", True)]
    assert [one.run.version for one in state.runs] == ["v2_slow", "v1_wide"]
    assert state.kernels[0].verdict is None


def test_an_empty_archive_has_no_kernels(project: Project) -> None:
    shutil.rmtree(project.reports, ignore_errors=True)
    assert archive_state(project).kernels == ()
