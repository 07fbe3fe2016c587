"""The numbers of recorded reports by launch, read once for all tests of the catalogue."""

from __future__ import annotations

import functools
from pathlib import Path

from ncu_assist.frame import by_launch
from ncu_assist.ncu.report import read_report
from ncu_assist.store import Store

DATA = Path(__file__).parent.parent / "data"
Values = dict[str, float]


@functools.cache
def launches(stem: str) -> tuple[tuple[str, Values], ...]:
    """Return kernel and numbers by ncu's name of each launch of ``<stem>_full_h200_2025.3.1.ncu-rep.zst``."""
    report = read_report(DATA / f"{stem}_full_h200_2025.3.1.ncu-rep.zst")
    tables = by_launch(report.metrics)
    return tuple((record.kernel, tables[record.index]) for record in report.records)


@functools.cache
def archived(folder: str) -> tuple[tuple[str, Values], ...]:
    """Return the same of the runs in an archive below tests/data."""
    runs = [(stored.run, by_launch(stored.metrics())) for stored in Store(DATA / folder).runs()]
    return tuple((f"{one.kernel} {one.grid}", tables[one.index]) for run, tables in runs for one in run.launches)


def values_of(stem: str, kernel: str) -> Values:
    """Return the numbers of the first launch of a kernel."""
    return next(values for name, values in launches(stem) if name.startswith(kernel))
