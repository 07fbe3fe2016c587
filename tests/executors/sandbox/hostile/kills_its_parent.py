"""Sends SIGKILL to its parent, to the process it is told, to every process it sees, to its group, to everybody."""

# ruff: noqa: T201

import os
import signal
import sys
from pathlib import Path

print("started", flush=True)
targets = [os.getppid(), *map(int, sys.argv[1:]), *(int(p.name) for p in Path("/proc").glob("[0-9]*"))]
for pid in [p for p in targets if p not in (0, os.getpid())] + [-1]:
    try:
        os.kill(pid, signal.SIGKILL)
        print("sent to", pid, flush=True)
    except OSError as error:
        print("could not", pid, error.strerror, flush=True)
os.killpg(0, signal.SIGKILL)
