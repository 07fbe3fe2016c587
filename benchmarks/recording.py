"""From a live run to one that may be shipped, without a word about its machine; and to one without its report."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import blanking
from blanking import trimmed

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import compressed, kept_report, report_file
from ncu_assist.ncu.kept_report import contents_of, facts_of
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.source import kept
from ncu_assist.ncu.source.kept import launches_of
from ncu_assist.ncu.source.reading import read_source, tables_of
from ncu_assist.ncu.tables import SAMPLED, sampled_metrics, timeline_frame
from ncu_assist.pipeline.derived import code_files
from ncu_assist.pipeline.opened_reports import launch_numbers
from ncu_assist.render.html.curves import FIRST, charted
from ncu_assist.store import Store, StoredRun, samples_parquet
from ncu_assist.store.drafts import RUNS, DraftArchive, StoredDraft, runs_below
from ncu_assist.store.index import own_source
from ncu_assist.store.parquet import decode_instances, instances_parquet
from ncu_assist.store.reading import CODE, FACTS, INSTANCES, LOGS, REPORTS, SAMPLES

if TYPE_CHECKING:
    import pandas as pd

REPORT = "report.ncu-rep.zst"
ABSOLUTE_PATH = re.compile(r"(?<![\w/:<.])/(?:[\w.+@-]+/)*[\w.+@-]+")
PROCESS = re.compile(r"(?<=process )\d+")


def record(stored: StoredRun, target: Store, workload: str) -> StoredRun:
    """Save a run as recorded: the report holds the launches of ``workload`` only, the machine code of their kernels and
    of no other, and nothing that names a machine.

    A report that still names one after blanking is left out; the metrics stay whole. Raises as Store.save does.
    """
    files = {name: stored.read(name) for name in stored.run.files if name not in (REPORT, CODE)}
    files |= {name: _blank_text(files[name]) for name in LOGS if name in files}
    report = _small_report(stored, workload)
    notes = list(stored.run.notes)
    if report is not None:
        files[REPORT] = report
        files |= code_files(stored.run, files, workload)  # read again: of what is left of the report, with its names
        notes.append(f"the report holds the launches of {workload}; the metrics hold all")
    run = replace(stored.run, source="recorded", machine=None, notes=tuple(notes), files={}, digest="")
    return target.save(run, files)


def record_times(stored: StoredRun, target: Store) -> StoredRun:
    """Save a run as recorded with its check and its times alone, so that a second GPU costs the archive little.

    What was counted is left out, the samples of empty calls and copies, and of the source all but the version's own
    file: ``source_sha256`` is also that of the run with the counters, which has it whole. A note says so. Raises as
    Store.save does.
    """
    run, own = stored.run, own_source(stored.run)
    files = {own: stored.read(own)} if own else {}
    if "build.log" in run.files:
        files["build.log"] = _blank_text(stored.read("build.log"))
    if run.bench is not None:
        samples = stored.samples()
        files[SAMPLES] = samples_parquet(samples[samples["version"] == run.version])
    counted = ", ".join(dict.fromkeys(str(launch.workload) for launch in run.launches))
    notes = (
        (f"counters were taken on {counted} and are not kept, nor are included files: this run has only times",)
        if counted
        else ()
    )
    times = replace(run, profile=None, launches=(), sections=(), dropped={}, notes=notes or run.notes)
    return target.save(replace(times, source="recorded", machine=None, files={}, digest=""), files)


def record_draft(stored: StoredDraft, target: DraftArchive, workload: str) -> StoredDraft:
    """Save a draft as recorded, the runs of its proof recorded too; the version that it became is not shipped with it.

    Raises as ``record`` and ``DraftArchive.save`` do.
    """
    files = {name: stored.read(name) for name in stored.files if not name.startswith(f"{RUNS}/")}
    files |= {name: _blank_text(files[name]) for name in LOGS if name in files}
    draft = stored.draft
    proof = replace(draft.proof, run="") if draft.proof else None
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        for run in Store(stored.folder / RUNS).runs(draft.kernel):
            record(run, Store(Path(folder)), workload)
        return target.save(
            replace(draft, source="recorded", version="", proof=proof), {**files, **runs_below(Path(folder))}
        )


def _small_report(stored: StoredRun, workload: str) -> bytes | None:
    data = stored.report_bytes()
    keep = {launch.index for launch in stored.run.launches if launch.workload == workload}
    if data is None or not keep:
        return None
    selected = trimmed(report_file.select(data, keep))
    blank = blanking.blank(selected)
    if blanking.leftovers(blank):
        return None
    if report_file.metric_counts(blank) != report_file.metric_counts(selected):
        raise DamagedData(f"blanking changed the report of {stored.reference}")
    return compressed.compress(blank, compressed.SMALL)


def _blank_text(log: bytes) -> bytes:
    text = log.decode("utf-8", errors="replace")
    return PROCESS.sub("0", ABSOLUTE_PATH.sub("<path>", text)).encode()


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
        raise UsageProblem(f"{stored.reference} has no report to drop")
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as made:
        folder = Path(made)
        archived = stored.report_file(folder)
        assert archived is not None
        path = compressed.plain_file(archived, folder)
        report = read_report(path)
        said = report_file.session_texts(path)
        instances, long = _with_charted_samples(report.instances, most_moments)
        digest = stored.run.files[name].sha256
        code = kept.packed(read_source(path).found, digest)
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
        raise UsageProblem(f"{stored.reference} keeps its report: its tables have other {', '.join(wrong)}")


def _checked_code(stored: StoredRun, report: Report, code: bytes | None) -> dict[str, bytes]:
    found = kept.unpacked(code, CODE) if code else None
    launches = launches_of(found, range(len(report.records))) if found else None
    if code is None or launches is None:
        raise UsageProblem(f"{stored.reference} keeps its report: its code cannot be kept without the report")
    back, read = tables_of(launches), report.source()
    if not (back.sass.equals(read.sass) and back.lines.equals(read.lines) and back.texts == read.texts):
        raise UsageProblem(f"{stored.reference} keeps its report: the extracted code differs from it")
    return {CODE: code}
