"""The metric doctor: wrong names get the right spelling, and what cannot be answered is said first."""

from __future__ import annotations

import pytest
from missing_keys import missing_keys
from recorded_values import values_of

from ncu_assist.ncu.catalogue.chips import CHIPS, Available, in_report, on_chip, recorded_names
from ncu_assist.ncu.catalogue.metric_doctor import MISTAKEN, NVPROF, check_names, spelled, suggestion
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, nearest, rollup_words, split

ACTIVE = "avg.pct_of_peak_sustained_active"


@pytest.fixture(scope="module")
def report() -> Available:
    return in_report(values_of("transpose", "transpose_naive"))


@pytest.mark.parametrize(
    ("chip", "asked", "right"),
    [
        # two names that are copied from tool to tool and exist on no chip
        ("gh100", f"sm__inst_executed_pipe_fp32.{ACTIVE}", f"sm__inst_executed_pipe_fma.{ACTIVE}"),
        (
            "gh100",
            "smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct",
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
        ),
        # renamed between chips, the rollup kept
        ("gb202", "dram__bytes_read.sum", "dram__bytes_op_read.sum"),
        ("gb202", "dram__bytes_write.sum.per_second", "dram__bytes_op_write.sum.per_second"),
        ("gh100", "dram__bytes_op_read.sum", "dram__bytes_read.sum"),
        (
            "gb100",
            f"sm__inst_executed_pipe_tensor_op_hmma.{ACTIVE}",
            f"sm__inst_executed_pipe_tensor_subpipe_hmma.{ACTIVE}",
        ),
        # right base, wrong rollup
        ("gh100", "sm__warps_active.avg.pct_of_peak", f"sm__warps_active.{ACTIVE}"),
        ("gh100", "smsp__cycles_active.average", "smsp__cycles_active.avg"),
        ("gh100", "l1tex__t_sector_hit_rate.sum", "l1tex__t_sector_hit_rate.pct"),
        ("gh100", "gpu__time_duration", "gpu__time_duration.sum"),
        # typing errors, nvprof's names, our own keys
        ("gh100", "lts__t_sector_srcunit_tex_op_reads.sum", "lts__t_sectors_srcunit_tex_op_read.sum"),
        ("gh100", "gld_efficiency", "sector_efficiency_load"),
        ("gh100", "dram_read_bytes", "dram__bytes_read.sum"),
        ("gh100", "dram_bandwith", "dram_bandwidth"),
        ("gh100", "dram_byte", "dram_bytes"),  # before every name of ncu, as dram__bytes.avg
    ],
)
def test_the_right_spelling_is_offered(chip: str, asked: str, right: str) -> None:
    checked = check_names([asked], on_chip(chip))
    assert [problem.suggestion for problem in checked] == [right]
    assert checked[0].line.endswith(f"use {right}")


def test_right_names_and_keys_are_fine() -> None:
    names = ["gpu__time_duration.sum", "launch__grid_size", "inst_executed", "dram_bytes", "tensor_flops", "stall_wait"]
    assert check_names(names, on_chip("gh100")) == ()
    assert check_names([], on_chip("gh100")) == ()


def test_what_cannot_be_answered_comes_first() -> None:
    checked = check_names(["dram__bytes_read.sum", "tma_loads", "foo"], on_chip("tu102"))
    assert [one.suggestion for one in checked] == ["", ""]
    assert checked[0].line.startswith("cannot be answered: tma_loads, tensor memory accelerator instructions")
    assert checked[1].line == "cannot be answered: foo (is a name that no recorded chip has)"
    mixed = check_names(["dram__bytes_op_read.sum", "warps_gmma"], on_chip("ga100"))
    assert mixed[0].line.startswith("cannot be answered: warps_gmma")
    assert mixed[1].line.startswith("dram__bytes_op_read.sum is not in ga100; ncu has it on gb202; use")


def test_a_report_has_less_than_its_chip(report: Available) -> None:
    assert missing_keys(report) == ()
    peak = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
    asked = ["dram__throughput.avg.pct_of_peak_sustained_elapsed", "sm__cycles_active.sum.per_second", peak]
    problems = {problem.asked: problem for problem in check_names(asked, report)}
    assert problems[asked[0]].suggestion == peak
    assert "is not in this report; ncu has it on" in problems[asked[0]].reason
    assert problems[asked[1]].reason == "has no rollup .sum.per_second"
    assert problems[asked[1]].suggestion.startswith("sm__cycles_active.")
    per_request = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
    assert suggestion(per_request, report) == "sectors_per_request_load"


