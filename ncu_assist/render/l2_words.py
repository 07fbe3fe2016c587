"""Why no bandwidth is said of a workload whose data lies in L2: its bytes over its time are no rate of DRAM."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.analysis.run_view import WorkloadRow
from ncu_assist.analysis.yardstick import TENSOR, measure_of
from ncu_assist.quantity import quantity

IN_L2 = {"all": "in L2", "written": "writes in L2"}  # in the place of a rate
NO_RATE = "so bytes over time are no rate of DRAM"
WHAT = {"all": "all that is moved", "written": "what is written"}
COPY_TOO = "fits in L2, the copy's too"


def l2_words(row: WorkloadRow | None) -> str:
    """Return what of a workload fits in L2, in a sentence; empty for one that does not."""
    if row is None or row.in_l2 is None or row.l2_bytes is None:
        return ""
    facts, size = row.workload, quantity(row.l2_bytes, "byte")
    if row.in_l2 == "all":
        return f"all {quantity(facts.algorithmic_bytes or 0, 'byte')} fit in L2 ({size}), {NO_RATE}"
    return f"the {quantity(facts.written_bytes or 0, 'byte')} written fit in L2 ({size}) and may stay there, {NO_RATE}"


def copy_words(kept: str | None) -> str:
    """Return what a share of copy of a workload is of, where its data lies in L2; empty where DRAM moves it."""
    return f"{WHAT[kept]} {COPY_TOO}" if kept else ""


def no_rates(rows: Sequence[WorkloadRow]) -> list[str]:
    """Return a line for each remark that a table has in the place of a rate; none where its rates are of operations."""
    found: dict[str, list[WorkloadRow]] = {}
    for row in rows:
        if row.in_l2 is not None and measure_of(rows) is not TENSOR:
            found.setdefault(row.in_l2, []).append(row)
    return [
        f"{IN_L2[kind]}: {WHAT[kind]} fits there ({quantity(some[0].l2_bytes or 0, 'byte')}), {NO_RATE}"
        for kind, some in found.items()
    ]
