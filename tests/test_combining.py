"""Several launches as one: each metric by what it is a ratio over, and of different kernels nothing but sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from factories import STALL, launch, make_run, metrics_frame

from ncu_assist.frame import Combined, by_launch, combine, combine_launches, combine_tables
from ncu_assist.frame.combined import combining
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES, ROWS
from ncu_assist.record import Launch
from ncu_assist.rules.model.of_run import results_of
from ncu_assist.store import Store, StoredRun

ROOT = Path(__file__).parents[1]
PARTS = 4
ISSUED, LATENCY = "smsp__inst_issued.sum", "smsp__average_warp_latency_per_inst_issued.ratio"
CHAIN = ("lightning_decode", "v0")  # ten launches of torch


@pytest.fixture(scope="module")
def ratios() -> Any:
    """The formulas of benchmarks/printed_ratios.py, which know nothing of `frame`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import printed_ratios

        return printed_ratios


@cache
def archive() -> tuple[StoredRun, ...]:
    return tuple(stored for stored in Store(ROOT / "reports").runs() if stored.run.launches)


@cache
def workloads() -> tuple[tuple[StoredRun, Combined], ...]:
    """Every workload of every run with counters."""
    found = []
    for stored in archive():
        tables = stored.by_launch()
        names = dict.fromkeys(one.workload for one in stored.run.launches)
        found += [(stored, combine_tables(stored.run, tables, name)) for name in names]
    return tuple(found)


@cache
def run_of(kernel: str, version: str) -> StoredRun:
    return next(one for one in archive() if one.run.kernel == kernel and one.run.version.startswith(f"{version}_"))


@cache
def longest(kernel: str, version: str) -> tuple[Launch, Mapping[str, float]]:
    """Return the launch of a version that takes longest, with every counter of ncu."""
    stored = run_of(kernel, version)
    one = max(stored.run.launches, key=lambda one: one.duration_ns or 0.0)
    frame = stored.metrics()
    return one, dict(by_launch(frame[frame["launch"] == one.index])[one.index])


def views() -> Iterator[Combined]:
    """Every workload of every run, and every launch alone."""
    for _, whole in workloads():
        yield whole
        yield from (whole.of_places([place]) for place in range(len(whole.launches)) if len(whole.launches) > 1)


def as_one_kernel(*tables: Mapping[str, float]) -> Combined:
    launches = [launch(i, duration_ns=table["gpu__time_duration.sum"]) for i, table in enumerate(tables)]
    return combine_launches("small", launches, tables)


def split(one: Launch, table: Mapping[str, float]) -> Combined:
    """Return a launch as so many equal ones: what adds up in parts, all else as it is."""
    part = {name: value / PARTS if combining(name).how == "sum" else value for name, value in table.items()}
    assert one.duration_ns is not None
    parts = [replace(one, index=i, duration_ns=one.duration_ns / PARTS) for i in range(PARTS)]
    return combine_launches(None, parts, [part] * PARTS)


@pytest.mark.parametrize("version", ["v0", "v7"])
def test_a_launch_split_into_equal_parts_gives_the_same_value(version: str) -> None:
    one, table = longest("lightning_decode", version)
    whole, parts = combine_launches(None, [one], [table]), split(one, table)
    for key in OVER_LAUNCHES:
        expected = whole.values[key]
        assert parts.values[key] == (expected if expected is None else pytest.approx(expected, rel=1e-9)), key
    assert parts.stalls == pytest.approx(whole.stalls)
    for name in table:
        assert parts.named(name) == pytest.approx(whole.named(name), rel=1e-9), name


def test_a_ratio_of_launches_is_the_sum_above_over_the_sum_below(ratios: Any) -> None:
    both = [longest("lightning_decode", "v7")[1], longest("gemm_bias_gelu", "v3")[1]]
    found, held = as_one_kernel(*both), 0
    names = {name for table in both for name in table}
    for name in sorted(names):
        formula, value = ratios.formula_of(name), found.named(name)
        if formula is not None and value is not None:
            assert value == pytest.approx(formula(both), rel=1e-6), name
            held += both[0].get(name) != both[1].get(name)
    for key, row in OVER_LAUNCHES.items():
        if row.label in ratios.DERIVED and found.values[key] is not None and found.coverage(key) is None:
            assert found.values[key] == pytest.approx(ratios.DERIVED[row.label](both), rel=1e-6), key
            held += 1
    for reason, share in found.stalls.items():
        assert share == pytest.approx(ratios.share_of_states(reason)(both)), reason
    assert held > 100


def test_warp_cycles_are_weighted_by_instructions_issued_and_not_by_time() -> None:
    launches = (launch(0, duration_ns=900.0), launch(1, duration_ns=100.0))
    frame = metrics_frame({LATENCY: 100.0, ISSUED: 1.0}, {LATENCY: 10.0, ISSUED: 9.0})
    found = combine(make_run(launches=launches), frame, "small")
    assert found.values["warp_cycles_per_instruction"] == pytest.approx(19.0)


