"""Runs of which no prompt can be made: each is refused with what is missing and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from factories import launch, make_run, metrics_frame, save_run
from kernel_folder import TOML, write_kernel
from recorded_family import copy_family
from suggest.recorded import made_project

from ncu_assist import record
from ncu_assist.errors import UsageProblem
from ncu_assist.project import Project
from ncu_assist.render.redact import NOBODY
from ncu_assist.store import Store
from ncu_assist.suggest.evidence.gathering import evidence, removed_before
from ncu_assist.suggest.evidence.task import Cleaner

REPORT = Path(__file__).parent.parent.parent / "data" / "transpose_basic_h200_2025.3.1.ncu-rep.zst"


def test_a_measured_version_is_taken(tmp_path: Path) -> None:
    found = evidence(made_project(tmp_path), "add_one/v1")
    assert (found.kernel, found.version, found.workload, found.suffix) == ("add_one", "v1_torch", "small", ".py")


def test_best_is_the_default(tmp_path: Path) -> None:
    assert evidence(made_project(tmp_path)).version == "v1_torch"


def test_a_report_of_another_program(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"report of another program: a draft needs a kernel folder"):
        evidence(Project(tmp_path), str(REPORT))


def test_an_imported_run(tmp_path: Path) -> None:
    run = make_run(source_sha256=None, source="imported", kernel="imported", version="theirs", workloads=())
    save_run(Store(tmp_path / "reports"), run, metrics_frame())
    with pytest.raises(UsageProblem, match="report of another program"):
        evidence(Project(tmp_path), "imported/theirs")


def test_a_kernel_whose_folder_is_gone(tmp_path: Path) -> None:
    save_run(Store(tmp_path / "reports"), make_run(), metrics_frame())
    with pytest.raises(UsageProblem, match="has no folder kernels/add_one"):
        evidence(Project(tmp_path), "add_one/v1_torch@last")


def test_a_version_whose_file_is_gone(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    save_run(Store(tmp_path / "reports"), make_run(), metrics_frame())
    with pytest.raises(UsageProblem, match="has no v1_torch any more"):
        evidence(Project(tmp_path), "add_one/v1_torch@last")


def test_a_run_without_counters(tmp_path: Path) -> None:
    project = made_project(tmp_path, metrics=None, launches=(), profile=None)
    with pytest.raises(UsageProblem, match="has no counters") as caught:
        evidence(project, "add_one/v1")
    assert caught.value.hint == "ncu-assist profile add_one v1"


def test_a_workload_without_counters(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="has no counters on odd"):
        evidence(made_project(tmp_path), "add_one/v1", "odd")


def test_an_unknown_workload(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"no workload 'smal'; did you mean 'small'"):
        evidence(made_project(tmp_path), "add_one/v1", "smal")


def test_a_version_that_is_wrong(tmp_path: Path) -> None:
    checks = (record.Check("small", False, "y: 3 elements differ", (0,), None, None),)
    with pytest.raises(UsageProblem, match="wrong results on small: y: 3 elements differ"):
        evidence(made_project(tmp_path, checks=checks), "add_one/v1")


def test_a_run_that_keeps_no_source(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="keeps no source"):
        evidence(made_project(tmp_path, keeps_source=False), "add_one/v1")


def test_a_run_without_times_says_so(tmp_path: Path) -> None:
    found = evidence(made_project(tmp_path, timed=False), "add_one/v1")
    assert found.floor.median_ns is None
    assert found.story[-1].outcome == "not timed"


def test_too_few_counters_are_said(tmp_path: Path) -> None:
    few = metrics_frame({"gpu__time_duration.sum": 100_000.0}, defaults=False)
    found = evidence(made_project(tmp_path, metrics=few), "add_one/v1")
    assert [item.name for item in found.items] == ["gpu__time_duration.sum"]
    assert any(one.startswith("metric-missing") for one in found.unknown)


def test_the_first_workload_with_counters_where_the_default_has_none(tmp_path: Path) -> None:
    odd = record.WorkloadFacts("odd", "float32", {"n": 1000}, 8000, 1000)
    project = made_project(tmp_path, workloads=(odd,), launches=(launch(workload="odd"),), checks=(), timed=False)
    assert evidence(project, "add_one/v1").workload == "odd"


def test_a_workload_that_is_for_the_parent_alone_is_none_of_a_draft(tmp_path: Path) -> None:
    toml = TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v1"]\n')
    found = evidence(made_project(tmp_path, toml=toml), "add_one/v1")
    assert [one.name for one in found.task.workloads] == ["small"]


def test_a_kernel_with_inputs_in_memory_of_the_host(tmp_path: Path) -> None:
    project = made_project(tmp_path)
    toml = project.kernels / "add_one" / "kernel.toml"
    toml.write_text(toml.read_text().replace("[outputs]", '[host]\ninputs = ["x"]\nbytes = "4 * n"\n\n[outputs]'))
    with pytest.raises(UsageProblem, match="drafts of add_one cannot be examined: x lies in memory of the host"):
        evidence(project, "add_one/v1")


@pytest.mark.parametrize("cut", [0, 1])
def test_a_damaged_run_of_another_kernel_costs_its_precedent_alone(tmp_path: Path, cut: int) -> None:
    copy_family(tmp_path, "fusion_limit")
    project = Project(tmp_path)
    found, damaged = removed_before(project, Store(project.reports), "mine", "redundant-traffic", (), Cleaner(NOBODY))
    assert ([one.where for one in found], damaged) == (["fusion_limit/v3_everything_in_registers"], ())
    (path,) = tmp_path.glob("reports/fusion_limit/v3_*/*/samples.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x" * (1 - cut))
    found, damaged = removed_before(project, Store(project.reports), "mine", "redundant-traffic", (), Cleaner(NOBODY))
    assert [one.where for one in found] == ["fusion_limit/v4_more_warps"]  # against the nearest that can be read
    assert [one.path.split("/")[1] for one in damaged] == ["v3_everything_in_registers"]
