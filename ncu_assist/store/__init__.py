"""The archive ``reports/<kernel>/<version>/<run id>/``: written once and whole, never believed unread."""

from __future__ import annotations

from ncu_assist.store.archive import Store
from ncu_assist.store.choosing import machine_hash, shown_source
from ncu_assist.store.folders import Damage, new_run_id
from ncu_assist.store.parquet import metrics_parquet, samples_parquet
from ncu_assist.store.reading import StoredRun

__all__ = [
    "Damage",
    "Store",
    "StoredRun",
    "machine_hash",
    "metrics_parquet",
    "new_run_id",
    "samples_parquet",
    "shown_source",
]
