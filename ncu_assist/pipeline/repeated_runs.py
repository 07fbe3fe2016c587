"""The runs of an archive whose calls were profiled several times: from them noise is learned."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.analysis.diff.noise import LEAST_REPEATS, LearnedNoise
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.record import Device, Run
from ncu_assist.store import Store, StoredRun

MOST_RUNS = 12  # the newest; reading one takes 20 ms


def learned_noise(store: Store, device: Device | None) -> LearnedNoise | None:
    """Return what runs with ``profile --repeats`` on this model of GPU say; None where there are none.

    Raises DamagedData for a run whose counters were changed.
    """
    if device is None:
        return None
    runs = [stored for stored in store.runs() if _is_repeated(stored.run) and stored.run.gpu == device.name]
    return LearnedNoise([one for stored in runs[:MOST_RUNS] for one in _combined(stored)]) if runs else None


def _combined(stored: StoredRun) -> Iterator[Combined]:
    tables = stored.by_launch()
    for workload in dict.fromkeys(launch.workload for launch in stored.run.launches):
        yield combine_tables(stored.run, tables, workload)


def _is_repeated(run: Run) -> bool:
    return run.profile is not None and run.profile.repeats >= LEAST_REPEATS
