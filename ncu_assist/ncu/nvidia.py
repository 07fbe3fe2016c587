"""NVIDIA's reader, inside the child process: the units of metrics, and a second opinion on one launch.

Units are not in a report: the reader knows them from the chip's tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NAN = float("nan")


@dataclass(frozen=True)
class Opinion:
    """The metrics of one launch, sorted by name; a value is NaN for a text and for what has no value."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: tuple[float, ...]


def count_launches(path: Path) -> int:
    """Return how many launches NVIDIA's reader finds in a report; it may abort the process on a damaged one."""
    import ncu_report

    return sum(part.num_actions() for part in ncu_report.load_report(str(path)))


def opinion(report: bytes, folder: Path) -> Opinion:
    """Return what NVIDIA's reader says of the only launch in a report, written to ``folder`` for it."""
    import ncu_report

    path = folder / "one_launch.ncu-rep"
    path.write_bytes(report)
    actions = [action for part in ncu_report.load_report(str(path)) for action in part]
    path.unlink()
    if len(actions) != 1:
        return Opinion((), (), ())
    kind = ncu_report.IMetric
    names = tuple(sorted(actions[0].metric_names()))
    metrics = [actions[0].metric_by_name(name) for name in names]
    values = (
        kind.as_double(metric) if kind.has_value(metric) and kind.kind(metric) != kind.ValueKind_STRING else NAN
        for metric in metrics
    )
    return Opinion(names, tuple(kind.unit(metric) for metric in metrics), tuple(values))
