"""Find out on a GPU why the times of two versions depend on who else is in the round.

python benchmarks/bench_company.py OUT [--kernel softmax] [--workload c4k] [--pair v5 v6] [--benches 10]

Times the pair in rounds of different company, each as the bench does it and again without letting go of the lines that
a kernel asked L2 to keep: alone, with each other version, with all, and with a read of the pair's input, once plain and
once with ``evict_last``. Then the pair's times so many calls after one that keeps lines. Rounds of all kinds are
interleaved. Writes bench_company.json: medians in µs, a list entry a repeat. ``--benches`` then runs
`ncu-assist bench` so often on the two alone and on all versions, in turn, and writes bench_verdicts.json.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from sampling import build, say
from sampling_worker import SILENT

from ncu_assist import process
from ncu_assist.backends import BACKENDS
from ncu_assist.backends.cuda import compile_library
from ncu_assist.backends.python import import_file
from ncu_assist.harness import accelerator, bench
from ncu_assist.harness.events import COPY, EMPTY
from ncu_assist.harness.problem import Problem
from ncu_assist.harness.request import DEVICE_SOURCE, HarnessRequest, HarnessSettings
from ncu_assist.harness.stopwatch import DeviceStopwatch
from ncu_assist.spec_file import read_kernel

ROOT = Path(__file__).resolve().parents[1]
CHUNK = 4096
CALLS_LATER = (0, 1, 2, 4, 8, 16)
US = 1e3
KEPT_OF_A_DIFF = ("verdict", "words", "reason", "speedup", "interval", "pairs", "cycles")
PROGRAM = (sys.executable, "-m", "ncu_assist")
Runs = dict[str, Callable[[], None]]


class WithoutUnpinning(DeviceStopwatch):
    """The stopwatch as it was: L2 is emptied by reading alone."""

    def _launch(self, name: str, *arguments: Any) -> None:
        if name != "unpin":
            super()._launch(name, *arguments)


@triton.jit
def read_kept(x_ptr, sink_ptr, size, CHUNK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * CHUNK + tl.arange(0, CHUNK)
    total = tl.sum(tl.load(x_ptr + at, mask=at < size, other=0.0, eviction_policy="evict_last"), axis=0)
    if total == 3.0e38:
        tl.store(sink_ptr, total)


@triton.jit
def read_plain(x_ptr, sink_ptr, size, CHUNK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * CHUNK + tl.arange(0, CHUNK)
    total = tl.sum(tl.load(x_ptr + at, mask=at < size, other=0.0), axis=0)
    if total == 3.0e38:
        tl.store(sink_ptr, total)


def main() -> None:
    """Take all samples, print the medians and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kernel", default="softmax")
    parser.add_argument("--workload", default="c4k")
    parser.add_argument("--pair", nargs=2, default=("v5", "v6"))
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--benches", type=int, default=0)
    options = parser.parse_args()
    if options.repeats:
        experiment(options)
    if options.benches:
        verdicts(options)


