"""From a saved file to its verdict while a kernel is watched, edit after edit, and after faults; needs a GPU.

python benchmarks/watch_loop.py OUT [--edits 25] [--seconds 180] [--no-faults] [--kernels KERNEL/VERSION:WORKLOAD …]

Works on copies, of which every version is benched first: an edit is timed beside its parent and the fastest version,
as in any project that has runs. Each edit adds a constant to the version, so that nvcc has to build it. Beside each is
what bare nvcc takes for the same file, with the same options, in the same minute. Before them versions that hang,
crash, write where they may not, and keep 100 GB; after each an edit that is right. These, and the last edit of all, are
benched by a process that is fresh: warm and fresh must differ by no verdict. Each kernel gets so many ``--seconds``:
edits that do not fit in are left out. Every edit is a line of OUT/watch_loop.jsonl as it comes. `--device cpu`
rehearses it without a GPU on Python versions.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ncu_assist import process
from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.ladder import Attempt
from ncu_assist.backends import cuda
from ncu_assist.backends.nvcc import find_arch, find_nvcc
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.pipeline import planning
from ncu_assist.pipeline.planning import MeasureRequest, bench
from ncu_assist.pipeline.watching import FolderWatch
from ncu_assist.project import Project, Settings, find_project
from ncu_assist.spec_file import read_kernel

KERNELS = ["lightning_decode/v7:b64_d96", "gemm_bias_gelu/v14:square4k"]
NOT_COPIED = shutil.ignore_patterns("__pycache__")
AFTER_NVCC_S = 1.5  # the median may be so much longer than bare nvcc, the worst twice that (issue: the loop)
HANG_S = 6.0  # of silence, after which a version counts as hung
FRESH_S = 15.0  # of the time is kept for the bench by a fresh process
READ_S = 20.0  # what a person reads; the next process is warm long before
FAULTS = {
    "hang": "while (1) {}",
    "crash": "*(volatile int*)0 = 1;",
    "illegal address": "int* p = 0; break_context<<<1, 1>>>(p); if (cudaError_t e = cudaDeviceSynchronize()) return e;",
    "100 GB kept": "for (int i = 0; i < 100; ++i) { void* p; cudaMalloc(&p, 1ll << 30); } cudaGetLastError();",
}
KERNEL_OF_FAULT = "\n__global__ void break_context(int* p) { p[0] = 1; }\n"


class Quiet:
    """A reporter of which only notes are heard."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        """Drop a live line."""


def main() -> int:
    """Measure, write and print the figures; exit code 3 where an edit takes too long or a fault spreads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--edits", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--faults", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    if options.device == "cpu":
        planning.HarnessSettings = functools.partial(HarnessSettings, device="cpu")  # type: ignore[misc]
    options.out.mkdir(parents=True, exist_ok=True)
    lines = options.out / "watch_loop.jsonl"
    broken = FAULTS if options.faults else {}
    found = {name: _of_kernel(name, options.edits, options.seconds, broken, lines) for name in options.kernels}
    (options.out / "watch_loop.json").write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write("".join(_said(name, one) for name, one in found.items()))
    return 0 if all(one["holds"] for one in found.values()) else 3


def _of_kernel(name: str, edits: int, seconds: float, broken_by: Mapping[str, str], lines: Path) -> dict[str, Any]:
    until = time.monotonic() + seconds - FRESH_S

    def kept(what: str, row: dict[str, Any]) -> dict[str, Any]:
        with lines.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"kernel": name, "what": what, **row}) + "\n")
        return row

    kernel, _, rest = name.partition("/")
    version, _, workload = rest.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source = find_project(Path(__file__).parent).kernels / kernel
        shutil.copytree(source, root / "kernels" / kernel, ignore=NOT_COPIED)
        project = Project(root, Settings(version_timeout_s=HANG_S))
        edited = read_kernel(root / "kernels" / kernel).version(version)
        original = edited.path.read_text()
        request = MeasureRequest(kernel, (version,), workload or None, again=True)
        bench(Project(root), MeasureRequest(kernel, (), workload or None), Quiet())

        def against_fresh() -> dict[str, Any]:
            """Return the verdict between the last edit and a bench of it by a fresh process."""
            last = watch.archive()
            fresh = next(one.run for one in bench(project, request, Quiet()).versions if one.run)
            assert last is not None
            verdict = diff_runs(last, fresh, DiffOptions(last.run.workloads[0].name)).verdict
            return {"verdict": verdict.verdict, "reason": verdict.reason, "speedup": verdict.speedup}

        with FolderWatch(project, kernel, Quiet(), workload=workload or None, profiles=False) as watch:
            faults = {}
            for index, (fault, code) in enumerate(broken_by.items() if edited.path.suffix == ".cu" else ()):
                broken = kept(fault, _edit(watch, edited.path, _broken(original, kernel, code)))
                text = _changed(original, edited.path.suffix, edits + index)
                mended = kept(f"after {fault}", _edit(watch, edited.path, text))
                aside = kept(f"fresh after {fault}", against_fresh()) if mended["state"] == "timed" else None
                faults[fault] = {"broken": broken, "after": mended, "warm_against_fresh": aside}
            rows: list[dict[str, Any]] = []
            while len(rows) < edits and (not rows or time.monotonic() < until):
                text = _changed(original, edited.path.suffix, len(rows))
                rows.append(kept("edit", _edit(watch, edited.path, text)))
            at_end = against_fresh()
    took, bare = [one["seconds"] for one in rows], [one["nvcc_s"] for one in rows]
    over = [total - own for total, own in zip(took, bare, strict=True)]
    facts = {
        "median_s": statistics.median(took),
        "worst_s": max(took),
        "nvcc_median_s": statistics.median(bare),
        "median_over_nvcc_s": statistics.median(over),
        "worst_over_nvcc_s": max(over),
        "beside": sorted({baseline for row in rows for baseline, _, _ in row["verdicts"]}),
        "warm_against_fresh": at_end,
    }
    spread = [fault for fault, one in faults.items() if one["broken"]["state"] != "failed" or one["after"]["failure"]]
    spread = [fault for fault in spread if fault != "100 GB kept"]  # which may be right and slow, where there is room
    holds = facts["median_over_nvcc_s"] <= AFTER_NVCC_S and facts["worst_over_nvcc_s"] <= 2 * AFTER_NVCC_S
    pairs = [at_end, *(one["warm_against_fresh"] for one in faults.values())]
    holds = holds and not spread and not any(one and one["verdict"] in ("faster", "slower") for one in pairs)
    return {**facts, "holds": holds, "spread": spread, "edits": rows, "faults": faults}


