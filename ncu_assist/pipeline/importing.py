"""Reports from anywhere as runs of the archive: how they are named, read and saved."""

from __future__ import annotations

import contextlib
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist import __version__
from ncu_assist.errors import DamagedData, ReaderBug, UsageProblem
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command import options_in
from ncu_assist.ncu.report import read_report, second_opinion
from ncu_assist.pipeline.derived import save_judged
from ncu_assist.project import Project
from ncu_assist.quantity import number_of, quantity
from ncu_assist.record import ROUNDED, Profile, Run, Source
from ncu_assist.render.escape import readable
from ncu_assist.steps import minutes
from ncu_assist.store import Store, StoredRun, machine_hash, metrics_parquet, new_run_id
from ncu_assist.store.folders import is_folder_name
from ncu_assist.store.reading import EXPORT, METRICS, REPORTS
from ncu_assist.store.references import existing_report
from ncu_assist.versions import IMPORTED

if TYPE_CHECKING:
    from ncu_assist.ncu.report import Report


def import_report(
    project: Project, path: Path, names: RunNames, status: Callable[[str], None] = lambda _: None
) -> StoredRun:
    """Archive a report file. Its bytes at capture are not known, so the run says ``verified: false``.

    ``status`` hears what the live line says: the size of the file, launches read of how many, the rate, the time left.

    Raises UsageProblem if there is no such file or it is no report, DamagedData if it cannot be read whole.
    """
    check_names(names)
    existing_report(path, command="import")
    size = f", {quantity(path.stat().st_size, 'byte')}"
    status(f"reading {path.name}{size}")
    began = time.monotonic()

    def told(read: int, total: int, at: int) -> None:
        rate = at / (time.monotonic() - began)
        left = (total - read) * at / read / rate
        rest = f" · {minutes(left)} left" if left >= 1 else ""
        status(f"reading {path.name}{size}: launch {read} of {total} · {quantity(rate, 'byte/s')}{rest}")

    with sent():
        report = read_report(path, told=told)
        status(f"asking ncu about {path.name}")
        opinion = second_opinion(report)
    status(f"packing {path.name} and its {number_of(len(report), 'launch')}")
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        files: dict[str, bytes | Path] = {METRICS: metrics_parquet(report.metrics)}
        plain = compressed.plain_file(path, Path(folder))
        files[EXPORT if report.lossy else REPORTS[0]] = compressed.compress_file(plain, Path(folder) / "packed")
        notes = (*report_notes(report), *([opinion] if opinion else []))
        run = replace(foreign_run(names, report, "imported"), verified=False, notes=notes)
        return save_judged(Store(project.reports), run, files, report)


def imported_before(store: Store, stored: StoredRun) -> StoredRun | None:
    """Return the newest other run of the same name that keeps the same report; None where there is none."""

    def kept(run: Run) -> str | None:
        return next((run.files[name].sha256 for name in (*REPORTS, EXPORT) if name in run.files), None)

    known = (one for one in store.runs(stored.run.kernel, stored.run.version) if one.run.run_id != stored.run.run_id)
    return next((one for one in known if kept(one.run) == kept(stored.run)), None)


SUFFIXES = (".zst", ".xz", ".gz", ".ncu-rep", ".ncu-repz", ".nsight-cuprof-report", ".csv")
UNFIT = re.compile(r"[^A-Za-z0-9_.+-]")  # what may not stand in the name of a folder of the archive
LONGEST_NAME = 100


@dataclass(frozen=True)
class RunNames:
    """Under which kernel and version a foreign run is archived."""

    kernel: str
    version: str


def check_names(names: RunNames) -> None:
    """Raise UsageProblem for a name that cannot be a folder: before minutes of profiling, not after."""
    for what, name in (("kernel", names.kernel), ("version", names.version)):
        if not is_folder_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a {what}", "use letters, digits, _ . + and -")


def default_names(path: Path, kernel: str | None, version: str | None) -> RunNames:
    """Return the names for a report: kernel ``imported`` and the file's own name, made fit, unless others are given."""
    return RunNames(kernel or IMPORTED, version or fit_name(stem(path)) or "report")


def fit_name(name: str) -> str:
    """Return a name made fit for a folder of the archive; empty for one of which nothing is fit."""
    return UNFIT.sub("_", readable(name)).lstrip(".-+")[:LONGEST_NAME]


def profiled_as_next(other: str, first: str) -> str:
    """Return the command that profiles a program as the next version of another one's kernel."""
    return f"ncu-assist profile --kernel {fit_name(Path(first).stem)} {shlex.quote(other)}"


def stem(path: Path) -> str:
    """Return the name of a report without its endings; empty for one that has nothing else."""
    name = path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def foreign_run(names: RunNames, report: Report, source: Source) -> Run:
    """Return the record of a run made of a report, without notes, as if its bytes were those of its capture."""
    moment, session = datetime.now(UTC), report.contents.session
    return Run(
        run_id=new_run_id(moment, names.version),
        kernel=names.kernel,
        version=names.version,
        source=source,
        created=moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool=__version__,
        machine=machine_hash(),
        source_sha256=None,
        verified=True,
        device=report.device,
        toolchain=report.toolchain,
        workloads=(),
        profile=_profile(report),
        launches=report.records,
        rounded=report.lossy,
        sections=tuple(filter(None, (session.sections or session.held or "").split(","))),
    )


def _profile(report: Report) -> Profile | None:
    """Return how the counters of a report were taken, as far as its command line says."""
    o = options_in(report.contents.session.command)
    return Profile(o.section_set, o.clock_control, o.cache_control, o.replay_mode, None, "") if o else None


@contextlib.contextmanager
def sent() -> Iterator[None]:
    """Let what is damaged be got again: whoever was sent a report cannot profile again."""
    try:
        yield
    except ReaderBug:
        raise
    except DamagedData as error:
        hint = error.hint if error.hint not in ("", "profile again") else "get the file again, or profile again"
        raise DamagedData(error.message, hint) from error


def report_notes(report: Report) -> tuple[str, ...]:
    """Return what a run made of a report has to say about it."""
    return (*report.notes, *((ROUNDED,) if report.lossy else ()))
