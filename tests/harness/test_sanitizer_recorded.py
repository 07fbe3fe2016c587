"""What the real compute-sanitizer said of planted faults, on an H200 and an H100, is found with the right line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.harness.sanitizer import Sanitized, read_findings, summed_up
from ncu_assist.render.terminal.versions import outcome_text
from ncu_assist.render.words.sanitizer import finding_words, result_words
from ncu_assist.spec_file import read_kernel

DATA = Path(__file__).parents[1] / "data"
SAID = DATA / "sanitizer"  # of 2025.3.1; where one fault was told a hundred times, the first eight
PLANTED = DATA / "planted_faults" / "kernels" / "planted"
# By the file: our sentence, and a piece of the line that it has to name.
FAULTS = {
    "v1_race-racecheck": (
        "race on shared memory at v1_race.cu:10 and v1_race.cu:12: write and read (in planted_race, 33,660 times)",
        "tile[threadIdx.x] = i < n",
    ),
    "v2_far_read-memcheck": (
        "out of bounds at v2_far_read.cu:14: read of 4 bytes, global memory, 1,032,189 bytes after the nearest "
        "allocation of size 16,384 bytes (in planted_far, thread (255, 0, 0), block (15, 0, 0))",
        "x[i + FAR]",
    ),
    "v3_unwritten-initcheck": (
        "read of uninitialized memory at v3_unwritten.cu:15: read of 4 bytes, global memory (in planted_unwritten, "
        "thread (255, 0, 0), block (15, 0, 0), 2 times)",
        "scratch[i + 1]",
    ),
    "v5_misaligned-memcheck": (
        "misaligned access at v5_misaligned.cu:11: read of 8 bytes, global memory (in planted_misaligned, thread "
        "(2, 0, 0), block (8, 0, 0), 8 times)",
        "reinterpret_cast<const float2*>",
    ),
    "v6_use_after_free-memcheck": (
        "out of bounds at v6_use_after_free.cu:14: read of 4 bytes, global memory, 139,830,050,676,356 bytes before "
        "the nearest allocation of size 16,384 bytes (in planted_freed, thread (96, 0, 0), block (8, 0, 0), 8 times)",
        "scratch[i - 1]",
    ),
    "v7_use_after_cuda_free-memcheck": (
        "out of bounds at v7_use_after_cuda_free.cu:14: read of 4 bytes, global memory, 8,573 bytes after the nearest "
        "allocation of size 16,384 bytes (in planted_gone, thread (96, 0, 0), block (8, 0, 0), 8 times)",
        "scratch[i - 1]",
    ),
}
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


def _said(name: str) -> str:
    return (SAID / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_at_its_line(name: str) -> None:
    version, _, tool = name.rpartition("-")
    (found,) = read_findings(_said(name), tool)
    sentence, code = FAULTS[name]
    assert finding_words(found) == sentence
    source = read_kernel(PLANTED).version(version).path
    assert found.place.file == source.name
    assert found.place.line is not None
    assert code in source.read_text().splitlines()[found.place.line - 1]
    assert summed_up(_said(name))


def test_a_race_gets_the_threads_of_its_first_hazard() -> None:
    (found,) = read_findings(_said("v1_race-racecheck") + _said("v1_race-racecheck-hazard"), "racecheck")
    assert (found.thread, found.block, found.count) == ((224, 0, 0), (4, 0, 0), 33_660)


def test_a_terminal_shows_what_was_found_and_what_to_try() -> None:
    found = read_findings(_said("v2_far_read-memcheck"), "memcheck")
    result = Sanitized("v2_far_read", "memcheck", ("n12",), found)
    row = VersionOutcome("v2_far_read", None, result_words(result), sanitized=(result,))
    text = " ".join(outcome_text(KernelOutcome("planted", ("n12",), "live", (row,))).split())
    assert "v2_far_read: failed: memcheck: out of bounds at v2_far_read.cu:14: read of 4 bytes" in text
    assert "try: compare the index with the sizes of the workload" in text


@pytest.mark.parametrize("name", OF_PRODUCTS)
def test_faults_of_pipelines_and_mbarriers(name: str) -> None:
    found = read_findings(_said(name), name.rpartition("-")[2])
    assert [finding_words(one) for one in found] == OF_PRODUCTS[name]
    assert summed_up(_said(name))
