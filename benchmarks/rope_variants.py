"""Variants of rope: a project with v7 to v10 and, beside them, versions with one thing changed.

usage: python benchmarks/rope_variants.py FOLDER            (from the project's root)

`ncu-assist bench rope --workload all` in FOLDER interleaves them in one bench. Even tables: v7 and v9 whose lanes read
neighbours from shared memory, so without bank conflicts. Heads at a time: v8 with fewer than four.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from variants import changed, source, with_constants, write_project

KERNEL = "rope"
IDEAS = ("fixed_point_angles", "angles_for_all_heads", "cheap_angles", "two_factors")  # v7 to v10
BLOCKS = (128, 512)
HEADS_AT_A_TIME = (1, 2)
BOUNDS = (r"(__launch_bounds__\(THREADS)\)", r"\g<1>, 1)")  # the compiler's registers then are v10's
FILL = (r"\bturns\[i\] = ", "turns[i % size * half + i / size] = ")
NARROW = """
__device__ inline void unpack(const uint2& raw, float (&lane)[4]) {
    lane[0] = __uint_as_float(raw.x << 16), lane[1] = __uint_as_float(raw.x & 0xffff0000u);
    lane[2] = __uint_as_float(raw.y << 16), lane[3] = __uint_as_float(raw.y & 0xffff0000u);
}
__device__ inline void pack(const float (&lane)[4], uint2& raw) {
    raw = make_uint2(two(lane[0], lane[1]), two(lane[2], lane[3]));
}
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 2, uint2, uint4>;

// Cosine and sine of a phase"""


def _versions() -> Iterator[tuple[str, str]]:
    fixed, heads, cheap, factors = (source(KERNEL, idea) for idea in IDEAS)
    yield from zip(IDEAS, (fixed, heads, cheap, factors), strict=True)
    bounded = changed(*BOUNDS, cheap)
    yield "factors_256", with_constants(factors, {"THREADS": 256})
    for threads in BLOCKS:
        yield f"blocks_{threads}", with_constants(bounded, {"THREADS": threads})
    yield "narrow", _narrow(bounded)
    yield "polynomials", changed(r"(__nv_bfloat16\) \{\n)", r"\g<1>    return cos_sin(phase, 0.0f);\n", bounded)
    yield "hints", _with_hints(bounded)
    yield "fixed_point_even_table", _even_table(fixed, "pack", "Pack<T>::SIZE")
    yield "cheap_even_table", _even_table(cheap, r"threadIdx\.x", "SIZE")
    for count in HEADS_AT_A_TIME:
        yield f"heads_{count}_at_a_time", with_constants(heads, {"DEEP": count})


def _narrow(code: str) -> str:
    """Return the code with accesses of 64 bits in bfloat16."""
    code = changed("#include <climits>", "#include <climits>\n#include <type_traits>", code)
    code = changed(r"\n// Cosine and sine of a phase", NARROW, code)
    code = changed(r"SIZE = 16 / sizeof\(T\);", "SIZE = sizeof(Wide<T>) / sizeof(T);", code)
    code = changed(r"addresses % 16", "addresses % sizeof(Wide<T>)", code)
    return changed(r"launch<T, uint4>", "launch<T, Wide<T>>", code)


def _with_hints(code: str) -> str:
    code = changed(r" = q\[(low|high)\];", r" = __ldcs(q + \1);", code, 2)
    return changed(r"out\[(low|high)\] = (\w);", r"__stcs(out + \1, \2);", code, 2)


def _even_table(code: str, pack: str, size: str) -> str:
    """Return the code with frequency k of every pack in a row of its own."""
    code = changed(FILL[0], FILL[1].replace("size", size), code)
    return changed(rf"turns\[({pack}) \* {size} \+ k\]", r"turns[k * half + \1]", code)


if __name__ == "__main__":
    write_project(Path(sys.argv[1]), KERNEL, _versions())
