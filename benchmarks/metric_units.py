"""Write metric_units.json of the catalogue: the units that NVIDIA's reader gives to the metrics of some reports.

    python benchmarks/metric_units.py REPORT.ncu-rep[.zst] ...

Names that a report brings are added to those in the file; it is an error when a unit changes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from ncu_assist.ncu import compressed, reader, report_file
from ncu_assist.ncu.catalogue.chips import FILE, recorded_units


def main(paths: list[str]) -> None:
    """Add the names of each report."""
    units = recorded_units() if FILE.is_file() else {}
    for path in paths:
        data = compressed.read_plain(Path(path))
        with tempfile.TemporaryDirectory() as folder:
            found = reader.nvidias_metrics(report_file.select(data, {0}), Path(folder))
        for name, (unit, _) in found.items():
            if units.setdefault(name, unit) != unit:
                sys.exit(f"{name} has the unit {units[name]}, in {path} it is {unit}")
    by_unit = {unit: sorted(n for n, u in units.items() if u == unit) for unit in sorted(set(units.values()))}
    FILE.write_text(json.dumps(by_unit, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
