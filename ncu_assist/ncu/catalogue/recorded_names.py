"""The names of metrics that ncu knows on each recorded chip: what `ncu --query-metrics` answered, without its texts."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.ncu.catalogue.spelling import ROLLUPS, split

DATA = Path(__file__).parent / "data"
VERSION = "2025.3.1"  # the ncu that was asked
UNLISTED = "report"  # collection of the names that no query lists but a full report holds: on any chip, as far as known


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
    names: dict[str, RecordedName] = {}
    for line in _rows():
        name, kind, unit, collection, chips = line.split("\t")
        on = frozenset(chips.split(","))
        if name in names:  # the unit differs by chip
            on |= names[name].chips
        names[name] = RecordedName(name, "" if collection in ("launch", "source") else kind, unit, collection, on)
    return names


@functools.cache
def words_of_names() -> frozenset[str]:
    """Return the words that recorded base names are made of, such as max, in small letters."""
    names = "\n".join(line.partition("\t")[0] for line in _rows())
    return frozenset(re.split(r"[_.:\n]+", names.lower()))


def _rows() -> list[str]:
    import zstandard

    packed = (DATA / f"metric_names_{VERSION}.tsv.zst").read_bytes()
    return zstandard.ZstdDecompressor().decompress(packed).decode().splitlines()[1:]


@dataclass(frozen=True)
class Available:
    """Base names with the rollups that each has; an empty rollup where the name stands alone. ``where``: of what."""

    where: str
    rollups: Mapping[str, Collection[str]]

    def has(self, name: str) -> bool:
        base, rollup = split(name)
        return rollup in self.rollups.get(base, ())


def in_report(names: Iterable[str], where: str = "this report") -> Available:
    """Return what a report holds, from the names of its metrics."""
    rollups: dict[str, set[str]] = {}
    for base, rollup in map(split, names):
        rollups.setdefault(base, set()).add(rollup)
    return Available(where, rollups)


@functools.cache
def on_chip(chip: str | None) -> Available:
    """Return what ncu can collect on a recorded chip; on any of them when ``chip`` is None."""
    rollups: dict[str, tuple[str, ...]] = {}
    for recorded in recorded_names().values():
        if recorded.is_on(chip):
            base, rollup = split(recorded.name)
            rollups[base] = (*rollups.get(base, ()), *(ROLLUPS[recorded.kind] or (rollup,)))
    return Available(chip or "any recorded chip", rollups)


FILE = Path(__file__).parent / "data" / "metric_units.json"  # unit -> names; benchmarks/metric_units.py writes it


def recorded_units() -> dict[str, str]:
    """Return the unit of each metric that is known by name."""
    return {name: unit for unit, names in json.loads(FILE.read_bytes()).items() for name in names}
