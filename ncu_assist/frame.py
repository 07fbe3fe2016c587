"""From the tidy metrics of a run to one value a metric: by launch, and over all launches of one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from ncu_assist.ncu.derived import DERIVED, Derived, why_not_applicable
from ncu_assist.ncu.metric import Combine, Metric
from ncu_assist.ncu.metrics import CATALOGUE, stall_reasons
from ncu_assist.record import Launch, Run

if TYPE_CHECKING:
    import pandas as pd

ISSUED = "selected"  # the state of a warp that issues: part of all warp states, but no stall
Values = Mapping[str, float]  # by ncu's name; a metric without a number is not in it


@dataclass(frozen=True)
class Combined:
    """What the counters say of one workload of one version, all its launches together.

    ``values`` has every key of CATALOGUE and DERIVED; None where the report lacks it or the launches cannot be added
    up, never 0. ``not_applicable`` says why for ratios over traffic that there was none of. ``stalls`` is the share of
    each stall reason in the states of all warps, in percent, largest first.
    """

    workload: str | None
    launches: tuple[Launch, ...]
    values: dict[str, float | None]
    not_applicable: dict[str, str]
    stalls: dict[str, float]

    @property
    def duration_ns(self) -> float | None:
        return self.values["duration"]


def by_launch(metrics: pd.DataFrame) -> dict[int, dict[str, float]]:
    """Return the numbers of each launch by ncu's name; text metrics and metrics without a value are left out."""
    numbers = metrics[metrics["value"].notna()]
    groups = numbers.groupby("launch", sort=True)
    return {
        int(str(launch)): dict(zip(group["metric"].astype(str), group["value"].astype(float), strict=True))
        for launch, group in groups
    }


def combine(run: Run, metrics: pd.DataFrame, workload: str | None) -> Combined:
    """Return the metrics of the launches of ``workload``, of all launches when it is None, as one.

    Counts add up, percentages and rates are weighted by duration, launch facts take the largest or the first.
    """
    return combine_tables(run, by_launch(metrics), workload)


def combine_tables(run: Run, tables: Mapping[int, Values], workload: str | None) -> Combined:
    """Return what ``combine`` does, from the answer of ``by_launch``: for several workloads of one run."""
    launches = tuple(one for one in run.launches if workload in (None, one.workload))
    return combine_launches(workload, launches, [tables.get(one.index, {}) for one in launches])


def combine_launches(workload: str | None, launches: Sequence[Launch], tables: Sequence[Values]) -> Combined:
    """Return the metrics of these launches as one; ``tables`` holds the numbers of each."""
    times = [_duration_ns(one, table) for one, table in zip(launches, tables, strict=True)]
    values: dict[str, float | None] = {
        key: _combined(metric.combine, [metric.value(table) for table in tables], times)
        for key, metric in CATALOGUE.items()
    }
    values["duration"] = _total(times)
    for key, derived in DERIVED.items():
        values[key] = _derived(derived, values, tables, times)
    not_applicable = {key: _why(tables) for key, derived in DERIVED.items() if _without_traffic(derived, tables)}
    return Combined(workload, tuple(launches), values, not_applicable, _stalls(tables, times))


def _duration_ns(launch: Launch, table: Values) -> float | None:
    return launch.duration_ns if launch.duration_ns is not None else CATALOGUE["duration"].value(table)


def _combined(how: Combine, values: Sequence[float | None], times: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if how == "sum":
        return _total(values)
    if how == "time-mean":
        return _time_mean(values, times)
    return max(known) if how == "max" else known[0]


def _total(values: Sequence[float | None]) -> float | None:
    """Return the sum; None when one part is missing, for the rest of a sum is no sum."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _time_mean(values: Sequence[float | None], times: Sequence[float | None]) -> float | None:
    """Return the mean weighted by duration over the launches that have a value; equal values need no duration."""
    pairs = [(value, time) for value, time in zip(values, times, strict=True) if value is not None]
    if len({value for value, _ in pairs}) == 1:
        return pairs[0][0]
    weighted = [(value, time) for value, time in pairs if time is not None]
    total = sum(time for _, time in weighted)
    if len(weighted) < len(pairs) or total <= 0:
        return None
    return sum(value * time for value, time in weighted) / total


def _derived(
    derived: Derived, values: Mapping[str, float | None], tables: Sequence[Values], times: Sequence[float | None]
) -> float | None:
    """Return a derived metric: of the sums if its parts add up, else of each launch and then combined."""
    if all(CATALOGUE[key].combine == "sum" for key in derived.needs):
        named = {_name(CATALOGUE[key]): value for key in derived.needs if (value := values[key]) is not None}
        return _number(derived.value(named))
    return _combined(derived.combine, [_number(derived.value(table)) for table in tables], times)


def _name(metric: Metric) -> str:
    return metric.names[0]


def _number(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value


def _without_traffic(derived: Derived, tables: Sequence[Values]) -> bool:
    """Return whether all launches answer NaN: the parts are there, but there was nothing to take a ratio of."""
    answers = [derived.value(table) for table in tables]
    return bool(answers) and all(answer is not None and isnan(answer) for answer in answers)


def _why(tables: Sequence[Values]) -> str:
    reasons = {why_not_applicable(table) for table in tables}
    return max(reasons, key=len)  # 'n/a (TMA)' says more than 'n/a'


def _stalls(tables: Sequence[Values], times: Sequence[float | None]) -> dict[str, float]:
    states = [stall_reasons(table) for table in tables]
    reasons = sorted({reason for one in states for reason in one})
    combined = {reason: _time_mean([one.get(reason) for one in states], times) for reason in reasons}
    known = {reason: value for reason, value in combined.items() if value is not None}
    total = sum(known.values())
    if total <= 0:
        return {}
    shares = {reason: 100.0 * value / total for reason, value in known.items() if reason != ISSUED}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))
