"""Every metric of the catalogue by its key, those that reports hold and those that follow from them."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.derived import ALL_DERIVED, STALL_SHARES, Derived
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE

Row = Metric | Derived

# The one place to look a key up: what reports hold first, then what follows from it. No key is in both.
ROWS: dict[str, Row] = {**CATALOGUE, **ALL_DERIVED}
# Of these, what `frame` combines over launches row by row; the shares of stall reasons are an open set that it combines
# together.
OVER_LAUNCHES: dict[str, Row] = {key: row for key, row in ROWS.items() if key not in STALL_SHARES}

__all__ = ["OVER_LAUNCHES", "ROWS", "Row"]
