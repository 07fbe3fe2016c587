"""Compare code with itself on a GPU: no pair may come out faster or slower.

python benchmarks/same_code.py OUT [--pairs 100] [--rounds 100] [--device cuda|cpu]

Half of the pairs are one built version twice on the same buffers, half two separately built copies of one source, each
with its own buffers. They are spread over fresh processes, and buffers lie elsewhere in every pair. Writes a Parquet
file a kernel (judge_samples.py reads it) and same_code.json. Exit code 3 when a pair came out faster or slower.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
from judge_samples import Judged, judge, table, tally
from sampling import (
    COPY_NUMBER,
    Job,
    Subject,
    build,
    conditions,
    copy_kernel,
    joined,
    say,
    write_samples,
)
from sampling_script import Script, options, run

from ncu_assist.harness.events import COPY, EMPTY

if TYPE_CHECKING:
    from sampling_worker import Loaded, Runs

    from ncu_assist.harness.stopwatch import Stopwatch

ROOT = Path(__file__).resolve().parents[1]
LADDER, SMALL = ROOT / "kernels" / "lightning_decode", ROOT / "benchmarks" / "kernel_folders" / "small_scale"
CASES = {  # kernel folder, versions, workload
    "cuda": ((LADDER, ("v2", "v6", "v7"), "b64_d96"), (SMALL, ("v1",), "n16k")),
    "cpu": ((LADDER, ("v0",), "b1_d96"), (SMALL, ("v0",), "n16k")),
}
SAME, OWN = "same-buffers", "own-buffers"
SUFFIX = " (again)"  # sorts after the version itself, which is the baseline


def main() -> int:
    """Sample all pairs, write the files, print the counts, and return the exit code."""
    parser = options(__doc__, "same_code")
    parser.add_argument("--pairs", type=int, default=100, help="of all kernels together")
    return run(Script(__file__, subjects, jobs, arrange, finish), parser.parse_args())


def jobs(job: Job, arguments: argparse.Namespace) -> list[Job]:
    """Return a job a process."""
    return split(job, arguments.pairs, arguments.processes)


def subjects(device: str, work: Path) -> list[Subject]:
    """Return every version built twice from two copies of its source."""
    found = []
    for source, versions, workload in CASES[device]:
        folder = copy_kernel(source, work, doubled=versions)
        twins = {version: f"v{int(version[1:]) + COPY_NUMBER}" for version in versions}
        built = build(folder, [*twins, *twins.values()], work)
        for version, twin in twins.items():
            name = f"{folder.name}_{version}"
            found.append(Subject(name, str(folder), (workload,), (built[version], built[twin])))
    return found


def split(job: Job, pairs: int, processes: int) -> list[Job]:
    """Return a job a process; each has neighbouring numbers, so that both kinds are in all of them."""
    each = max(1, pairs // len(job.subjects))
    chunks = [tuple(n for n in range(each) if n * processes // each == index) for index in range(processes)]
    filled = [chunk for chunk in chunks if chunk]
    return [replace(job, index=index, numbers=chunk, check=index == 0) for index, chunk in enumerate(filled)]


def arrange(loaded: Loaded, number: int, numbers: random.Random, stopwatch: Stopwatch) -> tuple[str, Runs]:
    """Return what a round consists of: the version twice, an empty call, a copy. Even numbers share the buffers."""
    from sampling_worker import ballast

    from ncu_assist.harness import bench

    problem, version, seed = loaded.problems[0], loaded.subject.artifacts[0].version, numbers.randrange(2**31)
    names = (version, version + SUFFIX)
    if number % 2 == 0:
        return SAME, bench.round_calls(dict.fromkeys(names, loaded.calls[0]), problem, seed, stopwatch)
    sides = list(zip(names, loaded.calls, strict=True))
    numbers.shuffle(sides)  # either may get the memory that is allocated first
    first = bench.round_calls(dict(sides[:1]), problem, seed, stopwatch)
    held = ballast(numbers, problem.device)
    second = bench.round_calls(dict(sides[1:]), problem, seed, stopwatch)
    del held
    return OWN, second | first


def finish(job: Job, out: Path, started: float) -> int:
    """Write samples and counts, and return 3 if a pair came out faster or slower, 1 if samples are missing."""
    kernels: dict[str, Any] = {}
    cried = 0
    for subject in job.subjects:
        samples = joined(Path(job.out), [subject.name])
        if samples is None:
            continue  # the failures say why
        write_samples(samples, out / f"same_code_{subject.name}.parquet")
        judged = judge(samples.to_pandas())
        say(table(judged))
        kernels[subject.name] = summary(samples, judged)
        cried += sum(one.verdict.verdict in ("faster", "slower") for one in judged)
    document = conditions(job, started) | {"pairs_faster_or_slower": cried, "kernels": kernels}
    (out / "same_code.json").write_text(json.dumps(document, indent=1) + "\n")
    say(f"faster or slower: {cried} of {sum(k['pairs'] for k in kernels.values())} pairs, {document['seconds']} s")
    return 3 if cried else 1 if document["failures"] else 0


def summary(samples: pyarrow.Table, judged: list[Judged]) -> dict[str, Any]:
    """Return the figures of one kernel: medians, counts by kind, and the pairs that came out faster or slower."""
    frame = samples.to_pandas()
    medians = (frame[~frame["late"]].groupby("version")["time_ns"].median() / 1e3).to_dict()
    wrong = [one for one in judged if one.verdict.verdict in ("faster", "slower")]
    return {
        "workload": judged[0].workload,
        "median_us": {name: round(us, 3) for name, us in medians.items()},
        "pairs": len(judged),
        "late": int(frame["late"].sum()),
        "samples": int((~frame["version"].isin([EMPTY, COPY])).sum()),
        "verdicts": {kind: dict(counts) for (_, _, kind), counts in tally(judged).items()},
        "speedup_least_most": _ends([one.verdict.speedup for one in judged if one.verdict.speedup is not None]),
        "faster_or_slower": [
            [one.kind, one.pair, one.verdict.verdict, one.verdict.speedup, one.verdict.low, one.verdict.high]
            for one in wrong
        ],
    }


def _ends(values: list[float]) -> list[float]:
    return [min(values), max(values)] if values else []


if __name__ == "__main__":
    sys.exit(main())
