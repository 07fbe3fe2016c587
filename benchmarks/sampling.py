"""Samples from fresh processes, taken with the product's own bench: the parent's side of same_code.py and power.py.

A script starts itself once a process with ``--worker JOB``. The worker (sampling_worker.py) leaves a Parquet file a
subject; the parent joins the files of all workers.
"""

from __future__ import annotations

import datetime
import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet

from ncu_assist.backends import backend_of, build_versions
from ncu_assist.backends.cuda import compile_library
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.executors.local import Local
from ncu_assist.harness import results
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.request import DEVICE_SOURCE, Artifact, HarnessSettings
from ncu_assist.spec import Version
from ncu_assist.spec_file import read_kernel

WORKER_TIMEOUT_S = 240.0
COPY_NUMBER = 100  # added to a version's number for a copy of its source


@dataclass(frozen=True)
class Subject:
    """What is timed: built versions of one kernel on some of its workloads. ``name`` is that of its samples."""

    name: str
    folder: str
    workloads: tuple[str, ...]
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class Job:
    """One process: every subject once for each number. ``check``: hold the versions against the reference first."""

    index: int
    numbers: tuple[int, ...]
    kind: str
    subjects: tuple[Subject, ...]
    settings: HarnessSettings
    helpers: str | None
    nvcc: str | None
    seed: int
    out: str
    check: bool


def say(text: str) -> None:
    """Print a line of progress at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def copy_kernel(folder: Path, work: Path, doubled: Sequence[str] = ()) -> Path:
    """Return a copy of a kernel folder below ``work``; ``doubled`` versions stand there twice, as v6_x and v106_x."""
    copied = work / "kernels" / folder.name
    shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for version in (read_kernel(folder).version(name) for name in doubled):
        name = version.path.name.replace(version.short, f"v{version.number + COPY_NUMBER}", 1)
        shutil.copy(version.path, copied / name)
    return copied


def build(folder: Path, names: Sequence[str], work: Path) -> dict[str, Artifact]:
    """Return versions of a kernel folder built below ``work``, by the names given; one that fails ends the script."""
    kernel = read_kernel(folder)
    versions = {name: kernel.version(name) for name in names}
    built = build_versions(kernel, list(versions.values()), work)
    for outcome in built.values():
        if outcome.artifact is None:
            raise SystemExit(f"{outcome.version} does not build:\n{outcome.log}")
    return {name: _artifact(version, built[version.name].artifact) for name, version in versions.items()}


def _artifact(version: Version, path: Path | None) -> Artifact:
    assert path is not None
    return Artifact(version.name, backend_of(version.path).name, str(path.resolve()))


def new_job(subjects: Sequence[Subject], settings: HarnessSettings, work: Path) -> Job:
    """Return the job that a script varies from process to process; builds the bench's device code for a GPU."""
    on_gpu = settings.device == "cuda"
    return Job(
        index=0,
        numbers=(),
        kind="",
        subjects=tuple(subjects),
        settings=settings,
        helpers=str(compile_library(DEVICE_SOURCE, work / "build" / "harness").resolve()) if on_gpu else None,
        nvcc=find_nvcc().version if on_gpu else None,
        seed=secrets.randbelow(2**31),
        out=str((work / "parts").resolve()),
        check=False,
    )


def run_workers(script: str, jobs: Sequence[Job]) -> None:
    """Run the jobs one after the other, each in a process of its own; one that fails is noted and the next begins.

    What an earlier process could not load, or found to be wrong, is left out.
    """
    out = Path(jobs[0].out)
    out.mkdir(parents=True, exist_ok=True)
    for job in jobs:
        path = out / f"job-{job.index}.json"
        wrong = {failure.version for failure in results.read_failures(out) if failure.stage == "check"}
        path.write_bytes(
            msgspec.json.encode(replace(job, subjects=tuple(s for s in job.subjects if s.name not in wrong)))
        )
        argv = [sys.executable, str(Path(script).resolve()), "--worker", str(path)]
        done = Local().run(argv, env=child_environment(), on_line=say, timeout_s=WORKER_TIMEOUT_S)
        say(f"process {job.index}: {done.seconds:.1f} s")
        if done.exit_code != 0:
            reason = f"exit code {done.exit_code}: {done.stderr[-2000:].strip()}"
            say(f"process {job.index}: {reason}")
            results.append_failure(out, results.VersionFailure(f"process {job.index}", "bench", "", reason, False))


def joined(out: Path, names: Sequence[str]) -> pyarrow.Table | None:
    """Return the samples that all workers left of some subjects, None if there are none."""
    parts = [part for name in names for part in sorted(out.glob(f"{name}-*.parquet"))]
    return pyarrow.concat_tables([pyarrow.parquet.read_table(part) for part in parts]) if parts else None


def write_samples(table: pyarrow.Table, path: Path) -> None:
    """Write samples into a small file."""
    pyarrow.parquet.write_table(table, path, compression="zstd", compression_level=19)
    say(f"{path.name}: {table.num_rows} samples, {path.stat().st_size / 1e3:.0f} kB")


def conditions(job: Job, started: float) -> dict[str, Any]:
    """Return on what, with what and when samples were taken, nothing that names a machine; ``started``: monotonic."""
    facts = results.read_facts(Path(job.out))
    device = facts.device if facts else None
    return {
        "gpu": device.name if device else None,
        "driver": device.driver if device else None,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "tools": asdict(facts.toolchain) if facts else None,
        "temperature_c": facts.temperature_c if facts else None,
        "throttle_reasons": facts.throttle_reasons if facts else None,
        "rounds": job.settings.rounds,
        "warmup": job.settings.warmup,
        "flush": job.settings.flush,
        "seconds": round(time.monotonic() - started, 1),
        "failures": [f"{failure.version}, {failure}" for failure in results.read_failures(Path(job.out))],
    }
