"""The verdict by time alone: from samples, without a look at the counters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, PROFILE, WORKLOAD, launch, make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.analysis.diff import diff_runs
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.errors import DamagedData
from ncu_assist.store import Store, StoredRun


def saved(root: Path, version: str, median_ns: float = 1e5, bench_id: str = "bench-1", **changes: Any) -> StoredRun:
    samples = samples_frame(times(median_ns, sum(version.encode())), version=version, bench_id=bench_id)
    run_id = f"20261121T074500Z-{bench_id}"
    made = save_run(Store(root), make_run(version=version, run_id=run_id, **changes), metrics_frame({}), samples)
    bench = replace(made.run.bench, timings=tuple(replace(t, bench_id=bench_id) for t in made.run.bench.timings))  # type: ignore
    return replace(made, run=replace(made.run, bench=bench))


def foreign(root: Path, version: str, *durations_ns: float, **changes: Any) -> StoredRun:
    """Save a program whose launches are of different kernels, unless ``kernel`` names the one of all of them."""
    names = [changes.get("kernel", f"step{i}") for i in range(len(durations_ns))]
    launches = tuple(
        launch(i, name, None, ranges=(), duration_ns=float(ns))  # type: ignore[arg-type]
        for i, (name, ns) in enumerate(zip(names, durations_ns, strict=True))
    )
    source = changes.get("source", "imported")
    run = make_run(version=version, workloads=(), checks=(), launches=launches, source=source)
    return save_run(Store(root), run, metrics_frame(*({"gpu__time_duration.sum": ns} for ns in durations_ns)))


def test_samples_decide_and_counters_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = saved(tmp_path, "v1_a", 1.78e5), saved(tmp_path, "v2_b", 1e5)
    for name in ("metrics", "by_launch"):
        monkeypatch.setattr(StoredRun, name, lambda _: pytest.fail("the counters were read"))
    verdict = verdict_by_time(slow, fast, "small", SampleReader())
    assert (verdict.verdict, verdict.pairs) == ("faster", 100)
    assert verdict.speedup == pytest.approx(1.78, rel=0.01)


def test_a_file_of_samples_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = saved(tmp_path, "v1_a"), saved(tmp_path, "v2_b")
    read, real = [], StoredRun.sampled
    monkeypatch.setattr(StoredRun, "sampled", lambda stored: read.append(stored.folder) or real(stored))
    samples = SampleReader()
    assert read == []
    for _ in range(3):
        verdict_by_time(one, other, "small", samples)
    assert sorted(read) == sorted({one.folder, other.folder})


def test_changed_samples_are_no_verdict(tmp_path: Path) -> None:
    one, other = saved(tmp_path, "v1_a"), saved(tmp_path, "v2_b")
    path = other.folder / "samples.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedData, match="v2_b") as caught:
        verdict_by_time(one, other, "small", SampleReader())
    assert (caught.value.of, caught.value.problem) == (
        other.reference,
        "samples.parquet was changed after it was written (its hash differs)",
    )


def test_what_forbids_a_comparison_by_time(tmp_path: Path) -> None:
    one = saved(tmp_path, "v1_a", 2e5)
    elsewhere = saved(tmp_path, "v2_b", device=replace(DEVICE, name="NVIDIA H100"))
    larger = saved(tmp_path, "v3_c", workloads=(replace(WORKLOAD, integers={"n": 4096}),))
    for other, reason in ((elsewhere, "other-device"), (larger, "other-workload")):
        verdict = verdict_by_time(one, other, "small", SampleReader())
        assert (verdict.verdict, verdict.reason, verdict.speedup) == ("not-comparable", reason, None)


def test_how_the_counters_were_taken_says_nothing_of_the_time(tmp_path: Path) -> None:
    one = saved(tmp_path, "v1_a", 2e5)
    other = saved(tmp_path, "v2_b", profile=replace(PROFILE, clock_control="base", cache_control="none"))
    assert verdict_by_time(one, other, "small", SampleReader()).verdict == "faster"


def test_the_first_bench_of_both_that_timed_the_workload(tmp_path: Path) -> None:
    old = [saved(tmp_path, version, bench_id="old") for version in ("v1_a", "v2_b")]
    new = [saved(tmp_path, version, bench_id="new") for version in ("v1_a", "v2_b")]
    alone = saved(tmp_path, "v1_a", bench_id="alone")
    assert common_bench([alone, new[0], old[0]], [new[1], old[1]], "small") == (new[0], new[1])
    assert common_bench([alone, new[0]], [old[1]], "small") is None
    assert common_bench([new[0]], [new[1]], "odd") is None
    assert common_bench([new[0]], [new[1]], None) is None


def test_two_benches_are_not_paired(tmp_path: Path) -> None:
    one, other = saved(tmp_path, "v1_a", 1.01e5, "one"), saved(tmp_path, "v2_b", 1e5, "other")
    verdict = verdict_by_time(one, other, "small", SampleReader())
    assert (verdict.low, verdict.verdict in ("faster", "slower")) == (None, False)


def test_foreign_programs_have_one_duration_a_side(tmp_path: Path) -> None:
    slow, fast = foreign(tmp_path, "v1", 1e5, 78e3), foreign(tmp_path, "v2", 6e4, 4e4)
    assert is_timed(slow.run, None)
    assert not is_timed(slow.run, "small")
    verdict = verdict_by_time(slow, fast, None, SampleReader())
    assert (verdict.verdict, verdict.likely, verdict.reason) == ("unclear", "faster", "one-sample")
    assert verdict.speedup == pytest.approx(1.78)


def test_only_launches_of_both_programs_count(tmp_path: Path) -> None:
    one, longer = foreign(tmp_path, "v1", 1e5), foreign(tmp_path, "v2", 1e5, 9e5)
    assert verdict_by_time(one, longer, None, SampleReader()).speedup == pytest.approx(1.0)
    other = foreign(tmp_path, "v3", 1e5, 2e5, kernel="another")
    assert verdict_by_time(longer, other, None, SampleReader()).reason == "no-common-launch"


def test_the_verdict_on_foreign_programs_is_that_of_diff(tmp_path: Path) -> None:
    one, two = (
        foreign(tmp_path, "v1", *times(2e5, 1, 30), kernel="one"),
        foreign(tmp_path, "v2", *times(1e5, 2, 30), kernel="one"),
    )
    strange = foreign(tmp_path, "v3", 1e5, kernel="another", source="live")
    for before, after in ((one, two), (two, one), (one, one), (foreign(tmp_path, "v4", 1e5), strange)):
        assert verdict_by_time(before, after, None, SampleReader()) == diff_runs(before, after).verdict
