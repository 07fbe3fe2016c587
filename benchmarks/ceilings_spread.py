"""Say how far ceilings stray between two GPUs of one model: the same streams of DRAM, each on both.

    cd benchmarks/results && python ../ceilings_spread.py ceilings_h200_first.json ceilings_h200_second.json

Prints how far rates under ncu and by events differ, for streams below 1 GiB and from there on. The rules
on DRAM (ncu_assist/rules/dram.py) take what strays from here.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from ncu_assist.ceilings import Ceilings, decode

LARGE = 1 << 30
GRAIN = 0.999  # of a size: streams are cut to whole blocks


def differences(first: Ceilings, second: Ceilings, source: str) -> tuple[list[float], list[float]]:
    """Return the relative differences of rates below 1 GiB and from there on."""
    rates = {(p.name, p.bytes): p.bytes_per_second for p in first.dram if p.source == source}
    found: tuple[list[float], list[float]] = ([], [])
    for point in second.dram:
        if point.source == source and (point.name, point.bytes) in rates:
            one, other = rates[point.name, point.bytes], point.bytes_per_second
            found[point.bytes >= GRAIN * LARGE].append(abs(one - other) / min(one, other))
    return found


def _ninth(values: list[float]) -> float:
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


def main(first: Path, second: Path) -> int:
    one, other = (decode(path.read_bytes(), path.name) for path in (first, second))
    for source in ("ncu", "events"):
        small, large = differences(one, other, source)
        sys.stdout.write(
            f"{source:8} below 1 GiB: {len(small)} streams, nine in ten by at most {_ninth(small):.1%}, "
            f"at most {max(small):.1%}; from 1 GiB on: {len(large)} streams, at most {max(large):.1%}\n"
        )
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    asked = parser.parse_args()
    sys.exit(main(asked.first, asked.second))
