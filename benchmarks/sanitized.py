"""Run the CUDA versions of a kernel under compute-sanitizer and print what it finds.

usage: python benchmarks/sanitized.py KERNEL TOOL[,TOOL…] WORKLOAD[,WORKLOAD…] [FIRST_VERSION] [LOG_FOLDER]
                                                                    (from the project's root, on a GPU)

A process a version and tool: it makes the inputs on the host, so that no kernel but the version's own runs, and calls
it once a workload. FIRST_VERSION, as v11, leaves those before it out. Tools are those of compute-sanitizer: memcheck,
racecheck, synccheck, initcheck. Exit code 3: something was found; 5: a version could not be run.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends import build_versions
from ncu_assist.backends.cuda import load_launcher
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.backends.python import import_file
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.project import find_project
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import load_kernel

SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", re.MULTILINE)
LIMIT_S = 240.0  # of a version and tool
SHOWN = "10"  # findings of a version that are written out
CALL = "--call"  # of this script, in the process that is looked at
SEED = 1


@dataclass(frozen=True)
class Outcome:
    """What a tool said of a version; ``findings`` is None where it came to no end."""

    version: str
    tool: str
    findings: int | None
    seconds: float
    said: str

    @property
    def line(self) -> str:
        found = "no result" if self.findings is None else f"{self.findings} findings"
        return f"{self.version:28} {self.tool:10} {found:14} {self.seconds:6.1f} s"


def findings_of(said: str) -> int | None:
    """Return how many findings compute-sanitizer sums up; None where there is no summary."""
    counts = SUMMARY.findall(said)
    return sum(map(int, counts)) if counts else None


def call(name: str, artifact: Path, workloads: list[str]) -> None:
    """Call a built version once a workload, on inputs that were made on the host."""
    import torch

    from ncu_assist.harness.problem import Problem

    kernel = load_kernel(find_project(Path.cwd()), name)
    launch, made_by = load_launcher(artifact, kernel), import_file(kernel.folder / "reference.py")
    for workload in (one for one in kernel.workloads if one.name in workloads):
        problem = Problem(kernel, workload, made_by, "cpu")
        inputs = [one.cuda() if isinstance(one, torch.Tensor) else one for one in problem.inputs(SEED)]
        launch(tuple(inputs), tuple(one.cuda() for one in problem.outputs()), workload.integers)
        torch.cuda.synchronize()
        sys.stdout.write(f"called {workload.name}\n")


def sanitizer() -> Path:
    """Return compute-sanitizer: that on PATH, else that beside nvcc; raises EnvironmentProblem if there is none."""
    found = shutil.which("compute-sanitizer")
    beside = find_nvcc().path.with_name("compute-sanitizer")
    if found is None and not beside.is_file():
        raise EnvironmentProblem(
            "there is no compute-sanitizer on PATH or beside nvcc", "it comes with the CUDA toolkit"
        )
    return Path(found) if found else beside


def run(kernel: Kernel, artifact: Path, version: str, tool: str, workloads: list[str]) -> Outcome:
    """Return what a tool says of one version at some workloads."""
    program = [sys.executable, __file__, CALL, kernel.name, str(artifact), *workloads]
    argv = [str(sanitizer()), "--tool", tool, "--print-limit", SHOWN, *program]
    started = time.monotonic()
    done = process.run(argv, timeout_s=LIMIT_S)
    said = done.stdout + done.stderr
    whole = all(f"called {one}" in said for one in workloads)
    return Outcome(version, tool, findings_of(said) if whole else None, time.monotonic() - started, said)


def main(name: str, tools: list[str], workloads: list[str], first: str = "v0", logs: str = "") -> int:
    project = find_project(Path.cwd())
    kernel = load_kernel(project, name)
    versions = [v for v in kernel.versions if v.path.suffix == ".cu" and v.number >= int(first[1:])]
    outcomes = []
    for version, build in build_versions(kernel, versions, project.work).items():
        if build.artifact is None:
            continue
        for tool in tools:
            outcome = run(kernel, build.artifact, version, tool, workloads)
            outcomes.append(outcome)
            sys.stdout.write(f"{outcome.line}\n")
            sys.stdout.flush()
            if logs:
                Path(logs).mkdir(parents=True, exist_ok=True)
                (Path(logs) / f"{name}_{version}_{tool}.txt").write_text(outcome.said, encoding="utf-8")
    if len(outcomes) < len(versions) * len(tools) or any(one.findings is None for one in outcomes):
        return 5
    return 3 if any(one.findings for one in outcomes) else 0


if __name__ == "__main__":
    if sys.argv[1] == CALL:
        call(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
        sys.exit(0)
    sys.exit(main(sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(","), *sys.argv[4:]))
