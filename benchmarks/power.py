"""How small a slow-down the verdict finds: kernels with 1, 2 and 5 % more work against themselves; needs a GPU.

python benchmarks/power.py OUT [--benches 100] [--rounds 100] [--truth-rounds 10000] [--device cuda|cpu]

scale_shift is bound by DRAM and gets more blocks with the same traffic each; polynomial is bound by the FMA pipe and
gets longer loops. A long bench of its own fixes what a slow-down truly is, then the short benches give their verdicts.
Writes power.parquet (all samples), power_first20.parquet (for tests) and power.json. Exit code 3 when 2 % more work was
found in fewer than 95 of 100 benches of a kernel.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from judge_samples import Judged, judge, table
from sampling import Job, Subject, build, conditions, copy_kernel, joined, say, write_samples
from sampling_script import Script, options, run

if TYPE_CHECKING:
    import random

    from sampling_worker import Loaded, Runs

    from ncu_assist.harness.stopwatch import Stopwatch

FOLDERS = Path(__file__).resolve().parent / "kernel_folders"
KERNELS = ("scale_shift", "polynomial")
WORK = ("plus_0", "plus_1", "plus_2", "plus_5")
TRUTH, BENCH = "truth", "bench"
THINNED_TO = 20  # benches
ASKED, LEAST_FOUND = "plus_2", 0.95


def main() -> int:
    """Sample, write the files, print the counts, and return the exit code."""
    parser = options(__doc__, "power")
    parser.add_argument("--benches", "--pairs", type=int, default=100)
    parser.add_argument("--truth-rounds", type=int, default=10_000)
    return run(Script(__file__, subjects, jobs, arrange, finish), parser.parse_args())


def jobs(job: Job, arguments: argparse.Namespace) -> list[Job]:
    """Return the job of the long bench, then those of the short ones."""
    long = replace(job.settings, rounds=arguments.truth_rounds)
    truth = replace(job, numbers=(0,), kind=TRUTH, settings=long, check=True)
    return [truth, *split(job, arguments.benches, arguments.processes)]


def subjects(device: str, work: Path) -> list[Subject]:
    """Return one version of each kernel with workloads that differ only in how much work there is."""
    version, prefix = ("v1", "") if device == "cuda" else ("v0", "tiny_")
    found = []
    for name in KERNELS:
        folder = copy_kernel(FOLDERS / name, work)
        built = build(folder, [version], work)
        found.append(Subject(name, str(folder), tuple(prefix + work for work in WORK), (built[version],)))
    return found


def split(job: Job, benches: int, processes: int) -> list[Job]:
    """Return a job a process; 0 is the index of the long bench."""
    chunks = [tuple(range(benches))[index::processes] for index in range(min(processes, benches))]
    return [replace(job, index=1 + index, numbers=chunk, kind=BENCH) for index, chunk in enumerate(chunks)]


def arrange(loaded: Loaded, number: int, numbers: random.Random, stopwatch: Stopwatch) -> tuple[str, Runs]:
    """Return what a round consists of: the call on each workload, all on the buffers of the largest one."""
    seed, largest = numbers.randrange(2**31), loaded.problems[-1]
    buffers = (*largest.inputs(seed), *largest.outputs())
    runs: Runs = {}
    for problem in loaded.problems:
        wanted = (*problem.inputs(seed), *problem.outputs())
        views = tuple(buffer[: tensor.shape[0]] for buffer, tensor in zip(buffers, wanted, strict=True))
        count, integers = len(problem.kernel.inputs), problem.workload.integers
        runs[problem.workload.name] = partial(loaded.calls[0], views[:count], views[count:], integers)
    return "", runs


def finish(job: Job, out: Path, started: float) -> int:
    """Write samples and shares; return 3 if too few slow-downs of 2 % were found, 1 if samples are missing."""
    samples = joined(Path(job.out), KERNELS)
    if samples is None:
        raise SystemExit(f"no samples: {conditions(job, started)['failures']}")
    write_samples(samples, out / "power.parquet")
    first = pc.and_(pc.less(samples["pair"], THINNED_TO), pc.equal(samples["kind"], BENCH))
    write_samples(samples.filter(first), out / f"power_first{THINNED_TO}.parquet")
    frame = samples.to_pandas()
    judged = judge(frame)
    say(table(judged))
    medians = frame[~frame["late"]].groupby(["workload", "version"])["time_ns"].median()
    kernels: dict[str, Any] = {
        kernel: {
            "median_us": {name: round(ns / 1e3, 3) for name, ns in medians[kernel].items()},
            "late": int(frame.loc[frame["workload"] == kernel, "late"].sum()),
            "slow_downs": shares([one for one in judged if one.workload == kernel]),
        }
        for kernel in medians.index.get_level_values(0).unique()
    }
    document = conditions(job, started) | {"kernels": kernels}
    (out / "power.json").write_text(json.dumps(document, indent=1) + "\n")
    found = [s["found"] for k in kernels.values() for name, s in k["slow_downs"].items() if name.endswith(ASKED)]
    say(f"{ASKED} found: {found}, {document['seconds']} s")
    missing = document["failures"] or len(found) < len(KERNELS)
    return 3 if any(share < LEAST_FOUND for share in found) else 1 if missing else 0


def shares(judged: list[Judged]) -> dict[str, Any]:
    """Return by candidate: the true slow-down with its 99 % interval, the words found, how many intervals hold it."""
    document: dict[str, Any] = {}
    for truth in (one.verdict for one in judged if one.kind == TRUTH):
        name = next(one.candidate for one in judged if one.verdict is truth)
        benches = [one.verdict for one in judged if one.kind == BENCH and one.candidate == name]
        words = [verdict.verdict for verdict in benches]
        document[name] = {
            "true_slow_down": _slow_down(truth.speedup),
            "true_interval": [_slow_down(truth.high), _slow_down(truth.low)],
            "true_pairs": truth.pairs,
            "benches": len(benches),
            "words": {word: words.count(word) for word in sorted(set(words))},
            "found": words.count("slower") / len(words) if words else 0.0,
            "intervals_with_truth": sum(_holds(verdict.low, verdict.high, truth.speedup) for verdict in benches),
        }
    return document


def _slow_down(speedup: float | None) -> float | None:
    return None if speedup is None else 1 / speedup - 1


def _holds(low: float | None, high: float | None, value: float | None) -> bool:
    return None not in (low, high, value) and low <= value <= high  # type: ignore[operator]


if __name__ == "__main__":
    sys.exit(main())
