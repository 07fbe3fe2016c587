"""The names of metrics that ncu knows on each recorded chip: what `ncu --query-metrics` answered, without its texts."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"
VERSION = "2025.3.1"  # the ncu that was asked
UNLISTED = (
    "report"  # the collection of names that no query lists but a full report holds: on every chip, as far as known
)


@dataclass(frozen=True)
class RecordedName:
    """One base name. ``kind`` is Counter, Ratio or Throughput, which decides its rollups; empty where it takes none.

    ``collection`` is profiling, launch, source, or ``UNLISTED``.
    """

    name: str
    kind: str
    unit: str
    collection: str
    chips: frozenset[str]

    def is_on(self, chip: str | None) -> bool:
        """Return whether this chip has it; on any chip when ``chip`` is None."""
        return chip is None or chip in self.chips or self.collection == UNLISTED


@functools.cache
def recorded_names() -> dict[str, RecordedName]:
    """Return every recorded base name, sorted."""
    import zstandard

    packed = (DATA / f"metric_names_{VERSION}.tsv.zst").read_bytes()
    names: dict[str, RecordedName] = {}
    for line in zstandard.ZstdDecompressor().decompress(packed).decode().splitlines()[1:]:
        name, kind, unit, collection, chips = line.split("\t")
        on = frozenset(chips.split(","))
        if name in names:  # the unit differs by chip
            on |= names[name].chips
        names[name] = RecordedName(name, "" if collection in ("launch", "source") else kind, unit, collection, on)
    return names