def test_stalls_are_weighted_by_instructions_issued() -> None:
    waits, wait = STALL.format("long_scoreboard"), STALL.format("wait")
    launches = (launch(0, duration_ns=900.0), launch(1, duration_ns=100.0))
    frame = metrics_frame({waits: 90.0, wait: 10.0, ISSUED: 1.0}, {waits: 0.0, wait: 10.0, ISSUED: 9.0})
    found = combine(make_run(launches=launches), frame, "small")
    assert found.stalls["long_scoreboard"] / found.stalls["wait"] == pytest.approx(90 / 100)


def test_clocks_are_cycles_over_time_and_not_the_first_launch_s() -> None:
    launches = (launch(0, duration_ns=300.0), launch(1, duration_ns=100.0))
    names = {key: ROWS[key].names[0] for key in ("sm_clock", "dram_clock", "l2_clock")}  # type: ignore[union-attr]
    frame = metrics_frame(*(dict.fromkeys(names.values(), hz) for hz in (1e9, 2e9)))
    found = combine(make_run(launches=launches), frame, "small")
    for key in names:
        assert found.values[key] == pytest.approx(1.25e9), key


def test_what_cannot_be_combined_has_no_value_unless_all_are_equal() -> None:
    limit, waves = "launch__occupancy_limit_registers", "launch__waves_per_multiprocessor"
    launches = (launch(0), launch(1))
    frame = metrics_frame({limit: 8, waves: 1.0}, {limit: 8, waves: 3.0})
    found = combine(make_run(launches=launches), frame, "small")
    assert found.values["block_limit_registers"] == 8
    assert found.values["waves_per_sm"] is None
    assert found.not_applicable["waves_per_sm"] == "n/a (per launch)"


def test_a_ratio_without_what_it_is_a_ratio_over_has_no_value() -> None:
    rate = "idc__request_hit_rate.pct"
    launches = (launch(0), launch(1))
    without = [{rate: value, "idc__requests.sum": None} for value in (10.0, 90.0)]
    assert combine(make_run(launches=launches), metrics_frame(*without), "small").values["constant_hit_rate"] is None


def test_no_ratio_of_counts_is_weighted_by_time() -> None:
    """What time may weigh: rates a second, and shares of a time in which a unit of its own clock was busy."""
    for key, row in OVER_LAUNCHES.items():
        if isinstance(row, Metric) and "duration" in row.combine.weights:
            a_second = row.names[0].endswith(".per_second")
            busy = row.names[0].endswith("sustained_elapsed") and row.names[0].startswith(("gpu__", "lts__", "dram__"))
            assert a_second or busy, key


@pytest.mark.slow
def test_active_warps_over_issue_rate_is_cycles_an_issue_in_every_view_of_the_archive() -> None:
    told = 0
    for one in views():
        warps, rate = one.values["active_warps"], one.values["issued_per_cycle"]
        cycles = one.values["warp_cycles_per_instruction"]
        assert (warps is None) == (rate is None) == (cycles is None)
        if warps is not None and rate:
            assert cycles == pytest.approx(warps / rate, rel=1e-3)
            told += 1
        assert (cycles is None) == one.is_of_kernels
    assert told > 400


def test_over_different_kernels_only_sums_are_told() -> None:
    chains = [one for _, one in workloads() if len({own.signature for own in one.launches}) > 1]
    assert len(chains) > 21
    for found in chains:
        assert found.stalls == {}
        told = {key for key, value in found.values.items() if value is not None}
        assert {"duration", "dram_bytes", "instructions", "sm_clock", "sm_count"} <= told
        assert all(ROWS[key].combine.how == "sum" or ROWS[key].combine.of_device for key in told)
        assert not told & {"l2_hit_rate", "achieved_occupancy", "registers", "intensity_fp32", "dram_bandwidth"}
        assert found.not_applicable["l2_hit_rate"] == "n/a (per launch)"


def test_launches_of_one_kernel_stay_one_whatever_their_shape() -> None:
    launches = (launch(0), launch(1, grid=(9, 1, 1)))
    found = combine(make_run(launches=launches), metrics_frame({}, {}), "small")
    assert not found.is_of_kernels
    assert combine(make_run(launches=(launch(0), launch(1, "other"))), metrics_frame({}, {}), "small").is_of_kernels


@pytest.mark.slow
def test_no_finding_s_evidence_is_a_ratio_over_different_kernels() -> None:
    found = 0
    chains = {stored.run.digest: (stored, one) for stored, one in workloads() if one.is_of_kernels}
    for stored, combined in chains.values():
        told = results_of(stored.run, combined)
        for one in told.diagnosis.findings if told else ():
            about = told.about(one.finding) if told else None
            assert about
            for key in one.finding.evidence if about.combined.is_of_kernels else ():
                assert about.get(key) is None or ROWS[key].combine.over_kernels, (one.finding.rule, key)
            found += 1
    assert found > 30


def test_a_saving_of_a_chain_is_no_more_than_its_time() -> None:
    stored = run_of(*CHAIN)
    combined = combine_tables(stored.run, stored.by_launch(), "b64_d96")
    told = results_of(stored.run, combined)
    assert told
    assert all(0 <= one.saved_ns <= told.facts.duration_ns for one in told.diagnosis.findings)
    longest = combined.by_kernel[0].launches
    states = [one.finding for one in told.diagnosis.findings if not one.saved_ns and one.finding.launches]
    assert all(set(one.launches) <= {own.index for own in longest} for one in states)
