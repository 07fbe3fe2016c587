"""Variants of lightning_decode for few heads: a project with v10, and with v10 whose blocks share a head by columns.

usage: python benchmarks/lightning_decode_variants.py FOLDER     (from the project's root)

`ncu-assist bench lightning_decode --workload all` in FOLDER interleaves them in one bench. A result is a sum over rows,
so that blocks with other columns need nothing of one another; at B = 1 v10's 64 blocks leave half of the SMs idle.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from variants import changed, source, write_project

KERNEL = "lightning_decode"
IDEA = "row_groups"  # v10
FEW = 256  # heads, up to which they are shared
SHARED = ((2, 16), (4, 32), (4, 16), (2, 32), (4, 48))  # blocks a head, row groups; 48 at d = 96 only
PATTERNS = (
    (r"template <int D, int ROW_GROUPS>\n__global__", "template <int D, int ROW_GROUPS, int PARTS>\n__global__"),
    (r"__launch_bounds__\(D / 4 \* ROW_GROUPS\)", "__launch_bounds__(D / PARTS / 4 * ROW_GROUPS)"),
    (r"constexpr int COLS = D / 4;", "constexpr int ALL_COLS = D / 4, COLS = ALL_COLS / PARTS;"),
    (
        r"const long long head = blockIdx\.x;\n"
        r"    const int tid = threadIdx\.x, col = tid % COLS, group = tid / COLS;\n"
        r"    const long long first = head \* D \* COLS \+ tid;",
        "const long long head = blockIdx.x / PARTS;\n    const int part = blockIdx.x % PARTS;\n"
        "    const int tid = threadIdx.x, group = tid / COLS, own = tid % COLS, col = part * COLS + own;\n"
        "    const long long first = (head * D + group) * ALL_COLS + col;",
    ),
    (
        r"    if \(tid < D\) qk\[tid\] = make_float2\((.*?)\[head \* D \+ tid\]\), (.*?)\[head \* D \+ tid\]\)\);",
        "    for (int i = tid; i < D; i += COLS * ROW_GROUPS) {\n"
        "        qk[i] = make_float2(\\1[head * D + i]), \\2[head * D + i]));\n    }",
    ),
    (r"partial\[group\]\[col\] = sum;", "partial[group][own] = sum;"),
    (r"if \(tid < D\) \{\n", "if (tid < D / PARTS) {\n"),
    (r"out\[head \* D \+ tid\] =", "out[head * D + part * (D / PARTS) + tid] ="),
    (r"template <int D, int ROW_GROUPS>\nstatic", "template <int D, int ROW_GROUPS, int PARTS = 1>\nstatic"),
    (
        r"decode_row_groups<D, ROW_GROUPS><<<blocks, D / 4 \* ROW_GROUPS, 0",
        "decode_row_groups<D, ROW_GROUPS, PARTS><<<blocks * PARTS, D / PARTS / 4 * ROW_GROUPS, 0",
    ),
    (r"const bool many =", f"const bool few = blocks <= {FEW}, many ="),
)


def _versions() -> Iterator[tuple[str, str]]:
    code = source(KERNEL, IDEA)
    yield IDEA, code
    for parts, groups in SHARED:
        yield f"{parts}_blocks_a_head_{groups}", _shared(code, parts, groups)


def _shared(code: str, parts: int, groups: int) -> str:
    """Return v10 with blocks that share a head of few."""
    for pattern, text in PATTERNS:
        code = changed(pattern, text, code)
    code = changed(r"\(COLS \* ROW_GROUPS\)\]", "(ALL_COLS * ROW_GROUPS)]", code, 2)
    for dim, most in ((96, 48), (128, 32)):
        code = changed(
            rf"\(many \? launch<{dim}",
            f"(few ? launch<{dim}, {min(groups, most)}, {parts}> : many ? launch<{dim}",
            code,
        )
    return code


if __name__ == "__main__":
    write_project(Path(sys.argv[1]), KERNEL, _versions())
