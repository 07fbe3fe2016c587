"""Whether two launches do the same work: by name, else by what was counted; and what is said of them if not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import launch, make_run, metrics_frame, save_run

from ncu_assist.analysis.diff import Diff, DiffOptions, LaunchPair, diff_runs
from ncu_assist.analysis.diff.pairing import Confidence
from ncu_assist.analysis.diff.work import work_differences, work_doubt, work_doubts
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.verdicts import next_command
from ncu_assist.store import Store, StoredRun

READ, WRITTEN, EXECUTED = "dram__bytes_read.sum", "dram__bytes_write.sum", "smsp__inst_executed.sum"
LOCAL = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"
STORED, REDUCED, ATOMIC = (f"lts__t_sectors_srcunit_tex_op_{what}.sum" for what in ("write", "red", "atom"))
ALIKE, LESS, MORE = 1.0, 1 / 16.5, 16.5


def counted(moved: float | None, executed: float | None) -> dict[str, float]:
    known = {READ: moved and 1e6 * moved, WRITTEN: moved and 0.0, EXECUTED: executed and 1e6 * executed}
    return {name: amount for name, amount in known.items() if amount is not None}


@pytest.mark.parametrize(
    ("by", "threads", "moved", "executed", "doubt"),
    [
        # a name says that it is the same work, and counters that it is a problem of another size
        ("base-name", ALIKE, LESS, LESS, ""),  # the same by an algorithm with fewer of everything
        ("base-name", MORE, ALIKE, ALIKE, ""),  # in parallel
        ("base-name", MORE, MORE, ALIKE, "other-size"),
        ("base-name", LESS, LESS, ALIKE, "other-size"),
        ("base-name", MORE, LESS, MORE, ""),
        ("base-name", MORE, None, MORE, "other-size"),
        ("base-name", MORE, None, None, "unknown-work"),
        ("base-name", ALIKE, None, None, ""),
        # no name says so
        ("order", ALIKE, ALIKE, ALIKE, ""),
        ("order", MORE, MORE, ALIKE, "other-size"),
        ("order", MORE, ALIKE, ALIKE, ""),
        ("order", ALIKE, LESS, ALIKE, ""),  # it reuses what it loads
        ("order", ALIKE, ALIKE, LESS, ""),  # wider loads, tensor cores
        ("order", ALIKE, LESS, MORE, ""),  # it computes again what it does not load
        ("order", ALIKE, LESS, LESS, "other-work"),
        ("order", ALIKE, MORE, MORE, "other-work"),
        ("order", LESS, MORE, MORE, "other-work"),
        ("order", ALIKE, None, None, "unknown-work"),
        ("order", ALIKE, None, LESS, ""),
    ],
)
def test_what_speaks_against_the_same_work(
    by: Confidence, threads: float, moved: float | None, executed: float | None, doubt: str
) -> None:
    before = launch(0, "one", grid=(1024, 1, 1))
    after = launch(0, "one" if by == "base-name" else "two", grid=(int(1024 * threads), 1, 1))
    tables = {0: counted(moved and 1.0, executed and 1.0)}, {0: counted(moved, executed)}
    assert work_doubt(LaunchPair((before,), (after,), by), tables) == doubt
    assert work_doubt(LaunchPair((after,), (before,), by), tables[::-1]) == doubt


def writing(sectors: float, moved: float, executed: float, atomics: float | None = 0.0) -> dict[str, float]:
    known = {**counted(moved, executed), STORED: sectors, REDUCED: 0.0}
    return known if atomics is None else {**known, ATOMIC: atomics}


@pytest.mark.parametrize(
    ("after", "doubt"),
    [
        (writing(0.0, 0.0, LESS), "no-result"),  # its body is gone, or returned at once
        (writing(0.0, ALIKE, ALIKE), ""),  # a check that found nothing to tell
        (writing(0.0, 0.0, LESS, atomics=4.0), ""),
        (writing(0.0, 0.0, LESS, atomics=None), ""),  # nobody counted whether it adds
        (writing(1e6, LESS, LESS), ""),  # the same results by less
        (writing(1e6 * LESS, LESS, LESS), "other-size"),
        ({**writing(1e8, MORE, MORE), LOCAL: 9e7}, ""),  # it spills
        ({**writing(1e8, MORE, MORE), LOCAL: 1e6}, "other-size"),
        ({**writing(1e6, MORE, MORE), LOCAL: 1e6}, ""),
    ],
)
def test_launches_of_one_name_are_judged_by_what_they_write(after: dict[str, float], doubt: str) -> None:
    tables = {0: writing(1e6, 1.0, 1.0)}, {0: after}
    assert work_doubt(LaunchPair((launch(0),), (launch(0),), "exact"), tables) == doubt
    assert work_doubt(LaunchPair((launch(0),), (launch(0),), "exact"), tables[::-1]) == doubt


def test_what_spills_may_have_a_result_beside_it() -> None:
    nothing = writing(0.0, 0.0, LESS)
    pair = LaunchPair((launch(0),), (launch(0),), "exact")
    for local, doubt in ((9e5, "no-result"), (1e6, "")):
        assert work_doubt(pair, ({0: {**writing(1e6, 1.0, 1.0), LOCAL: local}}, {0: nothing})) == doubt


def test_a_launch_without_a_result_forbids_the_comparison_only_where_most_of_the_time_is_its() -> None:
    pairs = [LaunchPair((launch(0, "gemm"),), (launch(0, "gemm"),), "exact")]
    tables = {0: writing(1e6, 1.0, 1.0), 1: {}}, {0: writing(0.0, 0.0, LESS), 1: {}}
    found, reason = work_differences(pairs, work_doubts(pairs, tables), tables)
    assert (reason, [one.what for one in found]) == (
        "no-result",
        ["DRAM bytes of gemm", "Executed Instructions of gemm", "L2 sectors written of gemm"],
    )
    assert (found[2].baseline, found[2].candidate, found[2].hard) == ("1 M", "0", True)
    long = launch(1, "reference", duration_ns=1e9)
    both = [*pairs, LaunchPair((long,), (long,), "exact")]
    found, reason = work_differences(both, work_doubts(both, tables), tables)
    assert (reason, {one.hard for one in found}) == ("", {False})


def test_beside_a_launch_of_another_size_more_work_is_no_worse_code() -> None:
    sort = LaunchPair((launch(0, grid=(1024, 1, 1)),), (launch(0, grid=(32768, 1, 1)),), "base-name")
    merges, fill = (LaunchPair((launch(place),), (launch(place),), "exact") for place in (1, 2))
    before, after = counted(1.0, 1.0), counted(MORE, MORE)
    tables = {0: before, 1: before, 2: before}, {0: after, 1: after, 2: counted(MORE, ALIKE)}
    assert work_doubts([sort, merges, fill], tables) == ["other-size", "other-size", ""]
    assert work_doubts([merges, fill], tables) == ["", ""]


@pytest.mark.parametrize(("blocks", "expected"), [(16, []), (17, ["32 against 544"])])
def test_paired_launches_of_another_size_are_named(blocks: int, expected: list[str]) -> None:
    """A thread may do 16 times as much, by wider loads; more is another problem, as far as anyone can tell."""
    before, after = (replace(launch(0), grid=(count, 1, 1), block=(32, 1, 1)) for count in (1, blocks))
    for pair, told in (
        (LaunchPair((before,), (after,), "exact"), expected),
        (LaunchPair((before,), (after, after), "exact"), []),
    ):
        found, reason = work_differences([pair], [work_doubt(pair, ({}, {}))], ({}, {}))
        assert [f"{one.baseline} against {one.candidate}" for one in found] == told
        assert all("another size of the problem?" in one.what and not one.hard for one in found)
        assert reason == ""


def repeated(root: Path, kernel: str, middle_ns: float, metrics: dict[str, Any], blocks: int = 8) -> StoredRun:
    """Save a report of one kernel, 30 times, with the clock of its SMs."""
    times = [middle_ns * (1 + 0.001 * (i % 7)) for i in range(30)]
    launches = tuple(
        launch(i, kernel, None, ranges=(), duration_ns=ns, grid=(blocks, 1, 1))  # type: ignore[arg-type]
        for i, ns in enumerate(times)
    )
    facts: dict[str, Any] = {"source": "imported", "workloads": (), "profile": None, "checks": ()}
    run = make_run(kernel=kernel, version=f"{kernel}{blocks}", launches=launches, **facts)
    clock = {"gpc__cycles_elapsed.avg.per_second": 1.98e9}
    frame = metrics_frame(*({"gpu__time_duration.sum": ns, **clock, **metrics} for ns in times), defaults=False)
    return save_run(Store(root / "reports"), run, frame)


def both(root: Path, metrics: dict[str, Any], **options: Any) -> Diff:
    before = repeated(root, "fill", 3e5, counted(1.0, 1.0))
    return diff_runs(before, repeated(root, "scale", 1e5, metrics), DiffOptions(**options))


def test_pairs_by_order_are_firm_only_where_the_work_may_be_the_same(tmp_path: Path) -> None:
    same = both(tmp_path / "same", counted(1.5, LESS))
    assert (same.verdict.verdict, same.verdict.reason) == ("faster", "robust-apart")
    other = both(tmp_path / "other", counted(LESS, LESS))
    assert (other.verdict.verdict, other.verdict.reason) == ("not-comparable", "other-work")
    assert [(one.what, one.baseline, one.candidate, one.hard) for one in other.differences] == [
        ("DRAM bytes of fill → scale", "1 MB", "60.6 kB", True),
        ("Executed Instructions of fill → scale", "1 M", "60.6 k", True),
    ]
    assert "DRAM bytes of fill → scale: 1 MB against 60.6 kB (forbids a comparison)" in diff_text(other, Style(120))


def test_a_comparison_of_other_work_that_is_forced_is_not_firm(tmp_path: Path) -> None:
    forced = both(tmp_path, counted(LESS, LESS), force=True)
    assert (forced.verdict.verdict, forced.verdict.likely, forced.forced) == ("unclear", "faster", "other-work")
    assert forced.launches[0].verdict == forced.verdict
    assert forced.verdict.cycles is not None
    assert forced.verdict.cycles.verdict == "unclear"
    text = " ".join(diff_text(forced, Style()).split())
    assert "scale8 against fill8 (forced): unclear, likely 3.00x faster" in text
    assert text.count("their names do not say that they do the same work, and one moves") == 1
    assert diff_markdown(forced).count("one moves and executes more than 16 times as much") == 1
    small = repeated(tmp_path, "sum", 1e5, counted(1.0, 1.0))
    sizes = diff_runs(small, repeated(tmp_path, "sum", 3e6, counted(30.0, 30.0), 240), DiffOptions(force=True))
    assert (sizes.verdict.verdict, sizes.verdict.likely, sizes.verdict.reason) == ("unclear", "slower", "other-size")


def test_what_forbids_another_way_does_not_hide_that_the_work_is_other(tmp_path: Path) -> None:
    """Also told where another GPU is what had to be forced."""
    before = repeated(tmp_path, "fill", 3e5, counted(1.0, 1.0))
    after = repeated(tmp_path, "scale", 1e5, counted(LESS, LESS))
    other_gpu = replace(after.run, device=replace(after.run.device, name="NVIDIA H100"))  # type: ignore[type-var]
    forced = diff_runs(before, replace(after, run=other_gpu), DiffOptions(force=True))
    assert (forced.forced, forced.verdict.reason) == ("other-device", "other-work")
    text = " ".join(diff_text(forced, Style()).split())
    assert "FORCED in spite of: the two were measured on different GPUs why: their names do not say" in text
    assert "why: their names do not say" in diff_markdown(forced)


def test_without_counters_nothing_says_that_pairs_by_order_do_the_same(tmp_path: Path) -> None:
    before, after = repeated(tmp_path, "fill", 3e5, {}), repeated(tmp_path, "scale", 1e5, {})
    found = diff_runs(before, after)
    assert (found.verdict.verdict, found.verdict.likely, found.verdict.reason) == ("unclear", "faster", "unknown-work")
    assert next_command(found).startswith("ncu --set full")
    assert diff_json(found)["reason"] == "unknown-work"
    named = diff_runs(before, repeated(tmp_path, "fill", 1e5, {}, 16))
    assert named.verdict.verdict == "faster"
