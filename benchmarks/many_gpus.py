"""What `profile --gpus` wins on a machine with several GPUs, and whether its verdicts are those of one.

usage: python benchmarks/many_gpus.py OUT [--gpus all] [--kernels KERNEL …]      (from the project's root)

Profiles all versions of some families twice, on one GPU and on several, each time in a copy of their folders where
nothing was built or measured before. Writes OUT/many_gpus.json: the seconds of both, when each build, unit of work and
end of a kernel began and how long it took, and every verdict against the parent on the default workload, beside that of
one GPU. Exit code 3 where the one says faster and the other slower.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ncu_assist import process
from ncu_assist.cli import main as ncu_assist
from ncu_assist.harness.client import child_environment
from ncu_assist.pipeline import gpu_workers, measuring, work_units
from ncu_assist.project import Project, find_project
from ncu_assist.store import Store

WATCHED = "--watched"
KERNELS = ["lightning_decode", "softmax", "rope", "layernorm_dropout_residual"]
OPPOSITE = {("faster", "slower"), ("slower", "faster")}


def main() -> int:
    """Measure, write and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", default="all")
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    one, many = (_profiled(options.kernels, gpus) for gpus in ("1", options.gpus))
    verdicts = {name: (word, many["verdicts"].get(name)) for name, word in one["verdicts"].items()}
    found = {
        "gpus": len(many["gpus"]),
        "speedup": one["seconds"] / many["seconds"],
        "one": one,
        "many": many,
        "other_verdicts": {name: both for name, both in verdicts.items() if both[0] != both[1]},
    }
    (options.out / "many_gpus.json").write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.write(
        f"one GPU {one['seconds']:.1f} s, {found['gpus']} GPUs {many['seconds']:.1f} s: {found['speedup']:.2f}x\n"
        f"seconds in all: one {one['took_s']}, {found['gpus']} GPUs {many['took_s']}\n"
        f"verdicts {len(verdicts)}, others: {found['other_verdicts']}\n"
    )
    return 3 if OPPOSITE & set(verdicts.values()) or len(many["verdicts"]) != len(one["verdicts"]) else 0


def _profiled(kernels: list[str], gpus: str) -> dict[str, Any]:
    """Profile families in a copy, and return the seconds and what the runs and their histories say."""
    source = find_project(Path.cwd())
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        root = Path(folder)
        shutil.copy(source.root / "pyproject.toml", root)
        for kernel in kernels:
            shutil.copytree(source.kernels / kernel, root / "kernels" / kernel)
        timeline = root / "timeline.json"
        watched = [sys.executable, __file__, WATCHED, str(timeline)]
        done = _run(root, "profile", *kernels, "--gpus", gpus, "--again", "--json", program=watched)
        runs = [stored.run for stored in Store(Project(root, source.settings).reports).runs()]
        steps = json.loads(timeline.read_text())
        took = {what: sum(one["seconds"] for one in steps if one["what"] == what) for what in sorted(WHATS)}
        return {
            "seconds": done.seconds,
            "runs": len(runs),
            "gpus": sorted({run.device.uuid_sha256 or "" for run in runs if run.device}),
            "took_s": {what: round(seconds, 1) for what, seconds in took.items()},
            "timeline": steps,
            "verdicts": dict(pair for kernel in kernels for pair in _verdicts(root, kernel)),
        }


def _verdicts(root: Path, kernel: str) -> list[tuple[str, str]]:
    history = json.loads(_run(root, "history", kernel, "--json").stdout)
    shown = history["shown_workload"]
    return [
        (f"{kernel}/{row['version']}", cell["verdict"])
        for row in history["rows"]
        for cell in row["cells"]
        if cell["workload"] == shown and cell.get("verdict")
    ]


def _run(root: Path, *words: str, program: list[str] | None = None) -> process.Completed:
    argv = [*(program or [sys.executable, "-m", "ncu_assist"]), *words]
    done = process.run(argv, cwd=root, env=child_environment())
    if done.exit_code:
        sys.exit(f"ncu-assist {' '.join(words)} ended with {done.exit_code}: {done.stderr[-2000:]}")
    return done


WHATS = ("build", "bench", "ncu", "save")


def watch(timeline: Path, words: list[str]) -> None:
    """Run a command of ncu-assist, and write when each build, unit of work and end of a kernel began, and its seconds.

    A unit of a worker began as long before its result came as the worker says that it took.
    """
    began, steps = time.monotonic(), list[dict[str, Any]]()

    def told(what: str, name: str, seconds: float, gpu: str = "") -> None:
        at = time.monotonic() - began - seconds
        steps.append({"what": what, "name": name, "from_s": round(at, 2), "seconds": round(seconds, 2), "gpu": gpu})
        timeline.write_text(json.dumps(steps))

    def timed(call: Callable[..., Any], what: str) -> Callable[..., Any]:
        def made(*given: Any) -> Any:
            started = time.monotonic()
            try:
                return call(*given)
            finally:
                told(what, "", time.monotonic() - started)

        return made

    def kind(unit: work_units.WorkUnit) -> str:
        return "bench" if unit.options is None else "ncu"

    def do(unit: work_units.WorkUnit, reporter: Any, do: Callable[..., Any] = work_units.do) -> Any:
        result = do(unit, reporter)
        told(kind(unit), unit.name, result.seconds)
        return result

    def landed(self: Any, flight: Any, future: Any, reporter: Any, own: Any = gpu_workers.GpuWorkers._landed) -> Any:
        result = own(self, flight, future, reporter)
        if result is not None:
            told(kind(flight.unit), flight.unit.name, result.seconds, result.gpu_sha256)
        return result

    patches: list[tuple[Any, str, Any]] = [
        (work_units, "do", do),
        (gpu_workers.GpuWorkers, "_landed", landed),
        (work_units, "built", timed(work_units.built, "build")),
        (gpu_workers, "built", timed(work_units.built, "build")),
        (measuring.KernelWork, "finish", timed(measuring.KernelWork.finish, "save")),
    ]
    for where, name, made in patches:
        setattr(where, name, made)
    sys.argv[1:] = words
    ncu_assist()


if __name__ == "__main__":
    if sys.argv[1:2] == [WATCHED]:
        watch(Path(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(main())
