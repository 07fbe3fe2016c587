"""Rule `no-tensor-core`: where it fires, where not, and what it needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_facts import gallery, made, told

from ncu_assist.frame import combine_tables
from ncu_assist.rules import no_tensor_core
from ncu_assist.rules.model.of_run import results_of
from ncu_assist.store import Store

ARCHIVE = Store(Path(__file__).parents[2] / "reports")


def test_fires() -> None:
    (ranked,) = told(no_tensor_core, gallery("matrix_pairs_of_halves")).findings
    assert ranked.finding.rule == "no-tensor-core"
    assert ranked.severity == "high"


@pytest.mark.parametrize("case", ["healthy_float_product", "pipe_fma_unfused_fix"])
def test_does_not_fire(case: str) -> None:
    assert no_tensor_core.find(gallery(case)) is None


def test_without_its_metrics_it_cannot_answer() -> None:
    (silent,) = told(no_tensor_core, gallery("matrix_pairs_of_halves", without=("fp16_fma_per_cycle",))).unanswered
    assert silent.missing == ("fp16_fma_per_cycle",)


def test_floats_count_only_where_they_were_halves() -> None:
    floats = gallery("healthy_float_product")
    converted = floats.value("fp32_fma_per_cycle") / 64
    found = no_tensor_core.find(gallery("healthy_float_product", fp16_add_per_cycle=converted))
    assert found is not None
    assert "converted" in found.message


def test_work_without_reuse_is_no_product() -> None:
    assert no_tensor_core.find(gallery("matrix_pairs_of_halves", dram_bytes_read=1e9)) is None


def test_tensor_cores_that_work_already_are_left_alone() -> None:
    assert no_tensor_core.find(gallery("matrix_pairs_of_halves", tensor_ops_fp16=1e11)) is None


@pytest.mark.parametrize(("dtype", "is_found"), [("bfloat16", True), ("float16", True), ("float32", False)])
def test_the_workload_says_what_the_floats_were(dtype: str, is_found: bool) -> None:
    """A bfloat16 becomes a float by a shift: nothing in the counters tells."""
    facts = replace(gallery("healthy_float_product"), dtype=dtype)
    assert (no_tensor_core.find(facts) is not None) == is_found


@pytest.mark.parametrize(("version", "is_found"), [("v5_padded_rows", True), ("v6_mma_sync", False)])
def test_products_of_bfloat16_as_recorded(version: str, is_found: bool) -> None:
    """Of v5's instructions 47 % are multiply-adds; the shifts that make floats of bfloat16 are among the others."""
    stored = next(one for one in ARCHIVE.runs("flash_attention", version) if one.run.source == "recorded")
    told_all = results_of(stored.run, combine_tables(stored.run, stored.by_launch(), "d128"))
    assert told_all is not None
    assert (told_all.diagnosis.findings[0].finding.rule == "no-tensor-core") == is_found


def test_what_lies_in_l2_needs_its_bytes_nevertheless() -> None:
    in_l2 = gallery("matrix_pairs_of_halves", dram_bytes_read=0.0, dram_bytes_write=0.0)
    assert no_tensor_core.find(in_l2) is not None
    assert no_tensor_core.find(replace(in_l2, algorithmic_bytes=10**9)) is None


# A tile of bytes in shared memory, multiplied by dp4a: four of five instructions are such products.
DP4A = {
    "instructions": 43.4e6, "sm_cycles_elapsed": 170_000.0, "sm_count": 132.0, "sm_cycles_active": 170_000.0,
    "fp32_fma_per_cycle": 0.0, "fp16_fma_per_cycle": 0.0, "shared_load_instructions": 4.2e6,
    "global_load_instructions": 1e6, "dram_bytes_read": 8e6, "dram_bytes_write": 1e6,
    "pipe_fma": 39.0, "pipe_fma_heavy": 78.0, "pipe_alu": 3.0,
    "pipe_tensor_cycles": 0.0,
}  # fmt: skip


def test_a_product_of_bytes_is_named_and_what_hashes_is_not() -> None:
    (ranked,) = told(no_tensor_core, made(**DP4A)).findings
    assert ranked.finding.assumed
    assert "bytes" in ranked.finding.message
    assert no_tensor_core.find(made(**{**DP4A, "pipe_alu": 40.0})) is None  # shifts and logic
    assert (
        no_tensor_core.find(made(**{**DP4A, "shared_load_instructions": 1e4, "global_load_instructions": 1e4})) is None
    )


def test_operands_have_to_come_out_of_shared_memory() -> None:
    """Two pieces of 512 bytes for 16 x 16 x 16 products: eight cycles of L1's data pipe for 4096 of them."""
    facts = gallery("matrix_pairs_of_halves")
    found = no_tensor_core.find(facts)
    assert found is not None
    products = 2 * facts.value("fp16_fma_per_cycle") * facts.value("sm_cycles_elapsed")
    of_all = 8 * products / 4096 / facts.value("sm_count") / facts.value("sm_cycles_elapsed")
    assert found.saved_ns == pytest.approx(facts.duration_ns * (1.0 - of_all / 0.9))
