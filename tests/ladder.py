"""The recorded ladder of lightning_decode, on which every step is known to be what its worklog says."""

from __future__ import annotations

from pathlib import Path

from ncu_assist.frame import Combined, combine_tables
from ncu_assist.store import Store, StoredRun

KERNEL, WORKLOAD = "lightning_decode", "b64_d96"
ROOT = Path(__file__).parent.parent


def step(number: int) -> StoredRun:
    """The newest recorded run of a version."""
    found = [
        stored
        for stored in Store(ROOT / "reports").runs()
        if (stored.run.kernel, stored.run.source) == (KERNEL, "recorded")
        and stored.run.version.startswith(f"v{number}_")
    ]
    return max(found, key=lambda stored: stored.run.run_id)


def counters(number: int, workload: str = WORKLOAD) -> Combined:
    """What the counters say of a version on one workload."""
    stored = step(number)
    return combine_tables(stored.run, stored.by_launch(), workload)


def launches(number: int, workload: str = WORKLOAD) -> list[int]:
    """The launches of one call of a version on one workload."""
    return [one.index for one in counters(number, workload).launches]


def line_of(number: int, text: str) -> int:
    """Where the one line with this text stands in the source that was recorded."""
    source = next(iter(step(number).source_texts().values())).splitlines()
    (found,) = [place for place, line in enumerate(source, 1) if text in line]
    return found
