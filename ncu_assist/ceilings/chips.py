"""What is known of each compute capability, for where a report's device attributes do not say it.

Rates are results a cycle and multiprocessor, as in NVIDIA's table "Throughput of Native Arithmetic Instructions" (CUDA
C++ Programming Guide, "Maximize Instruction Throughput"; since CUDA 13 in the Best Practices Guide). None where nothing
was found. A warp instruction is 32 results.

Not NVIDIA's page itself was at hand, but texts that copy the table. Looked up in them: fma and fp64 of 6.1; fma, fp64,
integer and xu of 7.x, 8.0 and 8.6; imad of 7.x; fma, fp64 and integer of 9.0; fma and fp64 of 10.0; fma, fp64, integer
and imad of 12.0 (where additions are 128, shifts and logic 64). integer of 10.0 is from a table of XLA that names that
guide among its sources. Measured by others: imad of 8.0 and 8.6. Not looked up, from memory: integer, xu of 6.1; imad
of 9.0, xu of 9.0, 10.0 and 12.0, all of 8.9. Rates of tensor cores are those of the architecture papers: of 7.0 from
memory, of 8.0 and 9.0 as XLA's table has them (a loop of wgmma on an H200 reached 0.99 of that); for 10.0 that table
only has Wikipedia, so it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

SECTOR_BYTES = 32  # what L1, L2 and DRAM move at least (Nsight Compute, Kernel Profiling Guide, "Memory Tables")
WAVEFRONT_BYTES = 128  # a cycle and multiprocessor from shared memory: 32 banks of 4 bytes (CUDA Programming Guide)
SCHEDULERS = 4  # a multiprocessor, each issues an instruction a cycle (CUDA Programming Guide, "Compute Capabilities")
LANES = 32  # of a warp, on every GPU so far (CUDA Programming Guide)
KIB = 1024


@dataclass(frozen=True)
class ChipFacts:
    """One compute capability; rates in results a cycle and multiprocessor."""

    compute_capability: str
    fma: int  # 32-bit floating-point multiply-add
    fp64: int  # the same in 64 bits
    integer: int | None  # 32-bit addition
    imad: int | None  # 32-bit integer multiply-add
    xu: int  # reciprocal, logarithm, sine …
    bytes_in_flight: int  # a multiprocessor, to fill DRAM
    tensor_fp16: int | None = None  # multiply-adds of the tensor cores on dense halves
    sector_bytes: int = SECTOR_BYTES
    wavefront_bytes: int = WAVEFRONT_BYTES
    schedulers: int = SCHEDULERS


# The last column is NVIDIA's own tuning constant: arch_to_min_bytes_in_flight in CCCL, cub/device/dispatch/tuning/
# tuning_transform.cuh; there 48 KiB for 9.0 is noted as H200's, and 32 KiB as H100's.
CHIPS: dict[str, ChipFacts] = {
    chip.compute_capability: chip
    for chip in (
        ChipFacts("6.1", 128, 4, 128, None, 32, 12 * KIB),
        ChipFacts("7.0", 64, 32, 64, 64, 16, 12 * KIB, 512),
        ChipFacts("7.5", 64, 2, 64, 64, 16, 12 * KIB),
        ChipFacts("8.0", 64, 32, 64, 64, 16, 16 * KIB, 1024),
        ChipFacts("8.6", 128, 2, 64, 64, 16, 16 * KIB),
        ChipFacts("8.9", 128, 2, 64, 64, 16, 16 * KIB),
        ChipFacts("9.0", 128, 64, 64, 64, 16, 48 * KIB, 2048),
        ChipFacts("10.0", 128, 64, 64, None, 16, 64 * KIB),
        ChipFacts("12.0", 128, 2, 128, 64, 16, 64 * KIB),
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
