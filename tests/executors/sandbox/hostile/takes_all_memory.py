"""Takes memory and holds it, though no more than a test machine can bear."""

# ruff: noqa: T201

import time

MIB = 1 << 20
held = []
print("started", flush=True)
while True:
    if len(held) < 64:
        held.append(bytearray(b"x") * (64 * MIB))
    time.sleep(0.05)
