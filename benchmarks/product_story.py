"""Tell the product of floats in five steps of tiling: floor, distance, what is said first, what the repair achieved.

usage: python benchmarks/product_story.py

Prints a Markdown table from the reports and times of the gallery's chip part. The floor is the multiply-adds at the
rate that a loop of nothing else reached on such a GPU; what a step achieved is by the step that repairs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from gallery_scores import CHIP_REPORTS, Judged, judged
from table import pairs

from ncu_assist.quantity import duration

STEPS = ("product_naive", "product_tile_16", "product_tile_32", "product_register_4", "product_register_8")
LANES, OF_AN_FMA = 32, 2
COLUMNS = "step | time | floor / time | said first | how far more reuse carries | estimated | achieved"
HEAD = f"| {COLUMNS} |\n|---|--:|--:|---|---|--:|--:|"


def main() -> None:
    sys.stdout.write("\n".join((HEAD, *rows())) + "\n")


def rows() -> Iterator[str]:
    """Yield a row a step."""
    found = {one.case.name: one for one in judged(folder=CHIP_REPORTS, parts=("chip",)) if one.case.name in STEPS}
    times = {row["name"]: row["median_us"] for row in json.loads((CHIP_REPORTS / "times_chip.json").read_text())}
    repairs = {fault: fix for fault, fix in pairs("chip") if fault in STEPS and fix in STEPS}
    for name in STEPS:
        first = found[name].diagnosis.first
        assert first is not None
        fix = repairs.get(name)
        achieved = f"{times[name] / times[fix]:.2f}x ({fix.removeprefix('product_')})" if fix else ""
        said = first.finding.rule + "".join(f" ({value})" for value in first.finding.detail.values())
        worth = f"{first.estimated_speedup:.2f}x" if first.severity != "info" else ""
        share = floor_us(found[name]) / times[name]
        cells = (f"`{name}`", duration(1e3 * times[name]), f"{100 * share:.0f} %", said, first.finding.figures)
        yield f"| {' | '.join((*cells, worth, achieved))} |"


def floor_us(one: Judged) -> float:
    """Return the least time of a step's multiply-adds, by the measured rate."""
    rate = one.facts.ceilings.rate("pipe", "fma", "events") if one.facts.ceilings else None
    assert rate is not None
    assert one.case.flops is not None
    return 1e6 * one.case.flops / (rate.per_second * LANES * OF_AN_FMA)


if __name__ == "__main__":
    main()
