"""``ncu-assist worker`` on a machine without a GPU, but with those that FAKE_GPUS says: the first, how many, the model.

Its worker processes begin with this module, too, so that all of them see the same.
"""

from __future__ import annotations

import os
import sys

from fakes.fake_gpu import DRIVER

from ncu_assist.environment import Gpu
from ncu_assist.pipeline import archiving, cluster

FIRST, COUNT, CHIP = os.environ["FAKE_GPUS"].split(" ", 2)
NUMBERS = range(int(FIRST), int(FIRST) + int(COUNT))
THERE = tuple(Gpu(number, CHIP, f"GPU-fake-{number}", 1, 1, 1, 1) for number in NUMBERS)
for module in (archiving, cluster):
    module.query_gpus = lambda: (DRIVER, THERE)  # type: ignore[attr-defined]
os.environ["FAKE_CHIP"] = CHIP

if __name__ == "__main__":
    from ncu_assist.cli import main

    sys.argv = ["ncu-assist", "worker", *sys.argv[1:]]
    sys.exit(main())
