"""unexplained: where nothing explains the time, and worth nothing; the nearest ceiling and what warps wait for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from shape_facts import found, made, of_case

from ncu_assist.quantity import percent
from ncu_assist.record import Device
from ncu_assist.rules import RULES, Finding, diagnose, near_ceiling, unexplained
from ncu_assist.rules.model.savings import busiest_unit
from ncu_assist.rules.model.warnings import IDENTIFIERS, metric_missing


def test_alone_and_first_where_no_rule_knows_the_stall() -> None:
    diagnosis = diagnose(of_case("unexplained_polling"), RULES)
    assert diagnosis.findings[0].finding.rule == unexplained.ID
    assert "sleeping" in diagnosis.findings[0].finding.message


def test_tells_the_nearest_ceiling_and_its_distance() -> None:
    finding = found(unexplained, made({"dram_throughput": 31, "l2_data_busy": 44}, membar=70, wait=20))
    assert finding
    assert "L2 data, busy 44 % of the time, 49 % of what it can reach (assumed)" in finding.message
    assert "membar" in finding.message
    assert finding.saved_ns == 0
    assert finding.evidence == ("l2_data_busy", "warps_membar")


@pytest.mark.parametrize(
    ("counted", "unit"),
    [
        ({"l2_data_busy": 55, "pipe_alu": 40}, "L2 data"),
        ({"dram_throughput": 48, "l2_data_busy": 50}, "DRAM"),  # DRAM reaches less of its peak than L2 data
    ],
)
def test_the_distance_is_measured_as_by_near_ceiling(counted: dict[str, float], unit: str) -> None:
    """One and the same unit and part of what it can reach, on both sides of what tells the two apart."""
    facts = made(counted, membar=70, wait=20)
    busiest = busiest_unit(facts)
    far = found(unexplained, facts)
    assert busiest
    assert far
    assert (busiest.name, busiest.is_busy) == (unit, False)
    assert f"{percent(busiest.reached)} of what it can reach" in far.message
    near = made({key: value * 1.3 for key, value in counted.items()}, wait=90)
    busiest, close = busiest_unit(near), found(near_ceiling, near)
    assert busiest
    assert close
    assert (close.detail["unit"], f"{percent(busiest.reached)} of what it can reach" in close.message) == (unit, True)


def test_the_link_to_the_host_may_be_the_nearest() -> None:
    """4.8 MB in 100 us are 48 GB/s; sixteen lanes of this capability give a kernel 53.6."""
    crossing = {"dram_throughput": 10.0, "host_sectors_read": 1.5e5, "host_sectors_write": 0.0}
    finding = found(unexplained, made(crossing))
    assert finding
    assert finding.message.startswith("the nearest ceiling is the link to the host, busy 90 % of the time")
    assert finding.evidence[0] == "host_bytes"
    half = found(unexplained, made(crossing | {"host_sectors_read": 0.75e5, "pcie_link_width": 8.0}))
    assert half
    assert "busy 90 % of the time" in half.message  # of half the lanes


@pytest.mark.parametrize("case", ["healthy_add", "pipe_fma_unfused", "load_struct_member"])
def test_silent_where_a_finding_explains_the_time(case: str) -> None:
    assert list(RULES)[-1] == unexplained.ID
    told = [one.finding.rule for one in diagnose(of_case(case), RULES).findings]
    assert told
    assert unexplained.ID not in told


def test_beside_a_finding_that_explains_next_to_nothing() -> None:
    """Two percent of imbalance are worth a word; they say nothing of a kernel that sleeps."""
    slept = replace(of_case("unexplained_polling"), left={})
    few = RULES | {
        "made": SimpleNamespace(
            ID="made",
            NEEDS=(),
            USES=(),
            find=lambda facts: Finding(
                rule="made", message="", saved_ns=0.05 * facts.duration_ns, evidence=(), relieves=("DRAM",)
            ),
        )
    }
    told = [(one.finding.rule, one.severity) for one in diagnose(slept, few).findings]
    assert ("made", "low") in told
    assert (unexplained.ID, "info") in told


def test_without_any_counter_it_says_so() -> None:
    diagnosis = diagnose(made({}), RULES)
    assert diagnosis.lacks_counters
    assert diagnosis.answer == "none"
    assert diagnosis.findings[0].finding.message.startswith("not enough counters")
    assert "--section SpeedOfLight" in diagnosis.findings[0].finding.advice


def test_a_launch_that_was_interrupted_is_not_told_what_to_collect() -> None:
    facts = made({})
    ended = tuple(replace(one, grid=(0, 0, 0), block=(0, 0, 0)) for one in facts.combined.launches)
    interrupted = replace(facts, combined=replace(facts.combined, launches=ended))
    diagnosis = diagnose(interrupted, RULES)
    first = diagnosis.findings[0].finding
    assert first.message.startswith("the program ended while this kernel was profiled")
    assert "--set" not in first.advice
    assert metric_missing(diagnose(facts, RULES), facts)
    assert metric_missing(diagnosis, interrupted) == ""


@pytest.mark.parametrize(
    ("capability", "words"),
    [
        ("6.1", " with Nsight Compute 2019.5 (nv-nsight-cu-cli), the last that knows this GPU"),
        ("7.0", " with Nsight Compute 2025.2, the last that knows this GPU"),
        ("8.6", ""),
    ],
)
def test_what_to_collect_can_be_collected_on_this_gpu(capability: str, words: str) -> None:
    facts = replace(made({}), device=Device("GPU", "", capability, 20, None, None, None))
    diagnosis = diagnose(facts, RULES)
    missing = metric_missing(diagnosis, facts)
    assert f"collect `--set full`{words and words + ','} to ask " in missing
    assert diagnosis.findings[0].finding.advice.endswith(f"or all by `--set full`{words}")


def test_what_the_report_says_was_collected_is_not_asked_for_again() -> None:
    """As on a GTX 1080, whose counters have other names: all sections are in the report, and few of these metrics."""
    facts = made({"duration": 1e5})
    every = replace(facts, sections=tuple(IDENTIFIERS.values()))
    assert metric_missing(diagnose(facts, RULES), facts)
    assert metric_missing(diagnose(every, RULES), every) == ""


def test_throughputs_alone_are_an_answer() -> None:
    diagnosis = diagnose(made({"dram_throughput": 31, "l2_data_busy": 44}), RULES)
    assert not diagnosis.lacks_counters
    assert diagnosis.answer == "throughput"


def test_a_stall_reason_of_a_later_chip_does_not_break_it() -> None:
    finding = found(unexplained, made({}, made_up_reason=90.0))
    assert finding
    assert "made up reason" in finding.message
    assert finding.evidence == ()
