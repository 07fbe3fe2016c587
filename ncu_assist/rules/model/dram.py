"""How fast DRAM, and the link to the host, can be for the bytes that a launch moved, measured or assumed."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ceilings import DramDefault, dram_ceiling, dram_default
from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ceilings.records import most_requests
from ncu_assist.rules.model.facts import Facts, once

OF_CEILING = 0.95  # docs/sources.md: at or above it of the measured ceiling a kernel is done
# Without a curve, of the peak: from here on a short launch may be done; the longer one takes, the more is asked for.
# Version 2 of lightning_decode had 78 % in 84 µs, and 1.16 times as fast was possible.
OF_PEAK_SHORT = 0.75
SMALL_BYTES = 1 << 30  # 1 GB; buffers come in powers of two, so it is counted as 1,073,741,824
# A rate so close to its limit has reached it: the same streams on two H200 differed by at most 0.8 % from 1 GiB on, as
# repeats of one launch do (docs/sources.md), and below it nine in ten by at most 2.2 % (benchmarks/ceilings_spread.py).
STRAYS, STRAYS_SMALL = 0.01, 0.022


@dataclass(frozen=True)
class Reach:
    """The share of DRAM's peak, 0 to 1, from which a kernel is done, and by how much such a share strays.

    ``assumed`` where no curve says so; ``default`` stands in where there is no curve at all.
    """

    share: float
    assumed: bool
    why: str
    strays: float = STRAYS
    default: DramDefault | None = None


def reach(facts: Facts) -> Reach:
    """Return what share of its peak DRAM can be asked for, by the bytes that one launch moves.

    95 % of the ceiling measured for this mix and size. Without a curve 95 % of what the default of this kind of memory
    has for such a duration, and three quarters of the peak at least.
    """
    return _measured(facts) or _assumed(facts)


def asked_bytes(facts: Facts) -> tuple[float, float]:
    """Return the bytes that launches together asked DRAM to read and to write.

    What they wrote and L2 still held at their ends counts too: DRAM did not see it yet. Ceilings count the same way.
    """
    return facts.value("dram_bytes_read"), facts.value("dram_bytes_write") + _still_in_l2(facts)


def counted_share(facts: Facts) -> float:
    """Return the share of DRAM's peak that it moved while the kernel ran, 0 to 1; of several of their time."""
    if len(facts.by_kernel) > 1 and facts.duration_ns:
        return sum(one.duration_ns * counted_share(one) for one in facts.by_kernel) / facts.duration_ns
    return facts.value("dram_throughput") / 100.0


def asked_share(facts: Facts) -> float:
    """Return the share of DRAM's peak that those bytes come to, 0 to 1; the share counted where not both were.

    So too where nobody measured such a GPU and they come to more than the peak: L2 took what DRAM could not, so that
    DRAM is busy as far as it was counted. Curves were measured with what L2 takes.
    """
    busy, counted = counted_share(facts), moved_bytes(facts)
    if not counted or not are_counted(facts):
        return busy
    asked = busy * sum(asked_bytes(facts)) / counted
    return asked if asked <= 1.0 or _measured(facts) else busy


def fill(facts: Facts) -> float:
    """Return how far DRAM was from what it can be asked for; 1 is at its limit. Both count what L2 still holds."""
    return asked_share(facts) / reach(facts).share


def is_full(facts: Facts) -> bool:
    """Return whether DRAM is at its limit, as far as that can be told."""
    return fill(facts) >= 1.0 - reach(facts).strays


def streams_share(facts: Facts, default: DramDefault) -> float:
    """Return the share of DRAM's peak that streams reach at least in launches of this length, 0 to 1."""
    return default.share(facts.combined.typical_ns or 0.0)


def moved_bytes(facts: Facts) -> float:
    """Return the bytes that DRAM read and wrote while launches ran."""
    return facts.value("dram_bytes_read") + facts.value("dram_bytes_write")


def are_counted(facts: Facts) -> bool:
    """Return whether both kinds of bytes were counted: of one alone neither mix nor size can be told."""
    return facts.get("dram_bytes_read") is not None and facts.get("dram_bytes_write") is not None


def _bytes_each(facts: Facts) -> float:
    """Return the bytes that one launch asked for, the mean of a chain: each launch fills DRAM anew."""
    return sum(asked_bytes(facts)) / max(1, len(facts.combined.launches))


def _still_in_l2(facts: Facts) -> float:
    """Return the bytes that were written and did not reach DRAM: no more than fit in L2, nor than the work needs.

    What the work needs only says so where DRAM saw less than half of the stores: then some may have gone to the same
    address again. Else they went to addresses of their own, and a kernel that reads too much wrote them all the same.
    """
    if len(facts.by_kernel) > 1:
        return sum(map(_still_in_l2, facts.by_kernel))
    written = facts.value("dram_bytes_write")
    stored = SECTOR_BYTES * facts.value("global_store_requests") * facts.value("sectors_per_request_store_ideal")
    most = len(facts.combined.launches) * ((facts.device.l2_bytes if facts.device else None) or 0)
    held = min(max(0.0, stored - written), most)
    if facts.algorithmic_bytes is None or written >= stored / 2:
        return held
    return min(held, max(0.0, facts.algorithmic_bytes - facts.value("dram_bytes_read") - written))


