"""Which launches two runs are compared over: the same work, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, launch, make_run, metrics_frame, save_run

from ncu_assist.analysis.diff import Change, Diff, DiffOptions, diff_runs, outlier
from ncu_assist.analysis.diff.changes import catalogue_row
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.errors import UsageProblem
from ncu_assist.frame import Combined, combine
from ncu_assist.record import ROUNDED
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.store import Store, StoredRun

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
INSTRUCTIONS = "smsp__inst_executed.sum"
STORED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"
Launched = tuple[str, float, dict[str, Any]]


def foreign(root: Path, version: str, *launched: Launched, **facts: Any) -> StoredRun:
    """Save a foreign program's run: of each launch its kernel, its time, and metrics that are not the usual ones."""
    times = [{"gpu__time_duration.sum": ns, **metrics} for _, ns, metrics in launched]
    launches = tuple(
        launch(i, kernel, None, ranges=(), duration_ns=ns)  # type: ignore[arg-type]
        for i, (kernel, ns, _) in enumerate(launched)
    )
    unknown: dict[str, Any] = {"kernel": version, "source": "imported", "workloads": (), "profile": None, "checks": ()}
    run = make_run(version=version, launches=launches, **(unknown | facts))
    return save_run(Store(root / "reports"), run, metrics_frame(*times))


def changes(diff: Diff) -> dict[str, Change]:
    return {change.metric: change for change in diff.changes}


def test_launches_of_one_side_alone_are_not_added_up(tmp_path: Path) -> None:
    before = foreign(tmp_path, "before", ("a", 1e5, {SM: 20.0}), ("c", 9e5, {SM: 90.0}), ("b", 3e5, {SM: 40.0}))
    found = diff_runs(before, foreign(tmp_path, "after", ("a", 1e5, {SM: 20.0}), ("b", 3e5, {SM: 40.0})))
    assert [one.index for one in found.only_baseline] == [1]
    assert (found.baseline.launches, found.baseline.compared, found.candidate.compared) == (3, 2, 2)
    assert (found.baseline.duration_ns, found.candidate.duration_ns) == (1.3e6, 4e5)  # of all launches
    assert {change.verdict for change in found.changes} == {"unchanged"}
    told = changes(found)
    assert told["duration"].baseline == 4e5
    assert "sm_throughput" not in told  # that is one of a kernel
    assert (found.verdict.verdict, found.verdict.likely, found.verdict.speedup) == ("unclear", None, 1.0)
    assert found.flags == ()


def test_repeats_count_as_often_as_both_sides_have_them(tmp_path: Path) -> None:
    before = foreign(tmp_path, "before", ("a", 1e5, {SM: 20.0}), ("a", 9e5, {SM: 90.0}), ("b", 3e5, {SM: 40.0}))
    found = diff_runs(before, foreign(tmp_path, "after", ("a", 1e5, {SM: 20.0}), ("b", 3e5, {SM: 40.0})))
    assert found.only_baseline == found.only_candidate == ()
    assert (found.baseline.launches, found.baseline.compared, found.candidate.compared) == (3, 2, 2)
    repeated = next(one for one in found.launches if one.kernel == "a")
    assert ([one.index for one in repeated.pair.baseline], repeated.pair.repeats, repeated.pairing) == (
        [0, 1],
        True,
        "exact",
    )
    assert (repeated.baseline_ns, repeated.candidate_ns) == (5e5, 1e5)
    assert repeated.verdict.reason == "too-few-samples"


