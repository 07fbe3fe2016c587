"""The history of a kernel: which runs show a version, what each is compared with, and why one is missing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from factories import (
    DEVICE,
    WORKLOAD,
    launch,
    make_run,
    metrics_frame,
    samples_frame,
    save_run,
    times,
    under_an_old_driver,
)
from kernel_folder import PYTHON_VERSION, write_kernel

from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.api import KernelHistory
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.pipeline.history import history, lineage_of
from ncu_assist.pipeline.pages.index import neighbours
from ncu_assist.project import Project
from ncu_assist.record import Check, FileFact, Timing, WorkloadFacts, encode
from ncu_assist.sources import source_sha256
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.findings import FINDINGS, Findings, findings_json

ODD = WorkloadFacts("odd", "float32", {"n": 1000}, 8000, 1000)
VERSIONS = ("v0_torch", "v1_fused", "v2_wide", "v10_last")
WRONG = Check("small", False, "element 7 is nan", (0,), None, None)


class Archive:
    """A project with four versions of add_one; runs are saved second by second."""

    def __init__(self, root: Path) -> None:
        self.project = Project(root)
        self.folder = write_kernel(root, {f"{v}.py": f"{PYTHON_VERSION}# {v}\n" for v in VERSIONS})
        self.store = Store(self.project.reports)
        self.seconds = 0

    def save(self, version: str, medians: dict[str, float], bench_id: str = "", **changes: Any) -> StoredRun:
        """Save a run with these medians; without a bench id it was timed alone."""
        self.seconds += 1
        bench_id = bench_id or f"alone-{self.seconds}"
        path = self.folder / f"{version}.py"
        facts: dict[str, Any] = {
            "version": version,
            "run_id": f"20261121T0745{self.seconds:02}Z-aaaaaa",
            "created": f"2026-11-21T07:45:{self.seconds:02}Z",
            "source_sha256": source_sha256(path) if path.is_file() else None,
            "workloads": tuple(w for w in (WORKLOAD, ODD) if w.name in medians) or (WORKLOAD,),
            "launches": tuple(launch(i, workload=name) for i, name in enumerate(medians)),
        }
        run = make_run(**{**facts, **changes})
        frames = [
            samples_frame(times(ns, self.seconds), version=version, workload=name, bench_id=bench_id)
            for name, ns in medians.items()
        ]
        samples = pd.concat(frames) if frames else None
        stored = save_run(self.store, run, metrics_frame(*({} for _ in run.launches)), samples)
        return self._with_bench(stored, bench_id) if frames else stored

    def _with_bench(self, stored: StoredRun, bench_id: str) -> StoredRun:
        """Save the record again with the id of its bench, which the factory does not know."""
        bench = stored.run.bench
        assert bench is not None
        timings: tuple[Timing, ...] = tuple(replace(t, bench_id=bench_id) for t in bench.timings)
        run = replace(stored.run, bench=replace(bench, bench_id=bench_id, timings=timings))
        (stored.folder / "run.json").write_bytes(encode(run))
        return replace(stored, run=run)

    def history(self, workload: str | None = None, kernel: str | None = "add_one") -> History:
        return history(self.project, kernel, workload)

    def steps(self, workload: str | None = None) -> dict[str, VersionRow]:
        return {step.version: step for step in self.history(workload).rows}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    monkeypatch.chdir(tmp_path)
    return Archive(tmp_path)


def shown(step: VersionRow, workload: str = "small") -> Path | None:
    """Return the folder of the run that shows a version on a workload."""
    run = on(step, workload).stored
    return run.folder if run else None


def on(step: VersionRow, workload: str | None = "small") -> HistoryCell:
    return next(one for one in step.cells if one.workload == workload)


def words(step: VersionRow) -> list[str | None]:
    return [one.verdict.verdict if one.verdict else None for one in step.cells]


def test_each_version_against_the_one_before_on_all_workloads(archive: Archive) -> None:
    for version, small, odd in (("v0_torch", 4e5, 1e5), ("v1_fused", 2e5, 2e5), ("v2_wide", 1e5, 1e5)):
        archive.save(version, {"odd": odd, "small": small}, "bench")
    found = archive.history()
    assert (found.kernel, found.workloads, found.shown) == ("add_one", ("small", "odd"), "small")
    steps = archive.steps()
    assert list(steps) == list(VERSIONS)
    assert [step.before for step in found.rows] == [None, "v0_torch", "v1_fused", None]
    assert words(steps["v0_torch"]) == [None, None]
    assert words(steps["v1_fused"]) == ["faster", "slower"]
    assert words(steps["v2_wide"]) == ["faster", "faster"]
    assert (steps["v10_last"].missing, words(steps["v10_last"])) == ("not measured", [None, None])


def served(archive: Archive, **dtypes: str) -> None:
    """Let versions serve some dtypes only; the other workload is of float16."""
    toml = archive.folder / "kernel.toml"
    toml.write_text(toml.read_text().replace('n = 1000\ndtype = "float32"', 'n = 1000\ndtype = "float16"'))
    for version, names in dtypes.items():
        path = archive.folder / f"{version}.py"
        path.write_text(f"# dtypes: {names}\n{path.read_text()}")


def test_each_version_against_the_last_one_before_it_that_serves_the_same_workload(archive: Archive) -> None:
    """Two ladders in one folder, one a dtype: small is float32, odd float16."""
    served(archive, v1_fused="float32", v2_wide="float16")
    archive.save("v0_torch", {"small": 4e5, "odd": 4e5}, "bench")
    archive.save("v1_fused", {"small": 2e5}, "bench")
    archive.save("v2_wide", {"odd": 1e5}, "bench")
    archive.save("v10_last", {"small": 1e5, "odd": 5e4}, "bench")
    steps = archive.steps()
    assert [steps[v].before for v in VERSIONS] == [None, "v0_torch", "v0_torch", "v1_fused"]
    assert [steps[v].dtypes for v in VERSIONS] == [(), ("float32",), ("float16",), ()]
    assert [[one.served for one in steps[v].cells] for v in VERSIONS] == [
        [True, True], [True, False], [False, True], [True, True]
    ]  # fmt: skip
    last = steps["v10_last"]
    assert [one.before for one in last.cells] == ["v1_fused", "v2_wide"]
    speedups = [one.verdict.speedup for one in last.cells if one.verdict]
    assert speedups == [pytest.approx(2, rel=0.02), pytest.approx(2, rel=0.02)]
    assert on(steps["v2_wide"], "odd").verdict.speedup == pytest.approx(4, rel=0.02)  # type: ignore[union-attr]


def test_neighbours_are_compared_on_a_workload_that_both_serve(archive: Archive) -> None:
    served(archive, v1_fused="float32", v2_wide="float16")
    for version, names in {"v0_torch": ("small", "odd"), "v1_fused": ("small",), "v2_wide": ("odd",)}.items():
        archive.save(version, dict.fromkeys(names, 1e5), "bench")
    pairs = [(*(one.run.version for one in pair), workload) for pair, workload in neighbours(archive.history())]
    assert pairs == [("v0_torch", "v1_fused", "small"), ("v0_torch", "v2_wide", "odd")]


def test_workloads_that_differ_in_one_integer_are_a_sweep(archive: Archive) -> None:
    toml = archive.folder / "kernel.toml"
    points = "".join(f'\n[workloads.n{n}]\nn = {n}\ndtype = "float32"\nversions = ["v1"]\n' for n in (10, 2000))
    toml.write_text(toml.read_text() + points)
    facts = tuple(WorkloadFacts(f"n{n}", "float32", {"n": n}, 8 * n, n) for n in (10, 2000))
    archive.save("v0_torch", {"small": 4e5, "odd": 4e5}, "bench")
    own = {"small": 2e5, "odd": 2e5, "n10": 1e5, "n2000": 3e5}
    archive.save("v1_fused", own, "bench", workloads=(WORKLOAD, ODD, *facts))
    found = archive.history()
    assert found.only == {"n10": ("v1",), "n2000": ("v1",)}
    (sweep,) = found.sweeps
    assert (sweep.version, sweep.axis) == ("v1_fused", "n")
    points = [(value, cell.workload) for value, cell in sweep.points]
    assert points == [(10, "n10"), (1000, "odd"), (1024, "small"), (2000, "n2000")]
    assert [one.served for one in found.rows[0].cells] == [True, True, False, False]
    assert archive.history("n10").sweeps == ()  # one point is no axis
    archive.save("v2_wide", {"small": 2e5})
    assert archive.steps()["v2_wide"].missing == ""


def test_one_workload(archive: Archive) -> None:
    archive.save("v0_torch", {"small": 4e5, "odd": 1e5})
    assert archive.history("odd").workloads == ("odd",)
    assert archive.history("odd").shown == "odd"
    assert archive.history("all").workloads == ("small", "odd")
    with pytest.raises(UsageProblem, match="add_one has no workload 'od'; did you mean 'odd'") as caught:
        archive.history("od")
    assert caught.value.hint == "ncu-assist history add_one"


def test_the_first_timed_workload_where_the_default_one_was_not(archive: Archive) -> None:
    archive.save("v0_torch", {"odd": 1e5})
    assert (archive.history().workloads, archive.history().shown) == (("odd",), "odd")


def test_versions_that_cannot_be_compared_with_are_passed_over(archive: Archive) -> None:
    archive.save("v0_torch", {"small": 4e5}, "bench")
    archive.save("v1_fused", {}, checks=(WRONG,), launches=())
    archive.save("v2_wide", {"small": 3e5}, "bench")
    archive.save("v10_last", {"small": 1e5}, "bench")
    changed = archive.folder / "v2_wide.py"
    changed.write_text(changed.read_text() + "more = 1\n")
    steps = archive.steps()
    assert on(steps["v1_fused"]).stored is not None  # it shows its failed check
    assert steps["v2_wide"].missing.startswith("has changed since it was measured; the old run is add_one/v2_wide@")
    assert steps["v10_last"].before == "v0_torch"
    assert on(steps["v10_last"]).verdict.speedup == pytest.approx(4, rel=0.02)  # type: ignore[union-attr]


def test_a_damaged_run_is_named(archive: Archive) -> None:
    stored = archive.save("v0_torch", {"small": 4e5})
    (stored.folder / "metrics.parquet").write_bytes(b"")
    assert "its run is damaged: metrics.parquet" in archive.steps()["v0_torch"].missing


@pytest.mark.parametrize("name", ["samples.parquet", "metrics.parquet"])
def test_a_file_of_the_same_size_that_was_changed_costs_its_run_alone(archive: Archive, name: str) -> None:
    """Only hashes show it, which are checked when a file is read."""
    first = archive.save("v0_torch", {"small": 4e5}, "bench")
    archive.save("v1_fused", {"small": 2e5}, "bench")
    archive.save("v2_wide", {"small": 1e5}, "bench")
    path = first.folder / name
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    found = archive.history()
    rows = {row.version: row for row in found.rows}
    assert rows["v0_torch"].missing == f"its run is damaged: {name} was changed after it was written (its hash differs)"
    assert [one.path.split("/")[1] for one in found.left_out] == ["v0_torch"]
    assert repr(KernelHistory(found)).endswith(f"; damaged: {found.left_out[0].path}>")
    verdict = on(rows["v2_wide"]).verdict
    assert verdict is not None
    assert verdict.speedup == pytest.approx(2, rel=0.02)


def test_where_every_run_was_changed_there_is_no_history(archive: Archive) -> None:
    for version in ("v0_torch", "v1_fused"):
        path = archive.save(version, {"small": 4e5}, "bench").folder / "samples.parquet"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedData, match=r"samples\.parquet was changed"):
        archive.history()


def test_another_gpu_is_not_passed_over(archive: Archive) -> None:
    archive.save("v0_torch", {"small": 4e5}, "bench", device=replace(DEVICE, name="NVIDIA H100"))
    archive.save("v1_fused", {"small": 2e5}, "bench")
    step = archive.steps()["v1_fused"]
    assert step.before == "v0_torch"
    assert (on(step).verdict.verdict, on(step).verdict.reason) == ("not-comparable", "other-device")  # type: ignore[union-attr]


def test_live_before_recorded_and_counted_before_timed_only(archive: Archive) -> None:
    live = archive.save("v0_torch", {"small": 4e5})
    archive.save("v0_torch", {"small": 3e5}, profile=None, launches=())
    archive.save("v0_torch", {"small": 2e5}, source="recorded")
    assert shown(archive.steps()["v0_torch"]) == live.folder


def test_a_newer_run_of_one_workload_hides_no_other(archive: Archive) -> None:
    both = archive.save("v0_torch", {"small": 4e5, "odd": 4e5})
    newer = archive.save("v0_torch", {"small": 3e5})
    step = archive.steps()["v0_torch"]
    assert (shown(step), shown(step, "odd")) == (newer.folder, both.folder)


def test_times_come_from_the_newest_bench_of_both_that_has_the_workload(archive: Archive) -> None:
    archive.save("v0_torch", {"small": 4e5, "odd": 4e5}, "old")
    archive.save("v1_fused", {"small": 2e5, "odd": 2e5}, "old")
    archive.save("v0_torch", {"small": 3e5}, "new", profile=None, launches=())
    archive.save("v1_fused", {"small": 1e5}, "new", profile=None, launches=())
    step = archive.steps()["v1_fused"]
    speedups = [one.verdict.speedup for one in step.cells if one.verdict]
    assert speedups == [pytest.approx(3, rel=0.02), pytest.approx(2, rel=0.02)]


def test_a_check_that_passed_shows_nothing(archive: Archive) -> None:
    timed = archive.save("v0_torch", {"small": 4e5}, source="recorded")
    archive.save("v0_torch", {}, profile=None, launches=())
    assert shown(archive.steps()["v0_torch"]) == timed.folder


def test_a_kernel_without_a_folder_has_its_versions_in_the_order_of_their_first_runs(archive: Archive) -> None:
    for version in ("zebra", "ape", "zebra"):
        archive.save(version, {}, kernel="train", workloads=(), checks=(), launches=(launch(workload=None),))
    found = archive.history(kernel="train")
    assert (found.workloads, found.shown) == ((None,), None)
    assert [(step.version, step.before) for step in found.rows] == [("zebra", None), ("ape", "zebra")]
    assert on(found.rows[0], None).stored.run.run_id.startswith("20261121T074503Z")  # type: ignore[union-attr]
    assert on(found.rows[1], None).verdict.reason == "one-sample"  # type: ignore[union-attr]
    with pytest.raises(UsageProblem, match="the runs of train have no workloads, so there is no 'x'"):
        history(archive.project, "train", "x")


def test_without_a_folder_only_the_newest_source_of_a_version_counts(archive: Archive) -> None:
    archive.save("v0_old", {"small": 4e5, "odd": 4e5}, kernel="gone", source_sha256="aa")
    newer = archive.save("v0_old", {"small": 2e5}, kernel="gone", source_sha256="bb")
    found = archive.history(kernel="gone")
    assert found.workloads == ("small",)
    assert shown(found.rows[0]) == newer.folder


def test_nothing_was_measured(archive: Archive) -> None:
    found = archive.history()
    assert {step.missing for step in found.rows} == {"not measured"}
    assert found.workloads == ("small",)
    with pytest.raises(UsageProblem, match="nothing has been measured yet"):
        archive.history(kernel=None)
    with pytest.raises(UsageProblem, match="there is no kernel 'ad_one'; did you mean 'add_one'"):
        archive.history(kernel="ad_one")


def said(stored: StoredRun) -> StoredRun:
    """Give a run findings, as it would have been archived."""
    data = findings_json(Findings("0.0.1", (), ()))
    (stored.folder / FINDINGS).write_bytes(data)
    files = {**stored.run.files, FINDINGS: FileFact(len(data), hashlib.sha256(data).hexdigest())}
    (stored.folder / "run.json").write_bytes(encode(replace(stored.run, files=files, digest="")))
    return stored


def predicted(archive: Archive, workload: str = "small") -> Path | None:
    run = on(archive.steps()["v1_fused"], workload).predicted
    return run.folder if run else None


def test_what_was_predicted_is_what_stood_when_the_version_was_first_measured(archive: Archive) -> None:
    said(archive.save("v0_torch", {"small": 4e5}))
    second = said(archive.save("v0_torch", {"small": 4e5}))
    archive.save("v1_fused", {"small": 2e5})
    said(archive.save("v0_torch", {"small": 4e5}))  # by rules that may know the outcome
    archive.save("v1_fused", {"small": 2e5})
    assert predicted(archive) == second.folder


def test_versions_measured_together_predict_each_other(archive: Archive) -> None:
    first = said(archive.save("v0_torch", {"small": 4e5}))
    archive.save("v1_fused", {"small": 2e5}, created=first.run.created)
    assert predicted(archive) == first.folder


@pytest.mark.parametrize(
    "changes",
    [
        {"device": replace(DEVICE, name="NVIDIA H100")},
        {"source_sha256": "ef" * 32},
        {"launches": (launch(workload="odd"),)},
        {"created": "2026-11-22T00:00:00Z"},
    ],
)
def test_what_predicts_nothing(archive: Archive, changes: dict[str, Any]) -> None:
    said(archive.save("v0_torch", {"small": 4e5}, **changes))
    archive.save("v0_torch", {"small": 4e5})  # which keeps no findings
    archive.save("v1_fused", {"small": 2e5})
    assert predicted(archive) is None


def test_a_run_on_another_gpu_takes_no_prediction_away(archive: Archive) -> None:
    archive.save("v1_fused", {"small": 3e5}, "there", device=H100)
    first = said(archive.save("v0_torch", {"small": 4e5}, "here"))
    archive.save("v1_fused", {"small": 2e5}, "here")
    assert predicted(archive) == first.folder


H100 = replace(DEVICE, name="NVIDIA H100 80GB HBM3", uuid_sha256="12" * 32)
TIMES_ALONE: dict[str, Any] = {"device": H100, "profile": None, "launches": ()}


def ladder_here(archive: Archive) -> None:
    """Time three versions in one bench on the GPU of the factory, after whatever was timed elsewhere."""
    for version, ns in (("v0_torch", 4e5), ("v1_fused", 2e5), ("v2_wide", 1e5)):
        archive.save(version, {"small": ns, "odd": ns}, "here")


def test_one_gpu_alone_has_no_others(archive: Archive) -> None:
    ladder_here(archive)
    assert archive.history().others == ()


def test_another_gpu_is_shown_by_the_newest_bench_that_timed_most_versions(archive: Archive) -> None:
    for bench, factor in (("old", 3.0), ("most", 2.0)):
        for version, ns in (("v0_torch", 4e5), ("v1_fused", 1e5), ("v2_wide", 2e5)):
            archive.save(version, {"small": ns * factor, "odd": ns}, bench, **TIMES_ALONE)
    archive.save("v0_torch", {"small": 1e4}, "newest", **TIMES_ALONE)
    ladder_here(archive)
    found = archive.history()
    (other,) = found.others
    assert (other.gpu, other.bench_id, other.changed) == (H100.name, "most", ())
    times = [cell.timing.median_ns if cell.timing else None for cell in other.cells]
    assert times == [pytest.approx(8e5, rel=0.02), pytest.approx(2e5, rel=0.02), pytest.approx(4e5, rel=0.02), None]
    assert [cell.before for cell in other.cells] == [None, "v0_torch", "v1_fused", None]
    assert [cell.verdict.verdict if cell.verdict else None for cell in other.cells] == [None, "faster", "slower", None]
    steps = [on(row).verdict for row in found.rows]
    assert [step.verdict for step in steps if step] == ["faster", "faster"]  # of this GPU, as without the other one
    assert [one.run.gpu for row in found.rows if (one := on(row).stored)] == [DEVICE.name] * 3


def test_a_history_of_one_gpu_of_several(archive: Archive) -> None:
    for version, ns in (("v0_torch", 4e5), ("v1_fused", 1e5)):
        archive.save(version, {"small": ns}, "there", **TIMES_ALONE)
    ladder_here(archive)
    found = history(archive.project, "add_one", gpu="h100")
    assert (found.gpus, found.others, archive.history().gpus) == ((H100.name,), (), (DEVICE.name,))
    times = [cell.timing.median_ns if (cell := on(row)).timing else None for row in found.rows]
    assert times == [pytest.approx(4e5, rel=0.02), pytest.approx(1e5, rel=0.02), None, None]
    assert found.rows[2].missing == f"not measured on {H100.name}"
    with pytest.raises(UsageProblem, match=f"'A100' fits no GPU model .*: {H100.name}, {DEVICE.name}"):
        history(archive.project, "add_one", gpu="A100")
    with pytest.raises(UsageProblem, match="'NVIDIA' fits 2 GPU models"):
        history(archive.project, "add_one", gpu="NVIDIA")


def test_two_spellings_of_one_gpu_are_one_model(archive: Archive) -> None:
    under_an_old_driver(archive.save("v0_torch", {"small": 4e5}, "one"))
    archive.save("v1_fused", {"small": 1e5}, "one")
    (before, after) = archive.store.runs("add_one", "v0_torch"), archive.store.runs("add_one", "v1_fused")
    assert json.loads((before[0].folder / "run.json").read_bytes())["device"]["name"] == "H200"
    assert before[0].run.gpu == after[0].run.gpu == DEVICE.name
    found = archive.history()
    assert (found.gpus, found.others) == ((DEVICE.name,), ())
    assert [step.verdict for row in found.rows if (step := on(row).verdict)] == ["faster"]
    for name in ("H200", "NVIDIA H200"):
        assert history(archive.project, "add_one", gpu=name).gpus == (DEVICE.name,)
    assert {head.gpu for head in archive.store.heads("add_one")} == {DEVICE.name}


def test_a_model_is_chosen_by_its_whole_name_also_as_old_drivers_say_it(archive: Archive) -> None:
    both = [replace(DEVICE, name=f"GeForce RTX 3090{more}") for more in ("", " Ti")]
    for device in both:
        archive.save("v0_torch", {"small": 4e5}, device=device)
    found = history(archive.project, "add_one", gpu="GeForce RTX 3090")
    assert found.gpus == ("NVIDIA GeForce RTX 3090",)


def test_the_floor_on_another_gpu_is_its_own(archive: Archive) -> None:
    for device in (H100, DEVICE):
        large = replace(WORKLOAD, algorithmic_bytes=4 << 30)
        archive.save("v0_torch", {"small": 4e6}, device.name, device=device, workloads=(large,))
    found = archive.history()
    here, there = on(found.rows[0]).floor, found.others[0].cells[0].floor
    assert here is not None
    assert there is not None
    assert there.ns > 1.2 * here.ns  # 80 GB of HBM3 are slower than HBM3e


def test_another_source_is_said_and_not_timed(archive: Archive) -> None:
    archive.save("v0_torch", {"small": 8e5}, "there", **TIMES_ALONE)
    archive.save("v1_fused", {"small": 4e5}, "there", source_sha256="ef" * 32, **TIMES_ALONE)
    archive.save("v2_wide", {"small": 2e5}, "there", **TIMES_ALONE)
    ladder_here(archive)
    (other,) = archive.history().others
    assert other.changed == ("v1_fused",)
    assert other.cells[1].stored is None
    assert other.cells[2].before == "v0_torch"  # the nearest whose source is the one shown


def test_a_bench_of_the_sources_shown_goes_before_a_larger_one_of_others(archive: Archive) -> None:
    for version in ("v0_torch", "v1_fused"):
        archive.save(version, {"small": 8e5}, "same", **TIMES_ALONE)
    for version in VERSIONS[:3]:
        archive.save(version, {"small": 4e5}, "changed", source_sha256="ef" * 32, **TIMES_ALONE)
    ladder_here(archive)
    (other,) = archive.history().others
    assert (other.bench_id, other.changed) == ("same", ())


def test_own_against_library_on_another_gpu(archive: Archive) -> None:
    path = archive.folder / "v0_torch.py"
    path.write_text(f"# Baseline: torch\n{path.read_text()}")
    for version, ns in (("v0_torch", 2e5), ("v1_fused", 1e5)):
        archive.save(version, {"small": ns, "odd": 4 * ns}, "there", **TIMES_ALONE)
    ladder_here(archive)
    (other,) = archive.history().others
    assert [(one.workload, one.own, one.library) for one in other.against_library] == [
        ("small", "v1_fused", "v0_torch"),
        ("odd", "v1_fused", "v0_torch"),
    ]
    assert [one.ratio for one in other.against_library] == [pytest.approx(2, rel=0.02)] * 2


@pytest.mark.parametrize(("kernel", "parents"), [("imported", ()), ("theirs", ("matmul",))])
def test_reports_without_a_kernel_s_name_build_on_none(tmp_path: Path, kernel: str, parents: tuple[str, ...]) -> None:
    """What one was given has its versions by name; strangers have no order."""
    facts = {"source": "imported", "workloads": (), "checks": (), "profile": None, "source_sha256": None}
    store = Store(tmp_path / "reports")
    for version, ns in (("matmul", 2e5), ("reduction", 1e5)):
        own = (launch(0, version, None, duration_ns=ns),)  # type: ignore[arg-type]
        save_run(
            store,
            make_run(kernel=kernel, version=version, launches=own, **facts),
            metrics_frame({"gpu__time_duration.sum": ns}),
        )
    assert lineage_of(store, kernel, ["matmul", "reduction"]).parents("reduction") == parents
    assert [row.before for row in history(Project(tmp_path), kernel).rows] == [None, *(parents or [None])]
