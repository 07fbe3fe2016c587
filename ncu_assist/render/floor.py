"""The floor of a workload in words: what sets its least time, how far a version is from it, and what a copy takes."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.analysis.run_view import WorkloadRow
from ncu_assist.analysis.yardstick import COPY
from ncu_assist.ceilings import Floor
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Timing
from ncu_assist.render.escape import one_line
from ncu_assist.render.l2_words import l2_words
from ncu_assist.render.words import factor

UNMEASURED = "the rate of the host link was not measured: ncu-assist ceilings"


def floor_words(row: WorkloadRow | None) -> str:
    """Return the floor and how far the version is from it; empty for what was not timed, or held against nothing."""
    if row is None or row.timing is None:
        return ""
    floor, timing = row.floor, row.timing
    first = [f"{floor_note(floor)}{_away(floor, timing)}"] if floor else list(_unknown(row))
    return "; ".join([*first, *_beside(row, timing, far=floor is None)])


def floor_note(floor: Floor) -> str:
    """Return a floor and what it is by, e.g. ``250 µs, 1.07 GB at the 4.29 TB/s of DRAM (measured on this GPU)``."""
    rate = f"{quantity(floor.per_second, f'{floor.unit}/s')} of {floor.bound}"
    return f"{duration(floor.ns)}, {quantity(floor.amount, floor.unit)} at the {rate} ({one_line(floor.why)})"


def _unknown(row: WorkloadRow) -> Iterator[str]:
    if row.workload.host_bytes is not None:
        yield f"not known for {quantity(row.workload.host_bytes, 'byte')} from the host; {UNMEASURED}"


def _beside(row: WorkloadRow, timing: Timing, *, far: bool) -> Iterator[str]:
    """Yield what was timed beside the version. A device copy says nothing of bytes that cross the link."""
    if row.workload.host_bytes is not None:
        if timing.link_ns:
            taken = f"the copy engine takes {duration(timing.link_ns)} for them"
            yield taken + (_far(timing.link_ns / timing.median_ns) if far else "")
    elif timing.copy_ns and row.share_of_copy and row.measure is COPY:
        yield f"a device copy of the same bytes takes {duration(timing.copy_ns)}{_far(row.share_of_copy)}"
        if kept := l2_words(row):
            yield kept


def _away(floor: Floor, timing: Timing) -> str:
    """Return how far a version is from its floor; the word *assumed* where that rests on a rate that is."""
    return _far(floor.ns / timing.median_ns) + (", assumed" if floor.assumed else "")


def _far(share: float) -> str:
    if share <= 0:
        return ""
    return f", {factor(1 / share)} away" if share < 1 else ": reached"
