"""Hold what is shown of runs without their reports against those reports, which the history of the repository keeps.

usage: python benchmarks/dropped_reports.py [--mend] [KERNEL …]      (from the project's root; all kernels unless named)

Each report is found in history by its hash and put back into a copy of the archive, without what was kept in its
place. Then the tables of the report, the page of the run, `show --lines --ncu-rules --json`, and page and JSON of the
diff with the version before are made of both archives by the code of today. Every difference is printed, but for the
list of a run's files and its digest, which name the report, and samples over time of metrics that no page charts,
which a run without its report lacks where they are many. Exit code 1 where anything differs; a report that history does
not have is said.

--mend first adds the samples that pages chart to runs that dropped all samples of long launches.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from command_outputs import ENVIRONMENT, ROOT, answer
from in_place import write_files
from recording import kept_files

from ncu_assist.ncu.tables import SAMPLED
from ncu_assist.pipeline.opened_reports import archived_report
from ncu_assist.record import FileFact, encode
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.folders import RUN_JSON
from ncu_assist.store.reading import CODE, FACTS, INSTANCES, REPORTS, open_run

if TYPE_CHECKING:
    import pandas as pd

TABLES = ("launches", "metrics", "rules", "session", "instances", "timeline", "lines", "sass")
SHOWN_LINES = 6  # of a difference
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def main(mends: bool, kernels: Sequence[str]) -> int:
    """Compare each run that dropped its report, kernel by kernel, and return the exit code."""
    store = Store(ROOT / "reports")
    wrong = 0
    for kernel in kernels or store.kernels():
        runs = [one for one in store.runs(kernel) if one.run.dropped]
        with tempfile.TemporaryDirectory() as temporary:
            whole = _copied(kernel, Path(temporary, "with"))
            found = {one.reference: _put_back(one, whole) for one in runs}
            for reference in (name for name, stored in found.items() if stored is None):
                sys.stdout.write(f"{reference}: its report is not in the history\n")
            if mends:
                _mend([(one, with_it) for one in runs if (with_it := found[one.reference])])
            apart = _copied(kernel, Path(temporary, "without"))
            names = [name for name, stored in found.items() if stored]
            wrong += sum(_told(name, *sides) for name, *sides in _differences(names, whole, apart))
        sys.stdout.write(f"{kernel}: {len(names)} of {len(runs)} runs compared\n")
        sys.stdout.flush()
    return 1 if wrong else 0


def _copied(kernel: str, to: Path) -> Path:
    """Return a project with all kernels and the runs of one."""
    shutil.copytree(ROOT / "kernels", to / "kernels")
    shutil.copytree(
        ROOT / "reports" / kernel, to / "reports" / kernel, ignore=shutil.ignore_patterns("*.html", "suggest")
    )
    return to


def _put_back(stored: StoredRun, project: Path) -> StoredRun | None:
    """Write the report of a run beside a copy of it, in the place of what was kept; None where history has none."""
    ((name, fact),) = stored.run.dropped.items()
    data = _from_history(f"reports/{'/'.join(stored.folder.parts[-3:])}/{name}", fact)
    if data is None:
        return None
    folder = project.joinpath("reports", *stored.folder.parts[-3:])
    gone = (FACTS, INSTANCES, CODE)
    for one in gone:
        (folder / one).unlink()
    (folder / name).write_bytes(data)
    files = {one: known for one, known in stored.run.files.items() if one not in gone} | {name: fact}
    (folder / RUN_JSON).write_bytes(encode(replace(stored.run, files=files, dropped={}, digest="")))
    return open_run(folder)


def _from_history(path: str, fact: FileFact) -> bytes | None:
    """Return a file as any commit has it, with the hash that a run remembers."""
    log = ["git", "log", "--all", "--format=%H", "--diff-filter=AM", "--", path]
    for commit in subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        show = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=ROOT, capture_output=True, check=False)
        if hashlib.sha256(show.stdout).hexdigest() == fact.sha256:
            return show.stdout
    return None


def _mend(pairs: Sequence[tuple[StoredRun, StoredRun]]) -> None:
    for stored, whole in pairs:
        if (facts := stored.report_facts()) and facts.without_samples:
            made = kept_files(whole)
            write_files(stored, {name: made[name] for name in (FACTS, INSTANCES)})
            sys.stdout.write(f"{stored.reference}: {len(made[INSTANCES])} bytes of instances\n")


def _differences(names: Sequence[str], whole: Path, apart: Path) -> Iterator[tuple[str, str, str]]:
    """Yield what differs: what was asked, and the answers with and without the report."""
    for name in names:
        yield from _tables(name, *(_stored(project, name) for project in (whole, apart)))
    for words in _asked(names):
        answers = [_comparable(_said(project, words)) for project in (whole, apart)]
        if answers[0] != answers[1]:
            yield " ".join(words), answers[0], answers[1]


def _stored(project: Path, name: str) -> StoredRun:
    kernel, version, run = re.split("[/@]", name)
    return open_run(project / "reports" / kernel / version / run)


def _tables(name: str, whole: StoredRun, apart: StoredRun) -> Iterator[tuple[str, str, str]]:
    facts = apart.report_facts()
    with tempfile.TemporaryDirectory() as folder:
        reports = [archived_report(one, Path(folder)) for one in (whole, apart)]
        assert facts
        assert all(reports)
        for table in TABLES:
            frame, other = (getattr(one, table) for one in reports)
            if table in ("instances", "timeline"):
                frame = _kept(frame, other, facts.charted_only)
            if not frame.equals(other):
                yield f"{name} {table}", frame.to_csv(index=False), other.to_csv(index=False)
        notes = ["\n".join(one.notes) for one in reports if one]
        if notes[0] != notes[1]:
            yield f"{name} notes", *notes


def _kept(frame: pd.DataFrame, other: pd.DataFrame, charted_only: Collection[int]) -> pd.DataFrame:
    """Return a table without samples over time of metrics that long launches of another have none of."""
    known = {*zip(other["launch"], other["metric"], strict=True)}
    pairs = frame[["launch", "metric"]].drop_duplicates()
    gone = [
        (launch, metric)
        for launch, metric in zip(pairs["launch"], pairs["metric"], strict=True)
        if launch in charted_only and (launch, metric) not in known and ("id" not in frame or SAMPLED.match(metric))
    ]
    left = frame[~frame.set_index(["launch", "metric"]).index.isin(gone)] if gone else frame
    names = left["metric"].cat.remove_unused_categories()
    return left.assign(metric=names).reset_index(drop=True)


def _asked(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield commands on each run, and on it and the one of the version before in the order of their numbers."""
    for name in names:
        yield "show", name, "--lines", "--ncu-rules", "--json"
        yield "report", name, "--output", "-"
    ordered = sorted(names, key=lambda name: int(re.sub(r".*/v(\d+)_.*", r"\1", name)))
    for before, after in itertools.pairwise(ordered):
        yield "diff", before, after, "--json"
        yield "diff", before, after, "--format", "html"


def _said(project: Path, words: tuple[str, ...]) -> str:
    with contextlib.chdir(project), mock.patch.dict(os.environ, ENVIRONMENT):
        return answer(words).replace(str(project), "PROJECT")


def _comparable(text: str) -> str:
    """Return an answer without hashes and the list of a run's files."""
    names = "|".join(map(re.escape, (*REPORTS, FACTS, INSTANCES, CODE)))
    text = re.sub(rf"<tr>(?:(?!</tr>).)*>(?:{names})</th>.*?</tr>\s*", "", text, flags=re.DOTALL)
    return HASH.sub("HASH", text)


def _told(what: str, with_it: str, without: str) -> int:
    lines = list(difflib.unified_diff(with_it.split("\n"), without.split("\n"), "with", "without", n=0, lineterm=""))
    sys.stdout.write(f"{what}: {len(lines)} lines differ\n")
    for line in lines[2 : 2 + SHOWN_LINES]:
        sys.stdout.write(f"    {line[:240]}\n")
    return 1


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main("--mend" in words, [word for word in words if word != "--mend"]))
