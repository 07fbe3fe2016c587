"""The product in words: every factor, which way it went, and whether what is shown multiplies to the ratio."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ncu_assist.analysis.diff.why import BoundBy, Factor, Factors, Why
from ncu_assist.render.words.verdicts import factor as shown_factor
from ncu_assist.render.words.why import why_lines
from ncu_assist.rules.model.resources import RESOURCES, Bottleneck

EVIL = "evil\x1b[31m\u202e\nline"
STEPS = [(3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 10), (2, 7), (10, 7), (7, 6), (0, 2)]


def factor(kind: Any, before: float, after: float, unit: str = "") -> Factor:
    return Factor(kind, {"work": "DRAM bytes"}.get(kind, kind), unit, before, after)


def made(resource: str = "DRAM", **values: tuple[float, float]) -> Why:
    parts = tuple(factor(kind, *both) for kind, both in values.items())
    ratio = prod(part.gain for part in parts)
    limit = BoundBy(Bottleneck(resource, 80.0))
    return Why(limit, limit, ratio, (1, 1), (Factors(resource, parts, (80.0, 80.0)),))


WAYS = "more|fewer|lower"


def product_of(lines: list[str]) -> str:
    """Return the product as one line, however it was broken."""
    return " ".join(line.strip() for line in lines)


gains = st.floats(0.01, 100.0)


@pytest.mark.parametrize(
    ("work", "rate", "clock", "words"),
    [
        ((2, 1), (1, 1), (1, 1), "2.00x less time = 2.00x fewer DRAM bytes x 1.00x rate"),
        ((1, 2), (1, 1), (1, 1), "2.00x more time = 2.00x more DRAM bytes x 1.00x rate"),
        ((1, 2), (1, 4), (1, 1), "2.00x less time = 4.00x rate / 2.00x more DRAM bytes"),
        ((4, 1), (2, 1), (1, 1), "2.00x less time = 4.00x fewer DRAM bytes / 2.00x lower rate"),
        ((1, 1), (1, 1), (2, 1), "2.00x more time = 1.00x DRAM bytes x 1.00x rate x 2.00x lower clock"),
        ((1, 1), (1, 1), (1, 1), "the same time = 1.00x DRAM bytes x 1.00x rate"),
        ((30, 1), (1, 1), (1, 1), "30.00x less time = 30.00x fewer DRAM bytes x 1.00x rate"),
        ((1, 1), (1, 1), (1, 1.004), "1.004x less time ≈ 1.00x DRAM bytes x 1.00x rate"),
        ((1, 1), (1, 1), (1, 1.006), "1.006x less time = 1.00x DRAM bytes x 1.00x rate x 1.006x clock"),
    ],
)
def test_every_factor_says_which_way_it_went(
    work: tuple[float, float], rate: tuple[float, float], clock: tuple[float, float], words: str
) -> None:
    assert why_lines(made(work=work, rate=rate, clock=clock), None, ("v1", "v2"))[1] == f"ncu: {words}"


def test_the_ratio_of_the_verdict_is_the_one_that_is_told() -> None:
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    line = why_lines(replace(found, by_verdict=2.008), None, ("v1", "v2"))[1]
    assert line == "ncu: 2.01x less time ≈ 2.00x fewer DRAM bytes x 1.00x rate"


@example(10.0, 100.0, 0.9375, "L1 writeback cycles")
@given(gains, gains, st.floats(0.9, 1.1), st.sampled_from(sorted({one.label for one in RESOURCES.values()} - {""})))
def test_no_factor_is_left_out_and_the_product_is_right(work: float, rate: float, clock: float, label: str) -> None:
    """In 80 columns, with the longest names: who multiplies what is shown gets the ratio, or is told ``≈``."""
    parts = factor("work", work, 1), factor("rate", 1, rate), factor("clock", 1, clock)
    found = made(work=(work, 1), rate=(1, rate), clock=(1, clock))
    named = Factors("DRAM", (replace(parts[0], label=label), *parts[1:]), (80.0, 80.0))
    lines = why_lines(replace(found, factors=(named,)), None, ("v1", "v2"))[1:]
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 2
    line = product_of(lines)
    assert line.startswith("ncu: ")
    ratio, sign, product = re.split(" (=|≈) ", line)
    terms = re.findall(r"(^|x |/ )([\d.]+)x", product)
    wide = product_of(why_lines(replace(found, factors=(named,)), None, ("v1", "v2"), 200)[1:])
    assert re.findall(WAYS, product) == re.findall(WAYS, wide.split(sign)[1])
    shown = [each for each in (work, rate, clock) if f"{max(each, 1 / each):.2f}" != "1.00"]
    assert len([number for _, number in terms if number != "1.00"]) == len(shown)
    multiplied = prod(1 / float(number) if before == "/ " else float(number) for before, number in terms)
    whole = 1.0 if "same" in ratio else float(ratio.split()[1].removesuffix("x"))
    if sign == "=":
        assert shown_factor(multiplied) == shown_factor(whole)
    else:
        assert multiplied == pytest.approx(whole, rel=0.03)


@pytest.mark.parametrize(
    ("before", "after", "amounts"), [(872e3, 60.6e3, "872 k → 60.6 k"), (47.3e6, 872e3, "47.3 M → 872 k")]
)
def test_a_prefix_stays_with_its_number(before: float, after: float, amounts: str) -> None:
    limit = BoundBy(Bottleneck("L2 input", 80.0))
    parts = factor("work", before, after, "cycle"), factor("rate", 1, 1), factor("clock", 1, 1)
    found = replace(
        made(work=(2, 1), rate=(1, 1), clock=(1, 1)),
        baseline=limit,
        factors=(*made(work=(2, 1), rate=(1, 1), clock=(1, 1)).factors, Factors("L2 input", parts, (79.0, 49.0))),
    )
    assert f"({amounts}), 79 → 49 % busy" in why_lines(found, None, ("v1", "v2"))[2]


def test_what_bound_before_is_told_in_eighty_columns() -> None:
    parts = factor("work", 473e6, 3.47e6), factor("rate", 1, 1), factor("clock", 1, 1)
    former = Factors("shared memory", (replace(parts[0], label="shared-memory wavefronts"), *parts[1:]), (82.0, 19.0))
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    limit = BoundBy(Bottleneck("shared memory", 80.0))
    line = why_lines(replace(found, baseline=limit, factors=(*found.factors, former)), None, ("v1", "v2"))[2]
    assert line == "shared memory: 136.31x fewer wavefronts (473 M → 3.47 M), 82 → 19 % busy"


@pytest.mark.parametrize(("launches", "words"), [((1, 10), "1 launch → 10"), ((10, 1), "10 launches → 1")])
def test_one_launch_is_no_launches(launches: tuple[int, int], words: str) -> None:
    found = replace(made(work=(2, 1), rate=(1, 1), clock=(1, 1)), launches=launches)
    assert why_lines(found, None, ("v1", "v2"))[0].endswith(f"; {words}")


def test_a_bench_that_saw_another_ratio_has_a_line() -> None:
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    lines = why_lines(replace(found, speedup=1.5, expected=(1.4, 1.6)), None, ("v1", "v2"))
    assert lines[1].startswith("ncu: 2.00x less time")
    assert lines[2].startswith("the bench saw 1.50x less time: ")
    near = why_lines(replace(found, speedup=1.9, expected=(1.8, 2.1)), None, ("v1", "v2"))
    assert (len(near), near[1].startswith("ncu: 2.00x less time")) == (2, True)


def test_what_was_not_counted_is_not_told() -> None:
    assert why_lines(None, None, ("v1", "v2")) == []
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    half = replace(found, baseline=None, factors=())
    assert why_lines(half, None, ("v1", "v2")) == ["v2 bound by DRAM (80 %); of v1 too little was counted"]
    assert why_lines(replace(found, factors=()), None, ("v1", "v2")) == ["both bound by DRAM (80 %, now 80 %)"]


def test_two_sides_that_latency_binds_are_told_together_with_what_warps_wait_for() -> None:
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    before, after = (
        BoundBy(Bottleneck("latency", busy), stall) for busy, stall in ((18.0, "wait"), (7.0, "long_scoreboard"))
    )
    both = replace(found, baseline=before, candidate=after, factors=())
    told = [why_lines(both, None, ("v1", "v2"), width)[0] for width in (80, 70)]
    assert told[0] == "both bound by latency, wait → long scoreboard (busiest unit 18 %, now 7 %)"
    assert told[1] == "both bound by latency (busiest unit 18 %, now 7 %)"


def test_a_percentage_beside_latency_is_said_to_be_of_the_busiest_unit() -> None:
    """Beside a stall it reads as the share of that, which is another number in the table below."""
    found = made(work=(2, 1), rate=(1, 1), clock=(1, 1))
    waits = BoundBy(Bottleneck("latency", 34.0), "short_scoreboard")
    narrow, wide = (why_lines(replace(found, baseline=waits), None, ("v1", "v2"), width)[0] for width in (70, 80))
    assert narrow == "was bound by latency (busiest unit 34 %), now by DRAM (80 %)"
    assert wide == "was bound by latency, short scoreboard (busiest unit 34 %), now by DRAM (80 %)"
    one = replace(found, baseline=None, candidate=waits, of_kernels=(True, False), launches=(7, 1), factors=())
    assert why_lines(one, None, ("v0", "v3")) == [
        "v3 bound by latency (busiest unit 34 %); v0 is several kernels; 7 launches → 1"
    ]
    assert why_lines(one, None, ("v0", "v3"), 60) == ["v3 bound by latency; v0 is several kernels; 7 launches → 1"]


def test_latency_is_told_with_its_stall_and_its_warps() -> None:
    found = made("latency", work=(2, 1), warps=(1, 2), latency=(300, 200), clock=(1, 1))
    limit = BoundBy(Bottleneck("latency", 40.0), "long_scoreboard")
    lines = why_lines(replace(found, baseline=limit, candidate=limit), None, ("v1", "v2"))
    assert lines[0] == "both bound by latency, long scoreboard (busiest unit 40 %, now 40 %)"
    assert lines[1] == "ncu: 6.00x less time = 2.00x fewer DRAM bytes x 3.00x rate"
    assert lines[2] == "latency: 2.00x more warps, 1.50x shorter latency"


@pytest.mark.parametrize("width", [80, 60, 40])
def test_cycles_are_always_told_of_what_they_are(width: int) -> None:
    label = RESOURCES["tensor cores"].label
    assert label == "tensor core cycles"
    why = made("tensor cores", work=(1, 1), rate=(1, 1.35), clock=(1, 1.1))
    parts = tuple(replace(part, label=label) if part.kind == "work" else part for part in why.factors[0].parts)
    lines = why_lines(replace(why, factors=(replace(why.factors[0], parts=parts),)), None, ("v1", "v2"), width)[1:]
    assert "1.00x tensor core cycles" in product_of(lines)


def test_a_product_that_is_too_long_for_a_line_keeps_its_directions_on_two() -> None:
    """v7 of elementwise_add: in 80 columns a lower rate was `3.90x rate`, which elsewhere is a higher one."""
    why = made("latency", work=(30.4, 11.0), rate=(3.9, 1), clock=(1, 1.022))
    parts = tuple(replace(part, label="instructions") if part.kind == "work" else part for part in why.factors[0].parts)
    lines = why_lines(replace(why, factors=(replace(why.factors[0], parts=parts),)), None, ("v1", "v2"))
    assert lines[1:] == [
        "ncu: 1.38x more time = 3.90x lower rate / 2.76x fewer instructions",
        "     / 1.022x clock",
    ]
