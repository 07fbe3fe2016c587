"""Bank conflicts: where the data pipe is busy with them, and where they hide, are few, or belong to atomics."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from made_facts import gallery, made, told
from shape_facts import Counters, found

from ncu_assist.rules import shared_bank_conflict as rule


@pytest.mark.parametrize("name", ["shared_stride_of_16", "compound_conflicts_and_divergence"])
def test_sixteen_passes_for_one_cost_most_of_the_time(name: str) -> None:
    (found,) = told(rule, gallery(name)).findings
    assert found.severity == "high"
    assert found.finding.waste == "wavefronts_excessive"


def test_the_estimate_is_near_the_time_that_the_repair_took() -> None:
    (found,) = told(rule, gallery("shared_stride_of_16")).findings
    assert found.estimated_speedup == pytest.approx(9.47, rel=0.28)  # measured; the logarithm within 0.25


def test_conflicts_hide_behind_dram() -> None:
    assert told(rule, gallery("shared_stride_of_16", l1_data_pipe=40.0, dram_throughput=86.0)).findings == ()
    assert told(rule, gallery("compound_strided_and_conflicts")).findings == ()


@pytest.mark.parametrize(
    ("passes", "dtype", "padding"),
    [(1.0, "float32", "one element"), (1.0, "bfloat16", "4 bytes"), (2.5, "bfloat16", "16 bytes")],
)
def test_a_padding_keeps_accesses_aligned(passes: float, dtype: str, padding: str) -> None:
    facts = gallery("shared_stride_of_16")
    accesses = sum(facts.value(key) for key in rule.ACCESSES)
    facts = replace(gallery("shared_stride_of_16", shared_wavefronts_ideal=passes * accesses), dtype=dtype)
    (found,) = told(rule, facts).findings
    assert f"by {padding}," in found.finding.advice


# Loads of 16 bytes a lane with twice the passes that they need: 8 floats a thread, side by side in one row.
TWO_LOADS: Counters = {
    "shared_wavefronts": 11.25e6, "shared_wavefronts_excessive": 4.45e6, "shared_wavefronts_ideal": 6.8e6,
    "shared_wavefronts_load": 10.5e6, "bank_conflicts_load": 4.2e6, "shared_load_instructions": 2.1e6,
    "shared_wavefronts_store": 0.75e6, "bank_conflicts_store": 0.25e6, "shared_store_instructions": 0.33e6,
    "l1_data_pipe": 80.0, "sm_cycles_elapsed": 200_000.0, "sm_count": 68.0,
}  # fmt: skip


def test_a_padding_helps_only_where_lanes_have_a_row_each() -> None:
    """A public product of matrices: all lanes of a load read one row, which a padding shifts as a whole."""
    either = found(rule, made(**TWO_LOADS))
    assert either
    assert either.advice.startswith("if lanes of a warp access one row, let each thread own groups of 16 bytes")
    assert "if they access different rows, pad these by 16 bytes" in either.advice
    loads = {"bank_conflicts_load": 9.2e6, "shared_wavefronts_excessive": 9.5e6, "shared_wavefronts_ideal": 1.75e6}
    rows = found(rule, made(**TWO_LOADS | loads | {"shared_load_instructions": 0.4e6}))
    assert rows
    assert rows.advice.startswith("pad the rows of the tile by 16 bytes")
    together = {"bank_conflicts_load": 0.0, "bank_conflicts_store": 0.0, "shared_wavefronts_excessive": 9.5e6}
    for known in ({}, {"shared_wavefronts_load": 0.0, "shared_wavefronts_store": 0.0}):
        whole = found(rule, made(**TWO_LOADS | together | known))
        assert whole
        assert whole.advice.startswith("if lanes"), "6.4 ways"


def test_units_of_an_sm_do_not_work_while_it_rests() -> None:
    """Where the instructions of working SMs end the gain, and what these can issue was assumed, so was the gain."""
    issuing = TWO_LOADS | {"issue_slots_busy": 60.0, "sm_cycles_active": 180_000.0}
    finding = found(rule, made(**issuing))
    assert finding
    assert finding.saved_ns == pytest.approx(100_000 * (1 - 0.6 / 0.9 / 0.9))
    assert finding.assumed
    by_passes = found(rule, made(1e6, **issuing | {"issue_slots_busy": 30.0}))
    assert by_passes
    assert not by_passes.assumed


def test_rows_of_matrices_for_tensor_cores_are_padded() -> None:
    products = {"tensor_ops_fp16": 1e9, "shared_load_instructions": 0.0, "shared_store_instructions": 0.0}
    finding = found(rule, made(**TWO_LOADS | products))
    assert finding
    assert finding.advice.startswith("pad the rows of the tile by 16 bytes"), "ldmatrix takes rows of 16 bytes"


@pytest.mark.parametrize(
    ("loads", "advice"),
    [
        (("LDS.128 R64, [R41+0x2200]", "LDS.128 R20, [R41+0x2210]"), rule.TWO_GROUPS),
        (("@P0 LDS.U.128 R64, [R41+UR4]", "LDS.128 R20, [R41+UR4+0x10]"), rule.TWO_GROUPS),
        (("LDS.128 R64, [R41+0x2200]", "LDS.128 R20, [R41+0x2400]"), ""),
        (("LDS.64 R64, [R41+0x2200]", "LDS.64 R20, [R41+0x2210]"), ""),
    ],
)
@pytest.mark.parametrize("times", [2.0, 4.0])
def test_code_that_reads_32_bytes_in_two_loads_tells_one_row(loads: tuple[str, str], advice: str, times: float) -> None:
    finding = found(rule, made(**TWO_LOADS))
    assert finding
    sass = pd.DataFrame({"sass": [*loads, "STS [R48], R12", "FFMA R0, R1, R2, R3"]})
    sass["wavefronts_ideal"] = [100.0, 100.0, 50.0, None]
    sass["wavefronts"] = [100.0 * times, 100.0 * times, 100.0, None]
    sass["wavefronts_excessive"] = sass["wavefronts"] - sass["wavefronts_ideal"]
    told_by_code = rule.by_code(finding, sass)
    assert told_by_code.advice == (advice if advice and times == 2.0 else finding.advice)
    rows = replace(finding, advice=rule.ROW_A_LANE)
    assert rule.by_code(rows, sass) == rows


def test_conflicts_of_atomics_are_not_padded_away() -> None:
    assert gallery("atomic_shared_bins").value("shared_wavefronts_excessive") > 5e6
    assert told(rule, gallery("atomic_shared_bins")).findings == ()


def test_two_percent_are_arbitration() -> None:
    wavefronts = gallery("shared_stride_of_16").value("shared_wavefronts")
    few, more = ({"shared_wavefronts_excessive": share * wavefronts} for share in (0.019, 0.1))
    assert told(rule, gallery("shared_stride_of_16", **few)).findings == ()
    assert told(rule, gallery("shared_stride_of_16", **more)).findings


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS


def test_excess_without_wavefronts_is_nothing_to_divide_by() -> None:
    facts = gallery("shared_stride_of_16", shared_wavefronts=0.0)
    assert told(rule, facts).findings == ()


@pytest.mark.parametrize(("waits", "saved"), [(90.0, 0.8 * 0.5 / 0.9), (10.0, 0.1 * 0.8)])
def test_where_no_unit_is_busy_conflicts_cost_what_warps_wait_for_shared_memory(waits: float, saved: float) -> None:
    found = rule.find(made(
        shared_wavefronts=1e6, shared_wavefronts_excessive=8e5, bank_conflicts_load=8e5, bank_conflicts_store=0.0,
        bank_conflicts_atomic=0.0, l1_data_pipe=50.0, sm_cycles_elapsed=200_000.0, sm_count=10.0,
        warps_short_scoreboard=waits, warps_long_scoreboard=100.0 - waits,
    ))  # fmt: skip
    assert found is not None
    assert found.saved_ns == pytest.approx(saved * 100_000, rel=0.02)
