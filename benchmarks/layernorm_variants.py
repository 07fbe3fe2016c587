"""Variants of layernorm_dropout_residual: a project with v10, and with v10 that converts x behind all of its loads: of
every access, or only where that is one element.

usage: python benchmarks/layernorm_variants.py FOLDER       (from the project's root)

`ncu-assist bench layernorm_dropout_residual --workload all` in FOLDER interleaves them in one bench. Where an access is
one element, v10 converts each bfloat16 before the branch that guards the next load, and so waits for one load after the
other: at c4093_bf16 1.70 times as long as Triton's version.
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
ZEROS = r"(?<=Raw \(&addend\)\[PACKS\]\) \{\n)#pragma unroll\n        for [^\n]+unpack\(Raw\{\}, value\[k\]\);\n"
LOADED = r"unpack\(x\[pack\(k\)\], value\[k\]\);\n(            addend\[k\] = [^\n]+\n        \}\n)"
LOADS = r"raw[k] = x[pack(k)];\n\1"
AT_ONCE = r"raw[k] = x[pack(k)];\n            if (!BEHIND) unpack(raw[k], value[k]);\n\1"
SINGLE = "        constexpr bool BEHIND = SIZE<T, Raw> == 1;\n        Raw raw[PACKS] = {};\n"
CONVERTS = "#pragma unroll\n        for (int k = 0; k < PACKS; ++k) unpack(raw[k], value[k]);\n"


def _versions() -> Iterator[tuple[str, str]]:
    code = source(KERNEL, IDEA)
    for name in INLINED:
        text = (KERNELS / KERNEL / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
        code = code.replace(f'#include "{name}"\n', text)
    yield IDEA, code
    yield "converted_behind", changed(LOADED, LOADS + CONVERTS, changed(ZEROS, "        Raw raw[PACKS] = {};\n", code))
    zeros = changed(ZEROS, SINGLE + CONVERTS.replace("unpack(raw", "if (!BEHIND) unpack(raw"), code)
    behind = CONVERTS.replace("unpack(raw", "if (BEHIND) unpack(raw")
    yield "single_behind", changed(LOADED, AT_ONCE + behind, zeros)


if __name__ == "__main__":
    write_project(Path(sys.argv[1]), KERNEL, _versions(), HEADERS)
