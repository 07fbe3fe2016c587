"""References: what each form means, and clear words for those that mean nothing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import make_run, samples_frame, save_run, times
from kernel_folder import PYTHON_VERSION, write_kernel

from ncu_assist import sources
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.project import Project
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.baselines import get_baseline, set_baseline
from ncu_assist.store.choosing import Context, recorded_runs_matching
from ncu_assist.store.references import VersionNotMeasured, resolve, resolve_all

SOURCES = {f"v{n}_{idea}.py": PYTHON_VERSION + f"# {n}\n" for n, idea in ((0, "torch"), (1, "fused"), (10, "wide"))}


class Desk:
    """A project with one kernel folder of three versions, and its archive."""

    def __init__(self, root: Path) -> None:
        self.project = Project(root)
        self.folder = write_kernel(root, SOURCES)
        self.store = Store(self.project.reports)

    def save(self, version: str, second: int = 0, median_ns: float = 1e5, **changes: Any) -> StoredRun:
        path = self.folder / f"{version}.py"
        facts: dict[str, Any] = {
            "version": version,
            "run_id": f"20261121T0745{second:02}Z-aaaaaa",
            "created": f"2026-11-21T07:45:{second:02}Z",
            "machine": machine_hash(),
            "source_sha256": sources.source_sha256(path) if path.is_file() else None,
        }
        run = make_run(**{**facts, **changes})
        return save_run(self.store, run, None, samples_frame(times(median_ns, second), version=version))

    def resolve(self, text: str, kernel: str | None = None, folder: Path | None = None) -> StoredRun | Path:
        return resolve(text, self.store, Context(self.project, folder or self.project.root, kernel))

    def reference(self, text: str, **where: Any) -> str:
        found = self.resolve(text, **where)
        assert isinstance(found, StoredRun)
        return found.reference.partition("-")[0]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_version_means_its_newest_run(desk: Desk) -> None:
    desk.save("v1_fused", 1)
    desk.save("v1_fused", 2)
    for text in ("v1", "v1_fused", "add_one/v1", "v1@last", "v1@20261121T074502"):
        assert desk.reference(text) == "add_one/v1_fused@20261121T074502Z"
    assert desk.reference("v1@20261121T074501Z") == "add_one/v1_fused@20261121T074501Z"


def test_a_run_of_this_machine_goes_before_a_newer_recorded_one(desk: Desk) -> None:
    desk.save("v1_fused", 1)
    desk.save("v1_fused", 2, machine="another")
    desk.save("v1_fused", 3, source="recorded")
    assert desk.reference("v1") == "add_one/v1_fused@20261121T074501Z"


def test_a_run_counts_only_for_the_source_it_measured(desk: Desk) -> None:
    desk.save("v1_fused", 1)
    (desk.folder / "v1_fused.py").write_text("# changed\n")
    with pytest.raises(UsageProblem, match="has changed since") as problem:
        desk.resolve("v1")
    assert "ncu-assist profile add_one v1_fused" in problem.value.hint
    assert desk.reference("v1@last") == "add_one/v1_fused@20261121T074501Z"
    kernel = read_kernel(desk.folder)
    assert recorded_runs_matching(desk.store, kernel) == {"v0_torch": None, "v1_fused": None, "v10_wide": None}


def test_matching_runs_by_version(desk: Desk) -> None:
    old, new = desk.save("v0_torch", 1), desk.save("v0_torch", 2)
    found = recorded_runs_matching(desk.store, read_kernel(desk.folder))
    assert found["v0_torch"] == new != old
    assert found["v1_fused"] is None


def test_last_best_and_baseline(desk: Desk) -> None:
    desk.save("v0_torch", 1, 3e5)
    desk.save("v10_wide", 2, 1e5)
    desk.save("v1_fused", 3, 2e5)
    assert desk.reference("@last") == "add_one/v1_fused@20261121T074503Z"
    assert desk.reference("@best") == desk.reference("add_one/@best") == "add_one/v10_wide@20261121T074502Z"
    assert desk.reference("@baseline") == "add_one/v0_torch@20261121T074501Z"
    set_baseline(desk.store, desk.store.runs("add_one", "v1_fused")[0])
    assert desk.reference("@baseline") == "add_one/v1_fused@20261121T074503Z"
    assert desk.store.verify() == []


def test_a_version_that_fails_its_check_is_not_the_best(desk: Desk) -> None:
    desk.save("v0_torch", 1, 3e5)
    wrong = replace(make_run().checks[0], passed=False, reason="wrong tail")
    desk.save("v1_fused", 2, 1e5, checks=(wrong,))
    desk.save("v10_wide", 3, 1e5, checks=())
    assert desk.reference("@best") == "add_one/v0_torch@20261121T074501Z"


def test_best_compares_times_of_one_gpu_only(desk: Desk) -> None:
    desk.save("v0_torch", 1, 3e5)
    other = replace(make_run().device, name="NVIDIA B200")  # type: ignore[type-var]
    desk.save("v1_fused", 2, 1e5, device=other, machine="another")
    assert desk.reference("@best") == "add_one/v0_torch@20261121T074501Z"


def test_last_skips_recorded_runs_of_other_sources(desk: Desk) -> None:
    desk.save("v0_torch", 1, source="recorded")
    desk.save("v1_fused", 2, source="recorded", source_sha256="00")
    assert desk.reference("@last") == "add_one/v0_torch@20261121T074501Z"


def test_a_broken_baseline_file_is_named(desk: Desk) -> None:
    desk.save("v0_torch", 1)
    (desk.store.reports / "add_one" / "baseline.json").write_text("{")
    with pytest.raises(Exception, match=r"baseline\.json cannot be read"):
        get_baseline(desk.store, "add_one")


def test_the_kernel_of_a_bare_version(desk: Desk) -> None:
    desk.save("v1_fused", 1)
    for second, kernel in ((2, "other"), (3, "third")):
        desk.save("v1_mine", second, kernel=kernel)
    assert desk.reference("v1").startswith("third/")  # profiled last
    assert desk.reference("v1", kernel="other").startswith("other/")
    assert desk.reference("v1", folder=desk.folder).startswith("add_one/")
    assert desk.reference("v1", kernel="other", folder=desk.folder).startswith("other/")
    desk.save("v7_only", 4, kernel="fourth")
    assert desk.reference("v7").startswith("fourth/")  # the only one
    with pytest.raises(UsageProblem, match="add_one/v1, other/v1, third/v1"):
        desk.resolve("v1")  # the kernel profiled last has no v1


def _kernels(desk: Desk, *texts: str) -> list[str]:
    found = resolve_all(texts, desk.store, Context(desk.project, desk.project.root))
    return [one.run.kernel for one in found if isinstance(one, StoredRun)]


def test_bare_versions_are_of_the_kernel_that_the_other_side_names(desk: Desk) -> None:
    desk.save("v1_fused", 1)
    for second, version in ((2, "v1_mine"), (3, "v2_mine")):
        desk.save(version, second, kernel="other")  # profiled last
    assert _kernels(desk, "add_one", "v1") == ["add_one", "add_one"]
    assert _kernels(desk, "v1", "add_one@last") == ["add_one", "add_one"]
    assert _kernels(desk, "add_one", "@last") == ["add_one", "add_one"]
    assert _kernels(desk, "add_one", "other/v2") == ["add_one", "other"]


def test_bare_versions_are_of_a_kernel_that_has_both(desk: Desk) -> None:
    for second, kernel in ((1, "other"), (2, "third")):
        desk.save("v3_mine", second, kernel=kernel)
        desk.save("v4_mine", second + 2, kernel=kernel)
    desk.save("v5_mine", 5, kernel="third")
    for second, version in enumerate(("v3_mine", "v6_mine"), 6):
        desk.save(version, second, kernel="a_fourth")  # profiled last
    assert _kernels(desk, "v3", "v6") == ["a_fourth", "a_fourth"]
    assert _kernels(desk, "v3", "v5") == ["third", "third"]
    with pytest.raises(UsageProblem, match="'v3' may mean several: other/v3, third/v3; name the kernel too"):
        _kernels(desk, "v3", "v4")


def test_a_symbol_behind_a_kernel_is_its_own(desk: Desk) -> None:
    desk.save("v1_fused", 1)
    desk.save("v0_torch", 2)
    desk.save("v1_mine", 3, kernel="other")
    for symbol in ("last", "best", "baseline"):
        assert desk.reference(f"add_one@{symbol}") == desk.reference(f"add_one/@{symbol}")
    with pytest.raises(UsageProblem, match="add_one is a kernel, and only a version has a run @2026") as problem:
        desk.resolve("add_one@2026")
    assert problem.value.hint == "ncu-assist list add_one"


def test_a_foreign_program_needs_no_kernel_folder(desk: Desk) -> None:
    desk.save("main", 1, kernel="train", source="imported", source_sha256=None)
    assert desk.reference("train/main") == desk.reference("main") == "train/main@20261121T074501Z"
    assert desk.reference("train/@last") == desk.reference("train/@best") == "train/main@20261121T074501Z"


def test_a_report_is_a_path(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.ncu-rep").touch()
    assert desk.resolve("a.ncu-rep") == tmp_path / "a.ncu-rep"
    assert desk.resolve(str(tmp_path / "a.ncu-rep")) == tmp_path / "a.ncu-rep"
    with pytest.raises(UsageProblem, match="no report b") as problem:
        desk.resolve("b.ncu-rep")
    assert problem.value.message.endswith("known: a.ncu-rep")
    assert problem.value.hint == "ncu-assist show a.ncu-rep"


@pytest.mark.parametrize("name", ["noext", "report.qdrep", "./noext"])
def test_a_file_of_any_name_is_a_report(desk: Desk, tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert desk.resolve(name) == tmp_path / name


def test_of_reports_that_begin_alike_the_rest_of_the_name_tells(desk: Desk, tmp_path: Path) -> None:
    for name in ("gemm.4f.s8.ncu-rep", "gemm.b0.s4.ncu-rep", "sort.b0.s4.ncu-rep"):
        (tmp_path / name).touch()
    with pytest.raises(UsageProblem, match=r"did you mean 'gemm\.b0\.s4\.ncu-rep'") as problem:
        desk.resolve("gem.b0.s4.ncu-rep")
    assert problem.value.hint == "ncu-assist show gemm.b0.s4.ncu-rep"


def test_a_list_of_reports_stays_on_its_line(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "new\nline's.ncu-rep").touch()
    with pytest.raises(UsageProblem) as problem:
        desk.resolve("x.ncu-rep")
    assert problem.value.message.endswith(r"known: new\nline's.ncu-rep")
    assert problem.value.hint == r"ncu-assist show $'new\nline\'s.ncu-rep'"


@pytest.mark.parametrize("name", ["x.ncu-rep", "out", "out/"])
def test_a_folder_leads_to_a_report_in_it(desk: Desk, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "in.ncu-rep").touch()
    with pytest.raises(UsageProblem, match=r"but a folder with one|is a folder; it holds 1: in.ncu-rep") as problem:
        desk.resolve(name)
    assert problem.value.hint == f"ncu-assist show {name.rstrip('/')}/in.ncu-rep"


def test_the_name_that_ncu_was_given_leads_to_its_report(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "my run.ncu-rep").touch()
    (tmp_path / "v10.ncu-rep").touch()
    with pytest.raises(UsageProblem) as problem:
        desk.resolve("my run")
    assert problem.value.message.endswith("did you mean the report my run.ncu-rep?")
    assert problem.value.hint == "ncu-assist show 'my run.ncu-rep'"
    with pytest.raises(VersionNotMeasured):
        desk.resolve("v10")


def test_a_version_goes_before_a_file_of_its_name(desk: Desk, tmp_path: Path) -> None:
    desk.save("v1_fused", 1)
    (tmp_path / "v1").touch()
    assert desk.reference("v1") == "add_one/v1_fused@20261121T074501Z"


def test_what_is_there_and_no_file_is_said(desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ncu-rep")
    (tmp_path / "folder.ncu-rep").mkdir()
    (tmp_path / "link.ncu-rep").symlink_to("/nowhere/x.ncu-rep")
    kinds = {
        "pipe": "a pipe",
        "folder": "a folder; it has no reports",
        "link": "a link to /nowhere/x.ncu-rep, which does not exist",
    }
    for name, kind in kinds.items():
        with pytest.raises(UsageProblem) as problem:
            desk.resolve(f"{name}.ncu-rep")
        assert problem.value.message == f"{name}.ncu-rep is not a report: it is {kind}"
        tried = "ncu-assist show FILE.ncu-rep" if name == "folder" else "ncu-assist list"
        assert problem.value.hint == tried, "nothing else is there, and it is not offered again"


@pytest.mark.parametrize("name", ["a" * 400, "nul\0", "a.ncu-rep/b"])
def test_names_that_no_file_can_have(desk: Desk, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.ncu-rep").touch()
    for text in (name, f"{name}.ncu-rep"):
        with pytest.raises(UsageProblem):
            desk.resolve(text)


@pytest.mark.parametrize(
    ("text", "message", "more"),
    [
        ("v2", "there is no kernel or version 'v2'", "known: add_one/v0_torch, add_one/v1_fused"),
        ("add_one/v1_fusd", "add_one has no version 'v1_fusd'", "'v1_fused'"),
        ("add_on/v1", "there is no kernel 'add_on'", "'add_one'"),
        ("v1@2025", "has no run '2025'", ""),
        ("v1@20261121", "begins 2 runs", "20261121T074501Z"),
        ("@bets", "is not a reference", "'@best'"),
        ("@", "is not a reference", ""),
        ("", "is not a reference", "version@run"),
        ("v1@", "is not a reference", ""),
        ("add_one/", "is not a reference", ""),
        ("v10", "has not been measured", ""),
        ("../../etc/v1", "there is no kernel", ""),
        ("add_one/..", "has no version", ""),
    ],
)
def test_what_means_nothing_is_told(desk: Desk, text: str, message: str, more: str) -> None:
    desk.save("v1_fused", 1)
    desk.save("v1_fused", 2)
    with pytest.raises(UsageProblem) as problem:
        desk.resolve(text)
    assert message in problem.value.message
    assert more in problem.value.message
    assert problem.value.hint.startswith("ncu-assist "), "a command to paste"


def test_of_names_alike_the_one_of_the_same_number_is_meant(desk: Desk) -> None:
    for text, meant in (
        ("v0_fused", "add_one/v0"),
        ("add_one/v0_fused", "v0"),
        ("add_one/v1_fusd", "v1_fused"),
        ("add_one/v7_fused", "v1_fused"),
    ):
        with pytest.raises(UsageProblem, match=f"did you mean '{meant}'"):
            desk.resolve(text)


def test_a_damaged_run_is_told(desk: Desk) -> None:
    (desk.save("v1_fused", 1).folder / "samples.parquet").unlink()
    for text in ("v1@20261121T074501Z", "v1"):
        with pytest.raises(DamagedData, match=r"damaged: samples\.parquet is missing"):
            desk.resolve(text)


def test_an_empty_archive_says_what_to_do(desk: Desk) -> None:
    for text in ("@last", "v1"):
        with pytest.raises(UsageProblem) as problem:
            desk.resolve(text)
        assert "ncu-assist profile" in problem.value.hint


def test_a_live_run_of_another_machine_counts_as_recorded(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("abc\n")
    here = machine_hash(tmp_path / "id")
    assert here is not None
    assert len(here) == 64
    assert len(machine_hash(tmp_path / "none")) == 64
    run = make_run(machine=here)
    assert shown_source(run, here) == "live"
    assert shown_source(run, "other") == shown_source(run, None) == "recorded"
    assert shown_source(replace(run, source="imported"), "other") == "imported"


def test_the_best_of_those_that_are_as_fast_is_the_fastest_over_all_workloads(repository: Path) -> None:
    """v5 of softmax is 0.1 µs faster than v9 on the default workload, and 1.65 times slower on another."""
    found = resolve("softmax/@best", Store(repository / "reports"), Context(Project(repository), repository))
    assert isinstance(found, StoredRun)
    assert found.run.version == "v9_async_statistics"
