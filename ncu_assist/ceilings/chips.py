"""What is known of each compute capability, for where a report's device attributes do not say it.

Rates are results a cycle and multiprocessor, from the table of arithmetic instructions in the CUDA C++ Programming
Guide ("Maximize Instruction Throughput"); None where that table was not looked up. A warp instruction is 32 results.
"""

from __future__ import annotations

from dataclasses import dataclass

SECTOR_BYTES = 32  # what L1, L2 and DRAM move at least (Nsight Compute, Kernel Profiling Guide, "Memory Tables")
WAVEFRONT_BYTES = 128  # a cycle and multiprocessor from shared memory: 32 banks of 4 bytes (CUDA Programming Guide)
SCHEDULERS = 4  # a multiprocessor, each issues an instruction a cycle (CUDA Programming Guide, "Compute Capabilities")
KIB = 1024


@dataclass(frozen=True)
class ChipFacts:
    """One compute capability; rates in results a cycle and multiprocessor."""

    compute_capability: str
    fma: int  # 32-bit floating-point multiply-add
    fp64: int  # the same in 64 bits
    integer: int | None  # 32-bit addition and logic
    imad: int | None  # 32-bit integer multiply-add
    xu: int  # reciprocal, logarithm, sine …
    bytes_in_flight: int  # a multiprocessor, to fill DRAM
    sector_bytes: int = SECTOR_BYTES
    wavefront_bytes: int = WAVEFRONT_BYTES
    schedulers: int = SCHEDULERS


# The last column is NVIDIA's own tuning constant: arch_to_min_bytes_in_flight in CCCL, cub/device/dispatch/tuning/
# tuning_transform.cuh; there 48 KiB for 9.0 is noted as H200's, and 32 KiB as H100's.
CHIPS: dict[str, ChipFacts] = {
    chip.compute_capability: chip
    for chip in (
        ChipFacts("7.5", 64, 2, 64, 64, 16, 12 * KIB),
        ChipFacts("8.0", 64, 32, 64, 64, 16, 16 * KIB),
        ChipFacts("8.6", 128, 2, 64, 64, 16, 16 * KIB),
        ChipFacts("8.9", 128, 2, 64, 64, 16, 16 * KIB),
        ChipFacts("9.0", 128, 64, 64, 64, 16, 48 * KIB),
        ChipFacts("10.0", 128, 64, None, None, 16, 64 * KIB),
        ChipFacts("12.0", 128, 2, None, None, 16, 64 * KIB),
    )
}
BYTES_IN_FLIGHT = {"H100": 32 * KIB, "H200": 48 * KIB}  # by a word of the product's name; the same source


def chip_facts(compute_capability: str) -> ChipFacts | None:
    """Return what is known of a compute capability such as '9.0'; None where it is not in the table."""
    return CHIPS.get(compute_capability)


def bytes_in_flight(name: str, compute_capability: str) -> int | None:
    """Return the bytes that must be under way on each multiprocessor to fill DRAM; None for an unknown chip."""
    own = next((value for word, value in BYTES_IN_FLIGHT.items() if word in name.upper().split()), None)
    chip = chip_facts(compute_capability)
    return own or (chip.bytes_in_flight if chip else None)
