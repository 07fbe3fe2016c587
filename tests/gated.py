"""A project whose archive holds made-up runs of add_one, for tests of the gate."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from factories import BENCH_ID, WORKLOAD, launch, make_run, metrics_frame, samples_frame, times, timing

from ncu_assist.analysis.gate import Gate
from ncu_assist.pipeline.gating import GateRequest, gate
from ncu_assist.project import Project
from ncu_assist.record import Bench, Check
from ncu_assist.store import Store, StoredRun, metrics_parquet, samples_parquet

CONFLICTS = "derived__memory_l1_wavefronts_shared_excessive"
SMALL, LARGE = "small", "large"
BOTH = {SMALL: 1e5, LARGE: 1e6}  # workloads and their medians in ns
NO_CONFLICTS = f"{CONFLICTS}:+0"
LATER = {"run_id": "20261122T074500Z-2b3c4d", "created": "2026-11-22T07:45:00Z"}
NO_BASELINE_SET = (
    "no baseline is set, so this compares with v0, the first version; "
    "to set one: ncu-assist baseline set add_one/VERSION"
)
NO_FOLDER = "kernels/add_one has no kernel.toml: only stored runs were judged, whatever has changed since"
Metrics = Mapping[str, float | str | None]


class Archive:
    """Runs of one bench, each of a version of its own, on as many workloads as are named."""

    def __init__(self, root: Path) -> None:
        (root / "kernels").mkdir(parents=True, exist_ok=True)
        self.project = Project(root)
        self.store = Store(self.project.reports)
        self.seed = 0
        self.sm_clock_mhz = float("nan")

    def save(
        self, version: str, medians_ns: Mapping[str, float], metrics: Metrics | None = None, **changes: Any
    ) -> StoredRun:
        """Save a run that was timed, and with ``metrics`` profiled too, on each of the workloads.

        A median of 0 stands for no samples; ``bench_id`` among the changes is that of another bench.
        """
        bench_id, names = changes.pop("bench_id", BENCH_ID), list(medians_ns)
        samples = [self._samples(version, name, bench_id, ns) for name, ns in medians_ns.items() if ns]
        contents, made = {}, _made(version, names)
        if samples:
            contents["samples.parquet"] = samples_parquet(pd.concat(samples))
            timings = tuple(timing(one, str(one["workload"].iloc[0]), bench_id) for one in samples)
            made["bench"] = Bench(bench_id, "read", 100, (40.0, 41.0), (), timings)
        if metrics is None:
            made |= {"launches": (), "profile": None}
        else:
            contents["metrics.parquet"] = metrics_parquet(metrics_frame(*[metrics] * len(names)))
        return self.store.save(make_run(**{**made, **changes}), contents)

    def _samples(self, version: str, workload: str, bench_id: str, median_ns: float) -> pd.DataFrame:
        self.seed += 1
        made = times(median_ns, self.seed)
        clock = self.sm_clock_mhz
        return samples_frame(made, version=version, workload=workload, bench_id=bench_id, sm_clock_mhz=clock)


def _made(version: str, workloads: Sequence[str]) -> dict[str, Any]:
    return {
        "version": version,
        "source_sha256": hashlib.sha256(version.encode()).hexdigest(),
        "workloads": tuple(replace(WORKLOAD, name=name) for name in workloads),
        "checks": tuple(Check(name, True, "", (0,), 0.0, 0.0) for name in workloads),
        "launches": tuple(launch(place, workload=name) for place, name in enumerate(workloads)),
    }


def judged(archive: Archive, candidate: str = "add_one", *fail_on: str, **asked: Any) -> Gate:
    """Return the gate over a candidate of the archive; ``asked`` are further fields of the request."""
    result = gate(archive.project, GateRequest(candidate, fail_on=fail_on, **asked))
    assert isinstance(result, Gate), result
    return result


def outcomes(result: Gate) -> dict[tuple[str | None, str], str]:
    """Return the word of each check, by workload and key of its metric."""
    return {(check.workload, check.limit.metric.key): check.outcome for check in result.checks}
