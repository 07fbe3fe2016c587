"""Record a kernel's whole ladder on this GPU, every version on every workload, as runs that may be shipped.

usage: python benchmarks/record_archive.py KERNEL TARGET_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.measuring import measure
from ncu_assist.pipeline.planning import Wish, plan
from ncu_assist.pipeline.recording import record
from ncu_assist.project import find_project
from ncu_assist.store import Store


class Speak:
    """A reporter for a terminal that nobody watches."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        return


def main(kernel: str, target: Path) -> int:
    project = find_project(Path.cwd())
    job = plan(project, Wish(kernel, workload="all"), ("check", "bench"), ProfileOptions())
    outcome = measure(job, Speak())
    for version in outcome.versions:
        if version.run is not None and not version.failure:
            stored = record(version.run, Store(target), job.kernel.default_workload.name)
            sys.stdout.write(f"{stored.reference}\n")
        else:
            sys.stderr.write(f"{version.version}: {version.failure or version.skipped}\n")
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
