"""What the real compute-sanitizer said of planted faults, on an H200 and an H100, is found with the right line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_assist.harness.sanitizer import read_findings, summed_up
from ncu_assist.render.words.sanitizer import finding_words

SAID = Path(__file__).parents[1] / "data" / "sanitizer"
# Faults that were planted in versions of gemm_bias_gelu: a wait of the pipeline and one of an mbarrier are left out.
OF_PRODUCTS = {
    "product_without_wait-racecheck": [
        "race on shared memory at mma.cuh:37 and mma.cuh:28: write and read (in copy_async_16, 2,139,488 times)",
        "race on shared memory at gemm_multistage and mma.cuh:28: write and read (in gemm_multistage, 49,152 times)",
    ],
    "product_not_waited_for-synccheck": [
        "mbarrier that is armed again before anybody waited for it at tma.cuh:31 (in gemm_producer, by way of "
        "v13_producer.cu:28, thread (256, 0, 0), block (2, 0, 0), 4 times)"
    ],
}


@pytest.mark.parametrize("name", OF_PRODUCTS)
def test_faults_of_pipelines_and_mbarriers(name: str) -> None:
    text = (SAID / f"{name}.txt").read_text()
    assert [finding_words(one) for one in read_findings(text, name.rpartition("-")[2])] == OF_PRODUCTS[name]
    assert summed_up(text)
