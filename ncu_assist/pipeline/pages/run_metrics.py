"""The counters of a run by ncu's names: of the longest launches each, and what its throughputs are the largest of."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ncu_assist.frame import Combined, combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.render.html.run_records import Breakdown, Part, RawMetric, RawMetrics, Value

if TYPE_CHECKING:
    import pandas as pd

MOST_LAUNCHES = 12  # columns of the table: the page has 150 kB a launch, and nobody reads more beside each other
WITH_PARTS = ("sm_throughput", "memory_throughput")
PARTS = "breakdown:"  # ncu's metric of this name and a throughput's lists its parts


def raw_metrics(frame: pd.DataFrame, combined: Combined) -> RawMetrics:
    """Return every metric of the longest launches, longest first, from the tidy metrics of their run."""
    longest = sorted(combined.launches, key=lambda one: -(one.duration_ns or 0.0))
    shown = longest[:MOST_LAUNCHES]
    by_launch, units = _by_launch(frame, {one.index for one in longest})
    names = sorted({name for values in by_launch.values() for name in values})
    tables = [_numbers(by_launch.get(one.index, {})) for one in longest]
    together = combine_launches(combined.workload, longest, tables)
    rows = []
    for name in names:
        every = [by_launch.get(one.index, {}).get(name) for one in longest]
        rows.append(RawMetric(name, units[name], tuple(every[: len(shown)]), together.named(name)))
    return RawMetrics(tuple(shown), tuple(rows), len(longest) - len(shown))


def breakdowns(raw: RawMetrics, of_longest: bool) -> tuple[Breakdown, ...]:
    """Return the parts of the throughputs of SM and memory, as far as the report lists them.

    Over all launches, or ``of_longest`` alone where launches are of different kernels.
    """
    rows = {row.name: row for row in raw.rows}
    found = [Breakdown(key, _parts(rows, CATALOGUE[key].names[0], of_longest)) for key in WITH_PARTS]
    return tuple(one for one in found if one.parts)


def _by_launch(frame: pd.DataFrame, wanted: set[int]) -> tuple[dict[int, dict[str, Value]], dict[str, str]]:
    own = frame[frame["launch"].isin(wanted)]
    values: dict[int, dict[str, Value]] = {}
    columns = (own["launch"].tolist(), own["metric"].tolist(), own["value"].tolist(), own["text"].tolist())
    for launch, name, value, text in zip(*columns, strict=True):
        known: Value = None if isnan(value) else value
        values.setdefault(launch, {})[str(name)] = text if isinstance(text, str) else known
    first = own.drop_duplicates("metric")
    units = {str(name): _unit(unit) for name, unit in zip(first["metric"], first["unit"], strict=True)}
    return values, units


def _unit(unit: object) -> str:
    return unit if isinstance(unit, str) else ""


def _numbers(values: dict[str, Value]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, float)}


def _parts(rows: dict[str, RawMetric], throughput: str, of_longest: bool) -> tuple[Part, ...]:
    listed = rows.get(PARTS + throughput)
    text = next((value for value in listed.values if isinstance(value, str)), "") if listed else ""
    some = [rows[name] for name in text.split(",") if name in rows]
    known = [(row.name, row.values[0] if of_longest else row.together) for row in some]
    parts = [Part(name, percent) for name, percent in known if isinstance(percent, float)]
    return tuple(sorted(parts, key=lambda one: (-one.percent, one.name)))