@once
def _measured(facts: Facts) -> Reach | None:
    peak = facts.get("dram_peak_bandwidth")
    if facts.ceilings is None or not peak or not are_counted(facts):
        return None
    read, written = (asked / max(1, len(facts.combined.launches)) for asked in asked_bytes(facts))
    ceiling = dram_ceiling(facts.ceilings, read, written)
    if ceiling is None:
        return None
    strays = _strays(_bytes_each(facts))
    return Reach(OF_CEILING * ceiling.bytes_per_second / peak, ceiling.assumed, ceiling.why, strays)


def _assumed(facts: Facts) -> Reach:
    default = dram_default(facts.device.compute_capability if facts.device else "")
    share = max(OF_PEAK_SHORT, OF_CEILING * streams_share(facts, default))
    measured = "no ceiling was measured on such a GPU"
    why = f"{measured}; {default.why}" if are_counted(facts) else "the bytes that DRAM moved were not counted"
    return Reach(share, True, why, _strays(_bytes_each(facts)), default)


def _strays(moved: float) -> float:
    return STRAYS_SMALL if moved < SMALL_BYTES else STRAYS


# Bytes a second of 16 lanes, by the first digits of the compute capability: PCIe 3.0, 4.0, 5.0 (PCI-SIG: 8, 16 and 32
# GT/s a lane, 128 of 130 bits are data). Reports say how many lanes there are; how fast they are, of a link at rest.
LANES = {"7": 15.75e9, "8": 31.5e9, "9": 63e9, "10": 63e9, "12": 63e9}
KERNEL_READS = "zero_copy_read"
ALL_LANES = 16
SLOWEST, REACHED = "7", 0.85
# What ncu counts as written over PCIe while nothing is written to the host: requests for reading, of which each is a
# header of four words (PCI Express Base Specification, memory requests with 64-bit addresses). `host_read` of the fault
# gallery asks for 65,536 lines and shows 67,744 such headers. What is written has them, too: `host_write` shows
# 36.1 bytes a sector, in whole lines.
HEADER_BYTES = 16
LINE_SECTORS = 4  # a request is of a line at most
NS = 1e9


@dataclass(frozen=True)
class Crossed:
    """What crossed the link: sectors read, requests for them, sectors written."""

    read: float
    requests: float
    written: float


def crossed(facts: Facts) -> Crossed:
    """Return what crossed the link; requests are a lower bound, whole lines, where they were not counted.

    A request brings one sector at least and four at most: what else was written over PCIe is no request for reading.
    """
    read, written = facts.value("host_sectors_read"), facts.value("host_sectors_write")
    data = (SECTOR_BYTES + HEADER_BYTES / LINE_SECTORS) * written
    sent = facts.value("pcie_write_bandwidth") * facts.duration_ns / NS - data
    return Crossed(read, min(read, max(read / LINE_SECTORS, sent / HEADER_BYTES)), written)


def link_ns(facts: Facts, what: Crossed | None = None) -> float:
    """Return the time that the link takes for what crossed it, or for a part of that; at most that of the launch.

    The longest of three: bytes read, bytes written, and requests for reading, where their rate was measured. 0 where
    nothing crossed, or that was not counted.
    """
    what = what or crossed(facts)
    return min(facts.duration_ns, max(_bytes_ns(what, link_rate(facts)[0]), _requests_ns(facts, what)))


def are_requests_the_limit(facts: Facts, what: Crossed) -> bool:
    """Return whether requests take the link longer than the bytes that they bring."""
    return _requests_ns(facts, what) > _bytes_ns(what, link_rate(facts)[0])


def link_load(facts: Facts) -> float:
    """Return the share of the time that the link needs for what crossed it, 0 to 1.

    0 where more crossed than PCIe can carry and nobody measured the link: it is another one (C2C), of unknown rate.
    """
    what, time = crossed(facts), facts.duration_ns
    is_measured = facts.ceilings is not None and bool(facts.ceilings.link)
    is_other = not is_measured and _bytes_ns(what, link_rate(facts)[0] / REACHED) > time
    return 0.0 if is_other or not time else link_ns(facts, what) / time


def needed_link_load(facts: Facts) -> float:
    """Return the share of the time that the link needs for what has to come from the host, in whole lines, 0 to 1.

    0 where that is not known: whatever crosses might have been copied before.
    """
    if facts.host_bytes is None or not facts.duration_ns:
        return 0.0
    now = crossed(facts)
    read = min(now.read, facts.host_bytes / SECTOR_BYTES)
    return link_ns(facts, Crossed(read, min(now.requests, read / LINE_SECTORS), 0.0)) / facts.duration_ns


def link_rate(facts: Facts) -> tuple[float, bool]:
    """Return what the link delivers to a kernel in bytes a second, and whether that is assumed.

    That of kernels that read from end to end, which stays below the copy engine's; the latter where they were not run.
    """
    if facts.ceilings and facts.ceilings.link:
        own = [point for point in facts.ceilings.link if point.name == KERNEL_READS]
        return max(point.bytes_per_second for point in own or facts.ceilings.link), facts.ceilings.origin != "live"
    capability = facts.device.compute_capability if facts.device else ""
    width = facts.get("pcie_link_width") or ALL_LANES
    return REACHED * LANES.get(capability.partition(".")[0], LANES[SLOWEST]) * width / ALL_LANES, True


def _bytes_ns(what: Crossed, rate: float) -> float:
    return SECTOR_BYTES * max(what.read, what.written) / rate * NS


def _requests_ns(facts: Facts, what: Crossed) -> float:
    most = most_requests(facts.ceilings)
    return what.requests / most * NS if most else 0.0
