"""Variants of layernorm_dropout_residual: a project with v10; with v10 that converts each x as soon as it is loaded, or
all of them behind all loads; and with smaller, larger and more blocks for rows of 4096 columns.

usage: python benchmarks/layernorm_variants.py FOLDER       (from the project's root)

`ncu-assist bench layernorm_dropout_residual --workload all` in FOLDER interleaves them in one bench. v10 converts
behind all loads only where an access is one element.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from variants import KERNELS, changed, source, write_project

KERNEL = "layernorm_dropout_residual"
IDEA = "shape_by_size"  # v10
HEADERS = ("calling.cuh", "drawn.cuh", "dropout.cuh", "elements.cuh", "shared_calls.cuh", "sums.cuh")
INLINED = ("cluster.cuh", "statistics.cuh")  # v10's alone, each with the next in it
BLOCKS = r"by_block<T, Raw, 256, 16>\(call\)"
BOUNDS = r"(bool FULL>\n__global__ void __launch_bounds__\(BLOCK)\)"
BEHIND = r"(constexpr bool BEHIND = )SIZE<T, Raw> == 1;"


def _versions() -> Iterator[tuple[str, str]]:
    code = source(KERNEL, IDEA)
    for name in INLINED:
        text = (KERNELS / KERNEL / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
        code = code.replace(f'#include "{name}"\n', text)
    yield IDEA, code
    yield "converted_at_once", changed(BEHIND, r"\1false;", code)
    yield "converted_behind", changed(BEHIND, r"\1true;", code)
    yield "blocks_of_128", changed(BLOCKS, "by_block<T, Raw, 128, 32>(call)", code)
    yield "blocks_of_512", changed(BLOCKS, "by_block<T, Raw, 512, 8>(call)", code)
    yield "five_blocks", changed(BOUNDS, r"\1, VALUES == 16 ? 5 : 1)", code)  # of 256, where four fit


if __name__ == "__main__":
    write_project(Path(sys.argv[1]), KERNEL, _versions(), HEADERS)
