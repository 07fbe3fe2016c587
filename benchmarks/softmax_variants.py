"""Variants of softmax: a project with v8, and with v8 whose first arrival at the cluster's barrier is relaxed.

usage: python benchmarks/softmax_variants.py FOLDER         (from the project's root)

`ncu-assist bench softmax --workload all` in FOLDER interleaves them in one bench. Before the first arrival nothing is
written that another block reads, and yet it has release semantics unless told otherwise: a fence before all loads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from variants import changed, source, write_project

KERNEL = "softmax"
IDEA = "row_in_cluster"  # v8
HEADERS = ("cluster.cuh", "held.cuh", "short_rows.cuh", "spread.cuh", "statistics.cuh")
FIRST = r"(void begin\(int\) \{ )arrive_in_cluster"


def _versions() -> Iterator[tuple[str, str]]:
    code = source(KERNEL, IDEA)
    yield IDEA, code
    yield "first_arrival_relaxed", changed(FIRST, r"\1arrive_without_fence", code)


if __name__ == "__main__":
    write_project(Path(sys.argv[1]), KERNEL, _versions(), HEADERS)
