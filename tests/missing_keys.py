"""Which keys of the catalogue a chip or a report lacks."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.chips import Available
from ncu_assist.ncu.catalogue.metric_doctor import spelled
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED


def missing_keys(available: Available) -> tuple[str, ...]:
    """Return the keys of the catalogue and of derived metrics that cannot be had, but for what we measure ourselves."""
    given = {key for key, metric in CATALOGUE.items() if metric.given}
    keys = [*CATALOGUE, *(key for key, derived in ALL_DERIVED.items() if given.isdisjoint(derived.needs))]
    return tuple(key for key in keys if key not in given and not spelled(key, available))
