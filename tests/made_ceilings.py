"""Ceilings made up for tests: none of these numbers was measured."""

from __future__ import annotations

from ncu_assist.ceilings import Ceilings, Conditions, Point, Rate, Spread, Stage
from ncu_assist.ceilings.records import Under
from ncu_assist.record import Device, Toolchain

MIB = 1 << 20
MADE_UP = Device("NVIDIA Made Up 9000", "ab" * 32, "9.0", 100, 50 << 20, 80 << 30, "1.2")


def point(name: str, reads: int, writes: int, size: int, rate: float, source: Under = "ncu") -> Point:
    each = size // (reads + writes)
    spread = Spread(size / rate, size / rate, size / rate, 3)
    return Point(name, reads * each, writes * each, (reads + writes) * each, source, spread, rate)


def ceilings(*dram: Point, device: Device = MADE_UP, created: str = "2030-01-01T00:00:00+00:00") -> Ceilings:
    """Return ceilings whose copies reach 1 TB/s at 32 MiB and 2 TB/s at 128 MiB, reads twice as much."""
    curve = dram or (
        point("copy", 1, 1, 32 * MIB, 1e12),
        point("copy", 1, 1, 128 * MIB, 2e12),
        point("read", 1, 0, 32 * MIB, 2e12),
        point("read", 1, 0, 128 * MIB, 4e12),
    )
    rate = Rate("pipe", "fma", "inst", "ncu", Spread(1e-3, 1e-3, 1e-3, 2), 1e12, 3.9, 97.5, "made__up", 1500.0)
    conditions = Conditions(Toolchain(ncu="2099.1"), ncu_flags=("--clock-control", "none"), sm_clock_mhz=1500.0)
    return Ceilings(device, created, "0.0", conditions, curve, rates=(rate,), stages=(Stage("events", 1.0),))
