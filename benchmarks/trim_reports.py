"""Take the code of kernels that were not launched out of the reports of recorded runs, in place.

usage: python benchmarks/trim_reports.py      (from the project's root)

For runs that were recorded before ``record`` did so. The digest of a run changes with its files, and its pages name it:
write them again afterwards.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ncu_assist.ncu import compressed
from ncu_assist.ncu.trimming import trimmed
from ncu_assist.pipeline.kept_code import code_files
from ncu_assist.pipeline.recording import REPORT
from ncu_assist.project import find_project
from ncu_assist.record import encode
from ncu_assist.render.facts import shown_workload
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.naming import RUN_JSON
from ncu_assist.store.writing import write_file


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
    for name in made:
        (stored.folder / name).unlink()
    facts = {name: write_file(stored.folder / name, data) for name, data in made.items()}
    record = encode(replace(stored.run, files={**stored.run.files, **facts}, digest=""))
    (stored.folder / RUN_JSON).write_bytes(record)
    return before - sum(fact.size for fact in facts.values())


if __name__ == "__main__":
    main()
