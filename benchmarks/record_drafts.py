"""Record the drafts of a kernel with what proving them measured, as drafts that may be shipped.

usage: python benchmarks/record_drafts.py KERNEL TARGET_FOLDER      (in the project where they were proved)
"""

from __future__ import annotations

import sys
from pathlib import Path

from recording import record_draft

from ncu_assist.project import find_project
from ncu_assist.spec_file import load_kernel
from ncu_assist.store.drafts import DraftArchive


def main(kernel: str, target: Path) -> None:
    """Record every draft that can be read, on the default workload, and print where each lies."""
    project = find_project(Path.cwd())
    workload = load_kernel(project, kernel).default_workload.name
    for stored in DraftArchive(project.reports).drafts(kernel):
        sys.stdout.write(f"{record_draft(stored, DraftArchive(target), workload).reference}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
