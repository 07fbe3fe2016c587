"""Print what more rounds buy, as Markdown: how wide the interval is, and the least difference that is found.

python benchmarks/rounds.py [FILE.parquet ...]

A file is one that same_code.py wrote: without one, those of tests/data. Benches of the same code, of one choice of
buffers, are joined to as many rounds as asked for, each sample used once, and judged by the rule of today. They come
from four processes, so that what differs between processes is in it. A difference is found if the interval, moved by
it, lies wholly beyond 0.5 % and beyond two ticks of the timer; the least is the one found in 19 of 20, to either side.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pandas as pd

from ncu_assist.harness.events import COPY, EMPTY
from ncu_assist.verdict.deciding import MARGIN, compare_paired
from ncu_assist.verdict.samples import resolution

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
ROUNDS = (50, 100, 200, 400, 1000)
FOUND = 0.95


def widths(samples: pd.DataFrame, rounds: int) -> Iterator[tuple[float, float, float]]:
    """Yield, for each stretch of so many rounds, half the interval's width and what it finds to either side."""
    times = samples[~samples["version"].isin([EMPTY, COPY]) & ~samples["late"]]
    for _, of_kind in times.groupby("kind", observed=True):
        table = of_kind.pivot(index=["pair", "round"], columns="version", values="time_ns").dropna().to_numpy().T
        for start in range(0, table.shape[1] - rounds + 1, rounds):
            before, after = table[:, start : start + rounds]
            verdict = compare_paired(before, after)
            assert verdict.low is not None
            assert verdict.high is not None
            low, high = math.log(verdict.low), math.log(verdict.high)
            least = max(math.log(1 + MARGIN), math.log(1 + resolution(before, after)))
            yield (high - low) / 2, math.exp(least - low) - 1, math.exp(least + high) - 1


def row(samples: pd.DataFrame, rounds: int) -> tuple[int, float, float] | None:
    """Return how many stretches there are, the median half width, and the least difference that 19 of 20 find."""
    found = list(widths(samples, rounds))
    differences = sorted(one for _, *both in found for one in both)
    if not found:
        return None
    return len(found), median(half for half, *_ in found), differences[math.ceil(FOUND * len(differences)) - 1]


def table(files: list[Path]) -> str:
    """Return a row a kernel and number of rounds: two recordings of one kernel are read as one."""
    kernels: dict[str, list[pd.DataFrame]] = {}
    for number, path in enumerate(files):
        frame = pd.read_parquet(path)
        frame["kind"] = frame["kind"].astype(str) + f" {number}"  # rounds of two recordings are not joined
        kernels.setdefault(path.stem.removeprefix("same_code_").removeprefix("again_"), []).append(frame)
    lines = ["| the same kernel twice | rounds | half of the interval | least difference found | stretches |"]
    lines.append("|---|--:|--:|--:|--:|")
    for name, frames in kernels.items():
        samples = pd.concat(frames, ignore_index=True)
        took = median(samples.loc[~samples["version"].isin([EMPTY, COPY]), "time_ns"]) / 1e3
        label = f"`{name}`, {took:.3g} µs"
        for rounds in ROUNDS:
            if (one := row(samples, rounds)) is not None:
                lines.append(f"| {label} | {rounds:,} | {one[1]:.2%} | {one[2]:.2%} | {one[0]} |".replace("%", " %"))
                label = ""
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table and return 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    sys.stdout.write(table(parser.parse_args().files or sorted(DATA.glob("same_code_*.parquet"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
