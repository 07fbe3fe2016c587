"""Which stored run may stand for a version as its source is now, and whether a run was measured on this machine."""

from __future__ import annotations

import hashlib
import math
import platform
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from ncu_assist.record import Run, Source
from ncu_assist.sources import source_sha256
from ncu_assist.spec import Kernel, Version
from ncu_assist.store.archive import Store
from ncu_assist.store.index import Listed, RunFacts, RunHead
from ncu_assist.store.reading import StoredRun

L = TypeVar("L", bound=Listed)
MACHINE_ID = Path("/etc/machine-id")
MADE_UP = 1 << 40  # this bit is set in an address that belongs to no network card (RFC 4122, 4.5)


def machine_hash(path: Path = MACHINE_ID) -> str:
    """Return a hash that tells this machine from others: of its id, or of a network address where it has none.

    Without either it is of the host's name: Python then makes an address up, another one in each process.
    """
    try:
        machine_id = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        machine_id = ""
    node = uuid.getnode()
    address = platform.node() if node & MADE_UP else node
    return hashlib.sha256(f"ncu-assist{machine_id or address}".encode()).hexdigest()


def shown_source(run: RunFacts, machine: str | None) -> Source:
    """Return what a run counts as *here*, where runs are chosen: a live one of another machine as a recorded one.

    ``machine`` is what machine_hash returned. Words say what a run is, which is ``run.source``.
    """
    if run.source == "live" and run.machine != machine:
        return "recorded"
    return run.source


def recorded_runs_matching(store: Store, kernel: Kernel) -> dict[str, StoredRun | None]:
    """Return for each version of a kernel, by full name, the run that shows it; None where there is none.

    Only runs of exactly this source count. Runs measured on this machine go before recorded ones, new before old.
    """
    return {version.name: newest_matching(store, kernel.name, version) for version in kernel.versions}


def newest_matching(store: Store, kernel: str, version: Version) -> StoredRun | None:
    """Return the run that shows ``version`` as its source is now, or None: one with counters if there is one."""
    head = newest_of_source(store.heads(kernel, version.name), source_sha256(version.path))
    return store.opened(head) if head else None


def newest_of_source(runs: Iterable[L], sha256: str | None) -> L | None:
    """Return which of a version's runs, newest first, shows it where its source has this hash; None where none does."""
    matching = (stored for stored in runs if stored.run.source_sha256 == sha256)
    machine = machine_hash()
    return min(
        matching,
        key=lambda stored: (shown_source(stored.run, machine) != "live", not stored.run.is_profiled),
        default=None,
    )


def same_source(store: Store, stored: StoredRun) -> list[RunHead]:
    """Return what the index knows of the runs of a run's source, newest first."""
    runs = store.heads(stored.run.kernel, stored.run.version)
    return [one for one in runs if one.run.source_sha256 == stored.run.source_sha256]


def live_first(runs: list[L]) -> list[L]:
    """Return runs with those measured on this machine in front, otherwise in the order given."""
    machine = machine_hash()
    return sorted(runs, key=lambda stored: shown_source(stored.run, machine) != "live")


def made_here_first(runs: list[L]) -> list[L]:
    """Return runs with those that this machine measured or imported in front, otherwise in the order given."""
    machine = machine_hash()
    return sorted(runs, key=lambda stored: stored.run.source == "recorded" or stored.run.machine != machine)


def fastest_run(runs: list[StoredRun], workload: str) -> StoredRun | None:
    """Return the run with the lowest median on ``workload`` among those whose check of it passed.

    Times of different GPUs are not compared: only runs on the GPU of the first run count.
    """
    return min(_comparable(runs, workload), key=lambda r: _median_ns(r.run, workload), default=None)


def _comparable(runs: list[StoredRun], workload: str) -> list[StoredRun]:
    timed = [r for r in runs if r.run.timing(workload) is not None and passed(r.run, workload)]
    return [r for r in timed if r.run.gpu == timed[0].run.gpu]


def best_run(runs: list[StoredRun], workload: str) -> StoredRun | None:
    """Return, of the fastest on ``workload`` and those within its quartiles, the fastest over all that they share."""
    first = fastest_run(runs, workload)
    limit = first.run.timing(workload) if first else None
    if first is None or limit is None:
        return None
    as_fast = [r for r in _comparable(runs, workload) if _median_ns(r.run, workload) <= limit.q3_ns]
    shared = set.intersection(
        *({one.workload for one in r.run.timings if passed(r.run, one.workload)} for r in as_fast)
    )
    return min(as_fast, key=lambda r: (sum(math.log(_median_ns(r.run, name)) for name in shared), r is not first))


def passed(run: Run, workload: str) -> bool:
    """Tell whether a run was checked on a workload and is right there."""
    checks = [check.passed for check in run.checks if check.workload == workload]
    return bool(checks) and all(checks)


def _median_ns(run: Run, workload: str) -> float:
    timing = run.timing(workload)
    return timing.median_ns if timing else float("inf")
