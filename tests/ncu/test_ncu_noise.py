"""Noise classes against the repeats that they were derived from."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from itertools import chain

import pytest
from recorded_values import Values, archived, launches

from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.noise import SHORT_NS, noise_class, recording, repeats_as
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, ROWS

LONG, SHORT = 1e6, 1e3
RECORDING = recording("gh100") or pytest.fail("no recording")
NEARLY = 1e-9  # what is left of a ratio of two exact counts in float64


def repeats() -> dict[str, list[Values]]:
    found: dict[str, list[Values]] = defaultdict(list)
    reports = [launches(stem) for stem in ("repeats", "repeats_again", "transpose")]
    for kernel, values in chain(*reports, archived("repeats_first"), archived("repeats_second")):
        found[kernel].append(values)
    return {kernel: each for kernel, each in found.items() if len(each) > 1}


@pytest.mark.parametrize("key", CATALOGUE)
def test_a_metric_is_exact_where_the_recording_says_so(key: str) -> None:
    known = [strays for ns in (LONG, SHORT) if (strays := RECORDING.of(key, ns))]
    if known:
        assert all(strays.share == 0 for strays in known) == CATALOGUE[key].exact


def test_a_metric_is_called_exact_only_where_several_kernels_prove_it() -> None:
    kernels = repeats()
    exact = [key for key in ROWS if repeats_as(key) == "exact"]
    assert {"registers", "grid_size", "theoretical_occupancy"} <= set(exact)
    for key in exact:
        assert noise_class(key, "gh100", LONG) == noise_class(key, "gh100", SHORT) == "exact"
        seen = [[value for one in each if (value := ROWS[key].value(one)) is not None] for each in kernels.values()]
        proving = [values for values in seen if len(values) > 1]
        assert len(proving) >= 3, key
        assert all(len(set(values)) == 1 for values in proving), key


def test_what_a_kernel_counts_while_it_runs_is_not_called_exact() -> None:
    """No kernel of the recordings waits for itself, as kernels with barriers in shared memory do."""
    counted = ("instructions", "shared_wavefronts_excessive", "global_load_requests", "tma_loads", "tensor_flops")
    assert {repeats_as(key) for key in counted} == {"counted"}
    assert repeats_as("duration") == repeats_as("dram_bytes_read") == repeats_as("nonsense") == "strays"


def test_an_exact_derived_metric_is_built_from_exact_ones() -> None:
    for key, derived in ALL_DERIVED.items():
        if derived.exact:
            assert all(CATALOGUE[need].exact for need in derived.needs), key
            for ns in (LONG, SHORT):
                strays = RECORDING.of(key, ns)
                assert strays is None or strays.share <= NEARLY, key


def test_no_repeat_strays_further_than_recorded() -> None:
    kernels = repeats()
    durations = {kernel: each[0]["gpu__time_duration.sum"] for kernel, each in kernels.items()}
    for key, metric in {**CATALOGUE, **ALL_DERIVED}.items():
        seen = {kernel: [metric.value(one) for one in each] for kernel, each in kernels.items()}
        numbers = {k: [v for v in some if v is not None and not math.isnan(v)] for k, some in seen.items()}
        middles = {k: statistics.median(some) for k, some in numbers.items() if len(some) == len(seen[k])}
        for kernel, middle in middles.items():
            limit = RECORDING.of(key, durations[kernel])
            if limit is not None:
                furthest = max(abs(value - middle) for value in numbers[kernel])
                assert furthest <= limit.of(middle) + NEARLY * abs(middle), (kernel, key)


def test_words_follow_the_numbers() -> None:
    assert noise_class("instructions", "gh100", LONG) == "within 0.01 %"
    assert noise_class("registers", "gh100", LONG) == "exact"
    assert noise_class("duration", "gh100", LONG) == "within 5 %"
    assert noise_class("duration", "gh100", SHORT) == "wanders"
    assert noise_class("dram_bytes_read", "gh100", LONG) == "within 1 %"
    assert noise_class("tensor_flops", "gh100", LONG) == "unknown"  # no recorded kernel used a tensor core
    assert noise_class("duration", "gb202", LONG) == "unknown"
    assert noise_class("nonsense", "gh100", LONG) == "unknown"


def test_the_recording_says_what_it_is() -> None:
    known = recording("gh100")
    assert known is not None
    assert (known.gpu, known.ncu) == ("NVIDIA H200", "2025.3.1")
    assert known.launches == sum(len(each) for each in repeats().values())
    hoppers_own = re.compile("tma|matrix_products")  # no kernel of the repeats uses them
    assert set(known.deviation) > {
        k for k, metric in CATALOGUE.items() if not metric.given and not hoppers_own.search(k)
    }
    assert any("." in name for name in known.deviation), "ncu's own names too"
    assert any(each[0]["gpu__time_duration.sum"] < SHORT_NS for each in repeats().values())
    assert recording("tu102") is None
