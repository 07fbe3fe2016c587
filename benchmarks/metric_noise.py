"""Write how far each metric strays between repeats of the same launch into the package.

    python benchmarks/metric_noise.py gh100 2025.3.1 tests/data/{repeats,repeats_again,transpose}_full_h200_*.zst

tests/data/README.md says how those were recorded. Launches of one kernel with one grid and block are repeats, across
all reports: only programs whose launches repeat the same work with the same input belong here. A metric that is 0 in
every repeat was not exercised.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ncu_report
import zstandard

from ncu_assist.ncu.catalogue.derived import ALL_DERIVED
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.noise import DATA, SHORT_NS

SHAPE = [f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"]
MOST = 10.0  # ten times the median or more, also where the median is 0
NEGLIGIBLE = 0.01  # of the largest median: what a kernel hardly does (reads of one that writes) strays without meaning

Values = dict[str, float]


def numbers(action: Any) -> Values:
    """Return the numbers of a launch by ncu's name."""
    found = {name: action.metric_by_name(name) for name in action.metric_names()}
    values = {name: metric.value() for name, metric in found.items() if metric.has_value()}
    return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open a report through NVIDIA's reader, which reads plain files only."""
    with tempfile.NamedTemporaryFile(suffix=".ncu-rep") as plain:
        packed = Path(path).read_bytes()
        plain.write(zstandard.ZstdDecompressor().decompress(packed) if path.endswith(".zst") else packed)
        plain.flush()
        yield ncu_report.load_report(plain.name)


def repeats(paths: Sequence[str]) -> dict[tuple[str, ...], list[Values]]:
    """Return the launches that were made at least twice."""
    groups: dict[tuple[str, ...], list[Values]] = defaultdict(list)
    for path in paths:
        with opened(path) as report:
            for action in (action for part in report for action in part):
                values = numbers(action)
                groups[(action.name(), *(str(values[name]) for name in SHAPE))].append(values)
    return {key: launches for key, launches in groups.items() if len(launches) > 1}


def numeric(values: Sequence[float | None]) -> list[float]:
    """Return the repeats of one kernel; none where nothing but 0 or nothing at all was seen."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    return known if len(known) == len(values) and any(known) else []


def deviation(values: Sequence[float], unit: str) -> float:
    """Return the largest distance from the median."""
    middle = statistics.median(values)
    distance = max(abs(value - middle) for value in values)
    if unit == "%":
        return distance / 100
    return 0.0 if distance == 0 else min(MOST, distance / abs(middle)) if middle else MOST


def rounded_up(value: float) -> float:
    """Return two significant digits, never less than was seen."""
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step) * step:.2g}")


def worst(groups: Sequence[list[Values]]) -> dict[str, float | None]:
    """Return the deviation of each metric in the kernel where it strays most."""
    found: dict[str, float | None] = {}
    for key, metric in {**CATALOGUE, **ALL_DERIVED}.items():
        seen = [known for group in groups if (known := numeric([metric.value(values) for values in group]))]
        found[key] = rounded_up(typical(seen, metric.unit)) if seen else None
    return found


def typical(seen: Sequence[list[float]], unit: str) -> float:
    """Return the largest deviation, of kernels that do what is counted; never 0 where any repeat differed."""
    floor = 0.0 if unit == "%" else NEGLIGIBLE * max(abs(statistics.median(values)) for values in seen)
    worst = max(deviation(values, unit) for values in seen if abs(statistics.median(values)) >= floor)
    return worst or max(deviation(values, unit) for values in seen)


def duration_ns(group: list[Values]) -> float:
    return statistics.median(values["gpu__time_duration.sum"] for values in group)


def main() -> None:
    chip, version, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    groups = repeats(paths)
    sides = [[g for g in groups.values() if (duration_ns(g) < SHORT_NS) == short] for short in (False, True)]
    long, short = (worst(side) for side in sides)
    with opened(paths[0]) as report:
        gpu = report[0][0].metric_by_name("device__attribute_display_name").value()
    kernels = [
        {"kernel": key[0], "launches": len(group), "median_ns": duration_ns(group)} for key, group in groups.items()
    ]
    document = {
        "chip": chip,
        "gpu": gpu,
        "ncu": version,
        "kernels": kernels,
        "deviation": {key: [long[key], short[key]] for key in sorted(long)},
    }
    text = json.dumps(document, indent=1)
    compact = text.replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]")
    (DATA / f"noise_{chip}.json").write_text(compact + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(long)} metrics, {len(groups)} kernels\n")


if __name__ == "__main__":
    main()
