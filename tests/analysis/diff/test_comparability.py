"""What else differs between two runs: named, and where it decides the time, forbidding unless forced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, PROFILE, WORKLOAD, launch, make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.analysis.diff import Diff, DiffOptions, diff_runs
from ncu_assist.analysis.diff.comparability import QUESTIONS
from ncu_assist.record import Toolchain
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.store import Store, StoredRun


def saved(root: Path, version: str, median_ns: float, **changes: Any) -> StoredRun:
    samples = samples_frame(times(median_ns, len(version)), version=version)
    return save_run(Store(root / "reports"), make_run(version=version, **changes), metrics_frame({}), samples)


def pair(root: Path, **changes: Any) -> tuple[StoredRun, StoredRun]:
    return saved(root, "v1_a", 2e5), saved(root, "v2_bb", 1e5, **changes)


def test_everything_that_should_be_is_asked() -> None:
    asked = {what for what, *_ in QUESTIONS}
    assert asked >= {
        "GPU model", "clock control", "cache control", "driver", "ncu", "CUDA", "workload", "dtype", "section set",
        "replay mode",
    }  # fmt: skip


def test_how_a_launch_was_replayed_is_no_difference(tmp_path: Path) -> None:
    assert PROFILE.replay_mode == "kernel"
    diff = diff_runs(*pair(tmp_path, profile=replace(PROFILE, replay_mode="application")))
    assert (diff.differences, diff.verdict.verdict) == ((), "faster")


@pytest.mark.parametrize("mode", ["range", "app-range"])
def test_the_values_of_a_range_are_no_values_of_a_launch(tmp_path: Path, mode: str) -> None:
    diff = diff_runs(*pair(tmp_path, profile=replace(PROFILE, replay_mode=mode)))
    assert (diff.verdict.verdict, diff.verdict.reason) == ("not-comparable", "other-settings")
    assert [(one.what, one.hard) for one in diff.differences] == [("replay mode", True)]


def test_the_two_spellings_of_a_gpu_differ_in_nothing(tmp_path: Path) -> None:
    diff = diff_runs(*pair(tmp_path, device=replace(DEVICE, name="H200")))
    assert (diff.differences, diff.verdict.verdict) == ((), "faster")


def test_other_options_of_nvcc_are_named_only(tmp_path: Path) -> None:
    before = saved(tmp_path, "v1_a", 2e5, toolchain=Toolchain(nvcc_options="-O3 sm_90a"))
    after = saved(tmp_path, "v2_bb", 1e5, toolchain=Toolchain(nvcc_options="-O3 sm_90a -use_fast_math"))
    diff = diff_runs(before, after)
    assert [(one.what, one.hard) for one in diff.differences] == [("nvcc options", False)]
    assert "nvcc options: -O3 sm_90a against -O3 sm_90a -use_fast_math" in diff_text(diff)


def test_another_cuda_is_named_only(tmp_path: Path) -> None:
    before = saved(tmp_path, "v1_a", 2e5, toolchain=Toolchain(cuda="12.9"))
    diff = diff_runs(before, saved(tmp_path, "v2_bb", 1e5, toolchain=Toolchain(cuda="13.0")))
    assert [(one.what, one.hard) for one in diff.differences] == [("CUDA", False)]
    assert diff.verdict.verdict == "faster"


def forced(root: Path, **changes: Any) -> Diff:
    return diff_runs(*pair(root, **changes), DiffOptions(force=True))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"device": replace(DEVICE, name="NVIDIA H100")}, "other-device"),
        ({"profile": replace(PROFILE, clock_control="base")}, "other-settings"),
        ({"workloads": (replace(WORKLOAD, algorithmic_bytes=1),)}, "other-workload"),
    ],
)
def test_a_forced_comparison_has_a_verdict_and_says_that_it_is_forced(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    diff = forced(tmp_path, **change)
    assert (diff.verdict.verdict, diff.forced) == ("faster", reason)
    assert {one.verdict for one in diff.changes} - {"unchanged", "missing"} == set()
    assert [one.hard for one in diff.differences] == [True]
    text = diff_text(diff)
    assert "(forced)" in text.splitlines()[0]
    assert "FORCED in spite of: the two" in text
    assert "**forced** in spite of: the two" in diff_markdown(diff)
    assert diff_json(diff)["forced"] == reason


def test_force_changes_nothing_where_nothing_forbids(tmp_path: Path) -> None:
    runs = pair(tmp_path)
    assert diff_runs(*runs, DiffOptions(force=True)) == diff_runs(*runs)
    assert diff_json(diff_runs(*runs))["forced"] is None


def test_other_kernels_can_be_forced(tmp_path: Path) -> None:
    before, after = saved(tmp_path, "v1_a", 2e5), saved(tmp_path, "v2_bb", 1e5, kernel="other", launches=(launch(),))
    assert diff_runs(before, after, DiffOptions(force=True)).verdict.verdict == "faster"


@pytest.mark.parametrize(
    ("moved", "long", "reason"), [(250.0, 0, "other-size"), (1.0, 0, "one-sample"), (250.0, 1, "one-sample")]
)
def test_a_launch_of_another_problem_is_not_compared(tmp_path: Path, moved: float, long: int, reason: str) -> None:
    """256 times the threads for 250 times the bytes. For as many bytes as before it is the same work, in parallel.

    So too where most of the time is another kernel's, of the same size. What one side alone launches is no part of it.
    """

    def side(name: str, times: float, blocks: int) -> StoredRun:
        made = (("sum", blocks, 1e5 * times), *[("same", 8, 1e8)] * long, (f"of_{name}", 8, 1e9))
        launches = tuple(
            launch(place, kernel, None, ranges=(), grid=(count, 1, 1), duration_ns=took)
            for place, (kernel, count, took) in enumerate(made)
        )
        metrics = [{"gpu__time_duration.sum": one.duration_ns} for one in launches]
        metrics[0] |= {"dram__bytes_read.sum": 1e6 * times, "dram__bytes_write.sum": 0.0, "dram__bytes.sum": None}
        run = make_run(version=name, workloads=(), checks=(), bench=None, source="imported", launches=launches)
        return save_run(Store(tmp_path / "reports"), run, metrics_frame(*metrics))

    small, large = side("small", 1.0, 4), side("large", moved, 1024)
    diff = diff_runs(small, large)
    assert diff.verdict.reason == reason
    told = [one for one in diff.differences if one.what.startswith("threads of sum")]
    assert [one.hard for one in told] == [reason == "other-size"]
    assert ["another size" in one.what for one in told] == [moved > 1]  # bytes say that it is the same work
    forced = diff_runs(small, large, DiffOptions(force=True))
    assert (forced.verdict.reason, forced.forced) == ("one-sample", reason if reason == "other-size" else "")
    for one in (diff, forced):
        assert ([each.kernel for each in one.only_baseline], one.only_candidate[0].kernel) == (["of_small"], "of_large")
        time = next(change for change in one.changes if change.metric == "duration")
        assert (time.baseline, time.candidate) == (1e5 + 1e8 * long, 1e5 * moved + 1e8 * long)
