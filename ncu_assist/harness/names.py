"""Names on which parent and child agree: what is timed beside the versions, and the NVTX ranges of a profiled call."""

from __future__ import annotations

EMPTY, COPY = "(empty)", "(copy)"  # versions of a bench: an empty call, a device copy of the same bytes
RANGE = "ncu-assist"  # the outer range, which ncu filters by
SEPARATOR = "|"


def range_name(version: str, workload: str) -> str:
    """Return the name of the inner NVTX range of a call."""
    return f"{version}{SEPARATOR}{workload}"


def call_of(name: str) -> tuple[str, str]:
    """Return version and workload from the name of an inner range."""
    version, _, workload = name.partition(SEPARATOR)
    return version, workload
