"""Drop the raw reports of recorded runs: what they say is written to open formats in the run's folder first.

usage: python benchmarks/drop_reports.py KEEP …      (from the project's root)

KEEP are kernels whose reports all stay, and versions (kernel/version) whose report stays. What is written is read back
and held against the report before that goes. The digest of a run changes with its files, and its pages name it: write
them again afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

from in_place import write_files
from recording import kept_files

from ncu_assist.errors import NcuAssistError
from ncu_assist.project import find_project
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.reading import REPORTS


def main(kept: Collection[str]) -> None:
    """Drop each report that may go, and say by how many bytes its run got smaller."""
    for stored in Store(find_project(Path.cwd()).reports).runs():
        report = next((name for name in REPORTS if name in stored.run.files), None)
        if report and stored.run.source == "recorded" and not _stays(stored, kept):
            try:
                sys.stdout.write(f"{stored.reference} {_drop(stored, report)} bytes less\n")
            except NcuAssistError as error:
                sys.stdout.write(f"{stored.reference} stays: {error.message}\n")


def _stays(stored: StoredRun, kept: Collection[str]) -> bool:
    return stored.run.kernel in kept or f"{stored.run.kernel}/{stored.run.version}" in kept


def _drop(stored: StoredRun, report: str) -> int:
    """Write what takes the place of a report, and return how many bytes were saved."""
    made = kept_files(stored)
    before = sum(fact.size for fact in stored.run.files.values())
    added = write_files(stored, made, without=(report,))
    stayed = sum(fact.size for name, fact in stored.run.files.items() if name not in made and name != report)
    return before - added - stayed


if __name__ == "__main__":
    main(sys.argv[1:])
