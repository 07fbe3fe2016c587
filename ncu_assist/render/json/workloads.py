"""A workload as JSON: its check, its times, the least time of it, and own versions on it against a library's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ncu_assist.ceilings.floor import Kind as FloorKind
from ncu_assist.record import InL2
from ncu_assist.render.json.values import TimingKeys, filled
from ncu_assist.verdict import Word

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import WorkloadRow
    from ncu_assist.analysis.yardstick import OwnAgainstLibrary
    from ncu_assist.ceilings import Floor


class CheckKeys(TypedDict):
    """The outcome of comparing a version with the reference on one workload."""

    passed: bool
    reason: str
    seeds: list[int]
    norm_error: float | None
    max_error: float | None


class FloorTermKeys(TypedDict):
    """One thing that a workload has to do, and the least time of that alone."""

    kind: FloorKind
    amount: int
    unit: Literal["byte", "flop", "op", "launch"]
    per_second: float
    ns: float
    assumed: bool
    why: str


class FloorKeys(TypedDict):
    """The least time of a workload: that of the longest of its terms."""

    kind: FloorKind
    ns: float
    ratio: float | None
    assumed: bool
    terms: list[FloorTermKeys]


class WorkloadKeys(TypedDict):
    """A workload of a run: what it is, its check, its times, and what they come to."""

    name: str
    dtype: str
    integers: dict[str, int]
    algorithmic_bytes: int | None
    flops: int | None
    host_bytes: int | None
    written_bytes: int | None
    work: dict[str, int]
    check: CheckKeys | None
    timing: TimingKeys | None
    bytes_per_second: float | None
    in_l2: InL2 | None
    flops_per_second: float | None
    share_of_copy: float | None
    share_of_link: float | None
    floor: FloorKeys | None
    floor_ns: float | None
    floor_assumed: bool | None


class AgainstLibraryKeys(TypedDict):
    """The fastest own version against the fastest library, on a workload."""

    workload: str
    own: str
    own_ns: float
    library: str
    library_ns: float
    ratio: float | None
    verdict: Word | None
    low: float | None
    high: float | None


def library_json(one: OwnAgainstLibrary) -> dict[str, Any]:
    """Return the fastest own version against the fastest library, with the verdict on the two."""
    said = one.verdict
    verdict, low, high = (said.verdict, said.low, said.high) if said else (None, None, None)
    return filled(AgainstLibraryKeys, one, verdict=verdict, low=low, high=high)


def floor(of: Floor | None, median_ns: float | None) -> dict[str, Any] | None:
    """Return the least time of a workload and what it consists of; ``ratio`` is the median over it, null untimed."""
    if of is None:
        return None
    terms = [filled(FloorTermKeys, one) for one in of.terms]
    return filled(FloorKeys, of, ratio=median_ns / of.ns if median_ns else None, terms=terms)


def workload(row: WorkloadRow) -> dict[str, Any]:
    """Return a workload of a run with its check, its times and what they come to."""
    timing = row.timing
    return filled(
        WorkloadKeys,
        row.workload,
        row,
        check=filled(CheckKeys, row.check) if row.check else None,
        timing=filled(TimingKeys, timing) if timing else None,
        floor=floor(row.floor, timing.median_ns if timing else None),
        floor_ns=row.floor.ns if row.floor else None,
        floor_assumed=row.floor.assumed if row.floor else None,
    )
