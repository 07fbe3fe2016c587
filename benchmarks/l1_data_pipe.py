"""Whether L1's data pipe is full at 100 % of its wavefronts, by chip: ncu's throughput of L1 over its own percentage.

    python benchmarks/l1_data_pipe.py FOLDER ...

Of the launches in which that pipe is the busiest part of L1 that was counted: compute capability, how many there are,
and the least, median and largest ratio. It is 2 where a wavefront takes two cycles. Else it is 1 or somewhat more: ncu
takes its throughput over the cycles in which L1 had work, and a part that was not counted may be busier.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from ladder_agreement import launches

from ncu_assist.ncu.catalogue.metric import CAPABILITY
from ncu_assist.ncu.catalogue.rows import L1_PARTS, ROWS

LEAST = 5.0  # percent: below it other parts, which every launch has, may lead


def main(folders: list[str]) -> int:
    found: dict[str, list[float]] = defaultdict(list)
    for values in (one for folder in folders for one in launches(Path(folder))):
        pipe, *others = (ROWS[key].value(values) for key in L1_PARTS)
        whole = ROWS["l1_cache_throughput"].value(values)
        if pipe and whole and pipe >= LEAST and all(other is None or other <= pipe for other in others):
            found[".".join(f"{values[name]:.0f}" for name in CAPABILITY)].append(whole / pipe)
    for chip, ratios in sorted(found.items()):
        sys.stdout.write(
            f"{chip:5}{len(ratios):5} launches {min(ratios):9.5f}{median(ratios):9.5f}{max(ratios):9.5f}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
