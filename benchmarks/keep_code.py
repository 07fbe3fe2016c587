"""Give recorded runs that were archived without it the code that their pages show, in place: code.json.zst, run.json.

usage: python benchmarks/keep_code.py [REPORTS]      (reports/ of the project around; a run that keeps it is left alone)

Of a run that is not recorded, whose report may not be shipped, nothing is touched. The digest of a run changes with
its files, and its pages name it: `ncu-assist report --all` afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from in_place import write_files

from ncu_assist.analysis.run_view import shown_workload
from ncu_assist.pipeline.derived import code_files
from ncu_assist.project import find_project
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.reading import CODE, REPORTS


def main(reports: Path) -> None:
    """Write the code of each recorded run, and say how many bytes it takes."""
    for stored in Store(reports).runs():
        if stored.run.source == "recorded" and stored.keeps_report and CODE not in stored.run.files:
            sys.stdout.write(f"{stored.reference} {_keep(stored)} bytes\n")


def _keep(stored: StoredRun) -> int:
    """Write the code of one run and return its size, 0 where it has none."""
    workload = shown_workload(stored.run, None)  # the only one in the report of a recorded run
    files: Mapping[str, bytes | Path] = {name: stored.folder / name for name in REPORTS if name in stored.run.files}
    made = code_files(stored.run, files, workload)
    return write_files(stored, made) if made else 0


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else find_project(Path.cwd()).reports)
