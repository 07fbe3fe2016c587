"""Compare each further way to know a metric with the metric itself, in the launches of reports that hold both.

    python benchmarks/ladder_agreement.py FOLDER ...

For each way: the launches that hold both, in how many of them the value is not 0, median, 95th percentile and largest
of the relative difference, and the formula, with ``=`` where the catalogue takes it for exact and ``~`` where it does
not. A way that is taken for exact and is not within 1e-9 in every launch is marked, and the exit code is then 1.
Reports that cannot be read are named on stderr.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from ncu_assist.errors import NcuAssistError
from ncu_assist.frame import by_launch
from ncu_assist.frame.columns import Values
from ncu_assist.ncu.catalogue.metric import Metric, Way
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, Derived
from ncu_assist.ncu.report import read_report

ENDINGS = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report")
PACKED = (".zst", ".xz", ".gz")
SAME = 1e-9  # relative: sums of doubles in another order


def main(folders: list[str]) -> int:
    """Print the agreement of every way over all reports below the folders."""
    every = [values for folder in folders for values in launches(Path(folder))]
    sys.stdout.write(f"{len(every)} launches\n")
    sys.stdout.write(f"{'key':32}{'both':>6}{'not 0':>7}{'median':>9}{'p95':>9}{'most':>9}\n")
    wrong = 0
    for row in (*CATALOGUE.values(), *ALL_DERIVED.values()):
        for way in row.ways:
            pairs = [(own, found) for one in every if (own := _own(row, one)) is not None
                     and (found := _exactly(way, one)) is not None]  # fmt: skip
            wrong += _line(row.key, way, pairs)
    return 1 if wrong else 0


def launches(folder: Path) -> Iterator[Values]:
    """Yield the values, by ncu's name, of each launch of the reports below a folder."""
    for path in sorted(folder.rglob("*")):
        name = path.name
        for ending in PACKED:
            name = name.removesuffix(ending)
        if name.endswith(ENDINGS):
            try:
                tables = by_launch(read_report(path).metrics)
            except NcuAssistError as error:
                sys.stderr.write(f"{path.name}: {error}\n")
                continue
            yield from (dict(table.items()) for table in tables.values())


def _own(row: Metric | Derived, values: Values) -> float | None:
    """Return what a launch has under the names of a metric, and of a derived one what follows from such."""
    if isinstance(row, Metric):
        known = (values[name] for name in row.names if name in values)
        return next((value for value in known if math.isfinite(value)), None)
    found = row.of_parts({key: _own(CATALOGUE[key], values) for key in row.needs})
    return found if found is not None and math.isfinite(found) else None


def _exactly(way: Way, values: Values) -> float | None:
    """Return what a way gives; None for an exact one whose parts were only near themselves."""
    return None if not way.approximate and way.is_approximate(values) else way.value(values)


def _line(key: str, way: Way, pairs: list[tuple[float, float]]) -> bool:
    """Print the line of a way, and tell whether it is wrongly taken for exact."""
    apart = [_apart(own, found) for own, found in pairs]
    counted = sum(own != 0 for own, _ in pairs)
    is_wrong = not way.approximate and any(one > SAME for one in apart)
    numbers = [median(apart), quantiles(apart, n=20)[-1] if len(apart) > 1 else apart[0], max(apart)] if apart else []
    shown = "".join(f"{one:9.1e}" for one in numbers) or " " * 27
    sign = "~" if way.approximate else "="
    sys.stdout.write(
        f"{key:32}{len(pairs):6}{counted:7}{shown} {sign} {way.words}{'   NOT EXACT' if is_wrong else ''}\n"
    )
    return is_wrong


def _apart(own: float, found: float) -> float:
    if own == found:
        return 0.0
    return abs(found - own) / abs(own) if own else math.inf


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
