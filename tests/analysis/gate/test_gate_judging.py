"""One limit and two runs to an outcome."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factories import make_run

from ncu_assist.analysis.diff.changes import ComparedMetric
from ncu_assist.analysis.diff.noise import BEYOND, WITHIN, NoiseModel
from ncu_assist.analysis.gate import GATE_REASONS, GateCheck
from ncu_assist.analysis.gate.checking import GatedRuns, judge_metric, judge_time
from ncu_assist.analysis.gate.limits import parse_limit
from ncu_assist.render.words.gate import reason_words
from ncu_assist.verdict import REASONS, Verdict, not_comparable

PLACE = GatedRuns(make_run(version="v6_old"), make_run(version="v7_new"), "small")
NOISE = NoiseModel(None)


def slower_by(low: float, high: float, pairs: int = 100) -> Verdict:
    """The verdict of a paired bench whose 99 % interval of the slow-down is this."""
    word = "slower" if low > 0.005 else "faster" if high < -0.005 else "unclear"
    middle = 1 / (1 + (low + high) / 2)
    return Verdict(word, None, "interval-across", middle, 1 / (1 + high), 1 / (1 + low), pairs)  # type: ignore[arg-type]


def unpaired(word: str, slowdown: float | None, likely: str | None = None) -> Verdict:
    speedup = None if slowdown is None else 1 / (1 + slowdown)
    return Verdict(word, likely, "one-sample", speedup, None, None, 0)  # type: ignore[arg-type]


def timed(limit: str, verdict: Verdict, place: GatedRuns = PLACE) -> GateCheck:
    return judge_time(parse_limit(limit, list), verdict, (100.0, 101.0), place)


def counted(limit: str, baseline: float | None, candidate: float | None, exact: bool = False) -> GateCheck:
    parsed = parse_limit(limit, list)
    metric = parsed.metric
    row = ComparedMetric(
        metric.key, metric.label, metric.unit, metric.better, exact, baseline, candidate, duration_ns=1e5
    )
    return judge_metric(parsed, row, NOISE, PLACE)


@pytest.mark.parametrize(
    ("limit", "low", "high", "outcome"),
    [
        ("time:2%", 0.021, 0.040, "regression"),
        ("time:2%", 0.015, 0.025, "unclear"),
        ("time:2%", 0.010, 0.019, "pass"),  # slower, and allowed
        ("time:2%", -0.300, -0.100, "pass"),
        ("time:2%", -0.100, 0.100, "unclear"),
        ("time:0%", 0.006, 0.009, "regression"),  # any verdict of slower
        ("time:0%", 0.004, 0.009, "unclear"),
        ("time:0%", -0.004, 0.004, "pass"),  # the same, by the verdict's own margin
        ("time:0%", -0.020, 0.004, "pass"),  # faster or the same: not slower
        ("time:0%", 0.002, 0.004, "pass"),  # stricter than what can be told apart
    ],
)
def test_the_whole_interval_has_to_be_on_one_side_of_the_limit(
    limit: str, low: float, high: float, outcome: str
) -> None:
    check = timed(limit, slower_by(low, high))
    assert check.outcome == outcome
    assert (check.low, check.high) == (pytest.approx(low), pytest.approx(high))
    assert check.delta == pytest.approx((low + high) / 2)
    assert (check.baseline, check.candidate, check.workload) == (100.0, 101.0, "small")


def test_what_is_unclear_says_how_to_settle_it() -> None:
    check = timed("time:2%", slower_by(0.015, 0.025))
    assert reason_words(check) == "beyond the limit as measured, and the 99 % interval reaches back inside"
    assert check.next == "ncu-assist bench add_one v6 v7 --rounds 400 --workload small"
    assert timed("time:2%", slower_by(0.015, 0.025, 400)).next.endswith("--rounds 1600 --workload small")
    assert "0.5 %, the least that is told apart" in reason_words(timed("time:0%", slower_by(0.004, 0.006)))


@pytest.mark.parametrize(
    ("word", "slowdown", "outcome"),
    [
        ("slower", 0.05, "regression"),
        ("slower", 0.01, "pass"),
        ("faster", -0.5, "pass"),
        ("same", 0.001, "pass"),
        ("unclear", 0.5, "unclear"),
        ("unclear", None, "unclear"),
    ],
)
def test_without_an_interval_the_word_decides(word: str, slowdown: float | None, outcome: str) -> None:
    check = timed("time:2%", unpaired(word, slowdown))
    assert (check.outcome, check.low, check.high) == (outcome, None, None)


def test_one_sample_is_likely_and_no_more() -> None:
    check = timed("time:2%", unpaired("unclear", 0.5, "slower"))
    assert reason_words(check).startswith("likely slower, but there is one duration a side")
    assert check.next.startswith("ncu-assist bench add_one v6 v7")


def test_runs_that_cannot_be_compared_are_unclear() -> None:
    check = timed("time:2%", not_comparable("other-device"))
    assert (check.outcome, check.verdict, check.delta) == ("unclear", "not-comparable", None)
    assert "different GPUs" in reason_words(check)


def test_nothing_is_proposed_that_cannot_be_run() -> None:
    foreign = GatedRuns(make_run(source="imported"), make_run(), "small")
    nowhere = GatedRuns(make_run(), make_run(), None)
    assert {timed("time:2%", slower_by(0.015, 0.025), place).next for place in (foreign, nowhere)} == {""}


def test_a_name_of_a_workload_is_quoted() -> None:
    odd = GatedRuns(make_run(version="v6"), make_run(version="v7"), "a b; rm")
    assert timed("time:2%", slower_by(0.015, 0.025), odd).next.endswith("--workload 'a b; rm'")


@pytest.mark.parametrize(
    ("limit", "baseline", "candidate", "outcome"),
    [
        ("shared_wavefronts_excessive:+0", 0.0, 0.0, "pass"),
        ("shared_wavefronts_excessive:+0", 0.0, 1.0, "regression"),
        ("shared_wavefronts_excessive:+0", 9.0, 8.0, "pass"),
        ("shared_wavefronts_excessive:-0", 9.0, 8.0, "regression"),
        ("instructions:2%", 1e9, 1.02e9, "pass"),
        ("instructions:2%", 1e9, 1.02e9 + 2, "regression"),
        ("registers:+8", 30.0, 38.0, "pass"),
        ("registers:+8", 30.0, 39.0, "regression"),
    ],
)
def test_what_is_exact_is_held_to_its_limit_exactly(
    limit: str, baseline: float, candidate: float, outcome: str
) -> None:
    check = counted(limit, baseline, candidate, exact=True)
    assert (check.outcome, check.reason) == (outcome, "")


@pytest.mark.parametrize(
    ("limit", "direction", "allowed"),
    [("dram_bytes:0%", 1.0, 0.0), ("dram_bytes:5%", 1.0, 5.0), ("dram_bandwidth:5%", -1.0, 5.0)],
)
def test_what_strays_gets_its_noise_on_top(limit: str, direction: float, allowed: float) -> None:
    # by the model: a metric that no recording knows strays by twice the floor of 0.5 %, of the larger value
    def outcome(excess: float) -> str:
        return counted(limit, 100.0, 100.0 + direction * (allowed + excess)).outcome

    amount = 1.0
    assert outcome(0.9 * WITHIN * amount) == "pass"
    assert outcome(0.75 * BEYOND * amount) == "unclear"
    assert outcome(1.2 * BEYOND * amount) == "regression"


def test_points_are_of_a_percentage() -> None:
    assert [counted("dram_throughput:3pt", 80.0, after).outcome for after in (76.0, 74.0, 70.0)] == [
        "pass",
        "unclear",
        "regression",
    ]
    assert counted("dram_throughput:3pt", 80.0, 70.0).delta == pytest.approx(-10.0)


def test_noise_is_settled_by_repeats() -> None:
    check = counted("dram_bytes:0%", 100.0, 103.0)
    assert reason_words(check).startswith("it may be noise")
    assert check.next == "ncu-assist profile add_one v6 v7 --repeats 5 --workload small"


def test_a_metric_that_a_side_lacks_is_unclear() -> None:
    check = counted("dram_bytes:0%", 100.0, None)
    assert (check.outcome, check.verdict, check.baseline, check.candidate) == ("unclear", "missing", 100.0, None)
    assert reason_words(check) == "not counted in v7 (section set full)"
    assert check.next == ""
    assert "v6 (section set full) or v7 (section set full)" in reason_words(counted("dram_bytes:0%", None, None))


@pytest.mark.parametrize("odd", [float("inf"), float("-inf"), float("nan")])
def test_what_is_no_number_is_not_counted(odd: float) -> None:
    check = counted("dram_bytes:0%", 100.0, odd)
    assert (check.outcome, check.candidate, check.delta) == ("unclear", None, None)
    time = judge_time(parse_limit("time:2%", list), unpaired("unclear", None), (odd, 100.0), PLACE)
    assert (time.outcome, time.baseline) == ("unclear", None)


def ticks(low: float, high: float) -> Verdict:
    """The verdict of a short kernel whose slow-down is less than the timer resolves."""
    return replace(slower_by(low, high), verdict="unclear", reason="not-resolved")


@pytest.mark.parametrize(
    ("limit", "low", "high", "outcome"),
    [
        ("time:0%", 0.006, 0.018, "unclear"),
        ("time:1%", 0.011, 0.018, "unclear"),
        ("time:1%", 0.006, 0.018, "unclear"),
        ("time:2%", 0.006, 0.018, "pass"),
        ("time:0%", -0.018, -0.006, "pass"),
    ],
)
def test_what_the_timer_does_not_resolve_is_never_broken(limit: str, low: float, high: float, outcome: str) -> None:
    check = timed(limit, ticks(low, high))
    assert check.outcome == outcome
    if outcome == "unclear":
        assert check.reason == "not-resolved"
        assert check.next == "ncu-assist bench add_one v6 v7 --workload all"


def test_at_zero_percent_the_word_of_the_verdict_decides() -> None:
    edge = slower_by(0.005, 0.006)
    assert timed("time:0%", replace(edge, verdict="slower")).outcome == "regression"
    assert timed("time:0%", replace(edge, verdict="unclear")).outcome == "unclear"
    assert timed("time:0%", replace(edge, verdict="same")).outcome == "pass"


def test_noise_is_told_in_the_unit_of_the_metric() -> None:
    points = counted("dram_throughput:3pt", 80.0, 74.0)
    assert points.noise == pytest.approx(WITHIN * 1.0)  # twice the floor of 0.5 points, as no recording knows of it
    assert points.excess == pytest.approx(3.0)
    assert counted("registers:+8", 30.0, 39.0, exact=True).noise == 0.0
    assert timed("time:2%", slower_by(0.021, 0.04)).noise is None


def test_every_reason_of_a_gate_has_words() -> None:
    check = timed("time:2%", slower_by(0.015, 0.025))
    for code in (*GATE_REASONS, *REASONS):
        assert reason_words(replace(check, reason=code))
