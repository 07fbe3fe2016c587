"""``METRIC:LIMIT`` to a metric, a direction and an amount."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ncu_assist.analysis.gate.limits import COUNTED_BY, Limit, parse_limit
from ncu_assist.cli import typed_again
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.rules import RULES


def unread() -> Collection[str]:
    raise AssertionError("no run is read for a name that is known, or known to be wrong")


def limit(text: str) -> Limit:
    return parse_limit(text, unread)


def refused(text: str) -> UsageProblem:
    with pytest.raises(UsageProblem) as error:
        limit(text)
    return error.value


@pytest.mark.parametrize(
    ("text", "rise", "amount", "kind"),
    [
        ("time:2%", True, 0.02, "relative"),
        ("time:+2%", True, 0.02, "relative"),
        ("time:0%", True, 0.0, "relative"),
        ("time:0", True, 0.0, "relative"),
        ("time: 2.5 %", True, 0.025, "relative"),
        ("time:.5%", True, 0.005, "relative"),
        ("shared_wavefronts_excessive:+0", True, 0.0, "absolute"),
        ("shared_wavefronts_excessive:5%", True, 0.05, "relative"),
        ("registers:+8", True, 8.0, "absolute"),
        ("registers:-0", False, 0.0, "absolute"),
        ("registers:+10%", True, 0.1, "relative"),
        ("dram_bandwidth:3%", False, 0.03, "relative"),
        ("dram_bandwidth:+3%", True, 0.03, "relative"),
        ("dram_throughput:3pt", False, 3.0, "points"),
        ("dram_throughput:3", False, 3.0, "points"),
        ("dram_throughput:0%", False, 0.0, "points"),
        ("stall_long_scoreboard:2pt", True, 2.0, "points"),
    ],
)
def test_a_sign_says_which_way_and_without_one_it_is_the_bad_way(
    text: str, rise: bool, amount: float, kind: str
) -> None:
    found = limit(text)
    assert (found.rise, found.kind) == (rise, kind)
    assert found.amount == pytest.approx(amount)
    assert found.metric.key == text.partition(":")[0]


def test_a_limit_keeps_its_text_and_knows_time() -> None:
    assert limit("time: + 2 %").text == "+2%"
    assert [limit(text).is_on_time for text in ("time:2%", "duration:2%")] == [True, False]


@pytest.mark.parametrize(
    ("text", "baseline", "candidate", "excess"),
    [
        ("time:2%", 100.0, 103.0, 1.0),
        ("instructions:0%", 100.0, 99.0, -1.0),
        ("dram_bandwidth:10%", 200.0, 170.0, 10.0),
        ("dram_throughput:3pt", 80.0, 75.0, 2.0),
        ("registers:+8", 30.0, 40.0, 2.0),
        ("registers:-8", 30.0, 40.0, -18.0),
        ("shared_wavefronts_excessive:5%", 0.0, 7.0, 7.0),
    ],
)
def test_how_far_a_change_is_beyond(text: str, baseline: float, candidate: float, excess: float) -> None:
    assert limit(text).excess(baseline, candidate) == pytest.approx(excess)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "time",
            "time:",
            ":2%",
            "2%",
            "time:%",
            "time:two%",
            "time:2%%",
            "time:2percent",
            "time:--2%",
            "time:+-2%",
        ),
        *("time:nan%", "time:inf%", "time:1e3%", "time:0x2%", "time:٣%", "time:2,5%", "time:2%pt", "time:1.%"),
        "time:" + "9" * 400 + "%",
    ],
)
def test_what_is_no_limit_gets_the_form(text: str) -> None:
    error = refused(text)
    assert "is no limit: one is METRIC:[+|-|=]NUMBER[%|pt]" in error.message
    assert "--fail-on time:2%" in error.hint
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time:2", "time:2%"),
        ("time:2pt", "time:2%"),
        ("time:-2%", "would fail a version for being faster; time:2% is how much slower it may be"),
        (
            "dram_throughput:2%",
            "2 points or 2 % of its value; limits of percentages are in points: dram_throughput:2pt",
        ),
        ("stall_barrier:+2%", "stall_barrier:2pt"),
        ("dram_bytes:2pt", "dram_bytes is in byte; dram_bytes:2% is relative, dram_bytes:2 in its unit"),
        ("bank_conflict_ways:+2pt", "is a plain number; bank_conflict_ways:+2% is relative"),
        ("registers:2%", "registers:+2% to limit how it rises, registers:-2% how it falls"),
        ("achieved_occupancy:0", "achieved_occupancy:+0 to limit"),
    ],
)
def test_what_can_be_read_in_two_ways_names_both(text: str, words: str) -> None:
    assert words in refused(text).message


def test_a_colon_may_be_part_of_a_name() -> None:
    name = "pmsampling:sm__made_up_counter.avg"
    assert parse_limit(f"{name}:+5%", lambda: [name]).metric.key == name


def test_names_of_ncu_are_keys_where_the_catalogue_has_them() -> None:
    assert limit("gpu__time_duration.sum:2%").metric.key == "duration"
    assert limit("derived__memory_l1_wavefronts_shared_excessive:+0").metric.key == "shared_wavefronts_excessive"


def test_other_names_of_ncu_stand_for_themselves_and_need_a_sign() -> None:
    found = limit("smsp__inst_executed.avg:+0").metric
    assert (found.key, found.unit, found.better, found.is_known) == ("smsp__inst_executed.avg", "inst", None, False)
    assert limit("dram__bytes_write.sum.pct_of_peak_sustained_elapsed:-3pt").metric.unit == "%"
    assert "needs a sign" in refused("smsp__inst_executed.avg:2%").message


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("shared_wavefront_excessive", "shared_wavefronts_excessive"),
        ("gld_efficiency", "sector_efficiency_load"),
        ("sm__inst_executed_pipe_fp32.sum", "pipe_fma"),
        ("occupancy", "achieved_occupancy"),
        ("long_scoreboard", "stall_long_scoreboard"),
        ("Registers Per Thread", "registers"),
        ("dram__bytes_read", "dram_bytes_read"),
        ("Time", "time"),
        ("tme", "time"),
        ("duraton", "duration"),
        ("dram_throughpt", "dram_throughput"),
        ("regs", "registers"),
        ("instr", "instructions"),
        ("spill", "local_spilling_requests"),
        ("spills", "local_spilling_requests"),
        ("register-spill", "local_spilling_requests"),
        ("spilling", "local_spilling_requests"),
        ("spill_inst", "spill_instructions"),
        ("bank_conflicts", "shared_wavefronts_excessive"),
    ],
)
def test_a_name_that_nothing_has_gets_the_nearest(name: str, near: str) -> None:
    error = refused(f"{name}:+0")
    assert f"no metric is called '{name}'; did you mean '{near}'?" in error.message
    assert error.hint.startswith(("ncu-assist ", "--fail-on time:"))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("spill", "local_spilling_requests:+0"),
        ("dram_throughput 0%", "dram_throughput:0pt"),
        ("divergence", "threads_per_instruction:-0"),
    ],
)
def test_a_metric_alone_is_offered_with_the_limit_that_it_may_not_get_worse(typed: str, offered: str) -> None:
    assert f"did you mean '{offered}'?" in refused(typed).message
    found, better = limit(offered), ROWS[offered.partition(":")[0]].better
    assert found.rise == (better == "lower")


def test_a_rule_stands_for_a_metric_that_it_looks_at() -> None:
    for rule, key in COUNTED_BY.items():
        assert key in {*RULES[rule].NEEDS, *RULES[rule].USES}


@pytest.mark.parametrize(
    ("name", "command"), [("frobnicate", "metrics"), ("st", "metrics"), ("SOLBottleneck", "metrics")]
)
def test_a_name_that_nothing_resembles_gets_the_list(name: str, command: str) -> None:
    assert refused(f"{name}:+0").hint.startswith(f"ncu-assist {command}")


def test_a_name_of_a_newer_ncu_is_looked_for_in_the_runs() -> None:
    name = "sm__quantum_flux.sum"
    assert parse_limit(f"{name}:+0", lambda: {name}).metric.key == name
    with pytest.raises(UsageProblem, match="no metric is called"):
        parse_limit(f"{name}:+0", lambda: {"sm__other.sum"})


def test_what_is_wrong_with_the_runs_does_not_hide_a_wrong_name() -> None:
    def damaged() -> Collection[str]:
        raise DamagedData("the metrics were changed")

    with pytest.raises(UsageProblem, match=r"no metric is called 'sm__quantum_flux\.sum'"):
        parse_limit("sm__quantum_flux.sum:+0", damaged)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("time:1", "time:1%"),
        ("time:1pt", "time:1%"),
        ("time=1%", "time:1%"),
        ("1%", "time:1%"),
        ("time:>1%", "time:1%"),
        ("time:1%,", "time:1%"),
        ("time:0.1%", "time:0.5%"),
        ("registers:0", "registers:+0"),
        ("sm_throughput:3%", "sm_throughput:3pt"),
        ("local_spilling_requests=0", "local_spilling_requests:+0"),
    ],
)
def test_a_wrong_limit_is_answered_with_the_line_as_typed_and_the_limit_mended(typed: str, meant: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        parse_limit(typed, list)
    words = ["gate", "rope", "--fail-on", typed, "--fail-on", "dram_bytes:5%"]
    line = typed_again(raised.value.message, raised.value.hint, words)
    assert line == f"ncu-assist gate rope --fail-on {meant} --fail-on dram_bytes:5%"
    assert parse_limit(meant, list)


def test_a_limit_may_be_on_what_the_candidate_is() -> None:
    spills = parse_limit("local_spilling_requests:=0", list)
    assert (spills.kind, spills.rise, spills.amount) == ("value", True, 0.0)
    assert (spills.excess(7.0, 7.0), spills.excess(7.0, 0.0)) == (7.0, 0.0)  # what the baseline has does not count
    least = parse_limit("sector_efficiency_load:=75pt", list)
    assert (least.rise, least.excess(0.0, 70.0)) == (False, 5.0)
    for refused in ("time:=1", "registers:=64", "local_spilling_requests:=3%"):
        with pytest.raises(UsageProblem):
            parse_limit(refused, list)
