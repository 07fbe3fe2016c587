"""One table of a report as a file: CSV, JSON or Parquet, the same bytes for the same rows."""

from __future__ import annotations

from ncu_assist.render.export import csv, json, parquet
from ncu_assist.render.export.base import Export, Format

FORMATS: dict[str, Format] = {"csv": csv, "parquet": parquet, "json": json}

__all__ = ["FORMATS", "Export", "Format"]
