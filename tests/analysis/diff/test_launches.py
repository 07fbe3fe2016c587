"""What is said of paired launches: times, sums, counters, and how sure each pair is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, launch, make_run, metrics_frame, save_run
from patience import grows_linearly

from ncu_assist.analysis.diff import Diff, diff_runs, pair_launches
from ncu_assist.analysis.diff.comparing import DETAILED, launch_diffs
from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.record import Launch
from ncu_assist.store import Store

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
READ = "dram__bytes_read.sum"
MANY = 2_000


def foreign(root: Path, version: str, launches: list[Launch], *metrics: dict[str, Any]) -> Any:
    run = make_run(kernel=version, version=version, source="imported", workloads=(), profile=None, checks=())
    run = make_run(**{**vars(run), "launches": tuple(launches)})
    return save_run(Store(root / "reports"), run, metrics_frame(*(metrics or [{}] * len(launches))))


def program(*times: tuple[str, float | None], ranges: tuple[str, ...] = ()) -> list[Launch]:
    """Make the launches of a foreign program, each a kernel and its time."""
    return [
        launch(i, kernel, None, ranges=ranges, duration_ns=ns)  # type: ignore[arg-type]
        for i, (kernel, ns) in enumerate(times)
    ]


def diff(root: Path, before: list[Launch], after: list[Launch]) -> Diff:
    return diff_runs(foreign(root, "before", before), foreign(root, "after", after))


def test_the_largest_change_of_time_comes_first(tmp_path: Path) -> None:
    before = program(("a", 1e6), ("b", 2e6), ("gone", 5e5), ("c", 3e6))
    found = diff(tmp_path, before, program(("a", 1.1e6), ("b", 1e6), ("c", 3e6)))
    assert [(one.kernel, one.baseline_ns, one.candidate_ns) for one in found.launches] == [
        ("b", 2e6, 1e6),
        ("a", 1e6, 1.1e6),
        ("c", 3e6, 3e6),
    ]
    assert [one.kernel for one in found.only_baseline] == ["gone"]
    assert found.only_candidate == ()
    assert {one.pairing for one in found.launches} == {"exact"}
    assert found.launches[0].verdict.reason == "one-sample"
    assert (found.baseline.duration_ns, found.candidate.duration_ns) == (6.5e6, 5.1e6)


def test_launches_of_different_kernels_compare_as_sums(tmp_path: Path) -> None:
    before = foreign(
        tmp_path,
        "before",
        program(("k", 1e6), ("a", 3e6), ("b", 1e6), ranges=("step",)),
        {},
        {SM: 20.0, READ: 100.0, "gpu__time_duration.sum": 3e6},
        {SM: 60.0, READ: 300.0, "gpu__time_duration.sum": 1e6},
    )
    found = diff_runs(before, foreign(tmp_path, "after", program(("k", 1e6), ("fused", 2e6), ranges=("step",))))
    first = found.launches[0]
    assert (first.pairing, first.pair.confidence, first.baseline_ns, first.kernel) == ("sum", "order", 4e6, "fused")
    values = {change.metric: change.baseline for change in first.changes}
    assert values["sm_throughput"] is None
    assert values["dram_bytes"] == pytest.approx(400.0 + 4e8)


def test_one_pair_that_is_all_carries_the_verdict_of_the_runs(tmp_path: Path) -> None:
    found = diff(tmp_path, program(("a", 1e6)), program(("a", 2e6)))
    assert (found.launches[0].verdict, found.launches[0].changes) == (found.verdict, found.changes)


def test_a_side_without_a_duration_has_none(tmp_path: Path) -> None:
    pairs = pair_launches(program(("a", 1.0), ("b", None), ("c", 9.0)), program(("a", 1.0), ("b", 3.0), ("c", 1.0)))
    first, *_, last = launch_diffs(pairs.pairs, ({}, {}), None, NoiseModel(None))
    assert (first.kernel, last.kernel) == ("c", "b")
    assert (last.baseline_ns, last.verdict.reason) == (None, "no-samples")


def test_runs_that_cannot_be_compared_have_no_pair_that_can(tmp_path: Path) -> None:
    mine = save_run(Store(tmp_path / "reports"), make_run(launches=(launch(), launch(1))), metrics_frame({}, {}))
    found = diff_runs(mine, foreign(tmp_path, "other", program(("x", 1.0), ("y", 2.0))))
    assert (found.verdict.verdict, found.verdict.reason, found.launches) == ("not-comparable", "other-kernel", ())
    elsewhere = make_run(version="v2_there", device=replace(DEVICE, name="NVIDIA H100"))
    found = diff_runs(mine, save_run(Store(tmp_path / "reports"), elsewhere, metrics_frame({})))
    assert {one.verdict.verdict for one in found.launches} == {"not-comparable"} == {found.verdict.verdict}


def test_thousands_of_pairs_are_compared_in_time_and_some_in_full() -> None:
    def compared(size: int) -> None:
        before = program(*((f"k{i % 50}", 1e5) for i in range(size)))
        after = program(*((f"k{i % 50}", 1e5 + i) for i in range(size)))
        found = launch_diffs(pair_launches(before, after).pairs, ({}, {}), None, NoiseModel(None))
        assert [bool(one.changes) for one in found] == [place < DETAILED for place in range(size)]

    compared(MANY)
    assert grows_linearly(compared, 2 * DETAILED)
