"""Multiplies as fast as it can, and does not listen to anybody who asks it to stop."""

# ruff: noqa: T201

import os
import signal
import time

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("started", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
