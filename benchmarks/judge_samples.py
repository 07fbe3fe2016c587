"""Judge recorded samples with the rule of today; needs no GPU.

python benchmarks/judge_samples.py FILE.parquet [...]

A file is one that same_code.py or power.py wrote: samples as the bench takes them, with the columns pair and kind.
Within a pair the version that sorts first is the baseline.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pandas as pd

from ncu_assist.harness.events import COPY, EMPTY
from ncu_assist.verdict import Verdict, compare

WORDS = ("faster", "slower", "same", "unclear")


@dataclass(frozen=True)
class Judged:
    """The verdict of one pair. ``pair`` is its number among those of its workload and kind."""

    workload: str
    kind: str
    baseline: str
    candidate: str
    pair: int
    verdict: Verdict

    @property
    def group(self) -> tuple[str, str, str]:
        return self.workload, self.candidate, self.kind


def main() -> int:
    """Print a table a file and return 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    for file in parser.parse_args().files:
        sys.stdout.write(f"{file.name}\n{table(judge(pd.read_parquet(file)))}\n")
    return 0


def judge(samples: pd.DataFrame) -> list[Judged]:
    """Return the verdicts over samples (columns of ``bench.SCHEMA`` and pair, kind), in the order of the pairs."""
    versions = samples[~samples["version"].isin([EMPTY, COPY])]
    judged: list[Judged] = []
    for (workload, kind, pair), frame in versions.groupby(["workload", "kind", "pair"], observed=True):
        by_version = dict(tuple(frame.groupby("version", observed=True)))
        baseline, *candidates = sorted(by_version)
        for candidate in candidates:
            verdict = compare(by_version[baseline], by_version[candidate])
            judged.append(Judged(str(workload), str(kind), baseline, candidate, int(pair), verdict))
    return judged


def tally(judged: Iterable[Judged]) -> dict[tuple[str, str, str], Counter[str]]:
    """Return how often each word fell, by (workload, candidate, kind)."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for one in judged:
        counts.setdefault(one.group, Counter())[one.verdict.verdict] += 1
    return counts


def table(judged: Sequence[Judged]) -> str:
    """Return the counts as text, and how far the speed-ups (baseline over candidate) lie from each other."""
    head = "".join(f"{word:>8}" for word in WORDS)
    lines = [f"{'workload':12} {'candidate':32} {'kind':13} {'pairs':>5}{head}  speed-up: least, median, most"]
    for group, counts in tally(judged).items():
        ratios = sorted(j.verdict.speedup for j in judged if j.group == group and j.verdict.speedup is not None)
        spread = f"  {ratios[0]:.4f} {median(ratios):.4f} {ratios[-1]:.4f}" if ratios else ""
        words = "".join(f"{counts[word]:8}" for word in WORDS)
        lines.append(f"{group[0]:12} {group[1]:32} {group[2]:13} {counts.total():5}{words}{spread}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
