"""What the parts of ncu's names stand for, so that a name outside the catalogue can be read too."""

from __future__ import annotations

from collections.abc import Iterator

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
