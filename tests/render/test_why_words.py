"""Why in five lines: what a reader of the recorded ladder is told, in 80 columns, and the same as JSON."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from math import prod
from typing import Any

import pytest
from ladder import WORKLOAD, counters, launches, step
from recorded_family import ROOT

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.analysis.diff.lines import LineChanges
from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.analysis.diff.why import Why, why
from ncu_assist.ncu.catalogue.noise import recording
from ncu_assist.pipeline.reading import compare, read_line_changes
from ncu_assist.project import Project
from ncu_assist.render.json.diff import line_notes_json, lines_json, why_json
from ncu_assist.render.json.values import clean
from ncu_assist.render.words.why import MOST_LINES, why_lines
from ncu_assist.verdict import Verdict

EVIL = "evil\x1b[31m\u202e\nline"
STEPS = [(3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 10), (2, 7), (10, 7), (7, 6), (0, 2)]


@functools.cache
def explained(before: int, after: int) -> tuple[Why | None, LineChanges]:
    timings = [step(number).run.timing(WORKLOAD) for number in (before, after)]
    speedup = timings[0].median_ns / timings[1].median_ns if timings[0] and timings[1] else None
    lines = read_line_changes((step(before), step(after)), (launches(before), launches(after)))
    bench = Verdict("unclear", None, "", speedup, None, None, 0) if speedup else None
    return why(counters(before), counters(after), bench, NoiseModel(recording("gh100"))), lines


def told(before: int, after: int) -> list[str]:
    return why_lines(*explained(before, after), (f"v{before}", f"v{after}"))


@pytest.mark.slow
@pytest.mark.parametrize("pair", STEPS, ids=str)
def test_at_most_five_lines_of_eighty_columns(pair: tuple[int, int]) -> None:
    lines = told(*pair)
    assert 1 <= len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > 80] == []


def test_padding_is_told_with_what_it_did_not_change() -> None:
    bound, product, gone, *left = told(4, 5)
    assert bound.startswith("both bound by L2 input (")
    assert product.startswith("ncu: 1.037x less time ≈ 1.00x L2 input cycles x 1.035x rate")
    assert gone.startswith("less excess: v4.cu:45 → v5.cu:40  `tile[tid * (D + 1")
    assert gone.endswith("36.6 M excess wavefronts")
    assert [line[:16] for line in left] == ["hottest: v5.cu:3", "left: v5.cu:41  "]
    assert all("33.0 M excess sectors" in line for line in left)


def test_a_coalesced_store_is_told_on_both_resources() -> None:
    bound, product, former, gone, left = told(5, 6)
    assert bound == "was bound by L2 input (85 %), now by L1 data pipe (82 %)"
    assert product.startswith("ncu: 2.76x less time ≈ 1.81x fewer L1 wavefronts x 1.53x rate")
    assert former.startswith("L2 input: 8.42x fewer ")
    assert gone.startswith("vanished: v5.cu:41  `new_s[tid * D + col] = va…`  33.0 M excess sectors")
    assert left.startswith("hottest: v6.cu:42  `const float value")


def test_registers_are_told_as_the_rate_of_dram() -> None:
    bound, product, former, gone, left = told(6, 7)
    assert bound == "was bound by L1 data pipe (82 %), now by DRAM (81 %)"
    assert "3.07x less time = 1.00x DRAM bytes x 3.07x rate (1.27 → 3.89 TB/s)" in product
    assert former.startswith("L1 data pipe: 13.62x fewer L1 wavefronts (47.3 M → 3.47 M)")
    assert gone.startswith("replaced: v6.cu:42 →  `const float val")
    assert gone.endswith("33.0 M excess sectors, 127 → 1.69 µs")
    assert "excess" not in left


def test_a_slower_candidate_is_told_the_other_way_round() -> None:
    lines = told(7, 6)
    assert "3.07x more time ≈ 13.62x more L1 wavefronts / 4.38x rate / 1.011x clock" in lines[1]
    assert lines[3].startswith("replaced: → v6.cu:42  `const float val")
    assert lines[4].startswith("left: v6.cu:46  `__syncthreads();`")  # the hottest is the line above


def test_the_line_that_won_most_of_the_time_is_named() -> None:
    """The first is told by its excess, and took longer than before: most of the time was won elsewhere."""
    diff = compare(Project(ROOT), ("gemm_bias_gelu/v4", "gemm_bias_gelu/v5"), None, DiffOptions())
    assert diff.lines
    lines = why_lines(None, diff.lines, ("v4", "v5"))
    assert lines[:2] == [
        "less excess: mma.hpp:175  2.15 G excess sectors, 511 → 795 µs",
        "less: mma.hpp:717  34.0 ms → 787 µs",
    ]


def test_time_that_only_went_from_line_to_line_is_not_told_as_a_cause() -> None:
    """v8 is as fast as v7; the compiler says that the same load comes from another line."""
    for pair in ((7, 8), (9, 10)):
        assert [line.partition(":")[0] for line in told(*pair)[2:]] == ["hottest", "left", "left"]


def test_a_chain_says_how_many_launches_became_one() -> None:
    bound, *_, note = told(0, 2)
    assert bound.endswith("; v0 is several kernels; 10 launches → 1")
    assert note == "lines: v0: the code has no line numbers: it is from libraries, PyTorch, cuBLAS"


@pytest.mark.parametrize("pair", [(4, 5), (5, 6), (0, 2)], ids=str)
def test_the_same_as_json(pair: tuple[int, int]) -> None:
    found, lines = explained(*pair)
    answer = clean(why_json(found))
    assert answer is not None
    for one in answer["products"]:
        assert prod(part["gain"] for part in one["factors"]) == pytest.approx(answer["time_ratio"], rel=1e-6)
    assert set(answer["bound_by"]["candidate"]) == {"name", "group", "percent", "stall"}
    whole = clean([answer, lines_json(lines), lines.left, line_notes_json(lines)])
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert all(math.isfinite(number) for number in numbers(whole))
    assert len(lines_json(lines)) == len(lines.changes)
    assert lines_json(None) == []
    assert why_json(None) is None


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, int | float):
        yield value
