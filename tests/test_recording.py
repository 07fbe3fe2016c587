"""A live run made fit to be shipped: nothing names a machine, every figure is as it was."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import blanking
import numpy as np
import pandas as pd
import pytest
import recording
from factories import BENCH_ID, make_run, samples_frame, save_run, times
from ncu.test_ncu_blanking import revealing
from recording import record, record_draft, record_times

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import compressed, report_file
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.source.contents import DeviceFunction, LaunchSource
from ncu_assist.ncu.source.kept import packed
from ncu_assist.store import Store, StoredRun, machine_hash, metrics_parquet
from ncu_assist.store.drafts import RUNS, DraftArchive
from ncu_assist.store.reading import CODE

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent / "data"
REPORT = DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"
LOG = b"==PROF== Connected to process 4711 (/opt/alice/train)\n==PROF== Profiling x - 0: 100% - 38 passes 1/2\n"
BUILD = b'/home/alice/k.cu(3): warning: near "/"\nptxas info : 32 registers, g++ -I/usr/include <a/b.h>\n'


@pytest.fixture
def live(tmp_path: Path) -> StoredRun:
    """A run of three launches on two workloads whose report names a host and folders."""
    report = read_report(REPORT)
    owners = {0: "w0", 1: "w0", 2: "w1"}
    launches = tuple(replace(one, workload=owners[one.index]) for one in report.records)
    run = make_run(version="v0_naive", launches=launches, notes=("as it was",), device=report.device)
    contents = {
        "metrics.parquet": metrics_parquet(report.metrics),
        "report.ncu-rep.zst": compressed.compress(revealing(read_plain(REPORT))),
        "ncu.log": LOG,
        "build.log": BUILD,
        "source/v0_naive.cu": b"// idea\n",
    }
    samples = samples_frame(times(1e5, 1), version="v0_naive")
    return save_run(Store(tmp_path / "live"), run, samples=samples, **contents)


def test_it_is_recorded_and_belongs_to_no_machine(live: StoredRun, tmp_path: Path) -> None:
    assert live.run.machine == machine_hash()
    target = Store(tmp_path / "shipped")
    shipped = record(live, target, "w0")
    assert (shipped.run.source, shipped.run.machine) == ("recorded", None)
    assert shipped.run.notes == ("as it was", "the report holds the launches of w0; the metrics hold all")
    assert (shipped.run.run_id, shipped.run.source_sha256) == (live.run.run_id, live.run.source_sha256)
    assert target.verify() == []
    assert live.run.source == "live"


def test_figures_and_sources_are_what_they_were(live: StoredRun, tmp_path: Path) -> None:
    shipped = record(live, Store(tmp_path / "shipped"), "w0")
    for name in ("metrics.parquet", "samples.parquet", "source/v0_naive.cu"):
        assert shipped.read(name) == live.read(name)
    assert shipped.run.bench == live.run.bench
    assert shipped.run.bench is not None
    assert shipped.run.bench.bench_id == BENCH_ID
    assert shipped.run.launches == live.run.launches


def test_the_report_holds_one_workload_and_names_nothing(live: StoredRun, tmp_path: Path) -> None:
    before, after = live.report_bytes(), record(live, Store(tmp_path / "shipped"), "w0").report_bytes()
    assert before is not None
    assert after is not None
    assert b"alice" in before
    assert b"alice" not in after
    assert blanking.leftovers(after) == ()
    assert len(report_file.metric_counts(after)) == 2
    path = tmp_path / "small.ncu-rep"
    path.write_bytes(after)
    assert [one.kernel for one in read_report(path).records] == ["transpose_naive", "transpose_shared"]


def test_the_code_is_that_of_the_small_report(live: StoredRun, tmp_path: Path) -> None:
    """That of the live report names folders, and launches that the shipped one does not hold."""
    report = live.read("report.ncu-rep.zst")
    launches = [LaunchSource(2, "k", (DeviceFunction(16, 16, ("EXIT ;",), (-1,), (0,)),), (), (), np.empty((0, 1)))]
    kept = packed(launches, hashlib.sha256(report).hexdigest()) or b""
    workloads = (replace(live.run.workloads[0], name="w0"),)
    run = replace(live.run, run_id="20261121T000000Z-abcdef", workloads=workloads, files={}, digest="")
    again = Store(tmp_path / "live").save(run, {**{name: live.read(name) for name in live.run.files}, CODE: kept})
    assert again.code()
    target = Store(tmp_path / "shipped")
    code = record(again, target, "w0").code()
    assert code
    assert [one.launch for one in code.launches] == [0, 1]
    assert [one.name for one in code.files]
    assert not any("alice" in one.name for one in code.files)
    assert target.verify() == []


def test_logs_lose_paths_and_process_numbers(live: StoredRun, tmp_path: Path) -> None:
    shipped = record(live, Store(tmp_path / "shipped"), "w0")
    assert shipped.read("ncu.log").decode() == (
        "==PROF== Connected to process 0 (<path>)\n==PROF== Profiling x - 0: 100% - 38 passes 1/2\n"
    )
    build = shipped.read("build.log").decode()
    assert "alice" not in build
    assert '<path>(3): warning: near "/"' in build
    assert "32 registers" in build
    assert "<a/b.h>" in build


def test_a_workload_that_was_not_profiled_leaves_the_report_out(live: StoredRun, tmp_path: Path) -> None:
    shipped = record(live, Store(tmp_path / "shipped"), "w9")
    assert shipped.report_bytes() is None
    assert shipped.run.notes == ("as it was",)
    assert not shipped.metrics().empty


def test_a_report_that_cannot_be_blanked_is_left_out(
    live: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording.blanking, "blank", lambda data: data)
    shipped = record(live, Store(tmp_path / "shipped"), "w0")
    assert "report.ncu-rep.zst" not in shipped.run.files
    assert "metrics.parquet" in shipped.run.files


def test_a_blanking_that_loses_metrics_is_noticed(
    live: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lossy(data: bytes) -> bytes:
        return blanking.blank(report_file.select(data, {0}))

    monkeypatch.setattr(recording, "blanking", type("Lossy", (), {"blank": lossy, "leftovers": lambda _: ()}))
    with pytest.raises(DamagedData, match="blanking changed the report"):
        record(live, Store(tmp_path / "shipped"), "w0")
    assert not (tmp_path / "shipped").exists()


def test_recording_twice_does_not_overwrite(live: StoredRun, tmp_path: Path) -> None:
    from ncu_assist.errors import UsageProblem

    target = Store(tmp_path / "shipped")
    record(live, target, "w0")
    with pytest.raises(UsageProblem, match="never overwritten"):
        record(live, target, "w0")


def test_a_draft_is_recorded_with_its_runs_and_without_the_version_it_became(tmp_path: Path, repository: Path) -> None:
    kept = next(one for one in DraftArchive(repository / "reports").drafts() if one.draft.fate == "kept")
    live = DraftArchive(tmp_path / "live")
    draft = replace(kept.draft, source="live", version="v11_coalesced_load")
    files = {name: kept.read(name) for name in kept.files} | {"build.log": BUILD}
    stored = record_draft(live.save(draft, files), DraftArchive(tmp_path / "shipped"), "b64_d96")
    assert (stored.draft.source, stored.draft.version, stored.draft.fate) == ("recorded", "", "kept")
    assert stored.read("draft.cu") == kept.read("draft.cu")
    assert b"alice" not in stored.read("build.log")
    runs = Store(stored.folder / RUNS).runs("lightning_decode")
    assert {one.run.version for one in runs} == {"v6_coalesced_store", "v11_coalesced_load"}
    assert {one.run.source for one in runs} == {"recorded"}
    assert DraftArchive(tmp_path / "shipped").verify() == []


def test_of_a_second_gpu_check_and_times_are_kept_and_no_counters(live: StoredRun, tmp_path: Path) -> None:
    target = Store(tmp_path / "shipped")
    shipped = record_times(live, target)
    assert set(shipped.run.files) == {"build.log", "samples.parquet", "source/v0_naive.cu"}
    assert (shipped.run.source, shipped.run.machine) == ("recorded", None)
    assert (shipped.run.profile, shipped.run.launches) == (None, ())
    assert (shipped.run.checks, shipped.run.bench) == (live.run.checks, live.run.bench)
    assert shipped.run.notes == (
        "counters were taken on w0, w1 and are not kept, nor are included files: this run has only times",
    )
    assert b"alice" not in shipped.read("build.log")
    assert target.verify() == []


def test_of_the_samples_of_times_alone_those_of_its_version_are_kept(tmp_path: Path) -> None:
    own, copy = (samples_frame(times(ns, 1), version=name) for name, ns in (("v0_naive", 1e5), ("(copy)", 2e5)))
    live = save_run(Store(tmp_path / "live"), make_run(version="v0_naive"), samples=pd.concat([own, copy]))
    kept = record_times(live, Store(tmp_path / "shipped")).samples()
    assert list(kept["time_ns"]) == list(own["time_ns"])
