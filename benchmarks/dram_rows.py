"""How many rows of DRAM launches open, of what HBM3 can open, if each sector read alone or written in part needs one.

    python benchmarks/dram_rows.py REPORT …      (plain, or compressed with zstd)

For each launch: DRAM's throughput, the sectors that it read for each that SMs asked L2 for, and the rows in percent of
the rate that single sectors at random places reach on an H200 (`scattered_reads.cu`). Above 100 launches open fewer:
their sectors lie in the same rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ncu_assist.frame import by_launch
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES, rows_of_rate
from ncu_assist.ncu.catalogue.rows import ROWS, ROWS_OPENED
from ncu_assist.ncu.report import read_report


def main() -> None:
    """Print a line for each launch that has the counters."""
    for path in map(Path, sys.argv[1:]):
        report = read_report(path)
        tables = by_launch(report.metrics)
        for launch in report.records:
            counted = [ROWS[key].value(tables[launch.index]) for key in (*ROWS_OPENED, "dram_throughput")]
            if None in counted or not counted[2]:
                continue
            *rows, busy = (one or 0.0 for one in counted)
            read = rows[1] / SECTOR_BYTES / rows[2]
            name = f"{path.name} {launch.index} {launch.kernel}"
            sys.stdout.write(f"{name}: DRAM {busy:.1f} %, {read:.2f} sectors read, rows {rows_of_rate(*rows):.0f} %\n")


if __name__ == "__main__":
    main()
