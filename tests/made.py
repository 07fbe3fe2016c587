"""Runs and outcomes that the tests of every format show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from factories import WORKLOAD, launch, make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.record import Check, WorkloadFacts
from ncu_assist.store import Store, StoredRun

EVIL = "evil[red]\x1b[31m\x07\u202ekernel"
ODD = WorkloadFacts("odd", "float32", {"n": 1000}, 8000, None)


def saved(root: Path, version: str, median_ns: float | None = 1e5, metrics: Any = None, **changes: Any) -> StoredRun:
    """Save one version of add_one with one launch, seeded by its name."""
    store = Store(root / "reports")
    samples = samples_frame(times(median_ns, sum(version.encode())), version=version) if median_ns else None
    run = make_run(version=version, **changes)
    return save_run(store, run, metrics_frame(metrics or {}), samples)


def chain(root: Path) -> StoredRun:
    """Save a version that launches three kernels on one workload and one on another, one with a hostile name."""
    launches = (
        launch(0, EVIL, duration_ns=30_000.0),
        launch(1, "second", duration_ns=5_000.0),
        launch(2, "third", duration_ns=None),
        launch(3, "odd_one", "odd"),
    )
    samples = pd.concat([samples_frame(times(5e4, 1), version="v2_chain", workload=w) for w in ("small", "odd")])
    wrong = Check("odd", False, "element 999 is nan [bold]", (0,), None, None)
    run = make_run(
        version="v2_chain",
        launches=launches,
        workloads=(WORKLOAD, ODD),
        checks=(*make_run().checks, wrong),
        notes=("a note \x1b[2J",),
    )
    return save_run(Store(root / "reports"), run, metrics_frame({}, {}, {}, {}), samples)


def outcome(root: Path) -> KernelOutcome:
    """Four versions: v0, one 2.5 times as fast, one that does not build, one without a run."""
    v0, v1 = saved(root, "v0_torch", 2.5e5), saved(root, "v1_fused", 1e5)
    broken = VersionOutcome("v2_broken", None, "error: expected a ';' [red]\x1b[31m")
    return KernelOutcome(
        "add_one",
        ("small",),
        "live",
        (VersionOutcome("v0_torch", v0), VersionOutcome("v1_fused", v1), broken, VersionOutcome("v3_new", None)),
    )


def wrong(run: StoredRun, reason: str) -> StoredRun:
    """Return a run whose check failed."""
    checks = tuple(replace(check, passed=False, reason=reason) for check in run.run.checks)
    return replace(run, run=replace(run.run, checks=checks))