def _edit(watch: FolderWatch, path: Path, text: str) -> dict[str, Any]:
    """Save a file as an editor does, measure it once the process is warm, and compile it bare."""
    watch.is_warm(READ_S)
    steps: dict[str, float] = {}
    saved = time.monotonic()

    def step(attempt: Attempt) -> None:
        steps.setdefault(attempt.state, time.monotonic() - saved)

    path.write_text(text)
    while not watch.is_changed():
        time.sleep(0.01)
    version = watch.take()
    assert version is not None
    done = watch.measure(version, lambda: False, step)
    seconds = time.monotonic() - saved
    if done.state != "failed":
        seconds = steps["timed"]
    return {
        "seconds": seconds,
        "noticed_s": steps["measuring"],
        "nvcc_s": _bare_nvcc(path),
        "state": done.state,
        "failure": done.failure,
        "verdicts": [(one.baseline.version, one.verdict.verdict, one.verdict.speedup) for one in done.diffs],
    }


def _bare_nvcc(path: Path) -> float:
    if path.suffix != ".cu":
        return 0.0
    nvcc = find_nvcc()
    number = find_arch(nvcc).removeprefix("sm_")
    target = ["-gencode", f"arch=compute_{number},code=sm_{number}", *nvcc.library_flags]
    with tempfile.TemporaryDirectory() as folder:
        argv = [str(nvcc.path), *cuda.FLAGS, *target, "-o", f"{folder}/bare.so", path.name]
        return process.run(argv, cwd=path.parent).seconds


def _changed(original: str, suffix: str, number: int) -> str:
    return f"{original}\nstatic const int edit = {number};\n" if suffix == ".cu" else f"{original}\nEDIT = {number}\n"


def _broken(original: str, kernel: str, code: str) -> str:
    """Return a version whose launcher does something else first."""
    head, found, tail = original.partition('extern "C"')
    assert found, kernel
    signature, brace, body = tail.partition("{")
    return f"{head}{KERNEL_OF_FAULT}{found}{signature}{brace} {code}\n{body}"


def _said(name: str, one: dict[str, Any]) -> str:
    fresh = one["warm_against_fresh"]
    lines = [
        f"{name}: {len(one['edits'])} edits",
        f"  timed beside           {', '.join(one['beside'])}",
        f"  saved to verdict       median {one['median_s']:.2f} s, worst {one['worst_s']:.2f} s",
        f"  bare nvcc              median {one['nvcc_median_s']:.2f} s",
        f"  over bare nvcc         median {one['median_over_nvcc_s']:.2f} s, worst {one['worst_over_nvcc_s']:.2f} s",
        f"  warm against fresh     {fresh['verdict']} ({fresh['reason']}), {fresh['speedup'] or 0:.4f}",
    ]
    for fault, both in one["faults"].items():
        after = both["after"]
        failure = both["broken"]["failure"][:70] or "no failure"
        pair = both["warm_against_fresh"] or {"verdict": "not compared", "speedup": None}
        fresh = f"warm against fresh {pair['verdict']}, {pair['speedup'] or 0:.4f}"
        lines.append(f"  {fault:22} {failure}; then {after['seconds']:.2f} s, {after['state']}; {fresh}")
    return "\n".join([*lines, f"  {'holds' if one['holds'] else 'DOES NOT HOLD'}", ""])


if __name__ == "__main__":
    sys.exit(main())
