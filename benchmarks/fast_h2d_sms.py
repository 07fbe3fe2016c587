"""How few SMs fill the link: a project with a version a grid of v6's code, a number of SMs and slots of v10's, of SMs
and tokens a warp of v11's.

usage: python benchmarks/fast_h2d_sms.py FOLDER            (from the project's root)
       python benchmarks/fast_h2d_sms.py --points BENCH.json

`ncu-assist bench fast_h2d --workload t256k --json` in FOLDER interleaves them in one bench; `--points` prints what of
it is kept. Pieces are v10 with each token fetched in two copies, to the next line of 128 bytes and from there: whether
bulk copies ask for whole lines by themselves. In phase are v10's slots that start where their token starts in a line,
so that a copy is cut at lines of the host and of shared memory at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from variants import changed, source, with_constants, write_project

KERNEL = "fast_h2d"
GRIDS = ((1, 1024), (2, 1024), (4, 1024), (8, 1024), (32, 256))  # blocks, threads
RINGS = (*((sms, 2, 160) for sms in (1, 2, 3, 4, 5, 6, 8, 12, 16)), (1, 2, 32), (8, 2, 64))  # SMs, slots, threads
IN_PIECES = ((1, 2, 160), (8, 2, 160))
AT_ONCE = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 3), (4, 2), (4, 3), (8, 1), (8, 2))  # SMs, tokens a warp
RING = ("BLOCKS", "SLOTS", "MOST_THREADS")
GRID_IN = r"long long grid,\s+long long block, cudaStream_t stream\) \{"
PHASES = ((2, 2, 160), (8, 2, 160))
ROOM = """
constexpr int LINE = 128;
__host__ __device__ inline long long room_of(long long width) { return (width + LINE - 1) / LINE * LINE + LINE; }
__device__ inline unsigned phase_of(const unsigned char* at) { return reinterpret_cast<size_t>(at) % LINE; }
"""
IN_PHASE = (
    (r"constexpr int BLOCKS", f"{ROOM}constexpr int BLOCKS", 1),
    (r"(unsigned char\* slots = .*?)SLOTS \* width;", r"\1SLOTS * room_of(width);\n    unsigned phase[SLOTS] = {};", 1),
    (
        r"fetch\(slots \+ s \* width, table \+ (.*?) \* width,",
        r"phase[s] = phase_of(table + \1 * width), fetch(slots + s * room_of(width) + phase[s], table + \1 * width,",
        2,
    ),
    (r"slots \+ s \* width, width\);", "slots + s * room_of(width) + phase[s], width);", 1),
    (r"SLOTS \* \(width \+ static_cast", "SLOTS * (room_of(width) + static_cast", 1),
)
PIECES = """
__device__ inline void copy_in(void* shared, const void* global, unsigned bytes, unsigned long long* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     in_shared(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(in_shared(barrier))
                 : "memory");
}
__device__ inline void fetch_pieces(unsigned char* shared, const unsigned char* global, unsigned bytes,
                                    unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes)
                 : "memory");
    const unsigned ahead = min(bytes, static_cast<unsigned>(-reinterpret_cast<size_t>(global) % 128));
    if (ahead) copy_in(shared, global, ahead, barrier);
    if (bytes > ahead) copy_in(shared + ahead, global + ahead, bytes - ahead, barrier);
}
"""


def points(bench: Path) -> str:
    """Return the medians of a bench of such a project, as JSON."""
    versions = json.loads(bench.read_text(encoding="utf-8"))["versions"]
    (workload,) = {one["name"] for version in versions for one in version["workloads"]}
    first = versions[0]["workloads"][0]
    kept = {
        "gpu": versions[0]["device"]["name"],
        "kernel": versions[0]["kernel"],
        "workload": workload,
        "samples": first["timing"]["samples"],
        "copy_engine_us": round(first["timing"]["link_ns"] / 1e3, 1),
        "points": [_point(version) for version in versions],
    }
    return json.dumps(kept, indent=1) + "\n"


def _point(version: dict[str, Any]) -> dict[str, Any]:
    (one,) = version["workloads"]
    median_ns = one["timing"]["median_ns"]
    code = version["version"].partition("_")[2]
    rate = round(one["host_bytes"] / median_ns, 2)
    return {"code": code, "median_us": round(median_ns / 1e3, 1), "gigabytes_per_second": rate}


def _versions() -> Iterator[tuple[str, str]]:
    lines, bulk, at_once = (source(KERNEL, idea) for idea in ("line_aligned", "bulk_copies", "tokens_at_once"))
    for grid, block in GRIDS:
        fixed = f"long long, long long, cudaStream_t stream) {{\n    const long long grid = {grid}, block = {block};"
        yield f"lines_{grid}x{block}", changed(GRID_IN, fixed, lines)
    for ring in RINGS:
        yield f"bulk_{_name(ring)}", _with_ring(bulk, ring)
    pieces = changed(r"\bfetch\(", "fetch_pieces(", bulk, 2)
    pieces = pieces.replace("constexpr int BLOCKS", f"{PIECES}constexpr int BLOCKS")
    for ring in IN_PIECES:
        yield f"pieces_{_name(ring)}", _with_ring(pieces, ring)
    phased = bulk
    for pattern, text, times in IN_PHASE:
        phased = changed(pattern, text, phased, times)
    for ring in PHASES:
        yield f"in_phase_{_name(ring)}", _with_ring(phased, ring)
    for sms, tokens in AT_ONCE:
        yield f"at_once_{sms}sm_{tokens}", with_constants(at_once, {"BLOCKS": sms, "TOKENS": tokens})


def _name(ring: tuple[int, int, int]) -> str:
    return f"{ring[0]}sm_{ring[2]}x{ring[1]}"


def _with_ring(code: str, ring: tuple[int, int, int]) -> str:
    return with_constants(code, dict(zip(RING, ring, strict=True)))


if __name__ == "__main__":
    if sys.argv[1] == "--points":
        sys.stdout.write(points(Path(sys.argv[2])))
    else:
        write_project(Path(sys.argv[1]), KERNEL, _versions(), ("bulk_copy.cuh",), "rounds = 40\n")
