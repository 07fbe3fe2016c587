"""Samples on their way out of the sandbox: rows of JSON, which take no more memory than their file says."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ncu_assist.harness.names import COPY, EMPTY

if TYPE_CHECKING:
    import pandas

SAMPLES = "samples.json"
ROW_BYTES = 256  # at most, of a row; the longest name of a version has some 60 letters
COLUMNS = ("version", "round", "position", "time_ns", "sm_clock_mhz", "late")
Row = tuple[str, int, int, float, float | None, bool]
NARROW = {"round": "int32", "position": "int32", "sm_clock_mhz": "float64"}  # as bench.SCHEMA has them


def write_samples(columns: dict[str, list[object]], out: Path) -> None:
    """Hand in the samples of the one bench, all at once."""
    unfinished = out / f".{SAMPLES}"
    unfinished.write_bytes(msgspec.json.encode(list(zip(*(columns[name] for name in COLUMNS), strict=True))))
    unfinished.replace(out / SAMPLES)


def most_bytes(versions: Sequence[str], rounds: int) -> int:
    """Return how large a file of samples may be."""
    return ROW_BYTES * rounds * len({*versions, EMPTY, COPY})


def read_samples(path: Path, versions: Sequence[str], rounds: int) -> list[Row]:
    """Return samples as this bench can have given them: each version once in each round, times that are some.

    Raises ValueError, of which msgspec's errors are kinds, or RecursionError for anything else.
    """
    rows = msgspec.json.decode(path.read_bytes(), type=list[Row])
    timed = {*versions, EMPTY, COPY}
    seen: dict[str, set[int]] = {}
    for version, number, position, time_ns, clock, _ in rows:
        if version not in timed:
            raise ValueError("samples of other versions")
        if not 0 <= time_ns < inf or not 0 <= (clock or 0.0) < inf or not 0 <= position < len(timed):
            raise ValueError("times that are none")
        seen.setdefault(version, set()).add(number)
    if len(rows) != rounds * len(seen) or any(numbers != set(range(rounds)) for numbers in seen.values()):
        raise ValueError("other samples than one of each round")
    if not seen.keys() >= set(versions):
        raise ValueError("samples of other versions")
    return rows


def frame_of(rows: Sequence[Row], bench_id: str, workload: str) -> pandas.DataFrame:
    """Return samples as a frame with the columns of bench.SCHEMA."""
    import pandas

    frame = pandas.DataFrame(list(rows), columns=list(COLUMNS)).astype(NARROW)
    frame.insert(0, "bench_id", bench_id)
    frame.insert(1, "workload", workload)
    return frame
