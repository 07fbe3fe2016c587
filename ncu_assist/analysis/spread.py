"""How far GPUs differ from each other: the same versions timed on each of them, each in a bench of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.verdict import Verdict

if TYPE_CHECKING:
    from ncu_assist.store import StoredRun


@dataclass(frozen=True)
class SpreadRow:
    """One version on one workload: its median on each GPU, and the verdict there against the first version.

    None where it was not timed, and for the verdict of the first version itself. ``apart`` is how much longer the
    slowest GPU takes than the fastest; ``factors_apart`` the same of the speed-ups, which is what GPUs disagree on
    about a change. Both are None with less than two.
    """

    workload: str
    version: str
    medians_ns: tuple[float | None, ...]
    clocks_mhz: tuple[float | None, ...]
    verdicts: tuple[Verdict | None, ...]
    apart: float | None
    factors_apart: float | None


@dataclass(frozen=True)
class GpuSpread:
    """The same versions on several GPUs, which are named as the driver numbers them."""

    kernel: str
    gpus: tuple[str, ...]
    rows: tuple[SpreadRow, ...]
    failures: tuple[str, ...] = ()


def spread_of(runs: Sequence[Sequence[StoredRun]], workloads: Sequence[str]) -> tuple[SpreadRow, ...]:
    """Return the rows of what was measured: for each GPU the runs of the same versions, of which the first is the base.

    A GPU on which a version has no run lacks it. Raises DamagedData for samples that were changed.
    """
    versions = list(dict.fromkeys(stored.run.version for own in runs for stored in own))
    rows = []
    for workload in workloads:
        for version in versions:
            timed = [_timed(own, version, workload) for own in runs]
            if not any(timed):
                continue
            first = [_timed(own, versions[0], workload) for own in runs]
            verdicts = tuple(
                diff_runs(one, other, DiffOptions(workload)).verdict if one and other and one is not other else None
                for one, other in zip(first, timed, strict=True)
            )
            timings = [stored.run.timing(workload) if stored else None for stored in timed]
            medians = tuple(timing.median_ns if timing else None for timing in timings)
            clocks = tuple(timing.sm_clock_mhz if timing else None for timing in timings)
            speedups = [verdict.speedup for verdict in verdicts if verdict is not None and verdict.speedup]
            known = [median for median in medians if median]
            rows.append(SpreadRow(workload, version, medians, clocks, verdicts, _apart(known), _apart(speedups)))
    return tuple(rows)


def _timed(runs: Sequence[StoredRun], version: str, workload: str) -> StoredRun | None:
    return next((one for one in runs if one.run.version == version and one.run.timing(workload)), None)


def _apart(values: Sequence[float]) -> float | None:
    return max(values) / min(values) - 1 if len(values) > 1 else None
