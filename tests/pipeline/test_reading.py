"""Answers from the archive: which runs are taken for a reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from measured import RIGHT, WRONG, Notes, make_job

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.listing import listing
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.opened_reports import named
from ncu_assist.pipeline.reading import compare

pytestmark = pytest.mark.slow


def without_counters(job: MeasureJob) -> MeasureJob:
    from dataclasses import replace

    return replace(job, options=None)


def test_counters_come_from_the_profiled_run_and_times_from_the_newest_common_bench(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.project.root)
    measure(job, notes)
    newest = measure(without_counters(job), notes).versions[0].run
    assert newest is not None
    diff = compare(job.project, ("v0", "v1"), None, DiffOptions())
    assert diff.launches
    assert diff.verdict.pairs > 0
    assert diff.baseline.timing is not None
    assert diff.baseline.timing.bench_id == newest.run.bench.bench_id  # type: ignore[union-attr]
    named = compare(job.project, (f"v0@{diff.baseline.run_id}", "v1"), None, DiffOptions())
    assert named.baseline.timing.bench_id != newest.run.bench.bench_id  # type: ignore[union-attr]


def test_without_a_workload_the_default_one_is_meant(tmp_path: Path, job: MeasureJob, notes: Notes) -> None:
    toml = job.kernel.folder / "kernel.toml"
    text = toml.read_text().replace("default = true\n", "") + "default = true\n"
    toml.write_text(text)
    from dataclasses import replace

    from ncu_assist.spec_file import read_kernel

    kernel = read_kernel(job.kernel.folder)
    assert kernel.default_workload.name == "w1"
    outcome = measure(replace(job, kernel=kernel, workloads=kernel.workloads), notes)
    run = outcome.versions[0].run
    assert run is not None
    assert [w.name for w in run.run.workloads] == ["w1", "w0"]


def test_a_changed_source_is_not_shown_with_old_figures(
    job: MeasureJob, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.project.root)
    measure(without_counters(job), notes)
    (job.kernel.folder / "v0_naive.py").write_text(WRONG)
    shown = {v.version: v.run for v in listing(job.project, "add_one")[0].versions}
    assert shown["v0_naive"] is None
    assert shown["v1_shared"] is not None
    with pytest.raises(UsageProblem, match="has changed since"):
        named(job.project, ("v0",), None)


def test_a_kernel_that_is_not_there(job: MeasureJob) -> None:
    with pytest.raises(UsageProblem, match="there is no kernel 'ad_one'; did you mean 'add_one'") as caught:
        listing(job.project, "ad_one")
    assert caught.value.hint == "ncu-assist list"


def test_versions_without_a_run_are_listed(tmp_path: Path, job: MeasureJob) -> None:
    made = make_job(tmp_path, {"v0_naive.py": RIGHT})
    assert [v.run for v in listing(made.project, None)[0].versions] == [None, None]
