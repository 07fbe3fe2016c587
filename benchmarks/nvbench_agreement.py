"""Compare our bench with NVBench (package cuda-bench) on three kernels of lightning_decode; needs a GPU.

python benchmarks/nvbench_agreement.py [--out agreement.json] [VERSION:WORKLOAD ...]

NVBench flushes L2 with a memset, so ours is asked for the same; beside it stands our read flush. Exit code 3 when the
difference of a kernel exceeds 2 % and 0.5 µs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from ncu_assist.backends import BACKENDS, backend_of, build_versions
from ncu_assist.backends.python import import_file
from ncu_assist.executors.local import Local
from ncu_assist.harness.client import child_environment, measure
from ncu_assist.harness.request import Flush, HarnessSettings, new_request
from ncu_assist.project import find_project
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import load_kernel

CASES = ("v7:b4_d96", "v7:b64_d96", "v2:b256_d96")  # about 8, 75 and 290 µs on an H200
RELATIVE_LIMIT, ABSOLUTE_LIMIT_US = 0.02, 0.5
NVBENCH_SAMPLES = 300
ROUNDS = 200


def main() -> int:
    """Time all cases with both, print the table, write the JSON file, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--out", type=Path, default=Path("nvbench_agreement.json"))
    parser.add_argument("--nvbench", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    kernel = load_kernel(find_project(Path(__file__).parent), "lightning_decode")
    if arguments.nvbench:
        run_nvbench(kernel, arguments.cases, arguments.nvbench)
        return 0
    rows = compare(kernel, arguments.cases)
    arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
    sys.stdout.write(table(rows))
    return 0 if all(row["agrees"] for row in rows) else 3


def compare(kernel: Kernel, cases: list[str]) -> list[dict[str, object]]:
    """Return a row a case. Ours is timed before and after NVBench, so that a drift shows as spread."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        before = ours(kernel, cases, "memset", work)
        nvbench = theirs(cases, work)
        after = ours(kernel, cases, "memset", work)
        read = ours(kernel, cases, "read", work)
    return [_row(case, (before[case], after[case]), nvbench[case], read[case]) for case in cases]


def _row(case: str, memset: tuple[float, float], nvbench: float, read: float) -> dict[str, object]:
    mean = sum(memset) / 2
    difference = mean - nvbench
    return {
        "case": case,
        "ours_memset_us": mean,
        "ours_spread_us": abs(memset[0] - memset[1]),
        "nvbench_us": nvbench,
        "difference_us": difference,
        "difference": difference / nvbench,
        "agrees": abs(difference) <= max(RELATIVE_LIMIT * nvbench, ABSOLUTE_LIMIT_US),
        "ours_read_us": read,
    }


def ours(kernel: Kernel, cases: list[str], flush: Flush, work: Path) -> dict[str, float]:
    """Return our median in microseconds for each case."""
    medians: dict[str, float] = {}
    for case in cases:
        name, workload = case.split(":")
        version = kernel.version(name)
        outcomes = build_versions(kernel, [version], work)
        settings = HarnessSettings(stages=("bench",), rounds=ROUNDS, flush=flush)
        request = new_request(kernel, outcomes, kernel.select_workloads(workload), settings, work)
        samples = measure(request, Local(), lambda event: None, 120.0).samples
        assert samples is not None
        kept = samples[(samples.version == version.name) & ~samples.late]
        medians[case] = float(kept.time_ns.median()) / 1e3
    return medians


def theirs(cases: list[str], work: Path) -> dict[str, float]:
    """Return NVBench's median cold time in microseconds for each case, measured in a process of its own."""
    from cuda.bench.results import BenchmarkResult

    result = work / "nvbench.json"
    argv = [sys.executable, str(Path(__file__).resolve()), *cases, "--nvbench", str(result)]
    completed = Local().run(argv, env=child_environment(), timeout_s=600.0)
    if completed.exit_code != 0 or not result.is_file():
        raise SystemExit(f"NVBench failed:\n{completed.stdout[-3000:]}{completed.stderr[-3000:]}")
    states = next(iter(BenchmarkResult.from_json(result).values()))
    medians = [state.center(statistics.median) for state in states]
    if len(medians) != len(cases) or None in medians:
        raise SystemExit(f"NVBench has no samples for some of {cases}:\n{completed.stdout[-3000:]}")
    return {case: median * 1e6 for case, median in zip(cases, medians, strict=True)}


def run_nvbench(kernel: Kernel, cases: list[str], out: Path) -> None:
    """Run NVBench over the cases as one string axis; its samples go to files beside ``out``."""
    import torch
    from cuda import bench

    reference = import_file(kernel.reference)
    outcomes = build_versions(kernel, [kernel.version(c.split(":")[0]) for c in cases], out.parent)

    def agreement(state: bench.State) -> None:
        launch, stream_of = _launcher(kernel, outcomes, reference, state.get_string("Case")), torch.cuda.ExternalStream
        with torch.cuda.stream(stream_of(state.get_stream().addressof())):
            launch()  # compiles and loads before anything is held or timed
        torch.cuda.synchronize()

        def launcher(handle: bench.Launch) -> None:
            with torch.cuda.stream(stream_of(handle.get_stream().addressof())):
                launch()

        state.exec(launcher, batched=False)

    benchmark = bench.register(agreement)
    benchmark.add_string_axis("Case", list(cases))
    benchmark.set_min_samples(NVBENCH_SAMPLES)
    bench.run_all_benchmarks([sys.argv[0], "--jsonbin", str(out)])


def _launcher(kernel: Kernel, outcomes: dict, reference: object, case: str):  # type: ignore[no-untyped-def, type-arg]
    from ncu_assist.harness.problem import Problem

    name, workload_name = case.split(":")
    workload = kernel.select_workloads(workload_name)[0]
    version = kernel.version(name)
    problem = Problem(kernel, workload, reference, "cuda")
    call = BACKENDS[backend_of(version.path).name].load(outcomes[version.name].artifact, kernel)
    inputs, outputs = problem.inputs(0), problem.outputs()
    return lambda: call(inputs, outputs, workload.integers)


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as text, times in microseconds."""
    head = f"{'case':16}{'ours memset':>13}{'spread':>9}{'NVBench cold':>14}{'difference':>20}{'ours read':>12}\n"
    lines = [
        f"{r['case']:16}{r['ours_memset_us']:13.2f}{r['ours_spread_us']:9.2f}{r['nvbench_us']:14.2f}"
        f"{r['difference_us']:+10.2f} ({r['difference']:+6.2%}){r['ours_read_us']:12.2f}"
        f"  {'agrees' if r['agrees'] else 'DIFFERS'}\n"
        for r in rows
    ]
    return head + "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
