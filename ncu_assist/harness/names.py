"""Names on which parent and child agree: what is timed beside the versions, and the NVTX ranges of a profiled call."""

from __future__ import annotations

# Versions of a bench: an empty call, a device copy of the same bytes, the copy engine with the bytes from the host.
EMPTY, COPY, LINK = "(empty)", "(copy)", "(link)"
RANGE = "ncu-assist"  # the outer range, which ncu filters by
SEPARATOR = "|"
# Of Python functions as versions: what is pickled for the child, and what it says of their inputs and results.
PICKLED, DESCRIBED = "callables.pickle", "results.json"
INPUTS, REFERENCE = "inputs", "reference"


def range_name(version: str, workload: str, repeat: int = 0) -> str:
    """Return the name of the inner NVTX range of a call; ``repeat`` counts further calls of the same work from 1."""
    return SEPARATOR.join([version, workload, *([str(repeat)] if repeat else [])])


def call_of(name: str) -> tuple[str, str]:
    """Return version and workload from the name of an inner range."""
    version, workload, _ = _parts(name)
    return version, workload


def repeat_of(name: str) -> int:
    """Return which call of the same work an inner range is of; 0 is the first."""
    return _parts(name)[2]


def _parts(name: str) -> tuple[str, str, int]:
    version, _, rest = name.partition(SEPARATOR)
    workload, separator, repeat = rest.rpartition(SEPARATOR)
    return (version, workload, int(repeat)) if separator and repeat.isdecimal() else (version, rest, 0)
