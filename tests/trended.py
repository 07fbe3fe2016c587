"""An archive with a made-up history of add_one: a run a day, of two versions that move as they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from factories import DEVICE, WORKLOAD
from gated import SMALL, Archive

from ncu_assist.record import Commit

NOISE = 0.0028  # of one recorded kernel from bench to bench on one GPU (benchmarks/trend_rates.py)


def steps(runs: int, at: int, change: float) -> list[float]:
    """Return times that are 1, and from the run ``at`` on another."""
    return [1.0] * at + [1 + change] * (runs - at)


def creep(runs: int, start: int, change: float) -> list[float]:
    """Return times that are 1, and from the run ``start`` on change by as much from each to the next."""
    return [(1 + change) ** max(0, n - start) for n in range(runs)]


def history(
    root: Path,
    shapes: Mapping[str, Sequence[float]],
    seed: int = 4,
    facts: Mapping[int, Mapping[str, Any]] | None = None,
) -> Archive:
    """Save a run a day of each version, 100 µs times its shape; ``facts`` are changes of the runs of single days."""
    archive, rng = Archive(root), np.random.default_rng(seed)
    for day in range(max(map(len, shapes.values()))):
        for version, shape in shapes.items():
            if day < len(shape):
                changes = {**made_on(day), **(facts or {}).get(day, {})}
                archive.save(version, {SMALL: 1e5 * shape[day] * float(np.exp(rng.normal(0, NOISE)))}, **changes)
    return archive


def made_on(day: int) -> dict[str, Any]:
    """Return what a run says of the day that it was made on."""
    return {
        "run_id": f"202610{day + 1:02d}T070000Z-{day:06x}",
        "created": f"2026-10-{day + 1:02d}T07:00:00Z",
        "bench_id": f"bench-{day}",
        "commit": Commit(f"{day + 1:02x}" * 20, False),
        "device": DEVICE,
        "workloads": (WORKLOAD,),
    }