@pytest.mark.parametrize(("force", "launches", "whole_ns"), [(False, (4, 3), 5e5), (True, (2, 2), 4e5)])
def test_what_is_counted_is_what_the_values_are_of(
    tmp_path: Path, force: bool, launches: tuple[int, int], whole_ns: float
) -> None:
    """Runs that cannot be compared stand side by side as wholes; where that is forced, over the launches of both."""
    before = foreign(tmp_path, "before", ("a", 1e5, {}), ("a", 1e5, {}), ("b", 3e5, {}), ("only", 0.0, {}))
    other = {"device": replace(DEVICE, name="NVIDIA H100")}
    after = foreign(tmp_path, "after", ("a", 1e5, {}), ("b", 3e5, {}), ("alone", 9e5, {}), **other)
    found = diff_runs(before, after, DiffOptions(force=force))
    assert (found.baseline.compared, found.candidate.compared) == launches
    assert changes(found)["duration"].baseline == whole_ns
    assert ("1 repeat of a" in diff_text(found, Style())) == force


def test_the_repeats_of_one_kernel_are_the_answer(tmp_path: Path) -> None:
    def report(name: str, middle: float) -> StoredRun:
        return foreign(tmp_path, name, *(("a", middle * (1 + 0.001 * (i % 7)), {SM: 50.0 + i % 3}) for i in range(40)))

    found = diff_runs(report("before", 2e5), report("after", 1e5))
    assert (found.verdict.verdict, found.verdict.samples) == ("unclear", (40, 40))  # ncu's clocks are not known
    assert found.launches[0].verdict == found.verdict
    assert (found.baseline.compared, found.candidate.compared) == (40, 40)
    told = changes(found)
    assert told["duration"].baseline == pytest.approx(2.006e5)
    assert (told["sm_throughput"].baseline, told["sm_throughput"].repeats) == (51.0, 40)


def test_all_launches_count_where_all_are_paired(tmp_path: Path) -> None:
    before = foreign(tmp_path, "before", ("a", 1e5, {}), ("b", 4e5, {}))
    found = diff_runs(before, foreign(tmp_path, "after", ("a", 1e5, {}), ("b", 1e5, {})))
    assert (found.baseline.compared, found.candidate.compared) == (2, 2)
    assert changes(found)["duration"].baseline == 5e5
    assert found.verdict.likely == "faster"


def test_another_function_is_in_neither_the_verdict_nor_the_metrics(tmp_path: Path) -> None:
    """A program ran its own kernel, and for comparison one of a library, which was another in each report."""
    before = foreign(tmp_path, "before", ("gemm", 3e5, {SM: 50.0}), ("Kernel", 1e5, {SM: 90.0}))
    found = diff_runs(before, foreign(tmp_path, "after", ("gemm", 1e5, {SM: 60.0}), ("ampere_sgemm", 2e5, {SM: 95.0})))
    assert found.verdict.speedup == pytest.approx(3.0)
    assert (found.baseline.launches, found.baseline.compared, found.candidate.compared) == (2, 1, 1)
    told = changes(found)
    assert (told["duration"].baseline, told["duration"].candidate) == (3e5, 1e5)
    assert (told["sm_throughput"].baseline, told["sm_throughput"].candidate) == (50.0, 60.0)
    text = diff_text(found, Style())
    assert "after against before on the launches of both: unclear, likely 3.00x faster" in text
    assert "only in before (1 launch, 100 µs): Kernel" in text
    assert "only in after (1 launch, 200 µs): ampere_sgemm" in text


def test_a_call_of_a_version_counts_whole(tmp_path: Path) -> None:
    """What a version no longer launches is what made it faster."""
    three = make_run(version="v1_three", launches=tuple(launch(i, duration_ns=1e5) for i in range(3)))
    one = make_run(version="v2_one", launches=(launch(duration_ns=1e5),))
    store = Store(tmp_path / "reports")
    found = diff_runs(save_run(store, three, metrics_frame({}, {}, {})), save_run(store, one, metrics_frame({})))
    assert len(found.only_baseline) == 2
    assert (found.baseline.compared, changes(found)["duration"].delta) == (3, pytest.approx(-2 / 3))


