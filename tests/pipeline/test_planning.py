"""From names to a job: what is not there, what no version serves, verdicts where two versions share no workload."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_folder import PYTHON_VERSION, TOML, write_kernel

from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import Project

HALF = "# dtypes: float16\n" + PYTHON_VERSION
FOR_V1 = TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v1"]\n')


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """v0 and v1 serve the default workload, v1 alone the other one, v2 neither."""
    versions = {"v0_a.py": PYTHON_VERSION, "v1_b.py": PYTHON_VERSION, "v2_half.py": HALF}
    write_kernel(tmp_path, versions, FOR_V1)
    return Project(tmp_path)


def test_a_wish_without_names_is_everything_on_the_default_workload(project: Project) -> None:
    job = plan(project, MeasureRequest("add_one"), ("check",))
    assert [version.short for version in job.versions] == ["v0", "v1", "v2"]
    assert [workload.name for workload in job.workloads] == ["small"]
    assert job.counted == ()


@pytest.mark.parametrize(
    ("asked", "words", "hint"),
    [
        (MeasureRequest("add_one", ("v0",), "odd"), "odd is not for add_one v0", "--workload small"),
        (MeasureRequest("add_one", ("v2",), "all"), "small or odd is not for add_one v2", ""),
        (MeasureRequest("add_one", ("v0", "v2"), "odd"), "odd is not for add_one v0, v2", "--workload small"),
    ],
)
def test_a_workload_that_is_for_no_version_named(
    project: Project, asked: MeasureRequest, words: str, hint: str
) -> None:
    with pytest.raises(UsageProblem, match=words) as caught:
        plan(project, asked, ("check",))
    assert caught.value.hint == hint


def test_counters_on_some_workloads(project: Project) -> None:
    job = plan(project, MeasureRequest("add_one", workload="all", counted=("odd",)), ("check",))
    assert [workload.name for workload in job.counted] == ["odd"]
    with pytest.raises(UsageProblem, match="counters were requested on odd, which is not measured"):
        plan(project, MeasureRequest("add_one", counted=("odd",)), ("check",))
    with pytest.raises(UsageProblem, match="no workload 'od'"):
        plan(project, MeasureRequest("add_one", workload="all", counted=("od",)), ("check",))
