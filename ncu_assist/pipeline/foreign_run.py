"""A report from anywhere as a run: what it is called, and what its record says."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist import __version__
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.command import options_in
from ncu_assist.record import ROUNDED, Profile, Run, Source
from ncu_assist.render.escape import readable
from ncu_assist.store import machine_hash, new_run_id
from ncu_assist.store.folders import is_folder_name

if TYPE_CHECKING:
    from ncu_assist.ncu.report import Report

IMPORTED = "imported"  # the kernel that reports without another name belong to
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
    except DamagedData as error:
        hint = error.hint if error.hint not in ("", "profile again") else "get the file again, or profile again"
        raise DamagedData(error.message, hint) from error


def report_notes(report: Report) -> tuple[str, ...]:
    """Return what a run made of a report has to say about it."""
    return (*report.notes, *((ROUNDED,) if report.lossy else ()))
