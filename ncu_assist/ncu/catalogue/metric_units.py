"""Units of metrics by name, as NVIDIA's reader gave them for reports that were recorded.

A report does not hold units. The reader knows them from tables of the chip, and loading those takes longer than reading
a report; so they are kept here for the names that are known, and it is asked for the others. The child that reads a
report imports nothing else of the catalogue: it starts in a tenth of a second.
"""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).parent / "data" / "metric_units.json"  # unit -> names; benchmarks/metric_units.py writes it


def recorded_units() -> dict[str, str]:
    """Return the unit of each metric that is known by name."""
    return {name: unit for unit, names in json.loads(FILE.read_bytes()).items() for name in names}
