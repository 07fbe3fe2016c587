"""Launches are chosen by number, by kernel and by NVTX range; what cannot be meant is told with what there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import WORKLOAD, launch, make_run, metrics_frame, save_run

from ncu_assist.analysis.launches import narrowed
from ncu_assist.errors import UsageProblem
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection, selection_of
from ncu_assist.record import Launch
from ncu_assist.store import Store

LAUNCHES = tuple(
    Launch(index, kernel, signature, None, ranges, (8, 1, 1), (128, 1, 1), 1e4)
    for index, (kernel, signature, ranges) in enumerate(
        [
            ("gemm", "void gemm<float>(float *)", ("step 1", "forward", "layer 0")),
            ("gemm", "void gemm<__half>(__half *)", ("step 1", "forward", "layer 1")),
            ("relu", "relu(float *)", ("step 1", "backward")),
            ("relu_backward", "relu_backward(float *)", ()),
        ]
    )
)


def numbers(launch: str | None = None, *filters: str) -> list[int]:
    return [one.index for one in selection_of(launch, filters).of(LAUNCHES)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("2",), [2]),
        (("1-3",), [1, 2, 3]),
        ((None, "relu"), [2]),
        ((None, "void gemm<__half>(__half *)"), [1]),
        ((None, "regex:relu"), [2, 3]),
        ((None, "regex:<float>"), [0]),
        ((None, "gemm", "relu"), [0, 1, 2]),
        ((None, "nvtx:forward"), [0, 1]),
        ((None, "nvtx:step 1/forward/"), [0, 1]),
        ((None, "nvtx:forward/layer 1"), [1]),
        ((None, "nvtx:regex:layer [01]"), [0, 1]),
        ((None, "gemm", "nvtx:layer 1"), [1]),
        (("0-1", "gemm", "nvtx:layer 1"), [1]),
        ((), [0, 1, 2, 3]),
    ],
)
def test_what_is_meant(asked: tuple[str | None, ...], found: list[int]) -> None:
    assert numbers(*asked) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        (("4",), "there is no launch 4: launches are numbered 0 to 3; the nearest is 3", "--launch 3"),
        (("2-9",), "there is no launch 9: launches are numbered 0 to 3; the nearest is 2-3", "--launch 2-3"),
        (("7-9",), "there is no launch 7 and 9: launches are numbered 0 to 3; the nearest is 3", "--launch 3"),
        (("3-1",), "--launch 3-1 ends before it starts", "--launch 1-3"),
        (("-1",), "--launch takes a number or a range such as 0-4, and not '-1'", "--launch 3,"),
        (("٣",), "--launch takes a number", "--launch 3,"),
        ((None, "gem"), "none of 4 launches is of a kernel that matches 'gem'; did you mean 'gemm'?", "regex:"),
        ((None, "zzz"), "there are gemm (2), relu (1), relu_backward (1)", "regex:"),
        ((None, "nvtx:forwrd"), "is in an NVTX range that matches 'forwrd'; did you mean 'forward'?", "nvtx:"),
        ((None, "nvtx:step 1/backward/layer 0"), "there are step 1/forward/layer 0 (1)", "nvtx:"),
        ((None, "regex:a(b"), "'a(b' is no regular expression: missing ), unterminated subpattern at letter 2", r"\("),
        ((None, "nvtx:regex:*"), "nothing to repeat at letter 1, before '*'", r"\("),
        ((None, "regex:a["), "unterminated character set at letter 2", r"\("),
        ((None, "zzz"), "none of 4 launches", "--launch 3, --launch 0-3, or --filter"),
        (("1", "zzz"), "none of 1 launch ", "--launch 1, or --filter"),
        ((None, ""), "a filter is empty", "--filter NAME"),
        ((None, "nvtx:/"), "a filter is empty", "--filter NAME"),
    ],
)
def test_what_cannot_be_meant(asked: tuple[str | None, ...], message: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        numbers(*asked)  # type: ignore[arg-type]
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_range_that_is_nobodys() -> None:
    bare = [replace(one, ranges=()) for one in LAUNCHES]
    with pytest.raises(UsageProblem, match="is in an NVTX range that matches 'a'; there are none"):
        selection_of(None, ["nvtx:a"]).of(bare)
    with pytest.raises(UsageProblem, match="nothing was profiled"):
        selection_of("0").of(())


def test_the_options_that_ask_for_it() -> None:
    asked = selection_of("1-3", ["gemm", "nvtx:a/b"])
    assert asked == LaunchSelection((1, 3), ("gemm",), ("a/b",))
    assert asked.options == ("--launch", "1-3", "--filter", "gemm", "--filter", "nvtx:a/b")
    assert selection_of("2").options == ("--launch", "2")
    assert EVERY_LAUNCH.is_of_all
    assert not asked.is_of_all


def test_a_call_that_is_cut_loses_what_is_of_the_whole(tmp_path: Path) -> None:
    launches = (launch(0, "a"), launch(1, "b"), launch(2, "c", workload="odd"))
    run = make_run(launches=launches, workloads=(WORKLOAD, replace(WORKLOAD, name="odd")))
    stored = save_run(Store(tmp_path), run, metrics_frame({}, {}, {}))
    assert narrowed(stored, EVERY_LAUNCH) is stored
    cut = narrowed(stored, selection_of("1"))
    assert [one.index for one in cut.run.launches] == [1]
    assert (cut.run.workloads, cut.run.checks) == ((), ())
    assert cut.whole.launches == launches
    whole = narrowed(stored, selection_of("0-1"))
    assert [one.name for one in whole.run.workloads] == ["small"]
    assert whole.run.checks == run.checks
