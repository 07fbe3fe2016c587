"""Archive a report from anywhere, at any size: nothing of it is ever held in memory but its values."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import compressed
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.second_opinion import second_opinion
from ncu_assist.pipeline.foreign_run import Names, check_names, foreign_run
from ncu_assist.pipeline.judging import save_judged
from ncu_assist.project import Project
from ncu_assist.record import ROUNDED
from ncu_assist.store import Store, StoredRun, metrics_parquet
from ncu_assist.store.reading import EXPORT, METRICS, REPORTS
from ncu_assist.store.references import existing_report


def import_report(project: Project, path: Path, names: Names) -> StoredRun:
    """Archive a report file. Its bytes at capture are not known, so the run says ``verified: false``.

    Raises UsageProblem if there is no such file or it is no report, DamagedData if it cannot be read whole.
    """
    check_names(names)
    existing_report(path, command="import")
    try:
        report = read_report(path)
        opinion = second_opinion(report)
    except DamagedData as error:
        again = error.hint in ("", "profile again")  # whoever imports did not profile
        raise DamagedData(
            error.message, "get the file again from where it was made" if again else error.hint
        ) from error
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        files: dict[str, bytes | Path] = {METRICS: metrics_parquet(report.metrics)}
        plain = compressed.plain_file(path, Path(folder))
        files[EXPORT if report.lossy else REPORTS[0]] = compressed.compress_file(plain, Path(folder) / "packed")
        notes = (*report_notes(report), *([opinion] if opinion else []))
        run = foreign_run(names, report, "imported", verified=False, notes=notes)
        return save_judged(Store(project.reports), run, files)


def report_notes(report: Report) -> tuple[str, ...]:
    """Return what a run made of a report has to say about it."""
    return (*report.notes, *((ROUNDED,) if report.lossy else ()))
