"""Take the code of kernels that were not launched out of the reports of recorded runs, in place.

usage: python benchmarks/trim_reports.py      (from the project's root)

For runs that were recorded before ``record`` did so. The digest of a run changes with its files, and its pages name it:
write them again afterwards.
"""

from __future__ import annotations

import sys
from pathlib import Path

from blanking import trimmed
from in_place import write_files
from recording import REPORT

from ncu_assist.analysis.run_view import shown_workload
from ncu_assist.ncu import compressed
from ncu_assist.pipeline.derived import code_files
from ncu_assist.project import find_project
from ncu_assist.store import Store, StoredRun


def main() -> None:
    """Trim each report that gets smaller, and say by how many bytes."""
    for stored in Store(find_project(Path.cwd()).reports).runs():
        data = stored.report_bytes() if stored.run.source == "recorded" and REPORT in stored.run.files else None
        if data is not None and trimmed(data) != data:
            sys.stdout.write(f"{stored.reference} {_trim(stored, trimmed(data))} bytes less\n")


def _trim(stored: StoredRun, report: bytes) -> int:
    """Write the report and the code that is read from it, and return how many bytes were saved."""
    made = {REPORT: compressed.compress(report, compressed.SMALL)}
    made |= code_files(stored.run, made, shown_workload(stored.run, None))
    before = sum(stored.run.files[name].size for name in made)
    return before - write_files(stored, made)


if __name__ == "__main__":
    main()