def test_programs_without_a_launch_in_common_are_not_compared(tmp_path: Path) -> None:
    before = foreign(tmp_path, "before", ("a", 1e5, {}), ("b", 1e5, {}))
    found = diff_runs(before, foreign(tmp_path, "after", ("c", 1e4, {}), ("d", 1e4, {})))
    assert (found.verdict.verdict, found.verdict.reason) == ("not-comparable", "no-common-launch")
    assert (found.verdict.likely, found.verdict.speedup) == (None, None)
    assert (found.launches, found.changes, found.flags) == ((), (), ())
    assert [one.kernel for one in (*found.only_baseline, *found.only_candidate)] == list("abcd")
    fused = diff_runs(before, foreign(tmp_path, "fused", ("z", 1e4, {})))
    assert fused.verdict.reason == "no-common-launch"


def test_reports_of_one_kernel_each_compare_whatever_it_is_called(tmp_path: Path) -> None:
    found = diff_runs(foreign(tmp_path, "one", ("a", 1e5, {})), foreign(tmp_path, "two", ("b", 1e4, {})))
    assert (found.verdict.likely, found.launches[0].pairing) == ("faster", "order")
    often = foreign(tmp_path, "often", ("b", 2.0e5, {}), ("b", 1.9e5, {}), ("b", 2.1e5, {}))
    thrice = diff_runs(foreign(tmp_path, "once", ("a", 1e5, {})), often)
    assert (thrice.verdict.speedup, thrice.launches[0].pair.repeats) == (pytest.approx(0.5), True)  # one launch each


def test_programs_whose_passes_do_not_correspond_are_not_compared(tmp_path: Path) -> None:
    """A sort in three passes and in two: which of one does the work of which of the other?"""

    def sort(name: str, *grids: int) -> StoredRun:
        own = [launch(0, "init", None, ranges=(), duration_ns=1e4)]  # type: ignore[arg-type]
        own += [
            launch(1 + i, "merge", None, ranges=(), grid=(grid, 1, 1), duration_ns=1e5)  # type: ignore[arg-type]
            for i, grid in enumerate(grids)
        ]
        facts: dict[str, Any] = {"kernel": name, "source": "imported", "workloads": (), "profile": None, "checks": ()}
        run = make_run(version=name, launches=tuple(own), **facts)
        metrics = ({"gpu__time_duration.sum": one.duration_ns} for one in own)
        return save_run(Store(tmp_path / "reports"), run, metrics_frame(*metrics))

    three, two = sort("three", 64, 16, 4), sort("two", 32, 32)
    for sides in ((three, two), (two, three)):
        found = diff_runs(*sides)
        assert (found.verdict.verdict, found.verdict.reason) == ("not-comparable", "other-passes")
        assert verdict_by_time(*sides, None, SampleReader()).reason == "other-passes"
    text = diff_text(diff_runs(three, two), Style())
    assert "only in three (3 launches, 300 µs): merge ×3" in text
    assert "only in two (2 launches, 200 µs): merge ×2" in text
    forced = diff_runs(three, two, DiffOptions(force=True))
    assert (forced.baseline.compared, forced.candidate.compared) == (4, 3)
    assert (forced.verdict.verdict, forced.verdict.speedup) == ("unclear", pytest.approx(3.1 / 2.1))
    assert diff_runs(three, sort("other", 60, 15, 3)).verdict.reason == "one-sample"  # as many: one by one
    alone = [sort(name, *grids) for name, grids in (("deep", (64, 16, 4)), ("flat", (8, 8)))]
    no_init = [_without_first(one, tmp_path) for one in alone]
    assert diff_runs(*no_init).verdict.reason == "other-passes"  # and not that no name is in both


def _without_first(stored: StoredRun, root: Path) -> StoredRun:
    launches = stored.run.launches[1:]
    facts: dict[str, Any] = {"source": "imported", "workloads": (), "profile": None, "checks": ()}
    run = make_run(kernel=f"{stored.run.kernel}_alone", version="it", launches=launches, **facts)
    frame = metrics_frame(*({"gpu__time_duration.sum": 1e5} for _ in range(1 + len(launches))))
    return save_run(Store(root / "reports"), run, frame[frame["launch"] > 0])


