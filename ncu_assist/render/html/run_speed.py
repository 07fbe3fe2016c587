"""Speed of light: how near each part of the GPU came to its peak, and which unit that is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ncu_assist.analysis.records import Combined
from ncu_assist.analysis.run_view import BARS, Shown, throughputs
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import quantity
from ncu_assist.render.html.bars import Bar, Bars
from ncu_assist.render.html.run_records import Breakdown, Part
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.render.words import impossible_lines
from ncu_assist.rules.model.dram import OF_CEILING, reach
from ncu_assist.rules.model.resources import HOST_LINK, LATENCY

# The bar of the part of the GPU that binds a kernel (Bottleneck.group).
BOUND = {
    "SM": "sm_throughput",
    "memory": "memory_throughput",
    "L1": "l1_cache_throughput",
    "shared memory": "l1_cache_throughput",
    "L2": "l2_cache_throughput",
    "DRAM": "dram_throughput",
    HOST_LINK: "host_link_busy",
}
TOP_PARTS = 8
TITLES = {"sm_throughput": "Compute (SM) breakdown", "memory_throughput": "Memory breakdown"}
# The units as ncu's own breakdown tables call them.
UNITS = {"l1tex": "L1", "lts": "L2", "ltc": "L2", "smsp": "SM", "fbpa": "DRAM"}  # others in capitals
ROLLUP = re.compile(r"\.(avg|sum|max|min)\.pct_of_peak_sustained_\w+$")
BY_NAME = {name: key for key, metric in CATALOGUE.items() for name in metric.names}


@dataclass(frozen=True)
class Units:
    """The breakdown of one throughput: its busiest parts, and the others."""

    title: str
    top: Bars
    rest: Bars | None


@dataclass(frozen=True)
class SpeedPart:
    """The section: what binds the kernel in a sentence, the throughputs, their breakdown. Empty bars: not collected."""

    sentence: str
    throughputs: Bars
    units: tuple[Units, ...]


def speed_part(shown: Shown, breakdowns: tuple[Breakdown, ...], alone: str = "") -> SpeedPart:
    """Return bars in percent of peak, the one that binds marked; ``alone`` names the launch shown of several."""
    combined = shown.combined
    group = shown.bottleneck.group if shown.bottleneck else ""
    ceiling = _dram_ceiling(shown)
    bars = tuple(_bar(key, value, key == BOUND.get(group), ceiling) for key, value in throughputs(combined))
    scale = "; ".join([*_scale(combined, ceiling), *impossible_lines(combined, BARS)])
    return SpeedPart(
        _sentence(shown, alone), Bars("Throughput of each part, in percent of its peak", bars, scale if bars else ""),
        tuple(_units(one, group) for one in breakdowns),
    )  # fmt: skip


def _sentence(shown: Shown, alone: str) -> str:
    bound, count = shown.bottleneck, len(shown.combined.launches)
    together = f"{count} launches of one kernel together. " if count > 1 else f"Of {alone}. " if alone else ""
    if bound is None:
        return together
    caches = [shown.combined.values[key] for key in ("l1_cache_throughput", "l2_cache_throughput")]
    beyond = any(one is not None and one > bound.percent for one in caches)
    why = "; a cache's bar above that counts parts that do not limit memory" if beyond else ""
    if bound.name == LATENCY:
        return f"{together}No unit is busy: bound by latency ({bound.percent:.0f} % at the busiest unit){why}."
    return f"{together}Bound by {bound.name}, {bound.percent:.0f} % busy{why}."


def _scale(combined: Combined, ceiling: float | None) -> list[str]:
    """Return what is said below the bars: their scale, DRAM in bytes, and its line."""
    rate, peak = combined.values["dram_bandwidth"], combined.values["dram_peak_bandwidth"]
    words = ["0 to 100 % of peak"]
    words += [f"DRAM moved {quantity(rate, 'byte/s')}"] if rate else []
    if ceiling:
        reached = f", {quantity(ceiling * peak, 'byte/s')}" if peak else ""
        words.append(f"the line on it is what a plain kernel reaches on this GPU for such traffic{reached}")
    return words


def _bar(key: str, value: float, binds: bool, ceiling: float | None) -> Bar:
    own = ceiling if key == "dram_throughput" else None
    return Bar(term_of(key), value / 100, f"{value:.1f} %", ceiling=own, tone="limit" if binds else "")


def _dram_ceiling(shown: Shown) -> float | None:
    """Return what a plain kernel of the same mix and size reaches of DRAM's peak, 0 to 1; None where not measured."""
    if shown.told is None or shown.told.facts.get("dram_bytes") is None:
        return None
    limit = reach(shown.told.facts)
    return None if limit.assumed else min(1.0, limit.share / OF_CEILING)


def _units(one: Breakdown, group: str) -> Units:
    binds = group not in (LATENCY, HOST_LINK) and (one.key == "sm_throughput") == (group == "SM")
    bars = tuple(_part(part, binds and place == 0) for place, part in enumerate(one.parts))
    caption = f"Parts of {ROWS[one.key].label}, in percent of their peak"
    rest = Bars(f"{caption}: the others", bars[TOP_PARTS:]) if len(bars) > TOP_PARTS else None
    return Units(TITLES[one.key], Bars(caption, bars[:TOP_PARTS]), rest)


def _part(part: Part, binds: bool) -> Bar:
    key = BY_NAME.get(part.name, "")
    meaning = CATALOGUE[key].meaning if key else ""
    term = Term(part_label(part.name), part.name, meaning)
    return Bar(term, part.percent / 100, f"{part.percent:.1f} %", tone="limit" if binds else "")


def part_label(name: str) -> str:
    """Return a counter as ncu's breakdown calls it: ``L1: Data Pipe Lsu Wavefronts`` of l1tex__data_pipe_…"""
    unit, _, rest = ROLLUP.sub("", name).partition("__")
    return f"{UNITS.get(unit, unit.upper())}: {rest.replace('_', ' ').title()}"