@pytest.mark.slow
def test_every_suggestion_can_be_had() -> None:
    for chip in CHIPS:
        available = on_chip(chip)
        for asked in (*MISTAKEN, *(name for metric in CATALOGUE.values() for name in metric.names)):
            offered = suggestion(asked, available)
            assert offered == "" or spelled(offered, available), (chip, asked)


def test_mistaken_names_lead_to_what_exists() -> None:
    full = on_chip("gh100")
    for name, answers in MISTAKEN.items():
        assert name == name.lower()
        assert name not in CATALOGUE
        assert name not in ALL_DERIVED
        assert not answers or any(spelled(answer, full) for answer in answers), name
        assert all(spelled(answer, on_chip(None)) for answer in answers), name
        if not recorded_names().get(name):
            assert not full.has(name)


def test_the_rollups_of_a_report_are_in_an_order_of_their_own() -> None:
    names = [f"dram__bytes.{rollup}" for rollup in ("sum", "max", "avg.per_second", "min", "avg", "sum.per_second")]
    assert [*in_report({*names}).rollups["dram__bytes"]] == sorted(one.removeprefix("dram__bytes.") for one in names)


def test_a_report_answers_in_what_it_holds(report: Available) -> None:
    assert suggestion("gld_throughput", report) == "global_load_bytes"
    assert suggestion("sm_efficiency", report) == "sm_active_share"
    assert suggestion("inst_replay_overhead", report) == ""  # nvprof alone counted it
    missing = [name for name in NVPROF if NVPROF[name] and not suggestion(name, report)]
    assert len(missing) < 30  # only ncu asked for by name has those


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("global_load_byte", "global_store_bytes"),
        ("dram_bytes_reed_write", "dram_bytes_read"),
        ("l1_hit_rate", "l2_hit_rate"),
        ("smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_shared_ld.sum"),
        ("fp16_flops", "fp32_flops"),
    ],
)
def test_a_contrary_is_never_near(name: str, other: str) -> None:
    assert nearest(name, [other]) == []


def test_a_key_becomes_the_names_that_it_needs() -> None:
    assert spelled("dram_bytes", on_chip("gb202")) == ("dram__bytes_op_read.sum", "dram__bytes_op_write.sum")
    assert spelled("dram_bytes", in_report(["dram__bytes_read.sum"])) == ()
    assert len(spelled("stall_wait", on_chip("gb202"))) == 17  # neither gmma nor imc_miss there
    assert spelled("nonsense", on_chip("gb202")) == ()


def test_missing_keys_are_those_that_the_catalogue_marks() -> None:
    for chip in CHIPS:
        marked = {key for key, metric in CATALOGUE.items() if chip in metric.lacking}
        by_others = {key for key in marked if CATALOGUE[key].spelled(on_chip(chip).has)}
        assert marked - by_others <= set(missing_keys(on_chip(chip)))
        assert by_others <= {"pipe_fp16"}
    assert {"stall_gmma", "tma_loads"} <= set(missing_keys(on_chip("ga100")))


def test_names_of_a_full_report_are_spelled_as_the_lists_say(report: Available) -> None:
    known = recorded_names()
    for base, rollups in report.rollups.items():
        if base in known and known[base].kind:
            assert set(rollups) <= set(ROLLUPS[known[base].kind]), base


def test_splitting_and_reading_rollups() -> None:
    assert split("sm__warps_active.avg.per_cycle_active") == ("sm__warps_active", "avg.per_cycle_active")
    assert split("launch__grid_size") == ("launch__grid_size", "")
    assert split("TPC.TriageCompute.sm__cycles_active.avg") == ("TPC.TriageCompute.sm__cycles_active", "avg")
    assert rollup_words("avg.per_second") == "mean of all units, a second"
    assert rollup_words("sum") == "added up over all units"
    assert rollup_words("avg.nonsense") == rollup_words("nonsense") == ""
    for kind in ROLLUPS.values():
        assert all(rollup_words(rollup) for rollup in kind)
    assert nearest("qqqq", recorded_names()) == []


@pytest.mark.slow
def test_hostile_names_are_answered() -> None:
    for name in ("", " ", "\x1b[31m", "a" * 10_000, "..", "__", "sm__.", "*", "%s%n"):
        assert check_names([name], on_chip("gh100"))
