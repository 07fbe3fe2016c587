"""Hold the change points of `trend` against made-up histories of recorded noise.

python benchmarks/trend_rates.py [--histories 200] [--seed 1]

A history is of one kernel of the recorded archive: a run is its samples, drawn anew in blocks and moved to the time
that they should have, times what runs of one code differ by: of one GPU by the medians of a kernel in 20 benches
(benchmarks/results/bench_verdicts_h200.json), of several GPUs by the medians of the same device copy in benches of
other days that the archive holds. Prints the noise, and of each kind: false alarms in 1,000 runs, how often a step of
1 % is found, by the number of runs since, and how often a creep of 0.3 % a run. A history is looked at after each run,
as by somebody who asks every day; an alarm is a change that the run before did not have.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from ncu_assist.store import Store
from ncu_assist.verdict.levels import Levels, error_of, levels_of

ROOT = Path(__file__).resolve().parents[1]
BENCHES = ROOT / "benchmarks" / "results" / "bench_verdicts_h200.json"
STEP, CREEP = 0.01, 0.003
LONGEST = 60  # runs of a history without a change
BEFORE = (10, 20, 40)  # runs before a change
AFTER = 10
BLOCK = 10  # samples that stay together
SAMPLE_SETS = 40  # of the archive
UNSTEADY = 0.01
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Noise:
    """What runs of one code differ by: ``between`` runs, and the samples ``within`` one, relative to their median."""

    between: Array
    within: Sequence[Array] = field(repr=False)

    def kernel(self, rng: np.random.Generator) -> Array:
        """Return the samples of a kernel, which its runs draw from."""
        return self.within[rng.integers(len(self.within))]

    def run(self, recorded: Array, rng: np.random.Generator) -> tuple[float, float]:
        """Return the median of a run whose time should be 1, and its error as `trend` takes it."""
        starts = rng.integers(0, len(recorded) - BLOCK, -(-len(recorded) // BLOCK))
        drawn = np.concatenate([recorded[start : start + BLOCK] for start in starts])
        moved = float(np.median(drawn)) * (1 + rng.choice([-1, 1]) * rng.choice(self.between))
        return moved, error_of(drawn)

    def steady(self, rng: np.random.Generator) -> Noise:
        """Return the noise without the kernels whose own medians stray by so much that no step of 1 % shows."""
        kept = [own for own in self.within if np.std([self.run(own, rng)[0] for _ in range(50)]) < UNSTEADY]
        return Noise(self.between, kept)


def one_gpu() -> Array:
    """Return how far the medians of a version lie from their mean over benches of one machine."""
    groups: dict[str, list[list[float]]] = defaultdict(list)
    for bench in json.loads(BENCHES.read_text()):
        groups[bench["company"]].append(bench["cycles"]["medians"])
    return np.concatenate([_strays(np.array(medians)[:, side]) for medians in groups.values() for side in (0, 1)])


def several_gpus(reports: Path) -> Array:
    """Return how far copies of as many bytes lie from each other's mean over benches of other days and machines."""
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for stored in Store(reports).runs():
        run = stored.run
        for timing in run.bench.timings if run.bench else ():
            facts = run.workload(timing.workload)
            if timing.copy_ns and facts and facts.algorithmic_bytes and run.bench and run.bench.flush == "read":
                found[facts.algorithmic_bytes][f"{run.kernel} {run.created}"].append(timing.copy_ns)
    medians = [[float(np.median(own)) for own in benches.values()] for benches in found.values() if len(benches) > 1]
    return np.concatenate([_strays(np.array(some)) for some in medians])


def _strays(medians: Array) -> Array:
    logs = np.log(medians)
    return (logs - logs.mean()) * sqrt(len(logs) / (len(logs) - 1))  # the mean is made of the same values


def sample_sets(reports: Path) -> list[Array]:
    """Return samples of recorded runs over their median, of kernels long enough for a step of 1 % to be timed."""
    sets = []
    for stored in Store(reports).runs()[: 4 * SAMPLE_SETS : 4]:
        timing = stored.run.bench.timings[0] if stored.run.bench and stored.run.bench.timings else None
        if timing is None or timing.median_ns < 20_000:
            continue
        frame = stored.samples()
        own = frame[(frame["version"] == stored.run.version) & (frame["workload"] == timing.workload) & ~frame["late"]]
        sets.append(own["time_ns"].to_numpy() / timing.median_ns)
    return sets


def history(noise: Noise, shape: Sequence[float], rng: np.random.Generator) -> Iterator[Levels]:
    """Yield what is found after each run of a history whose times should be as ``shape``."""
    times, errors, kernel = [], [], noise.kernel(rng)
    for wanted in shape:
        time, error = noise.run(kernel, rng)
        times.append(time * wanted)
        errors.append(error)
        yield levels_of(times, errors)


def alarms(found: Levels) -> int:
    """Return how many changes there are."""
    return len(found.levels) - 1 + sum(level.slope != 0 for level in found.levels)


def false_alarms(noise: Noise, histories: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return the number of alarms over histories in which nothing changed, and of runs."""
    count = 0
    for _ in range(histories):
        counts = [alarms(found) for found in history(noise, [1.0] * LONGEST, rng)]
        count += sum(max(0, after - before) for before, after in pairwise(counts))
    return count, histories * LONGEST


def found_after(noise: Noise, shape: Sequence[float], before: int, histories: int, rng: np.random.Generator) -> Array:
    """Return in which part of histories a change that begins after ``before`` runs is found, by runs since."""
    found = np.zeros(len(shape) - before + 1)
    for _ in range(histories):
        counts = [alarms(one) for one in history(noise, shape, rng)]
        since = next((n for n in range(1, len(found)) if counts[before + n - 1] > 0), len(found))
        found[since:] += 1
    return found / histories


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Print all rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, within = np.random.default_rng(arguments.seed), sample_sets(ROOT / "reports")
    for name, between in (("one GPU", one_gpu()), ("several GPUs", several_gpus(ROOT / "reports"))):
        noise = Noise(between, within)
        say(f"{name}: runs differ by {100 * between.std():.2f} %, {len(between)} values")
        count, runs = false_alarms(noise, arguments.histories, rng)
        say(f"  false alarms: {count} in {runs} runs, {1000 * count / runs:.2f} in 1,000")
        noise = noise.steady(rng)
        say(f"  of {len(within)} kernels {len(noise.within)} have medians that stray by less than 1 %; of those:")
        for before in BEFORE:
            shape = [1.0] * before + [1 + STEP] * AFTER
            rates = found_after(noise, shape, before, arguments.histories, rng)
            say(f"  step of 1 % after {before} runs, found within 3 to 7: {_words(rates[3:8])}")
        for before in (0, *BEFORE[:2]):
            shape = [1.0] * before + [(1 + CREEP) ** n for n in range(1, AFTER + 1)]
            rates = found_after(noise, shape, before, arguments.histories, rng)
            say(f"  creep of 0.3 % a run after {before} runs, found by run 5 to 10: {_words(rates[5:])}")
    return 0


def _words(rates: Array) -> str:
    return ", ".join(f"{100 * rate:.0f} %" for rate in rates)


if __name__ == "__main__":
    sys.exit(main())
