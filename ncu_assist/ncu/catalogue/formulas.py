"""The formulas of derived metrics: plain arithmetic; NaN where a ratio has nothing to be taken of."""

from __future__ import annotations

import math

SECTOR_BYTES = 32  # CUDA C++ Programming Guide, device memory accesses: the unit of traffic between L1, L2 and DRAM
WARP_LANES = 32
SCHEDULERS_PER_SM = 4  # every chip since Volta (NVIDIA's tuning guides: four warp schedulers an SM)
NS_PER_S = 1e9
NOT_APPLICABLE = math.nan
# PCI Express Base Specification, 3.0 to 5.0: 8 to 32 GT/s a lane, of 130 bits 128 are data. Others code otherwise.
PCIE_RATES = (8_000, 32_000)  # in million transfers
PCIE_DATA = 128 / 130
BITS = 8
TURING, TURING_CYCLES = (7.0, 5.0), 2.0
# Rows of HBM3 and HBM3e. A pseudo-channel of 32 bits moves 8 bytes a cycle and opens a row every 4.6 ns at best: random
# single sectors, of which DRAM reads 64 bytes each, come to 2.61 TB/s on an H200 (benchmarks/scattered_reads.cu), six
# tenths of what whole lines reach. `fft_bit_reversal` of the fault gallery comes to 103 % of that rate of rows on an
# H200 and to 95 % on an H100 (benchmarks/dram_rows.py). Other memory was not measured.
HOPPER, ROW_NS, CHANNEL_BYTES = (9.0, 0.0), 4.6, 8
# Of every kind of DRAM by the clock that CUDA and ncu give: GDDR5 and HBM move data at both edges of it, and of those
# that do so more often (GDDR5X, GDDR6, GDDR6X, GDDR7) it is half of the data rate too. A test has boards of each kind.
EDGES = 2
MOST = 0.5  # of the requests
MOST_ROWS = 110.0  # percent of the rate above: the most that was seen is 103 (benchmarks/dram_rows.py)


def ratio(above: float, below: float) -> float:
    """Return above over below, NaN where there is nothing below."""
    return above / below if below > 0 else NOT_APPLICABLE


def percent(above: float, below: float) -> float:
    return 100.0 * ratio(above, below)


def total(*parts: float) -> float:
    return sum(parts)


def largest(*parts: float) -> float:
    return max(parts)


def cycles_of_wavefronts(percent: float, major: float, minor: float) -> float:
    """Return how busy L1's data pipe is: a wavefront takes two cycles on Turing, whose L1 moves 64 bytes in each.

    Where that pipe is the busiest part of L1, ncu's throughput of L1 is twice its percentage there, to five digits: in
    17 of 17 launches of four chips (benchmarks/l1_data_pipe.py).
    """
    return min(100.0, TURING_CYCLES * percent) if (major, minor) == TURING else percent


def rows_busy(
    duration_ns: float, dram_read: float, read_sectors: float, written_sectors: float, peak: float, *chip: float
) -> float:
    """Return how busy DRAM is with opening rows, in percent, at most 100.

    0 where more would have been opened than DRAM can open: then sectors lie in the same rows. NaN for memory that was
    not measured.
    """
    if chip != HOPPER:
        return NOT_APPLICABLE
    busy = rows_of_rate(duration_ns, dram_read, read_sectors, written_sectors, peak)
    return min(100.0, busy) if busy <= MOST_ROWS else 0.0


def rows_of_rate(
    duration_ns: float, dram_read: float, read_sectors: float, written_sectors: float, peak: float
) -> float:
    """Return the rows that a launch opens if each sector needs one of its own, in percent of what HBM3 can open.

    A sector that is read alone comes with a neighbour that nobody asked for, and opens a row. A sector that is written
    in part is read first, and opens a row twice: to be filled, and to be written back. What DRAM reads beyond the
    sectors that SMs ask for are such neighbours, as many as there are reads, and such fills. ``peak``: bytes that DRAM
    moves in a cycle.
    """
    beyond = min(max(0.0, dram_read / SECTOR_BYTES - read_sectors), read_sectors + written_sectors)
    opened = beyond + max(0.0, beyond - read_sectors)
    return percent(opened * ROW_NS, duration_ns * peak / CHANNEL_BYTES)


def product(first: float, second: float) -> float:
    return first * second


def share(part: float, *others: float) -> float:
    """Return the first of all, in percent."""
    return percent(part, part + sum(others))


