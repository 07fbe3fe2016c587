"""How ncu spells metrics: a base name and what its parts stand for, a rollup, a rate or a share of the peak."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

BASE_ROLLUPS = {
    "sum": "added up over all units",
    "avg": "mean of all units",
    "min": "of the unit that has least",
    "max": "of the unit that has most",
    "pct": "in percent",
    "ratio": "as a ratio",
    "max_rate": "the largest possible value",
}
RATES = {
    "per_second": "a second",
    "per_cycle_active": "a cycle in which the unit was active",
    "per_cycle_elapsed": "a cycle, idle ones included",
    "per_cycle_in_region": "a cycle of the range",
    "per_cycle_in_frame": "a cycle of the frame",
    "pct_of_peak_sustained_active": "in percent of the sustained peak, over cycles in which the unit was active",
    "pct_of_peak_sustained_elapsed": "in percent of the sustained peak, idle cycles included",
    "pct_of_peak_sustained_region": "in percent of the sustained peak, over the range",
    "pct_of_peak_sustained_frame": "in percent of the sustained peak, over the frame",
    "peak_sustained": "the sustained peak a cycle",
    "peak_sustained_active": "the sustained peak, over active cycles",
    "peak_sustained_active.per_second": "the sustained peak a second, over active cycles",
    "peak_sustained_elapsed": "the sustained peak, over all cycles",
    "peak_sustained_elapsed.per_second": "the sustained peak a second, over all cycles",
    "peak_sustained_region": "the sustained peak, over the range",
    "peak_sustained_region.per_second": "the sustained peak a second, over the range",
    "peak_sustained_frame": "the sustained peak, over the frame",
    "peak_sustained_frame.per_second": "the sustained peak a second, over the frame",
}
COUNTED = ("sum", "avg", "min", "max")
SHARES = tuple(rate for rate in RATES if rate.startswith("pct_of_peak"))
# Which rollups a kind of metric takes: ncu's documentation, Metrics Structure; every name of a full report fits it.
ROLLUPS: dict[str, tuple[str, ...]] = {
    "Counter": (*COUNTED, *(f"{base}.{rate}" for rate in RATES for base in COUNTED)),
    "Ratio": ("pct", "ratio", "max_rate"),
    "Throughput": tuple(f"{base}.{share}" for share in SHARES for base in COUNTED),
    "": (),
}
USUAL = {"Counter": "sum", "Ratio": "ratio", "Throughput": "avg.pct_of_peak_sustained_elapsed"}
_SPLIT = re.compile(r"(?P<base>.*?__[^.]*)\.(?P<rollup>.+)")  # the base of a sampled metric has points before its __
# Of difflib's ratio: in a long name one renamed part stays above it and another metric of the unit below. In a short
# one each word must: typing errors do, another tool's name for something else does not.
NEAR = 0.75
CONTRARY = (  # names that say one of these must not be answered by one that says another
    {"ld", "st", "load", "store", "loads", "stores", "atom", "red"},
    {"read", "write", "reads", "writes", "written"},
    {"hit", "miss"},
    {"min", "max"},
    {"active", "idle", "elapsed"},
    {"global", "local", "shared", "dshared", "texture", "surface"},
    {"fp16", "fp32", "fp64", "int8", "int32"},
    {"theoretical", "achieved"},
)
SAME = ({"ld", "load", "loads"}, {"st", "store", "stores"}, {"read", "reads"}, {"write", "writes", "written"})
FEW = 60  # names that share most parts with the one asked for; only they are compared letter by letter


def split(name: str) -> tuple[str, str]:
    """Return base name and rollup: ``('sm__warps_active', 'avg.per_cycle_active')``; no rollup is an empty one."""
    match = _SPLIT.fullmatch(name)
    return (match["base"], match["rollup"]) if match else (name, "")


def join(base: str, rollup: str) -> str:
    return f"{base}.{rollup}" if rollup else base


def rollup_words(rollup: str) -> str:
    """Return what a rollup means, empty for one that ncu does not have."""
    first, _, rate = rollup.partition(".")
    words = BASE_ROLLUPS.get(first, "")
    if not rate:
        return words
    return f"{words}, {RATES[rate]}" if words and rate in RATES else ""


def nearest(name: str, candidates: Iterable[str], count: int = 1) -> list[str]:
    """Return the candidates most like ``name``, best first: by parts that they share, then letter by letter."""
    parts = _parts(name)
    allowed = [one for one in candidates if not _contradicts(parts, _parts(one))]
    ranked = sorted(allowed, key=lambda one: (-len(parts & _parts(one)), abs(len(one) - len(name)), one))[:FEW]
    turned = [one for one in ranked if parts == _parts(one)]  # the same words in another order
    alike = ranked if "__" in name else [one for one in ranked if _is_alike(parts, _parts(one))]
    near = difflib.get_close_matches(name, alike, n=count, cutoff=NEAR)
    return [*near, *(one for one in turned if one not in near)][:count]


def _is_alike(asked: set[str], offered: set[str]) -> bool:
    """Tell whether each word of one is, but for typing errors, a word of the other."""
    pairs = [*((word, offered) for word in asked), *((word, asked) for word in offered)]
    return all(difflib.get_close_matches(word, words, n=1, cutoff=NEAR) for word, words in pairs)


def _contradicts(asked: set[str], offered: set[str]) -> bool:
    """Tell whether both say something of one kind, and neither the same word nor two words for the same."""
    said = [(asked & words, offered & words) for words in CONTRARY if asked & words and offered & words]
    return any(not (one & other or any(one & same and other & same for same in SAME)) for one, other in said)


def _parts(name: str) -> set[str]:
    return set(re.split(r"[_.:]+", name.lower()))


# What a base name begins with, and what may stand in it: names outside the catalogue can be read too.
UNITS: dict[str, str] = {
    "ctc": "C2C link between CPU and GPU",
    "derived": "computed by ncu from other metrics",
    "dram": "DRAM",
    "fbpa": "DRAM controllers",
    "fe": "front end, which takes commands",
    "gcc": "constant and instruction cache shared by a GPC",
    "gpc": "cluster of SMs (GPC)",
    "gpu": "whole GPU",
    "gr": "graphics and compute engine",
    "idc": "indexed constant cache of an SM",
    "l1tex": "L1 and texture cache of an SM",
    "launch": "fact of the launch",
    "lrc": "between L2 and the SMs, with compression",
    "lts": "slices of L2",
    "memory": "counted per instruction, by patching the kernel",
    "nvlrx": "NVLink, received",
    "nvltx": "NVLink, sent",
    "pcie": "PCIe",
    "sass": "counted per instruction, by patching the kernel",
    "sm": "SM",
    "smsp": "scheduler and its quarter of an SM",
    "syslts": "slices of L2 for memory of the host",
    "tpc": "pair of SMs (TPC)",
}
PARTS: dict[str, str] = {
    "aperture_device": "in the GPU's own memory",
    "aperture_peer": "in another GPU's memory",
    "aperture_sysmem": "in memory of the host",
    "bank_conflicts": "conflicts between banks",
    "cycles_active": "cycles with work",
    "cycles_elapsed": "cycles from start to end",
    "evict_first": "data marked to leave first",
    "evict_last": "data marked to stay",
    "evict_normal": "data without a mark",
    "hit_rate": "share that the cache had",
    "inst_executed": "instructions of warps",
    "inst_issued": "instructions issued, also again",
    "lookup_hit": "that the cache had",
    "lookup_miss": "that the cache did not have",
    "mem_dshared": "shared memory of another block in the cluster",
    "mem_global": "global memory",
    "mem_lg": "local and global memory",
    "mem_local": "local memory",
    "mem_shared": "shared memory",
    "mem_surface": "surfaces",
    "mem_texture": "textures",
    "op_atom": "atomics with a result",
    "op_ld": "loads",
    "op_ldgsts": "asynchronous copies (cp.async)",
    "op_membar": "fences",
    "op_read": "reads",
    "op_red": "atomics without a result",
    "op_st": "stores",
    "op_tma_ld": "TMA loads",
    "op_tma_st": "TMA stores",
    "op_write": "writes",
    "pipe_lsu": "through the load-store unit",
    "pipe_tex": "through the texture unit",
    "pred_on": "threads that no predicate switched off",
    "realtime": "sampled while the kernel runs",
    "requests": "requests, one a warp's instruction",
    "sass": "counted by patching the kernel",
    "sectors": "sectors of 32 bytes",
    "srcunit_gcc": "asked for by the constant cache",
    "srcunit_ltcfabric": "asked for by the other half of L2",
    "srcunit_tex": "asked for by L1",
    "throughput": "busiest of several counters, in percent of its peak",
    "warps_active": "warps on the unit",
    "wavefronts": "passes through a unit",
}


def read_name(base: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a base name that are known, as ``(part, meaning)``, the unit first."""
    unit, _, rest = base.rpartition(".")[2].partition("__")
    if unit in UNITS and rest:
        yield unit, UNITS[unit]
    padded = f"_{rest}_"
    found = [part for part in PARTS if f"_{part}_" in padded]
    longest = [part for part in found if not any(part != other and f"_{part}_" in f"_{other}_" for other in found)]
    yield from ((part, PARTS[part]) for part in sorted(longest, key=lambda part: padded.index(f"_{part}_")))
