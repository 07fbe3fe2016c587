"""``ncu-assist worker`` on a machine without a GPU: NUMBER fake GPUs of a CHIP; then its own arguments."""

from __future__ import annotations

import os
import sys

from ncu_assist.pipeline import cluster
from ncu_assist.pipeline.doctor import Gpu

if __name__ == "__main__":
    first, count, chip = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    os.environ["FAKE_CHIP"] = chip
    there = tuple(Gpu(n, chip, f"GPU-fake-{n}", 1, 1, 1, 1) for n in range(first, first + count))
    cluster.query_gpus = lambda: ("1", there)  # type: ignore[attr-defined]
    from ncu_assist.cli import main

    sys.argv = ["ncu-assist", "worker", *sys.argv[4:]]
    sys.exit(main())
