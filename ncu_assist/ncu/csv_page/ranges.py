"""The NVTX cells of a raw page: ``3165  ""<default domain>:step 1:none:none:none:none:none:none""  ""…"" ``.

ncu doubles the quotes around each range but escapes nothing inside it, neither quotes nor colons, so a cell is taken
apart by what stands between the ranges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_DOMAIN = "<default domain>"
BETWEEN = re.compile(r'""\s+(?:\d+\s+)?""')  # the number of a second thread may stand between two ranges
EDGES = re.compile(r'\s*(?:\d+\s+)?""(.*)""\s*', re.DOTALL)
RANGE_ID = re.compile(r"\d+:")
ATTRIBUTES = 6  # after domain and name: payload type and value, colour type and colour, message type and message
PLAIN = ":none" * ATTRIBUTES


@dataclass(frozen=True)
class Range:
    """One NVTX range around a launch."""

    domain: str
    name: str

    def __str__(self) -> str:
        """Return the name, behind its domain unless that is the default one."""
        return self.name if self.domain == DEFAULT_DOMAIN else f"{self.domain}:{self.name}"


def push_pop_ranges(cell: str) -> tuple[Range, ...]:
    """Return the ranges of a push/pop cell, outermost first; raises ValueError when it is none."""
    return tuple(_range(entry) for entry in _entries(cell))


def start_end_ranges(cell: str) -> tuple[Range, ...]:
    """Return the ranges of a start/end cell, where each begins with its number; raises ValueError when it is none."""
    return tuple(_range(RANGE_ID.sub("", entry, count=1)) for entry in _entries(cell))


def _entries(cell: str) -> list[str]:
    if not cell.strip():
        return []
    inside = EDGES.fullmatch(cell)
    if inside is None:
        raise ValueError("no NVTX ranges")
    return BETWEEN.split(inside.group(1))


def _range(entry: str) -> Range:
    """Return the range of 'domain:name:…'. A domain with a colon cannot be told from its range: it ends there."""
    domain, _, rest = entry.partition(":")
    if rest.count(":") < ATTRIBUTES:
        raise ValueError("an NVTX range without its attributes")
    return Range(domain, _name(rest))


def _name(rest: str) -> str:
    if rest.endswith(PLAIN):
        return rest[: -len(PLAIN)]
    # A range pushed with a message has it twice, as its name and last: both with the same number of colons.
    parts = rest.split(":")
    size = (len(parts) - ATTRIBUTES + 1) // 2
    name, message = ":".join(parts[:size]), ":".join(parts[-size:])
    return name if name == message else rest.rsplit(":", ATTRIBUTES)[0]
