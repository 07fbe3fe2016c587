"""What is known of each compute capability, for where a report's device attributes do not say it.

And what DRAM can reach where nobody measured such a GPU, by its kind of memory: all that rests on it is *assumed*.

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

lsu is the number of load/store units that the architecture papers draw in a multiprocessor: 16 of 7.5, 8.6 and 8.9, 32
of the others. Counted: in kernels whose LSU does nothing but accesses, ncu's percentage of the pipe stands for 0.500
instructions a cycle on 8.6 (13 kernels of 6 public reports, 0.498 to 0.500), 0.997 on 8.0 and 0.99 on 9.0; on 7.5 for
0.5 at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    lsu: int | None = None  # lanes of loads, stores and shuffles
    schedulers: int = SCHEDULERS


# The last column is NVIDIA's own tuning constant: arch_to_min_bytes_in_flight in CCCL, cub/device/dispatch/tuning/
# tuning_transform.cuh; there 48 KiB for 9.0 is noted as H200's, and 32 KiB as H100's.
CHIPS: dict[str, ChipFacts] = {
    chip.compute_capability: chip
    for chip in (
        ChipFacts("6.1", 128, 4, 128, None, 32, 12 * KIB),
        ChipFacts("7.0", 64, 32, 64, 64, 16, 12 * KIB, 512, lsu=32),
        ChipFacts("7.5", 64, 2, 64, 64, 16, 12 * KIB, lsu=16),
        ChipFacts("8.0", 64, 32, 64, 64, 16, 16 * KIB, 1024, lsu=32),
        ChipFacts("8.6", 128, 2, 64, 64, 16, 16 * KIB, lsu=16),
        ChipFacts("8.9", 128, 2, 64, 64, 16, 16 * KIB, lsu=16),
        ChipFacts("9.0", 128, 64, 64, 64, 16, 48 * KIB, 2048, lsu=32),
        ChipFacts("10.0", 128, 64, 64, None, 16, 64 * KIB),
        ChipFacts("12.0", 128, 2, 128, 64, 16, 64 * KIB),
    )
}


@dataclass(frozen=True)
class SmLimits:
    """What a multiprocessor holds; shared memory in bytes, ``reserved`` of it in each block by the driver.

    ``assumed`` is the compute capability that it is known of, empty where the report itself says it.
    """

    warps: int
    blocks: int
    registers: int
    shared: int
    shared_a_block: int
    reserved: int
    assumed: str = ""


def _sm(chip: str, warps: int, blocks: int, shared_kib: int, a_block_kib: int) -> tuple[str, SmLimits]:
    reserved = KIB if float(chip) >= DRIVER_SHARES else 0
    return chip, SmLimits(warps, blocks, REGISTERS, shared_kib * KIB, a_block_kib * KIB, reserved, chip)


# By compute capability, from the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming
# Guide; those up to 9.0 are the same in the device attributes of public reports, 10.0 and 12.0 were seen in none.
DRIVER_SHARES = 8.0  # from this compute capability on the driver keeps 1 KiB of shared memory in each block
REGISTERS = 65_536  # of a multiprocessor, on all of these
SM_LIMITS: dict[str, SmLimits] = dict(
    (
        _sm("6.1", 64, 32, 96, 48),
        _sm("7.0", 64, 32, 96, 96),
        _sm("7.5", 32, 16, 64, 64),
        _sm("8.0", 64, 32, 164, 163),
        _sm("8.6", 48, 16, 100, 99),
        _sm("8.9", 48, 24, 100, 99),
        _sm("9.0", 64, 32, 228, 227),
        _sm("10.0", 64, 32, 228, 227),
        _sm("12.0", 48, 24, 100, 99),
    )
)

BYTES_IN_FLIGHT = {"H100": 32 * KIB, "H200": 48 * KIB}  # by a word of the product's name; the same source


def chip_facts(compute_capability: str) -> ChipFacts | None:
    """Return what is known of a compute capability such as '9.0'; None where it is not in the table."""
    return CHIPS.get(compute_capability)


def bytes_in_flight(name: str, compute_capability: str) -> int | None:
    """Return the bytes that must be under way on each multiprocessor to fill DRAM; None for an unknown chip."""
    own = next((value for word, value in BYTES_IN_FLIGHT.items() if word in name.upper().split()), None)
    chip = chip_facts(compute_capability)
    return own or (chip.bytes_in_flight if chip else None)


MemoryKind = Literal["HBM", "GDDR", "LPDDR"]

# Which memory a compute capability comes with (NVIDIA's architecture whitepapers and list of CUDA GPUs): the chips of
# data centres that end in 0 have HBM, those of the Jetson, Drive and Spark boards LPDDR, all others GDDR.
HBM = ("6.0", "7.0", "8.0", "9.0", "10.0", "10.3")
LPDDR = ("5.3", "6.2", "7.2", "8.7", "10.1", "11.0", "12.1")
# The time that a launch spends before and after DRAM is busy. Streams of 32 to 256 MiB take that much longer than their
# bytes at the rate of 4 GiB, up to 3.2 µs on an H200 and an H100 (the curves under ncu that come with the tool).
START_NS = 3000.0


@dataclass(frozen=True)
class DramDefault:
    """What large streams reached on GPUs with this kind of memory, as shares of DRAM's peak, 0 to 1.

    ``seen_on``: the products; empty where none was read of, and the least of the other kinds stands in. Read from 236
    public reports of 49 repositories (docs/sources.md, "Rates"), not measured by us.
    """

    kind: str
    low: float
    high: float
    seen_on: tuple[str, ...]

    def share(self, duration_ns: float) -> float:
        """Return what a launch of this duration can reach: the least of what streams reached, but for its start."""
        return self.low * max(0.0, 1.0 - START_NS / duration_ns) if duration_ns > 0 else 0.0

    @property
    def why(self) -> str:
        """Where it is from, in words."""
        if not self.seen_on:
            return f"no stream over {self.kind} was seen: that of other memory, {self._range}"
        return f"streams over {self.kind} reach {self._range} on {', '.join(self.seen_on)}"

    @property
    def _range(self) -> str:
        return f"{100 * self.low:.0f} to {100 * self.high:.0f} %"


_GDDR = DramDefault("GDDR", 0.91, 0.96, ("T4", "GTX 1660 SUPER", "A40", "RTX 4090"))
_HBM = DramDefault("HBM", 0.89, 0.95, ("V100", "A100", "H100"))
_LPDDR = DramDefault("LPDDR", 0.89, 0.96, ())
_UNKNOWN = DramDefault("memory of an unknown kind", 0.89, 0.96, ())
DRAM_DEFAULTS: dict[MemoryKind, DramDefault] = {"HBM": _HBM, "GDDR": _GDDR, "LPDDR": _LPDDR}


def memory_kind(compute_capability: str) -> MemoryKind | None:
    """Return the kind of DRAM that GPUs of a compute capability such as '8.6' have; None where that is not said."""
    if not compute_capability:
        return None
    return "HBM" if compute_capability in HBM else "LPDDR" if compute_capability in LPDDR else "GDDR"


def dram_default(compute_capability: str) -> DramDefault:
    """Return what stands in for a curve of DRAM that nobody measured."""
    kind = memory_kind(compute_capability)
    return DRAM_DEFAULTS[kind] if kind else _UNKNOWN
