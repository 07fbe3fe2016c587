"""Record a kernel's whole ladder on this GPU, every version on every workload, as runs that may be shipped.

usage: python benchmarks/record_archive.py KERNEL TARGET_FOLDER [WORKLOAD …]
       python benchmarks/record_archive.py --times-of RUNS_FOLDER TARGET_FOLDER

Counters are taken on the workloads named, on all without any: the full set takes about two seconds a launch. A version
whose calls launch no kernel, or that alone could not be profiled, is recorded with its check and its times.

With --times-of nothing is measured: every run below RUNS_FOLDER is saved once more without its counters. That is for a
family which was recorded on a second GPU too, where the counters of one are enough for the archive.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from recording import record, record_times

from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import find_project
from ncu_assist.store import Store, StoredRun

NOT_COUNTED = "profile: "  # how a failure begins that is of counters alone: more launches than are allowed, say


class Speak:
    """A reporter for a terminal that nobody watches."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        return


def main(kernel: str, target: Path, counted: tuple[str, ...]) -> int:
    project = find_project(Path.cwd())
    request = MeasureRequest(kernel, workload="all", counted=counted)
    job = plan(project, request, ("check", "bench"), ProfileOptions())
    outcome = measure(job, Speak())
    for version in outcome.versions:
        if version.failure or version.skipped:
            sys.stderr.write(f"{version.version}: {version.failure or version.skipped}\n")
        if version.run is not None and (not version.failure or version.failure.startswith(NOT_COUNTED)):
            run = version.run
            if version.failure:
                why = f"not counted: {version.failure.removeprefix(NOT_COUNTED)}"
                run = replace(run, run=replace(run.run, notes=(why,)))
            stored = record(run, Store(target), _reported(job, version.run))
            sys.stdout.write(f"{stored.reference}\n")
    return outcome.exit_code


def times_of(runs: Path, target: Path) -> int:
    """Save all runs of a folder with their checks and times alone, the oldest first."""
    for stored in reversed(Store(runs).runs()):
        sys.stdout.write(f"{record_times(stored, Store(target)).reference}\n")
    return 0


def _reported(job: MeasureJob, stored: StoredRun) -> str:
    """Return the workload whose launches the report keeps: the default one, else the first that was profiled."""
    profiled = [launch.workload for launch in stored.run.launches]
    default = job.kernel.default_workload.name
    return default if default in profiled or not profiled else str(profiled[0])


if __name__ == "__main__":
    if sys.argv[1] == "--times-of":
        sys.exit(times_of(Path(sys.argv[2]), Path(sys.argv[3])))
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), tuple(sys.argv[3:])))
