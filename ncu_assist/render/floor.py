"""The floor of a workload in words: a device copy of its bytes, or the host link for what comes from the host."""

from __future__ import annotations

from ncu_assist.ceilings import Ceilings
from ncu_assist.ceilings.link import link_ceiling
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Timing
from ncu_assist.render.escape import one_line
from ncu_assist.render.facts import WorkloadRow
from ncu_assist.render.l2_words import l2_words
from ncu_assist.render.words import factor

NS = 1e9
UNMEASURED = "the rate of the host link was not measured: ncu-assist ceilings"


def floor_words(row: WorkloadRow | None, ceilings: Ceilings | None) -> str:
    """Return the floor and how far the version is from it; empty for what was not timed."""
    if row is None or row.timing is None:
        return ""
    if row.workload.host_bytes is not None:
        return _of_link(row.timing, row.workload.host_bytes, ceilings)
    copy = row.timing.copy_ns
    if not copy or not row.share_of_copy:
        return ""
    kept = l2_words(row)
    return f"{duration(copy)}, a device copy of the same bytes{_far(row.share_of_copy)}{f'; {kept}' if kept else ''}"


def _of_link(timing: Timing, host_bytes: int, ceilings: Ceilings | None) -> str:
    """A device copy says nothing of bytes that cross the link: its rate is the floor, measured apart or beside."""
    ceiling = link_ceiling(ceilings)
    moved = f"{quantity(host_bytes, 'byte')} from the host"
    engine = f"the copy engine takes {duration(timing.link_ns)} for them" if timing.link_ns else ""
    if ceiling is None:
        far = _far(timing.link_ns / timing.median_ns) if timing.link_ns else ""
        return "; ".join(filter(None, [f"not known for {moved}", f"{engine}{far}" if engine else "", UNMEASURED]))
    floor_ns = host_bytes / ceiling.bytes_per_second * NS
    rate = f"{quantity(ceiling.bytes_per_second, 'byte/s')}, {one_line(ceiling.why)}"
    said = f"{duration(floor_ns)}, {moved} at {rate}{_far(floor_ns / timing.median_ns)}"
    return "; ".join(filter(None, [said, engine]))


def _far(share: float) -> str:
    if share <= 0:
        return ""
    return f", {factor(1 / share)} away" if share < 1 else ": reached"
