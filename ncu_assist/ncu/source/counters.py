"""The counters of one launch by address, as NVIDIA's reader gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ncu_assist.ncu.source.metrics import KINDS, SAMPLED, is_source_metric


def counters_of(action: Any) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield each metric that was collected by address in this launch, and its values; an absent address has zero.

    Ends the process where the values do not add up to the total that the report gives.
    """
    for name in sorted(action.metric_names()):
        if not is_source_metric(name):
            continue
        metric = action.metric_by_name(name)
        total = metric.as_double() if metric.has_value() and name not in KINDS else None
        if total == 0:
            yield name, {}
        elif metric.num_instances() and metric.has_correlation_ids():
            values = _values(metric)
            if total is not None and not name.startswith(SAMPLED) and sum(values.values()) != total:
                raise SystemExit(f"the values of {name} add up to {sum(values.values()):.0f}, not to {total:.0f}")
            yield name, values


def _values(metric: Any) -> dict[int, float]:
    ids, found = metric.correlation_ids(), dict[int, float]()
    for i in range(metric.num_instances()):
        address = ids.as_uint64(i)
        found[address] = found.get(address, 0.0) + metric.as_double(i)
    return found