def untold(*_: float) -> float:
    """Return that no number of a launch tells it."""
    return NOT_APPLICABLE


def sector_efficiency(bytes_per_sector: float, requests: float, async_copies: float = 0.0) -> float:
    """Return used of touched bytes; not applicable where nobody can tell.

    That is where most requests are cp.async, whose bytes ncu does not count, and where threads used more bytes than
    they touched: generic accesses that went to shared memory count as used.
    """
    used = 100.0 * bytes_per_sector / SECTOR_BYTES
    is_known = requests > 0 and used > 0 and async_copies <= MOST * requests and used <= 100.0
    return used if is_known else NOT_APPLICABLE


def ideal_sectors(bytes_per_sector: float, sectors: float, requests: float, async_copies: float = 0.0) -> float:
    """Return the sectors a request would touch if the bytes it uses lay side by side; at least one."""
    used = sector_efficiency(bytes_per_sector, requests, async_copies) / 100.0
    return NOT_APPLICABLE if math.isnan(used) else max(1.0, used * sectors / requests)


def excess_sectors(bytes_per_sector: float, sectors: float, requests: float, async_copies: float = 0.0) -> float:
    """Return the sectors a request touches beyond those."""
    return ratio(sectors, requests) - ideal_sectors(bytes_per_sector, sectors, requests, async_copies)


def rate(duration_ns: float, *nbytes: float) -> float:
    """Return bytes a second."""
    return sum(nbytes) / duration_ns * NS_PER_S if duration_ns > 0 else NOT_APPLICABLE


def sector_rate(duration_ns: float, sectors: float) -> float:
    return rate(duration_ns, sectors * SECTOR_BYTES)


def sector_bytes(*sectors: float) -> float:
    return sum(sectors) * SECTOR_BYTES


def link_share(
    read: float, written: float, read_sectors: float, written_sectors: float, rate: float, width: float
) -> float:
    """Return how full PCIe was of what goes to and from host memory, in percent, the busier way; headers count.

    A way without a sector of host memory is empty: the driver writes some 35 kB over PCIe with each launch, which in
    3 us is a fifth of the link. NaN where the link is of no rate that is known, or too slow for what crossed it: one
    at rest may report less than it then runs at.
    """
    if not PCIE_RATES[0] <= rate <= PCIE_RATES[1]:
        return NOT_APPLICABLE
    moved = max(read if read_sectors > 0 else 0.0, written if written_sectors > 0 else 0.0)
    found = percent(moved, rate * 1e6 * width / BITS * PCIE_DATA)
    return found if found <= 100.0 else NOT_APPLICABLE


def bytes_in_flight(waiting_warps: float, issued_per_cycle: float, sectors: float, requests: float) -> float:
    """Return the bytes of loads under way in an SM, by Little's law; ``waiting_warps`` a cycle with an issue."""
    warps = SCHEDULERS_PER_SM * waiting_warps * issued_per_cycle
    return warps * SECTOR_BYTES * ratio(sectors, requests)


def flops(add: float, mul: float, fma: float, cycles: float) -> float:
    """Return floating-point operations from instructions a cycle; an FMA is two."""
    return (add + mul + 2 * fma) * cycles


def half_flops(add: float, mul: float, fma: float, cycles: float) -> float:
    """Return the same for instructions that work on two halves at once (HADD2, HMUL2, HFMA2)."""
    return 2 * flops(add, mul, fma, cycles)


def intensity(add: float, mul: float, fma: float, cycles: float, read: float, written: float) -> float:
    return ratio(flops(add, mul, fma, cycles), read + written)


def half_intensity(add: float, mul: float, fma: float, cycles: float, read: float, written: float) -> float:
    return 2 * intensity(add, mul, fma, cycles, read, written)


def tensor_intensity(read: float, written: float, *operations: float) -> float:
    return ratio(sum(operations), read + written)


def idle_lanes(threads_per_instruction: float) -> float:
    return 100.0 * (1 - threads_per_instruction / WARP_LANES)


def idle_share(active: float, elapsed: float) -> float:
    return 100.0 - percent(active, elapsed)


def last_wave(waves: float) -> float:
    """Return how full the last wave of blocks is, in percent; a whole number of waves leaves none empty."""
    return 100.0 * (waves - math.ceil(waves) + 1) if waves > 0 else NOT_APPLICABLE


def unspilled(loads: float, stores: float, spills: float) -> float:
    return max(0.0, loads + stores - spills)
