"""Every sample is drawn where it was taken; the band is that of the recorded timing."""

from __future__ import annotations

import re

import pytest
from factories import samples_frame, times, timing
from render.html.charts_page import recorded

from ncu_assist.analysis.diff.timing import TimedSamples, samples_in, timed_samples
from ncu_assist.render.html.timing_chart import BOTTOM, TOP, bins, timing_chart


def made(median_ns: float, late: tuple[int, ...] = (), seed: int = 1, rounds: int = 100) -> TimedSamples:
    frame = samples_frame(times(median_ns, seed, rounds), late=late)
    rows = list(zip(frame["round"], frame["position"], frame["time_ns"], frame["late"], strict=True))
    return samples_in(rows, "v1_torch", timing(frame), "read")


def test_all_samples_are_dots() -> None:
    samples = timed_samples(recorded("v6"), "b64_d96")
    assert samples is not None
    chart = timing_chart(samples)
    assert (
        sum(one.d.count("h0") for one in chart.chart.shapes if one.cls == "timing-dots") == len(samples.times_ns) == 100
    )
    assert chart.says == (
        "v6_coalesced_store: median 221 µs, half of the samples within 219 to 222 µs; "
        "100 samples, bench 623065bae972, L2 flushed by reading.",
    )
    assert chart.chart.x is not None
    assert chart.chart.y is not None
    assert all(chart.chart.y.holds(time) for time in samples.times_ns)


def test_late_samples_are_crosses_and_counted() -> None:
    chart = timing_chart(made(50_000.0, late=(3, 7)))
    assert [one.d.count("l8 8") for one in chart.chart.shapes if one.cls == "timing-late"] == [2]
    assert "98 samples, 2 late and left out" in chart.says[0]


def test_a_far_sample_does_not_squeeze_the_rest() -> None:
    one = made(50_000.0)
    far = TimedSamples(**{**vars(one), "times_ns": (900_000.0, *one.times_ns[1:])})
    chart = timing_chart(far)
    assert chart.chart.y is not None
    assert chart.chart.y.high < 60_000
    assert [word.text for word in chart.chart.words] == ["▲ 1 above, up to 900 µs, at the edge"]


@pytest.mark.parametrize(("other", "kind"), [(51_000.0, "linear"), (400_000.0, "log")])
def test_the_baseline_is_a_ghost_on_the_same_axis(other: float, kind: str) -> None:
    chart = timing_chart(made(50_000.0), made(other, seed=2))
    assert chart.chart.y is not None
    assert chart.chart.y.kind == kind
    assert any("timing-before" in one.cls for one in chart.chart.shapes)
    assert len(chart.says) == 2


def test_every_kept_sample_is_in_the_histogram() -> None:
    from ncu_assist.render.html.timing_chart import _series, time_axis

    side = _series(made(50_000.0, late=(1,)))
    assert sum(bins(side, time_axis([side]))) == 99


def test_the_bars_of_a_baseline_are_only_where_it_has_samples() -> None:
    chart = timing_chart(made(50_000.0), made(400_000.0, seed=2))
    bars = next(one.d for one in chart.chart.shapes if one.cls == "timing-bars-before")
    heights = [float(part) for part in re.findall(r"M884 ([\d.]+)", bars)]
    assert max(heights) - min(heights) < (BOTTOM - TOP) / 4


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_few_and_equal_samples(rounds: int) -> None:
    chart = timing_chart(made(3_000.0, rounds=rounds))
    assert chart.chart.y is not None
    assert len({tick.text for tick in chart.chart.y.ticks}) == len(chart.chart.y.ticks) > 1


def test_nothing_timed_names_the_command() -> None:
    chart = timing_chart(None, collect="ncu-assist bench add_one v1")
    assert chart.missing
    assert chart.collect == "ncu-assist bench add_one v1"
