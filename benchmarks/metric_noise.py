"""Write how far each metric strays between repeats of the same launch into the package.

    python benchmarks/metric_noise.py gh100 2025.3.1 tests/data/repeats_first tests/data/repeats_second \
        tests/data/{repeats,repeats_again,transpose}_full_h200_*.ncu-rep.zst

tests/data/README.md says how those were recorded: reports, and archives of runs of ``profile --repeats``. Launches of
one kernel with one grid and block are repeats, across all of them: only programs whose launches repeat the same work
with the same input belong here. A metric that is 0 in every repeat was not exercised.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import zstandard

from ncu_assist import read_report
from ncu_assist.frame import by_launch
from ncu_assist.ncu.catalogue.noise import DATA, SHORT_NS, deviation_of
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.record import Launch
from ncu_assist.store import Store

GPU = "NVIDIA H200"  # on which all of these were recorded

Values = Mapping[str, float]
Kernel = tuple[object, ...]
Group = list[dict[str, float]]


def main() -> None:
    chip, version, paths = sys.argv[1], sys.argv[2], [Path(path) for path in sys.argv[3:]]
    groups, units = repeats(paths)
    document = {
        "chip": chip,
        "gpu": GPU,
        "ncu": version,
        "kernels": [
            {"kernel": kernel[0], "launches": len(group), "median_ns": duration_ns(group)}
            for kernel, group in groups.items()
        ],
        "deviation": learned(list(groups.values()), units),
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    (DATA / f"noise_{chip}.json.zst").write_bytes(zstandard.ZstdCompressor(19).compress(text))
    sys.stdout.write(f"{len(document['deviation'])} metrics, {len(groups)} kernels\n")  # type: ignore[arg-type]


def repeats(paths: Sequence[Path]) -> tuple[dict[Kernel, Group], dict[str, str]]:
    """Return the launches that were made at least twice, each by our keys and ncu's names; and the unit of each."""
    groups: dict[Kernel, Group] = defaultdict(list)
    units = {key: metric.unit for key, metric in ROWS.items()}
    for path in paths:
        for launches, metrics in measured(path):
            units |= dict(zip(metrics["metric"].astype(str), metrics["unit"].astype(str), strict=True))
            tables = by_launch(metrics)
            for one in launches:
                groups[one.kernel, one.grid, one.block].append(numbers(tables[one.index]))
    return {kernel: group for kernel, group in groups.items() if len(group) > 1}, units


def measured(path: Path) -> Iterator[tuple[Sequence[Launch], pd.DataFrame]]:
    """Yield the launches and tidy metrics of a report, or of each run of an archive."""
    if path.is_dir():
        for stored in Store(path).runs():
            yield stored.run.launches, stored.metrics()
        return
    report = read_report(path)
    yield report.records, report.metrics


def numbers(values: Values) -> dict[str, float]:
    """Return the numbers of a launch by ncu's name and by our key."""
    ours = {key: metric.value(values) for key, metric in ROWS.items()}
    return {name: value for name, value in {**values, **ours}.items() if value is not None and not math.isnan(value)}


def duration_ns(group: Group) -> float:
    return statistics.median(values["gpu__time_duration.sum"] for values in group)


def learned(groups: Sequence[Group], units: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the deviation of each metric in long and in short kernels, as noise.py reads it."""
    sides = [[group for group in groups if (duration_ns(group) < SHORT_NS) == short] for short in (False, True)]
    names = sorted({name for group in groups for values in group for name in values})
    return {name: [deviation(name, units[name], side) for side in sides] for name in names}


def deviation(name: str, unit: str, groups: Sequence[Group]) -> list[float] | None:
    """Return [relative, absolute] of a metric, [points] of a percentage; None where no kernel exercised it."""
    columns = [[values[name] for values in group if name in values] for group in groups]
    whole = [column for column, group in zip(columns, groups, strict=True) if len(column) == len(group)]
    found = deviation_of(whole, unit)
    if found is None:
        return None
    parts = (found.absolute,) if found.in_points else (found.relative, found.absolute)
    return [rounded_up(part) for part in parts]


def rounded_up(value: float) -> float:
    """Return two significant digits, never less than was seen."""
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step) * step:.2g}")


if __name__ == "__main__":
    main()
