"""Parts that several JSON answers share."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import WorkloadRow
    from ncu_assist.analysis.yardstick import OwnAgainstLibrary
    from ncu_assist.ceilings import Floor
    from ncu_assist.record import Check, Device, Run, Source, Timing
    from ncu_assist.verdict import Verdict


def clean(value: Any) -> Any:
    """Return ``value`` with tuples as lists, and null for numbers that JSON does not have (NaN, infinity)."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    return value


def answer(command: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the one object that a command prints."""
    cleaned: dict[str, Any] = clean({"schema": f"ncu-assist.{command}/1", **content})
    return cleaned


def cycles_json(verdict: Verdict | None) -> dict[str, Any]:
    """Return the verdict in words, whether another clock explains it, and the same by SM cycles; nulls for none."""
    return {
        "words": verdict.words if verdict else None,
        "by_clock": verdict.by_clock if verdict else None,
        "cycles": asdict(verdict.cycles) if verdict and verdict.cycles else None,
    }


def library_json(one: OwnAgainstLibrary) -> dict[str, Any]:
    """Return the fastest own version against the fastest library, with the verdict on the two."""
    said = one.verdict
    return {
        "workload": one.workload,
        "own": one.own,
        "own_ns": one.own_ns,
        "library": one.library,
        "library_ns": one.library_ns,
        "ratio": one.ratio,
        "verdict": said.verdict if said else None,
        "low": said.low if said else None,
        "high": said.high if said else None,
    }


def run_facts(run: Run, reference: str, source: Source) -> dict[str, Any]:
    """Return what names a run, and where and when it was measured."""
    return {
        "reference": reference,
        "kernel": run.kernel,
        "version": run.version,
        "run_id": run.run_id or None,  # a report that is in no archive has none
        "source": source,
        "created": run.created or None,
        "verified": run.verified,
        "device": device(run.device),
    }


def device(of: Device | None) -> dict[str, Any] | None:
    """Return a GPU without what tells it apart from others of its model."""
    if of is None:
        return None
    return {name: value for name, value in asdict(of).items() if name != "uuid_sha256"}


def timing(of: Timing | None) -> dict[str, Any] | None:
    """Return one version's times on one workload, in nanoseconds."""
    return None if of is None else {name: value for name, value in asdict(of).items() if name != "workload"}


def check(of: Check | None) -> dict[str, Any] | None:
    """Return the outcome of a check."""
    return None if of is None else {name: value for name, value in asdict(of).items() if name != "workload"}


def floor(of: Floor | None, median_ns: float | None) -> dict[str, Any] | None:
    """Return the least time of a workload and what it consists of; ``ratio`` is the median over it, null untimed."""
    if of is None:
        return None
    terms = [{"kind": one.kind, "amount": one.amount, "unit": one.unit, "per_second": one.per_second, "ns": one.ns,
              "assumed": one.assumed, "why": one.why} for one in of.terms]  # fmt: skip
    ratio = median_ns / of.ns if median_ns else None
    return {"kind": of.kind, "ns": of.ns, "ratio": ratio, "assumed": of.assumed, "terms": terms}


def workload(row: WorkloadRow) -> dict[str, Any]:
    """Return a workload of a run with its check, its times and what they come to."""
    return {
        **asdict(row.workload),
        "check": check(row.check),
        "timing": timing(row.timing),
        "bytes_per_second": row.bytes_per_second,
        "in_l2": row.in_l2,
        "flops_per_second": row.flops_per_second,
        "share_of_copy": row.share_of_copy,
        "share_of_link": row.share_of_link,
        "floor": floor(row.floor, row.timing.median_ns if row.timing else None),
        "floor_ns": row.floor.ns if row.floor else None,
        "floor_assumed": row.floor.assumed if row.floor else None,
    }
