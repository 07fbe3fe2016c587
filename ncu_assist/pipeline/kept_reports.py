"""Reports that were dropped from the archive: what their runs keep of them answers in their place."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.kept_report import contents_of
from ncu_assist.ncu.report import Limits, Report
from ncu_assist.pipeline.derived import KnownReport
from ncu_assist.store import StoredRun
from ncu_assist.store.reading import FACTS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TabledReport(KnownReport):
    """A report that is there as the tables of its run only; ``path`` is that of the first of them."""

    @cached_property
    def instances(self) -> pd.DataFrame:
        assert self.stored is not None
        return self.stored.instances()

    @contextlib.contextmanager
    def _opened(self, what: str) -> Iterator[tuple[Path, Path]]:
        raise DamagedData(f"{self.path.name} stands for a report that was dropped, and its {what} was not kept")
        yield  # which makes it the generator that it has to be


def kept_report(stored: StoredRun) -> Report | None:
    """Return what stands for the report that a run dropped; None where it has dropped none.

    Raises DamagedData where one of its tables was changed.
    """
    facts = stored.report_facts()
    if facts is None:
        return None
    contents = contents_of(facts, stored.kept_metrics())
    return TabledReport(stored.folder / FACTS, contents, Limits(), 0, stored=stored)
