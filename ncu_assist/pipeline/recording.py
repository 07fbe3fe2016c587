"""From a live run to one that may be shipped: small, and without a word about the machine it was measured on."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import blanking, compressed, report_file
from ncu_assist.ncu.blanking import trimmed
from ncu_assist.pipeline.derived import code_files
from ncu_assist.store import Store, StoredRun, samples_parquet
from ncu_assist.store.drafts import RUNS, DraftArchive, StoredDraft, runs_below
from ncu_assist.store.index import own_source
from ncu_assist.store.reading import CODE, SAMPLES

REPORT = "report.ncu-rep.zst"
LOGS = ("ncu.log", "build.log")
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
        (f"counters were taken on {counted} and are not kept, nor included files: this run is of times alone",)
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
