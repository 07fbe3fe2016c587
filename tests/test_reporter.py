"""How long a row of steps still takes, and what profiling costs before it begins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.ncu_stage import cost_words
from ncu_assist.steps import Pace, minutes


def test_time_left_is_by_the_steps_that_are_done() -> None:
    times: Iterator[float] = iter([0.0, 10.0, 30.0, 99.0])
    pace = Pace(10, lambda: next(times))
    assert pace.left(0) == ""
    assert pace.left(2) == " · 40 s left"
    assert pace.left(5) == " · 30 s left"
    assert pace.left(10) == "", "nothing is left"


@pytest.mark.parametrize(("seconds", "said"), [(4.2, "4 s"), (99.0, "99 s"), (180.0, "3 min")])
def test_minutes(seconds: float, said: str) -> None:
    assert minutes(seconds) == said


@pytest.mark.parametrize(
    ("options", "launches", "said"),
    [
        (ProfileOptions("full"), 33, "33 launches under ncu --set full, 69 s to 2 min"),
        (ProfileOptions("full"), 200, "200 launches under ncu --set full, 6 min to 10 min"),
        (ProfileOptions("basic"), 33, "33 launches under ncu --set basic, about 24 s"),
        (ProfileOptions("full"), 3, ""),
        (ProfileOptions("full", metrics=("gpu__time_duration.sum",)), 900, ""),
    ],
)
def test_the_cost_is_said_where_it_is_worth_it(options: ProfileOptions, launches: float, said: str) -> None:
    assert cost_words(options, launches) == said


def test_what_earlier_runs_took_goes_before_what_launches_take_elsewhere() -> None:
    assert cost_words(ProfileOptions("full"), 14, 40.6) == "14 launches under ncu --set full, about 50 s"
    assert cost_words(ProfileOptions("full"), 14, 4.0) == ""


def test_what_no_run_tells_is_between_two_times() -> None:
    """Softmax on an H200: 14 launches took 50 s, and 35 s were announced."""
    assert cost_words(ProfileOptions("full"), 14) == "14 launches under ncu --set full, 35 s to 50 s"
    assert cost_words(ProfileOptions("full"), 14, 30.0, 4) == "14 launches under ncu --set full, 39 s to 44 s"
    said = cost_words(ProfileOptions("full"), 10, 18.0, 10, is_counted=False)
    assert said == "10 launches under ncu --set full, 27 s to 38 s, more if a call makes several launches"
