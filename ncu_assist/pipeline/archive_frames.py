"""The archive in pandas: one table each of runs, of times, of samples and of findings, joined by ``reference``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.ceilings import ceilings_of
from ncu_assist.rules.model.of_run import findings_of
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.parquet import SAMPLE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

NAMING = ("reference", "kernel", "version")
RUNS = (*NAMING, "run_id", "created", "source", "tool", "gpu", "compute_capability", "driver")
TOOLS = ("ncu", "nvcc", "cuda", "torch")
FACTS = ("dtype", "algorithmic_bytes", "flops")
BESIDE = ("empty_ns", "copy_ns", "link_ns")
TIMES = ("median_ns", "q1_ns", "q3_ns", "min_ns", "samples", "dropped", "sm_clock_mhz", *BESIDE)
JUDGED = ("workload", "launch", "function", "whole", "duration_ns", "tool", "rank")
INTEGERS = ("launches", "launch", "rank", "samples", "dropped", "algorithmic_bytes", "flops")
KINDS = {**dict.fromkeys(INTEGERS, "Int64"), "correct": "boolean"}
FINDING = ("rule", "severity", "saved_ns", "estimated_speedup", "assumed")


@dataclass(frozen=True, repr=False)
class ArchiveFrames:
    """The runs of an archive as tables, the newest first; ``damaged`` are those that cannot be read, and in none.

    Times are in ns, sizes in bytes, clocks in MHz. Absent is NaN, NA or None, never 0. ``reference`` names a run
    wherever one is asked for.
    """

    stored: Sequence[StoredRun]
    reports: Path
    damaged: Sequence[Damage] = ()

    def __len__(self) -> int:
        return len(self.stored)

    def __repr__(self) -> str:
        kernels = len({one.run.kernel for one in self.stored})
        return f"<archive of {len(self)} runs of {kernels} kernels, {len(self.damaged)} damaged>"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row a run: what was measured, when, on what and with what.

        ``created`` is UTC; ``source`` is live, recorded or imported. ``correct`` tells whether it passed all checks, NA
        where there was none; ``launches`` counts those that ncu profiled.
        """
        import pandas as pd

        frame = _frame(map(run_row, self.stored), (*RUNS, *TOOLS, "correct", "launches"))
        created = pd.to_datetime(frame["created"], utc=True, format="ISO8601")
        return frame.assign(created=created)

    @cached_property
    def timings(self) -> pd.DataFrame:
        """One row a run and workload that was timed; what has one ``bench_id`` was timed in turns."""
        return _frame(_each(self.stored, timing_rows), (*NAMING, "workload", *FACTS, *TIMES, "bench_id"))

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row a sample of a bench: run, ``workload``, ``round``, ``position`` in it, ``time_ns``, ``late`` or not.

        Samples of one ``bench_id``, workload and round were taken beside one another, and make pairs. Read when it is
        asked for, of all runs. Raises DamagedData for a file that was changed.
        """
        import pandas as pd

        frames = [one.samples().assign(**naming(one)) for one in self.stored if one.run.timings]
        columns = list(dict.fromkeys((*NAMING, *SAMPLE_COLUMNS)))
        return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)

    @cached_property
    def findings(self) -> pd.DataFrame:
        """One row a finding, as it was when the run was archived, by the version ``tool``; ``rank`` 0 could win most.

        A run of before findings were kept is judged by this version.
        What is ``whole`` is of all launches of a workload, else of a ``launch`` of the kernel ``function``.
        Raises DamagedData for a file that was changed.
        """
        rows = _each(self.stored, lambda stored: finding_rows(stored, self.reports))
        return _frame(rows, (*NAMING, *JUDGED, *FINDING))

    def query(self, sql: str) -> pd.DataFrame:
        """Return what a SELECT over runs, timings, metrics and findings says, see `query`; DuckDB answers it.

        Raises UsageProblem for what is no SELECT or names what there is not, EnvironmentProblem without DuckDB.
        """
        import pandas as pd

        from ncu_assist.pipeline.querying import query

        found = query(Store(self.reports), sql)
        return pd.DataFrame.from_records(found.rows, columns=list(found.columns))


def archive_frames(store: Store) -> ArchiveFrames:
    """Return the runs of an archive as tables, which are read when they are asked for."""
    stored, damaged = store.everything()
    return ArchiveFrames(stored, store.reports, damaged)


def run_row(stored: StoredRun) -> dict[str, Any]:
    """Return what was measured, when, on what and with what."""
    run, device = stored.run, stored.run.device
    return {
        **naming(stored),
        **{name: getattr(run, name) for name in ("run_id", "created", "source", "tool", "gpu")},
        **{name: getattr(device, name, None) for name in ("compute_capability", "driver")},
        **{name: getattr(run.toolchain, name) for name in TOOLS},
        "correct": all(check.passed for check in run.checks) if run.checks else None,
        "launches": len(run.launches),
    }


def timing_rows(stored: StoredRun) -> Iterator[dict[str, Any]]:
    """Yield the times of a run, a row a workload, without its name."""
    for timing in stored.run.timings:
        facts = stored.run.workload(timing.workload)
        yield {
            **{name: getattr(timing, name) for name in ("workload", *TIMES, "bench_id")},
            **{name: getattr(facts, name, None) for name in FACTS},
        }


def finding_rows(stored: StoredRun, reports: Path) -> Iterator[dict[str, Any]]:
    """Yield what the rules said of a run when it was archived; one that keeps no findings is judged now."""
    found = stored.findings() or findings_of(stored.run, stored.by_launch(), ceilings_of(stored.run.device, reports))
    for judged in found.judged:
        about = {name: getattr(judged, name) for name in ("workload", "launch", "whole", "duration_ns")}
        for rank, finding in enumerate(judged.findings):
            said = {name: getattr(finding, name) for name in FINDING}
            yield {**about, "function": judged.kernel, "tool": found.tool, "rank": rank, **said}


def _each(
    stored: Iterable[StoredRun], rows: Callable[[StoredRun], Iterator[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    return ({**naming(one), **row} for one in stored for row in rows(one))


def naming(stored: StoredRun) -> dict[str, str]:
    """Return what names a run in every table."""
    return dict(zip(NAMING, (stored.reference, stored.run.kernel, stored.run.version), strict=True))


def _frame(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame.from_records(list(rows), columns=list(columns))
    return frame.astype({name: kind for name, kind in KINDS.items() if name in frame})
