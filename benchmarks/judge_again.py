"""Judge recorded runs of a kernel again with the rules as they are now, in place: findings.json, run.json.

usage: python benchmarks/judge_again.py KERNEL      (from the project's root)

For rules that were found wrong on runs that were not shipped yet: what a shipped run says stays as it was said. The
digest of a run changes with its files, and its pages name it: write them again afterwards.
"""

from __future__ import annotations

import sys
from pathlib import Path

from in_place import write_files

from ncu_assist.pipeline.derived import findings_now
from ncu_assist.project import find_project
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.findings import FINDINGS, findings_json


def main(kernel: str) -> None:
    """Judge each recorded run that keeps findings, and say of which they changed."""
    store = Store(find_project(Path.cwd()).reports)
    for stored in store.runs(kernel):
        if stored.run.source == "recorded" and FINDINGS in stored.run.files and _judge(stored, store.reports):
            sys.stdout.write(f"{stored.reference}\n")


def _judge(stored: StoredRun, reports: Path) -> bool:
    """Write the findings of a run where they are others now, and return whether they were."""
    made = findings_json(findings_now(stored, reports))
    if made == stored.read(FINDINGS):
        return False
    write_files(stored, {FINDINGS: made})
    return True


if __name__ == "__main__":
    main(sys.argv[1])
