"""What is noise is no change: exact metrics exactly, the rest beyond what recorded or own repeats stray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isclose

import pytest
from factories import DEVICE, launch, make_run, metrics_frame
from hypothesis import given
from hypothesis import strategies as st

from ncu_assist.analysis.diff.changes import ComparedMetric, change, changes, rows
from ncu_assist.analysis.diff.noise import (
    BEYOND,
    FLOOR,
    SHORT_FLOOR,
    SHORT_POINTS,
    WITHIN,
    MetricReading,
    NoiseModel,
    noise_model,
)
from ncu_assist.frame import Combined, combine
from ncu_assist.ncu.catalogue.noise import Deviation, Recording, recording

LONG, SHORT = 1e5, 3e3
RECORDING = Recording(
    "made", "GPU", "1", 9, {"m": (Deviation(0.02, 10.0), Deviation(0.2, 0.0)), "p": (Deviation(0.0, 3.0, True), None)}
)
NOISE = NoiseModel(RECORDING)


def reading(
    candidate: float, key: str = "m", unit: str = "byte", duration_ns: float = LONG, exact: bool = False
) -> MetricReading:
    return MetricReading(key, unit, exact, 1000.0 if unit != "%" else 50.0, candidate, duration_ns=duration_ns)


def test_what_is_recorded_sets_the_noise() -> None:
    assert NOISE.amount(reading(1000.0)) == pytest.approx(0.02 * 1000 + 10)
    assert NOISE.amount(reading(1000.0, duration_ns=SHORT)) == pytest.approx(200.0)
    assert NOISE.amount(reading(50.0, "p", "%")) == pytest.approx(3.0)


def test_what_is_not_recorded_has_twice_the_floor() -> None:
    assert NOISE.amount(reading(1000.0, "other")) == pytest.approx(2 * FLOOR * 1000)
    assert NOISE.amount(reading(50.0, "other", "%")) == pytest.approx(2 * FLOOR * 100)
    assert NOISE.amount(reading(50.0, "p", "%", SHORT)) == pytest.approx(2 * SHORT_POINTS)
    assert NOISE.amount(reading(1000.0, "other", duration_ns=SHORT)) == pytest.approx(2 * SHORT_FLOOR * 1000)
    assert NoiseModel(None).amount(reading(1000.0)) == NOISE.amount(reading(1000.0, "other"))


def test_no_recording_makes_a_counter_exact() -> None:
    silent = NoiseModel(replace(RECORDING, deviation={"m": (Deviation(0.0, 0.0), None)}))
    assert silent.amount(reading(1000.0)) == pytest.approx(FLOOR * 1000)


@pytest.mark.parametrize(
    ("times", "word"), [(0.0, "within"), (0.99 * WITHIN, "within"), (1.2 * WITHIN, "near"), (1.1 * BEYOND, "beyond")]
)
def test_near_is_neither_noise_nor_a_change(times: float, word: str) -> None:
    known = Deviation(0.0, 30.0)
    noise = NoiseModel(replace(RECORDING, deviation={"m": (known, known)}))
    for sign in (1, -1):
        assert noise.distance(reading(1000.0 + sign * times * 30.0)) == word


def test_exact_is_exact_but_for_printed_digits() -> None:
    assert NOISE.distance(reading(1001.0, exact=True)) == "beyond"
    assert NOISE.distance(reading(1000.0, exact=True)) == "within"
    rounded = NoiseModel(RECORDING, rounded=True)
    assert rounded.distance(reading(1000.01, exact=True)) == "within"
    assert rounded.distance(reading(1000.05, exact=True)) == "beyond"


def with_samples(*sides: Sequence[float]) -> MetricReading:
    return replace(reading(1000.0), samples=(sides[0], sides[1]))


def test_own_repeats_count_and_enough_of_them_count_alone() -> None:
    wild, calm = [900.0, 1000.0, 1100.0], [1000.0, 1001.0, 999.0]
    assert NOISE.amount(with_samples(wild, calm)) == pytest.approx(100.0)
    assert NOISE.amount(with_samples(calm, calm)) == NOISE.amount(reading(1000.0))  # recorded: 30
    assert NOISE.amount(with_samples([*calm, 1000.0, 1000.0], [*calm, 1000.0, 1000.0])) == pytest.approx(FLOOR * 1000)
    assert NOISE.amount(with_samples([*calm, 1000.0, 1000.0], calm)) == NOISE.amount(reading(1000.0))
    assert NOISE.amount(with_samples([900.0, 1100.0], [])) == NOISE.amount(reading(1000.0))  # two say nothing


def test_the_chip_decides_whose_repeats_are_taken() -> None:
    assert noise_model(make_run(device=DEVICE)).recording is recording("gh100")
    other = replace(DEVICE, compute_capability="12.0")
    assert noise_model(make_run(device=other)).recording is recording("gh100")  # stands in
    assert noise_model(make_run(device=None)).recording is not None
    assert noise_model(make_run(), make_run(rounded=True)).rounded


def repeated(*values: float, duration_ns: float = LONG) -> Combined:
    launches = tuple(launch(i, repeat=i, duration_ns=duration_ns) for i in range(len(values)))
    return combine(make_run(launches=launches), metrics_frame(*[{"dram__bytes_read.sum": v} for v in values]), "small")


def test_a_repeated_baseline_gives_a_standard_score() -> None:
    before, after = repeated(1e8, 1.02e8, 0.98e8), repeated(1.2e8)
    found = {one.metric: one for one in changes(before, after, NOISE)}["dram_bytes"]
    assert found.repeats == 3
    assert found.baseline == 3e8  # the median, with the bytes written
    assert found.z == pytest.approx((3.2e8 - 3e8) / 2e6)
    lone = {one.metric: one for one in changes(after, before, NOISE)}["dram_bytes"]
    assert (lone.z, lone.repeats) == (None, 0)


def test_of_the_same_repeats_the_standard_score_is_zero() -> None:
    """Also where their median is not their mean."""
    same = repeated(1e8, 1.01e8, 1.3e8)
    assert {one.metric: one for one in changes(same, same, NOISE)}["dram_bytes"].z == 0.0


def test_repeats_that_never_stray_have_no_score() -> None:
    found = {one.metric: one for one in changes(repeated(1e8, 1e8), repeated(2e8), NOISE)}["dram_bytes"]
    assert (found.z, found.repeats) == (None, 2)


def test_waste_that_is_a_trifle_of_the_whole_is_immaterial() -> None:
    excess, whole = "derived__memory_l2_theoretical_sectors_global_excessive", "memory_l2_theoretical_sectors_global"

    def side(waste: float) -> Combined:
        return combine(make_run(launches=(launch(),)), metrics_frame({excess: waste, whole: 1e6}), "small")

    def material(before: float, after: float) -> bool:
        found = {one.metric: one for one in changes(side(before), side(after), NOISE)}
        assert found["global_sectors_excessive"].verdict == "regressed"
        return found["global_sectors_excessive"].is_material

    assert not material(0.0, 9_000.0)
    assert material(0.0, 11_000.0)


def test_a_chain_of_short_kernels_is_short() -> None:
    launches = tuple(launch(i, duration_ns=4_000.0) for i in range(30))
    chain = combine(make_run(launches=launches), metrics_frame(*[{}] * 30), "small")
    assert chain.duration_ns == pytest.approx(120_000.0)
    assert {row.duration_ns for row in rows(chain, chain)} == {4_000.0}


def test_every_metric_is_looked_at_when_asked() -> None:
    one = combine(make_run(launches=(launch(),)), metrics_frame({"some__odd_counter.sum": 3.0}), "small")
    keys = [row.key for row in rows(one, one, every=True)]
    assert len(keys) == len(set(keys))
    assert "some__odd_counter.sum" in keys
    assert {row.key for row in rows(one, one)} < set(keys)
    raw = next(row for row in rows(one, one, every=True) if row.key == "some__odd_counter.sum")
    assert (raw.baseline, raw.better, raw.exact) == (3.0, None, False)


@pytest.mark.parametrize(
    ("count", "word"),
    [
        (28_300_000, "unchanged"),
        (28_304_000, "unchanged"),  # 0.014 %, as warps poll
        (28_287_000, "changed"),  # 0.046 %: both are shown as 28.3 M
        (28_313_000, "changed"),
        (28_270_000, "improved"),  # 0.106 %
        (28_330_000, "regressed"),
    ],
)
def test_a_count_that_moved_by_what_nobody_sees_is_neither_better_nor_worse(count: float, word: str) -> None:
    row = ComparedMetric("instructions", "Instructions", "inst", "lower", False, 28_300_000, count, counted=True)
    assert change(row, NOISE).verdict == word


def test_a_missing_side_has_no_noise() -> None:
    told = change(ComparedMetric("m", "M", "byte", "lower", False, None, 1.0), NOISE)
    assert (told.verdict, told.delta, told.noise) == ("missing", None, None)


def of_dram(busy: float) -> Combined:
    """A long launch that DRAM was so many percent busy in, with the bandwidth that this is."""
    counted = {
        "dram__bytes.sum.per_second": busy / 100 * 4.8e12,
        "dram__bytes.sum.peak_sustained": 1920.0,
        "dram__cycles_elapsed.avg.per_second": 2.5e9,
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": busy,
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": busy,
    }
    return combine(make_run(launches=(launch(duration_ns=LONG),)), metrics_frame(counted), "small")


@pytest.mark.parametrize(
    ("busy", "word"), [((10.0, 10.6), "unchanged"), ((80.0, 80.9), "unchanged"), ((40.0, 80.0), "improved")]
)
def test_dram_bandwidth_is_judged_as_the_percentage_that_it_is(busy: tuple[float, float], word: str) -> None:
    told = {one.metric: one for one in changes(of_dram(busy[0]), of_dram(busy[1]), NoiseModel(None))}
    rates = [told[key] for key in ("dram_bandwidth", "dram_throughput", "memory_throughput")]
    assert [one.verdict for one in rates] == [word] * 3
    assert len({one.is_material for one in rates}) == 1
    assert rates[0].noise == pytest.approx(rates[1].noise / busy[1])  # type: ignore[operator]


@pytest.mark.parametrize(("counted", "word"), [(True, "regressed"), (False, "unchanged")])
def test_a_derived_count_strays_as_what_it_is_derived_from(counted: bool, word: str) -> None:
    """0.2 % more instructions are a change where they were counted, and none as a rate times cycles."""

    def side(count: float) -> Combined:
        derived = {"sm__inst_executed.avg.per_cycle_elapsed": count / 1e6, "sm__cycles_elapsed.avg": 1e6 / 100}
        derived |= {"launch__sm_count": 100.0, "smsp__inst_executed.sum": None, "smsp__inst_executed.avg": None}
        metrics = {"smsp__inst_executed.sum": count} if counted else derived
        return combine(make_run(launches=(launch(duration_ns=LONG),)), metrics_frame(metrics), "small")

    before, after = side(1e6), side(1.002e6)
    assert after.values["instructions"] == pytest.approx(1.002e6)
    found = {one.metric: one for one in changes(before, after, NoiseModel(None))}
    assert found["instructions"].verdict == word


def of_l2(whole: float, reads: float) -> Combined:
    """A long launch of which L2 counted a whole, and the reads in it in another pass."""
    counted = {"": whole, "_op_read": reads, "_op_write": 4e6, "_op_red": 0.0, "_op_atom": 0.0}
    table = metrics_frame({f"lts__t_sectors_srcunit_tex{end}.sum": value for end, value in counted.items()})
    return combine(make_run(launches=(launch(duration_ns=LONG),)), table, "small")


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ((249e6, 262e6), (255e6, 238e6), "unchanged"),  # the whole and its parts are 17 M and 13 M apart
        ((249e6, 245e6), (265e6, 261e6), "regressed"),
        ((249e6, 262e6), (349e6, 345e6), "regressed"),
    ],
)
def test_two_counts_of_one_launch_that_differ_make_no_change(
    before: tuple[float, float], after: tuple[float, float], word: str
) -> None:
    found = {one.metric: one for one in changes(of_l2(*before), of_l2(*after), NoiseModel(None), every=True)}
    assert found["l2_sectors_sm"].verdict == word
    assert (found["l2_sectors_read"].verdict == "unchanged") == (word == "unchanged")


@pytest.mark.parametrize(("by_tma", "is_shown"), [(0.0, True), (3e9, True), (4e9, False)])
def test_an_efficiency_of_a_trifle_beside_tma_is_not_shown(by_tma: float, is_shown: bool) -> None:
    counted = {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1e6,
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1e6,
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 8.0,
        "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum": by_tma,
    }
    one = combine(make_run(launches=(launch(),)), metrics_frame(counted), "small")
    plain = combine(make_run(launches=(launch(),)), metrics_frame(counted | {next(reversed(counted)): 0.0}), "small")
    for sides in ((one, one), (plain, one), (one, plain)):
        assert ("sector_efficiency_load" in [row.key for row in rows(*sides)]) == is_shown


@given(
    before=st.floats(1e3, 1e9),
    ratio=st.floats(0.8, 1.25),
    throughput=st.tuples(st.floats(1.0, 99.0), st.floats(1.0, 99.0)),
    duration_ns=st.sampled_from((LONG, SHORT)),
)
def test_a_change_is_beyond_the_band_that_is_shown_and_all_else_within(
    before: float, ratio: float, throughput: tuple[float, float], duration_ns: float
) -> None:
    def side(count: float, percent: float) -> Combined:
        values = {"dram__bytes_read.sum": count, "sm__throughput.avg.pct_of_peak_sustained_elapsed": percent}
        run = make_run(launches=(launch(0, duration_ns=duration_ns),))
        return combine(run, metrics_frame(values), "small")

    told = changes(side(before, throughput[0]), side(before * ratio, throughput[1]), NOISE)
    shown = [one for one in told if one.delta is not None and one.beyond is not None]
    assert {"dram_bytes", "sm_throughput"} <= {one.metric for one in shown}
    for one in shown:
        is_change = one.verdict in ("improved", "regressed", "changed")
        assert is_change == (abs(one.delta or 0.0) > (one.beyond or 0.0) * (1 + 1e-9)) or isclose(
            abs(one.delta or 0.0), one.beyond or 0.0, rel_tol=1e-6
        )
