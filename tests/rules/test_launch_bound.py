"""launch-bound: launches that cost more than what they do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from made_ceilings import ceilings
from shape_facts import found, made, of_case, saved_share

from ncu_assist.rules import Facts, diagnose, launch_bound
from ncu_assist.rules.model.libraries import ADVICE


def test_a_recorded_launch_of_two_microseconds() -> None:
    diagnosis = diagnose(of_case("launch_small_norm"), {launch_bound.ID: launch_bound})
    assert diagnosis.findings[0].severity == "high"


def test_one_launch_of_a_chain_stays() -> None:
    chain = made({}, {}, {}, {}, duration_ns=2_000.0)
    assert saved_share(launch_bound, chain) == pytest.approx(0.75)


def test_a_longer_launch_saves_what_starting_costs() -> None:
    finding = found(launch_bound, made({}, duration_ns=8_000.0))
    assert finding
    assert finding.saved_ns == 2_500


def test_what_the_busiest_resource_needs_remains() -> None:
    assert saved_share(launch_bound, made({"dram_throughput": 45}, duration_ns=2_500.0)) == pytest.approx(0.5)


def test_a_single_launch_keeps_its_work_and_says_so() -> None:
    tiny = made({}, duration_ns=2_200.0)
    (told,) = diagnose(tiny, {launch_bound.ID: launch_bound}).findings
    assert told.estimated_speedup == pytest.approx(2_200 / launch_bound.WORK_NS)
    assert "one launch alone saves that only if fused or batched" in told.finding.message
    assert told.finding.advice == launch_bound.SINGLE
    chain = found(launch_bound, made({}, {}, duration_ns=2_200.0))
    assert chain
    assert "only if" not in chain.message
    assert chain.advice == launch_bound.CHAIN


def test_a_cuda_graph_is_advised_for_a_chain_alone() -> None:
    """One launch alone gains only by fusing or batching, so nothing beside that sentence may say otherwise."""
    library = [one["launch-bound"] for one in ADVICE.values() if "launch-bound" in one]
    assert any("CUDA graph" in words for words in library)
    for words in (launch_bound.SINGLE, launch_bound.CHAIN, *library):
        assert "CUDA graph" not in words or "chain" in words
        assert any(way in words for way in ("fuse", "batch", "one launch"))


@pytest.mark.parametrize("duration_ns", [1_700.0, 1_950.0, 9_000.0])
def test_what_an_empty_kernel_takes_is_not_refuted_by_the_launch_itself(duration_ns: float) -> None:
    """Launches of 1.7 µs were seen: the least that the message names is below the time of any launch it stands at."""
    finding = found(launch_bound, made({}, duration_ns=duration_ns))
    assert finding
    least = float(re.search(r"takes (\d+) to \d+ µs under ncu", finding.message)[1])  # type: ignore[index]
    assert 1000 * least < duration_ns


def test_figures_of_an_h200_are_assumed_on_a_gpu_that_nobody_measured() -> None:
    facts = made({}, duration_ns=2_200.0)
    told = [found(launch_bound, replace(facts, ceilings=one)) for one in (None, ceilings())]
    assert [one.assumed for one in told if one] == [True, False]


@pytest.mark.parametrize("duration_ns", [10_000.0, 40_000.0])
def test_silent_on_launches_that_do_something(duration_ns: float) -> None:
    assert found(launch_bound, made({}, duration_ns=duration_ns)) is None


def test_says_what_it_lacks() -> None:
    facts = made({})
    timeless = replace(facts.combined.launches[0], duration_ns=None)
    bare = Facts(replace(facts.combined, launches=(timeless,)))
    assert diagnose(bare, {launch_bound.ID: launch_bound}).unanswered[0].missing == ("duration",)
