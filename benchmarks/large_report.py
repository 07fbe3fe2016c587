"""Write a report of many launches out of a report of few, by repeating them: REPORT LAUNCHES OUT.

The launches are real ones, at their full size. Only blocks that add no names can be repeated; the others are written
once.
"""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path

from ncu_assist.ncu import compressed, report_file


def main(source: str, launches: str, out: str) -> None:
    """Write the report."""
    data = compressed.read_plain(Path(source))
    blocks = report_file.blocks(data)
    repeatable = [block for block in blocks if block.results and not _names(data, block)]
    missing = int(launches) - sum(1 for _ in report_file.results(data))
    with Path(out).open("wb") as file:
        file.write(data)
        for block in cycle(repeatable):
            if missing <= 0:
                break
            file.write(data[block.header_start - 4 : block.entries[-1].end])
            missing -= len(block.results)


def _names(data: bytes, block: report_file.Block) -> int:
    fields = report_file.fields(data, block.header_start, block.header_end)
    return sum(field.value for field in fields if field.number == report_file.STRINGS)


if __name__ == "__main__":
    main(*sys.argv[1:])
