"""Why in five lines: what a reader of the recorded ladder is told, in 80 columns, and the same as JSON."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import pytest
from ladder import WORKLOAD, counters, launches, step

from ncu_assist.diff.bottleneck import Bottleneck
from ncu_assist.diff.factors import Factor, Factors
from ncu_assist.diff.line_changes import LineChange, LineChanges
from ncu_assist.diff.line_costs import LineCost
from ncu_assist.diff.why import Limit, Why, why
from ncu_assist.pipeline.line_costs import read_line_changes
from ncu_assist.render.json.why import left_json, line_notes_json, lines_json, why_json
from ncu_assist.render.why_words import MOST_LINES, why_lines

EVIL = "evil\x1b[31m\u202e\nline"
STEPS = [(3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 10), (2, 7), (10, 7), (7, 6), (0, 2)]


@functools.cache
def explained(before: int, after: int) -> tuple[Why | None, LineChanges]:
    timings = [step(number).run.timing(WORKLOAD) for number in (before, after)]
    speedup = timings[0].median_ns / timings[1].median_ns if timings[0] and timings[1] else None
    lines = read_line_changes((step(before), step(after)), (launches(before), launches(after)))
    return why(counters(before), counters(after), speedup), lines


def told(before: int, after: int) -> list[str]:
    return why_lines(*explained(before, after), (f"v{before}", f"v{after}"))


@pytest.mark.parametrize("pair", STEPS, ids=str)
def test_at_most_five_lines_of_eighty_columns(pair: tuple[int, int]) -> None:
    lines = told(*pair)
    assert 1 <= len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > 80] == []


def test_padding_is_told_with_what_it_did_not_change() -> None:
    bound, product, gone, *left = told(4, 5)
    assert bound.startswith("both bound by L2 input (")
    assert "1.00x L2 input cycles" in product
    assert gone.startswith("gone: v4.cu:45 → v5.cu:40  `tile[tid * (D + 1) + col")
    assert gone.endswith("36.6 M excess wavefronts")
    assert [line[:13] for line in left] == ["left: v5.cu:3", "left: v5.cu:4"]
    assert all("33.0 M excess sectors" in line for line in left)


def test_a_coalesced_store_is_told_on_both_resources() -> None:
    bound, product, former, gone, left = told(5, 6)
    assert bound == "was bound by L2 input (85 %), now by L1 data pipe (82 %)"
    assert product.startswith("2.76x less time = 1.81x fewer L1 wavefronts x 1.53x rate")
    assert former.startswith("L2 input: 8.42x fewer ")
    assert gone.startswith("gone: v5.cu:41  `new_s[tid * D + col] = value;`  33.0 M excess sectors")
    assert left.startswith("left: v6.cu:42  `const float value")


def test_registers_are_told_as_the_rate_of_dram() -> None:
    bound, product, former, gone, left = told(6, 7)
    assert bound == "was bound by L1 data pipe (82 %), now by DRAM (81 %)"
    assert "3.07x less time = 1.00x DRAM bytes x 3.07x rate (1.27 → 3.89 TB/s)" in product
    assert former.startswith("L1 data pipe: 13.6x fewer L1 wavefronts (47.3 → 3.47 M)")
    assert gone.startswith("gone: v6.cu:42  ")
    assert "excess" not in left


def test_a_slower_candidate_is_told_the_other_way_round() -> None:
    lines = told(7, 6)
    assert "3.07x more time = 13.6x more L1 wavefronts / 4.38x rate" in lines[1]
    assert lines[3].startswith("new:  v6.cu:42  ")
    assert lines[4].startswith("left: v6.cu:46  `__syncthreads();`")  # not the line above once more


def test_time_that_only_went_from_line_to_line_is_not_told_as_a_cause() -> None:
    """v8 is as fast as v7; the compiler says that the same load comes from another line."""
    assert [line[:5] for line in told(7, 8)[2:]] == ["left:"] * 3
    assert [line[:5] for line in told(9, 10)[2:]] == ["left:"] * 3


def test_a_chain_says_how_many_launches_became_one() -> None:
    bound, *_, note = told(0, 2)
    assert bound.endswith("; 10 launches → 1")
    assert note.startswith("lines: v0: the code has no line numbers")


def factor(kind: Any, before: float, after: float, unit: str = "") -> Factor:
    return Factor(kind, {"work": "DRAM bytes"}.get(kind, kind), unit, before, after)


def made(resource: str = "DRAM", **values: tuple[float, float]) -> Why:
    parts = tuple(factor(kind, *both) for kind, both in values.items())
    ratio = prod(part.gain for part in parts)
    limit = Limit(Bottleneck(resource, 80.0))
    return Why(limit, limit, ratio, (1, 1), (Factors(resource, parts, (80.0, 80.0)),))


@pytest.mark.parametrize(
    ("work", "rate", "clock", "words"),
    [
        ((2, 1), (1, 1), (1, 1), "2.00x less time = 2.00x fewer DRAM bytes x 1.00x rate x 1.00x clock"),
        ((1, 2), (1, 1), (1, 1), "2.00x more time = 2.00x more DRAM bytes x 1.00x rate x 1.00x clock"),
        ((1, 2), (1, 4), (1, 1), "2.00x less time = 4.00x rate x 1.00x clock / 2.00x more DRAM bytes"),
        ((4, 1), (2, 1), (1, 1), "2.00x less time = 4.00x fewer DRAM bytes x 1.00x clock / 2.00x lower rate"),
        ((1, 1), (1, 1), (2, 1), "2.00x more time = 1.00x DRAM bytes x 1.00x rate x 2.00x lower clock"),
        ((1, 1), (1, 1), (1, 1), "the same time = 1.00x DRAM bytes x 1.00x rate x 1.00x clock"),
        ((30, 1), (1, 1), (1, 1), "30x less time = 30x fewer DRAM bytes x 1.00x rate x 1.00x clock"),
    ],
)
def test_every_factor_says_which_way_it_went(
    work: tuple[float, float], rate: tuple[float, float], clock: tuple[float, float], words: str
) -> None:
    assert why_lines(made(work=work, rate=rate, clock=clock), None, ("v1", "v2"))[1] == words


def test_a_bench_that_saw_another_ratio_has_a_line() -> None:
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    lines = why_lines(replace(found, speedup=1.5), None, ("v1", "v2"))
    assert lines[1].startswith("2.00x less time")
    assert lines[2].startswith("the bench saw 1.50x less time: ")
    near = why_lines(replace(found, speedup=1.9), None, ("v1", "v2"))
    assert (len(near), near[1].startswith("ncu: 2.00x less time")) == (2, True)
    same = why_lines(replace(found, speedup=2.0), None, ("v1", "v2"))
    assert (len(same), same[1].startswith("2.00x less time")) == (2, True)


def test_what_was_not_counted_is_not_told() -> None:
    assert why_lines(None, None, ("v1", "v2")) == []
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    half = replace(found, baseline=None, factors=())
    assert why_lines(half, None, ("v1", "v2")) == ["bound by DRAM (80 %); of v1 too little was counted"]
    assert why_lines(replace(found, factors=()), None, ("v1", "v2")) == ["both bound by DRAM (80 %, now 80 %)"]


def test_latency_is_told_with_its_stall_and_its_warps() -> None:
    found = made("latency", work=(2, 1), warps=(1, 2), latency=(300, 200), clock=(1, 1))
    limit = Limit(Bottleneck("latency", 40.0), "long_scoreboard")
    lines = why_lines(replace(found, baseline=limit, candidate=limit), None, ("v1", "v2"))
    assert lines[0] == "both bound by latency, long scoreboard (busiest unit 40 %, now 40 %)"
    assert lines[1] == "6.00x less time = 2.00x fewer DRAM bytes x 3.00x rate x 1.00x clock"
    assert lines[2] == "latency: 2.00x more warps, 1.50x shorter latency"


def line(number: int, **changes: Any) -> LineCost:
    facts = {"text": "x = y;", "ns": 50_000.0, "share": 0.5, "samples": 1000, "stall": "barrier"}
    return LineCost("/src/v1_made.cu", number, **(facts | changes))


def test_foreign_text_is_harmless() -> None:
    evil = replace(line(1, text=EVIL, stall=EVIL), file=EVIL)
    change = LineChange("vanished", evil, None, 0.0, True)
    lines = why_lines(None, LineChanges((change,), (evil,), ("", EVIL), durations_ns=(2e5, 1e5)), (EVIL, EVIL))
    assert len(lines) == 3
    assert not any(character in "".join(lines) for character in "\x1b\u202e\n")


def test_long_names_keep_their_end() -> None:
    name = "/a/very/long/path/that/no/line/has/room/for/report_before.ncu-rep"
    change = LineChange("moved", line(1), line(2, ns=10_000.0), 0.0, False)
    found = LineChanges((change,), (line(2),), ("", "no samples"), durations_ns=(1e5, 6e4))
    lines = why_lines(None, found, (name, name))
    assert lines[0] == "less: v1_made.cu:1 → v1_made.cu:2  `x = y;`  50 → 10 µs"
    assert lines[-1] == f"lines: …{name[-23:]}: no samples"


@pytest.mark.parametrize("pair", [(4, 5), (5, 6), (0, 2)], ids=str)
def test_the_same_as_json(pair: tuple[int, int]) -> None:
    found, lines = explained(*pair)
    answer = why_json(found)
    assert answer is not None
    for one in answer["products"]:
        assert prod(part["gain"] for part in one["factors"]) == pytest.approx(answer["time_ratio"], rel=1e-6)
    assert set(answer["bound_by"]["candidate"]) == {"name", "group", "percent", "stall"}
    whole = [answer, lines_json(lines), left_json(lines), line_notes_json(lines)]
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert all(math.isfinite(number) for number in numbers(whole))
    assert len(lines_json(lines)) == len(lines.changes)
    assert lines_json(None) == left_json(None) == []
    assert why_json(None) is None


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, int | float):
        yield value
