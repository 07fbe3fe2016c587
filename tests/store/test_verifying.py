"""verify finds every kind of damage there is, and nothing in a whole archive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import PROFILE, launch, make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.record import Bench
from ncu_assist.store import Store, StoredRun


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")


def saved(store: Store, **changes: object) -> StoredRun:
    return save_run(store, make_run(**changes), metrics_frame(), samples_frame(times(1e5, 1)))


def problems(store: Store) -> list[str]:
    return [damage.problem for damage in store.verify()]


def test_a_whole_archive_has_no_damage(store: Store) -> None:
    saved(store, profile=replace(PROFILE, launches_logged=1))
    assert store.verify() == []
    assert Store(store.reports / "nowhere").verify() == []


def test_a_hash_that_differs_is_found_only_deep(store: Store) -> None:
    path = saved(store).folder / "samples.parquet"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert store.verify(deep=False) == []
    assert problems(store) == ["samples.parquet was changed after it was written (its hash differs)"]


def test_an_interrupted_write_is_found(store: Store) -> None:
    run = saved(store)
    run.folder.with_name(".writing-20261121T074501Z-ffffff-77").mkdir()
    assert problems(store) == ["is left over from an interrupted write"]


def test_a_folder_without_a_record_is_found(store: Store) -> None:
    run = saved(store)
    run.folder.with_name("empty").mkdir()
    assert problems(store) == ["run.json is missing"]


def test_an_unknown_file_is_found_and_a_page_is_not(store: Store) -> None:
    run = saved(store)
    (run.folder / "report.html").touch()
    (run.folder / "source").mkdir()
    (run.folder / "source" / "x.cu").touch()
    assert problems(store) == ["source/x.cu is not a file of this run"]


def test_launches_must_agree_with_the_log_and_the_table(store: Store) -> None:
    saved(store, profile=replace(PROFILE, launches_logged=2), launches=(launch(0), launch(1)))
    assert problems(store) == ["metrics.parquet holds 1 launch, run.json lists 2"]
    saved(store, run_id="b", profile=replace(PROFILE, launches_logged=3))
    assert "run.json lists 1 launch, ncu's log says 3" in problems(store)


def test_a_metric_twice_is_found(store: Store) -> None:
    frame = metrics_frame()
    twice = frame.iloc[[*range(len(frame)), 0]]
    save_run(store, make_run(), twice)
    assert problems(store) == ["metrics.parquet holds a metric twice for one launch"]


def test_timings_without_samples_are_found(store: Store) -> None:
    run = saved(store).run
    bench = run.bench
    assert isinstance(bench, Bench)
    store.save(replace(run, run_id="b"), {})
    other = replace(bench, timings=(replace(bench.timings[0], workload="odd"),))
    save_run(store, replace(run, run_id="c"), None, None)
    assert sum("samples.parquet is missing" in p for p in problems(store)) == 2
    from ncu_assist.store import samples_parquet

    store.save(replace(run, run_id="d", bench=other), {"samples.parquet": samples_parquet(samples_frame([1.0]))})
    assert "samples.parquet has no samples of workload odd" in problems(store)


def test_a_report_that_cannot_be_decompressed_is_found(store: Store) -> None:
    save_run(store, make_run(), metrics_frame(), None, **{"report.ncu-rep.zst": b"no zstd"})
    assert "cannot be decompressed" in problems(store)[0]