def test_launches_of_one_shape_and_of_very_different_work_are_no_repeats(tmp_path: Path) -> None:
    """The frontier of a search grows: a median over its levels is of none of them."""

    def search(name: str, *instructions: float) -> StoredRun:
        return foreign(tmp_path, name, *(("step", count, {INSTRUCTIONS: count}) for count in instructions))

    found = diff_runs(search("before", 1e4, 1e5, 1e6), search("after", 1e4, 5e4, 5e5))
    assert [(one.pair.repeats, one.baseline_ns, one.candidate_ns) for one in found.launches] == [
        (False, 1e6, 5e5),
        (False, 1e5, 5e4),
        (False, 1e4, 1e4),
    ]
    assert (found.verdict.reason, found.verdict.speedup) == ("one-sample", pytest.approx(1.11 / 0.56))
    alike = diff_runs(search("these", 1e4, 1e5), search("those", 1e4, 1.1e5))
    assert [one.pair.repeats for one in alike.launches] == [True]


def test_a_verdict_is_over_paired_launches_only(tmp_path: Path) -> None:
    """Between launches that pair, one launch against three of other kernels is no chain and its fusion."""
    before = foreign(tmp_path, "before", ("a", 1e5, {}), ("whole", 1e5, {}), ("b", 1e5, {}))
    parts = ("head", 3e5, {}), ("middle", 2e5, {}), ("tail", 1e5, {})
    found = diff_runs(before, foreign(tmp_path, "after", ("a", 1e5, {}), *parts, ("b", 1e5, {})))
    assert (found.baseline.compared, found.candidate.compared, found.verdict.speedup) == (2, 2, 1.0)
    assert [one.kernel for one in found.only_candidate] == ["head", "middle", "tail"]
    (alone,) = [line for line in diff_text(found, Style()).splitlines() if line.startswith("only in after")]
    assert alone == "only in after (3 launches, 600 µs): head 300 µs, middle 200 µs, tail 100 µs"
    assert [(one["kernel"], one["duration_ns"]) for one in diff_json(found)["unpaired"]["candidate"]] == [
        ("head", 3e5),
        ("middle", 2e5),
        ("tail", 1e5),
    ]


def test_runs_that_cannot_be_compared_keep_their_values(tmp_path: Path) -> None:
    before = foreign(tmp_path, "before", ("a", 1e5, {SM: 20.0}), ("b", 1e5, {}))
    other = foreign(tmp_path, "after", ("a", 2e5, {SM: 9.0}), device=DEVICE.__class__(**{**vars(DEVICE), "name": "X"}))
    found = diff_runs(before, other)
    assert found.verdict.reason == "other-device"
    assert {(c.verdict, c.delta, c.role) for c in found.changes} == {("not-comparable", None, "none")}
    assert {(c.verdict, c.delta) for one in found.launches for c in one.changes} == {("not-comparable", None)}
    assert (changes(found)["duration"].baseline, changes(found)["duration"].candidate) == (2e5, 2e5)  # of all
    assert found.flags == ()


def test_a_mean_of_counts_is_not_exact() -> None:
    """The sectors that it is weighted by differ, though nothing else does; of one launch it is a ratio of counts."""
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"

    def side(first: float) -> Combined:
        run = make_run(launches=(launch(0), launch(1)))
        return combine(run, metrics_frame({STORED: 32.0, sectors: first}, {STORED: 8.0, sectors: 1e6}), "small")

    row = catalogue_row("bytes_per_sector_store", side(1e6), side(1.01e6))
    assert row.baseline != row.candidate
    assert not row.exact
    assert catalogue_row("bytes_per_sector_store", *[side(1e6).of_places([0])] * 2).counted


