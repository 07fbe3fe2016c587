"""What a reader of code saves that got ready before its report came: the first launch of reports, fresh and ready.

usage: python benchmarks/ready_readers.py REPORT …

Each reader gets ready with the report itself, as one of the same chip; the least of five.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from ncu_assist.ncu import child
from ncu_assist.ncu.compressed import plain_file
from ncu_assist.ncu.source import reading

TIMES = 5


def seconds(plain: Path) -> float:
    """Return how long the code of the first launch takes to be read."""
    began = time.perf_counter()
    reading.read_source(plain, [0])
    return time.perf_counter() - began


def main(reports: list[str]) -> None:
    """Measure and print."""
    for name in reports:
        with tempfile.TemporaryDirectory() as folder:
            plain = plain_file(Path(name), Path(folder))
            fresh, ready = [], []
            for _ in range(TIMES):
                fresh.append(seconds(plain))
                child.get_ready(reading.READER, 1, str(plain))
                child._READY[reading.READER][0].ready.wait()
                ready.append(seconds(plain))
        sys.stdout.write(f"{Path(name).name}: fresh {min(fresh):.2f} s, ready {min(ready):.2f} s\n")


if __name__ == "__main__":
    main(sys.argv[1:])
