"""Writes without end: one big file, many files, files without content, or all there is for temporary ones."""

# ruff: noqa: T201

import signal
import sys
from pathlib import Path

how, folder = sys.argv[1], Path(sys.argv[2])
signal.signal(signal.SIGINT, signal.SIG_IGN)
chunk, number = b"x" * (1 << 20), 0
print("started", flush=True)
while True:
    number += 1
    path = folder / ("big" if how == "big" else str(number))
    with path.open("ab") as file:
        file.write(b"" if how == "empty" else chunk)
