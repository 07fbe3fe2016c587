"""Rule `no-tensor-core`: where it fires, where not, and what it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery, told

from ncu_assist.rules import no_tensor_core


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
