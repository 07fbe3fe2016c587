"""What a run keeps when its report is dropped: the same facts in open formats, read back before anything goes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu import compressed, kept_report
from ncu_assist.ncu.blanking import session_texts
from ncu_assist.ncu.kept_report import contents_of, facts_of
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.source import kept
from ncu_assist.ncu.source.kept import launches_of
from ncu_assist.ncu.source.reading import read_code, tables_of
from ncu_assist.ncu.tables import SAMPLED, sampled_metrics, timeline_frame
from ncu_assist.pipeline.opened_reports import launch_numbers
from ncu_assist.render.html.timeline import FIRST, charted
from ncu_assist.store import StoredRun
from ncu_assist.store.parquet import decode_instances, instances_parquet
from ncu_assist.store.reading import CODE, FACTS, INSTANCES, REPORTS

if TYPE_CHECKING:
    import pandas as pd

MOST_MOMENTS = 384  # of one launch: a fifth of the report of a kernel that takes 10 µs, nine tenths of one of 10 ms
FRAMES = ("launches", "metrics", "rules", "session")


def kept_files(stored: StoredRun, most_moments: int = MOST_MOMENTS) -> dict[str, bytes]:
    """Return the files that take the place of a run's report, by name.

    Of launches with more than ``most_moments`` samples over time, those of metrics that a page charts are kept, and no
    others; the facts say so. Raises UsageProblem where the run has no report or where the files do not say all else
    that it says, DamagedData as ``read_report`` does.
    """
    name = next((one for one in REPORTS if one in stored.run.files), None)
    if name is None:
        raise UsageProblem(f"{stored.reference} has no report that could be dropped")
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as made:
        folder = Path(made)
        archived = stored.report_file(folder)
        assert archived is not None
        path = compressed.plain_file(archived, folder)
        report = read_report(path)
        said = session_texts(path)
        instances, long = _with_charted_samples(report.instances, most_moments)
        digest = stored.run.files[name].sha256
        code = kept.packed(read_code(path), digest)
        facts = facts_of(report.contents, digest, launch_numbers(stored.run, report), said)
        facts = replace(facts, charted_only=long)
        files = {FACTS: kept_report.packed(facts), INSTANCES: instances_parquet(instances)}
        _check(stored, report, instances, files)
        return files | _checked_code(stored, report, code)


def _with_charted_samples(instances: pd.DataFrame, most: int) -> tuple[pd.DataFrame, tuple[int, ...]]:
    """Return instances, of launches with many samples over time those of charted metrics only, and these launches.

    Charted are the metrics that pages prefer, FIRST, and what else the page of the launch shows.
    """
    names = instances["metric"].cat.categories
    bare = {name: SAMPLED.sub("", name, count=1) for name in names if SAMPLED.match(name)}
    sampled = instances["metric"].isin(bare)
    sizes = instances[sampled].groupby(["launch", "metric"], observed=True).size().groupby("launch").max()
    long = tuple(int(launch) for launch in sizes.index[sizes > most])
    if not long:
        return instances, ()
    timeline = sampled_metrics(timeline_frame(instances[instances["launch"].isin(long)]))
    left_out = sampled & instances["launch"].isin(long)
    for launch in long:
        shown = {one.metric for one in charted(one for one in timeline if one.launch == launch)}
        kept = [name for name in bare if bare[name] in shown or bare[name].startswith(FIRST)]
        left_out &= (instances["launch"] != launch) | ~instances["metric"].isin(kept)
    left = instances[~left_out].reset_index(drop=True)
    return left.assign(metric=left["metric"].cat.remove_unused_categories()), long


def _check(stored: StoredRun, report: Report, instances: pd.DataFrame, files: dict[str, bytes]) -> None:
    """Raise UsageProblem where the files do not say what the report says."""
    facts = kept_report.unpacked(files[FACTS], FACTS)
    assert facts is not None
    back = replace(report, contents=contents_of(facts, stored.kept_metrics()))
    wrong = [name for name in FRAMES if not getattr(back, name).equals(getattr(report, name))]
    wrong += ["notes"] * (back.notes != report.notes) + ["records"] * (back.records != report.records)
    if not decode_instances(files[INSTANCES], INSTANCES).equals(instances):
        wrong.append("instances")
    if wrong:
        raise UsageProblem(f"{stored.reference}: its tables say other {', '.join(wrong)} than its report: it stays")


def _checked_code(stored: StoredRun, report: Report, code: bytes | None) -> dict[str, bytes]:
    found = kept.unpacked(code, CODE) if code else None
    launches = launches_of(found, range(len(report.records))) if found else None
    if code is None or launches is None:
        raise UsageProblem(f"{stored.reference}: the code in its report cannot be kept without it: it stays")
    back, read = tables_of(launches), report.source()
    if not (back.sass.equals(read.sass) and back.lines.equals(read.lines) and back.texts == read.texts):
        raise UsageProblem(f"{stored.reference}: the code that would be kept is not that of its report: it stays")
    return {CODE: code}