def experiment(options: argparse.Namespace) -> None:
    """Time the pair in all company, both ways."""
    kernel = read_kernel(ROOT / "kernels" / options.kernel)
    artifacts = build(kernel.folder, [v.name for v in kernel.versions], options.out / "work")
    accelerator.open_device("cuda")
    calls = {n: BACKENDS[a.backend].load(Path(a.path), kernel) for n, a in artifacts.items()}
    helpers = str(compile_library(DEVICE_SOURCE, options.out / "work" / "harness").resolve())
    (workload,) = kernel.select_workloads(options.workload)
    problem = Problem(kernel, workload, import_file(kernel.reference), "cuda")
    ways = {"reading": WithoutUnpinning(helpers, "read"), "unpinning and reading": DeviceStopwatch(helpers, "read")}
    arguments = (problem.inputs(1), problem.outputs())
    runs = bench.round_calls_on(calls, problem, *arguments, ways["reading"])
    pair = [kernel.version(short).name for short in options.pair]
    rounds = compositions(runs, pair, arguments[0][0])
    for run in {**runs, **rounds["the pair, input read"], **rounds["the pair, input read and kept"]}.values():
        run()  # compiles
    torch.cuda.synchronize()
    found = in_company(rounds, ways, pair, options)
    later = calls_later(runs, rounds, ways, pair, options)
    unpinning_us = cost(ways["unpinning and reading"])
    report(found, later, pair)
    say(f"unpinning takes the host {unpinning_us:.1f} us")
    properties = torch.cuda.get_device_properties(0)
    facts = {"gpu": properties.name, "l2_bytes": properties.L2_cache_size, "torch": torch.__version__}
    facts |= {"kernel": options.kernel, "workload": options.workload, "pair": pair, "rounds": options.rounds}
    facts |= {"unpinning_us": unpinning_us, "company": found, "calls_later": later}
    (options.out / "bench_company.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def verdicts(options: argparse.Namespace) -> None:
    """Run the command on the two alone and on all versions, in turn, each in a process of its own."""
    kernel = read_kernel(ROOT / "kernels" / options.kernel)
    shorts = [version.short for version in kernel.versions if version.short not in options.pair]
    pair = [f"{options.kernel}/{short}" for short in options.pair]
    found: list[dict[str, Any]] = []
    for number in range(options.benches):
        for company, names in (("alone", options.pair), ("all", (*options.pair, *shorts))):
            process.run(
                [*PROGRAM, "bench", options.kernel, *names, "--workload", options.workload, "--again"], cwd=ROOT
            )
            done = process.run([*PROGRAM, "diff", *pair, "--workload", options.workload, "--json"], cwd=ROOT)
            answer = json.loads(done.stdout)
            found.append({"bench": number, "company": company} | {key: answer[key] for key in KEPT_OF_A_DIFF})
            slower = [1 / answer["interval"][end] for end in ("high", "low")]
            say(f"{number} {company:6} {answer['words']:8} {slower[0]:.4f} to {slower[1]:.4f}")
            (options.out / "bench_verdicts.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def compositions(runs: Runs, pair: list[str], x: torch.Tensor) -> dict[str, Runs]:
    """Return what the rounds consist of: the pair with the bench's own calls, and whoever else."""
    alone = {name: runs[name] for name in (*pair, COPY, EMPTY) if name in runs}
    others = [name for name in runs if name not in alone]
    sink, blocks = torch.zeros(1, device="cuda"), (triton.cdiv(x.numel(), CHUNK),)
    reads: dict[str, Callable[[], None]] = {
        "input read": lambda: read_plain[blocks](x, sink, x.numel(), CHUNK),
        "input read and kept": lambda: read_kept[blocks](x, sink, x.numel(), CHUNK),
    }
    found = {"the pair": alone} | {f"the pair, {name}": alone | {name: runs[name]} for name in others}
    return found | {f"the pair, {name}": alone | {name: read} for name, read in reads.items()} | {"all": runs}


def in_company(
    rounds: Mapping[str, Runs], ways: Mapping[str, DeviceStopwatch], pair: list[str], options: argparse.Namespace
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return by way of emptying L2 and by company the medians in µs of the pair and of the copy, one a repeat."""
    found: dict[str, Any] = {way: {company: defaultdict(list) for company in rounds} for way in ways}
    plan = [(way, company) for way in ways for company in rounds]
    settings = HarnessSettings(stages=("bench",), rounds=options.rounds)
    for _ in range(options.repeats):
        random.shuffle(plan)
        for way, company in plan:
            request = HarnessRequest("", (), (), settings, (secrets.randbelow(2**31),), secrets.token_hex(6), "")
            columns = bench.run_rounds(rounds[company], options.workload, request, ways[way], *SILENT)
            for name in (*pair, COPY):
                times = [t for v, t in zip(columns["version"], columns["time_ns"], strict=True) if v == name]
                if times:
                    found[way][company][name].append(round(statistics.median(times) / US, 3))
    return found


def calls_later(
    runs: Runs,
    rounds: Mapping[str, Runs],
    ways: Mapping[str, DeviceStopwatch],
    pair: list[str],
    options: argparse.Namespace,
) -> dict[str, dict[str, dict[int, float]]]:
    """Return the medians in µs of the pair so many timed empty calls after a read that keeps its lines."""
    kept = rounds["the pair, input read and kept"]["input read and kept"]
    times: dict[str, Any] = {way: {name: {n: [] for n in CALLS_LATER} for name in pair} for way in ways}
    plan = [(way, name, count) for way in ways for name in pair for count in CALLS_LATER]
    for _ in range(options.rounds):
        random.shuffle(plan)
        for way, name, count in plan:
            ways[way].time(kept)
            for _ in range(count):
                ways[way].time(runs[EMPTY])
            times[way][name][count].append(ways[way].time(runs[name]).time_ns / US)
    for by_name in times.values():
        for by_count in by_name.values():
            by_count.update({count: round(statistics.median(values), 3) for count, values in by_count.items()})
    return times


def cost(stopwatch: DeviceStopwatch) -> float:
    """Return how many µs of the host's time it takes to let go of kept lines."""
    taken = []
    for _ in range(200):
        began = time.perf_counter_ns()
        stopwatch._launch("unpin")
        taken.append((time.perf_counter_ns() - began) / US)
    return round(statistics.median(taken), 2)


def report(found: Mapping[str, Any], later: Mapping[str, Any], pair: list[str]) -> None:
    """Print a line a composition and a number of calls."""
    for way, by_company in found.items():
        say(f"\nL2 emptied by {way}:  {pair[0]}, {pair[1]} (us), ratio of each repeat, copy")
        for company, times in by_company.items():
            middle = [statistics.median(times[name]) for name in pair]
            ratios = " ".join(f"{b / a:.4f}" for a, b in zip(*(times[name] for name in pair), strict=True))
            copy = ""
            with suppress(statistics.StatisticsError):
                copy = f"{statistics.median(times[COPY]):.2f}"
            say(f"  {company:42} {middle[0]:7.2f} {middle[1]:7.2f}   {ratios}   {copy}")
    for way, by_name in later.items():
        say(f"\ncalls after the kept read, L2 emptied by {way}")
        for name, by_count in by_name.items():
            say(f"  {name:32} " + "  ".join(f"{count}: {value:.2f}" for count, value in by_count.items()))


if __name__ == "__main__":
    main()
