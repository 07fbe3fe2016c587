"""List the first finding of every recorded run on every workload, and what changed since a list that was kept.

usage: python benchmarks/first_findings.py [--kernel KERNEL] [--out FILE] [--since FILE]      (from the project's root)

Counters are judged anew by the rules as they are now. ``--since`` names a list written by ``--out`` before the rules
changed: what is found first now, beside what was, with both estimates, and what the next version achieved over it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ncu_assist.ceilings import ceilings_of
from ncu_assist.frame import combine_tables
from ncu_assist.project import find_project
from ncu_assist.rules.model.of_run import judged
from ncu_assist.spec_file import kernel_names
from ncu_assist.store import Store, StoredRun


@dataclass(frozen=True)
class FirstFinding:
    """The first finding of a run on a workload; ``speedup`` is estimated, ``median_ns`` None where it was not timed."""

    reference: str
    workload: str
    rule: str
    detail: str
    severity: str
    speedup: float | None
    median_ns: float | None

    @property
    def words(self) -> str:
        worth = f" {self.speedup:.2f}x" if self.speedup and self.severity != "info" else ""
        return f"{self.rule}{f' ({self.detail})' if self.detail else ''}{worth}"


def found(store: Store, kernel: str) -> Iterator[FirstFinding]:
    """Yield the first finding of each recorded run of a kernel, workload by workload."""
    for stored in store.runs(kernel):
        if stored.run.source == "recorded" and stored.run.launches:
            yield from _of_run(stored, store.reports)


def _of_run(stored: StoredRun, reports: Path) -> Iterator[FirstFinding]:
    run, tables = stored.run, stored.by_launch()
    ceilings = ceilings_of(run.device, reports) if run.device else None
    for workload in dict.fromkeys(launch.workload for launch in run.launches):
        said = judged(run, combine_tables(run, tables, workload), ceilings)
        timing = run.timing(workload) if workload else None
        if said is None or not said.findings:
            continue
        first = said.findings[0]
        detail = ", ".join(first.detail.values())
        took = timing.median_ns if timing else None
        yield FirstFinding(
            stored.reference, workload or "", first.rule, detail, first.severity, first.estimated_speedup, took
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--since", type=Path)
    asked = parser.parse_args()
    project = find_project(Path.cwd())
    names = (asked.kernel,) if asked.kernel else kernel_names(project)
    every = [one for name in names for one in found(Store(project.reports), name)]
    if asked.out:
        asked.out.write_text(json.dumps([asdict(one) for one in every], indent=1) + "\n")
    before = {}
    if asked.since:
        rows = [FirstFinding(**row) for row in json.loads(asked.since.read_text())]
        before = {(one.reference, one.workload): one for one in rows}
    for one in every:
        old = before.get((one.reference, one.workload))
        if old is None or (old.rule, old.detail) != (one.rule, one.detail):
            was = f"{old.words} -> " if old else ""
            sys.stdout.write(f"{one.reference} {one.workload}: {was}{one.words}\n")
    sys.stdout.write(f"{len(every)} judged\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
