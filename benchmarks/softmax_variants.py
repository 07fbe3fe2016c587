"""Variants of softmax: a project with v8, and with v8 whose first arrival at the cluster's barrier is relaxed.

usage: python benchmarks/softmax_variants.py FOLDER         (from the project's root)

`ncu-assist bench softmax --workload c64k` in FOLDER interleaves them in one bench. Before the first arrival nothing is
written that another block reads, and yet it has release semantics unless told otherwise: a fence before all loads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from variants import KERNELS, changed, source, write_project

KERNEL = "softmax"
IDEA = "row_in_cluster"  # v8
HEADERS = ("held.cuh", "statistics.cuh")
OWN = "cluster.cuh"  # of v8 alone: it stands in the source
FIRST = r"(__shared__ Statistics parts\[MOST_BLOCKS \* WARPS\];\n    )arrive_in_cluster\(\);"
RELAXED = r'\1asm volatile("barrier.cluster.arrive.relaxed.aligned;");'


def _versions() -> Iterator[tuple[str, str]]:
    own = (KERNELS / KERNEL / OWN).read_text(encoding="utf-8").replace("#pragma once\n", "")
    code = source(KERNEL, IDEA).replace(f'#include "{OWN}"\n', own)
    yield IDEA, code
    yield "first_arrival_relaxed", changed(FIRST, RELAXED, code, 2)


if __name__ == "__main__":
    write_project(Path(sys.argv[1]), KERNEL, _versions(), HEADERS)
