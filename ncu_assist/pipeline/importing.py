"""Archive a report from anywhere, at any size: nothing of it is ever held in memory but its values."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import compressed
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.second_opinion import second_opinion
from ncu_assist.pipeline.foreign_run import Names, check_names, foreign_run
from ncu_assist.project import Project
from ncu_assist.record import Toolchain
from ncu_assist.store import Store, StoredRun, metrics_parquet

REPORT, EXPORT = "report.ncu-rep.zst", "export.csv.zst"


@dataclass(frozen=True)
class Effort:
    """What importing does beside reading: keep the file itself, and ask the ncu of this machine what it thinks."""

    keep: bool = True
    ask_ncu: bool = True


def import_report(project: Project, path: Path, names: Names, effort: Effort = Effort()) -> StoredRun:
    """Archive a report file. Its bytes at capture are not known, so the run says ``verified: false``.

    Raises UsageProblem if there is no such file or it is no report, DamagedData if it cannot be read whole.
    """
    check_names(names)
    if not path.is_file():
        raise UsageProblem(f"there is no file {path.name}", "give the path of a report")
    try:
        report = read_report(path)
        opinion = second_opinion(report) if effort.ask_ncu else ""
    except DamagedData as error:
        raise DamagedData(error.message, "get the file again from where it was made") from error
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        files: dict[str, bytes | Path] = {"metrics.parquet": metrics_parquet(report.metrics)}
        if effort.keep:
            plain = compressed.plain_file(path, Path(folder))
            files[EXPORT if report.lossy else REPORT] = compressed.compress_file(plain, Path(folder) / "packed")
        toolchain = Toolchain(ncu=report.ncu_version)
        notes = (*_notes(report), *([opinion] if opinion else []))
        run = foreign_run(names, report, "imported", toolchain=toolchain, verified=False, notes=notes)
        return Store(project.reports).save(run, files)


def _notes(report: Report) -> tuple[str, ...]:
    lossy = ("read from a CSV export: values are rounded, and rules, instances and source are not in it",)
    return (*report.notes, *(lossy if report.lossy else ()))