def test_rounded_values_are_named_and_no_change(tmp_path: Path) -> None:
    whole = foreign(tmp_path, "whole", ("a", 1e5, {STORED: 9.0947, INSTRUCTIONS: 1e6}))
    printed = {STORED: 9.09, INSTRUCTIONS: 1e6}
    found = diff_runs(foreign(tmp_path, "csv", ("a", 1e5, printed), notes=(ROUNDED,)), whole)
    assert [(one.what, one.hard) for one in found.differences] == [("values", False)]
    assert (found.baseline.notes, found.candidate.notes) == ((ROUNDED,), ())
    assert changes(found)["sector_efficiency_store"].verdict == "unchanged"
    assert found.launches[0].changes == found.changes
    more = foreign(tmp_path, "more", ("a", 1e5, {STORED: 9.09, INSTRUCTIONS: 1e6 + 2e3}), notes=(ROUNDED,))
    assert changes(diff_runs(more, whole))["instructions"].verdict == "improved"


def test_a_workload_that_neither_side_knows_is_a_usage_problem(tmp_path: Path) -> None:
    one, two = foreign(tmp_path, "one", ("a", 1e5, {})), foreign(tmp_path, "two", ("a", 1e5, {}))
    with pytest.raises(UsageProblem, match="one and two have no workloads, so there is no 'foo'"):
        diff_runs(one, two, DiffOptions("foo"))


def test_a_function_that_changed_beside_a_longer_one_is_named(tmp_path: Path) -> None:
    """The sum hides it: a reference takes a hundred times as long."""

    def hidden(name: str, *times: tuple[str, float], against: tuple[tuple[str, float], ...]) -> Any:
        before, after = (
            foreign(tmp_path, f"{name}_{side}", *((kernel, ns, {}) for kernel, ns in some))
            for side, some in (("old", against), ("new", times))
        )
        found = outlier(diff_runs(before, after))
        return found and (found[0].candidate[0].kernel, found[1], found[2])

    long, reference = ("reference", 1e7), (("gemm", 1e5), ("other", 1e5), ("reference", 1e7))
    assert hidden("a", ("gemm", 2e5), ("other", 1.9e5), long, against=reference) == ("gemm", (1e5, 2e5), "slower")
    assert hidden("b", ("gemm", 1e5), ("other", 4e4), long, against=reference) == ("other", (1e5, 4e4), "faster")
    assert hidden("c", ("gemm", 1.08e5), ("other", 1e5), long, against=reference) is None  # noise of one duration
    assert hidden("d", ("gemm", 1e5), ("other", 1e5), ("reference", 5e6), against=reference) is None  # the sum says it
    near = (("gemm", 1.6e5), ("reference", 1.4e5))  # the sum says 2x; ten times, or the other way, it does not
    assert hidden("g", ("gemm", 1.3e4), ("reference", 1.4e5), against=near) == ("gemm", (1.6e5, 1.3e4), "faster")
    assert hidden("h", ("gemm", 8e4), ("reference", 7.1e4), against=near) is None
    assert hidden("i", ("gemm", 1.6e6), ("reference", 7e4), against=near)[0] == "gemm"
    assert hidden("e", ("gemm", 1.1e5), against=(("gemm", 1e5),)) is None
    launched = [("gemm", 2e5)] * 3, [("gemm", 1e5)] * 3  # repeats, whose samples are too few for a verdict
    assert hidden("f", *launched[0], long, against=(*launched[1], long)) == ("gemm", (3e5, 6e5), "slower")


@pytest.mark.parametrize(("rest", "told"), [(3e5, ("short", (8.5e3, 10.4e3), None)), (3e6, None)])
def test_a_short_function_that_changed_within_noise_is_told_if_the_whole_could_show_it(
    tmp_path: Path, rest: float, told: Any
) -> None:
    before = foreign(tmp_path, "before", ("short", 8.5e3, {}), ("rest", rest, {}))
    found = outlier(diff_runs(before, foreign(tmp_path, "after", ("short", 10.4e3, {}), ("rest", rest, {}))))
    assert (found and (found[0].candidate[0].kernel, found[1], found[2])) == told
