"""The least time that a workload can take on a GPU: what it has to move, to compute and to launch, at the best rates.

Each is a term; the longest of them is the floor, as all of it goes on at the same time. A rate that was measured goes
first. Of operations NVIDIA's table stands in, *assumed*: results a cycle, of all multiprocessors, at the clock that the
bench counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ncu_assist.ceilings.chips import LANES, SCHEDULERS, ChipFacts, chip_facts
from ncu_assist.ceilings.records import Ceiling, Ceilings, dram_ceiling, link_ceiling
from ncu_assist.record import Run, Timing, WorkloadFacts
from ncu_assist.spec import DTYPE_BYTES, MATHS, Math, math_of

NS = 1e9
HALF_ASSUMED = "that half of the bytes are written is assumed"
# One instruction may work on two halves or four quarters of a register, and DPX, from 9.0 on, does a sum and a
# maximum of both halves (CUDA C++ Programming Guide, SIMD Intrinsics and DPX).
PACKED_ASSUMED = "packed instructions, which do several small numbers at once, can take less"
INTEGER_BYTES = 4  # of the integers that an operation is on
OF_MULTIPLY_ADD = 2  # operations: a product and a sum

Kind = Literal["dram", "l2", "link", "fma", "fp64", "int", "xu", "tensor", "launch"]
NAMES: dict[Kind, str] = {
    "dram": "DRAM",
    "l2": "L2",
    "link": "the link from the host",
    "fma": "the float32 pipe",
    "fp64": "the float64 pipe",
    "int": "the integer pipes",
    "xu": "the special-function unit",
    "tensor": "the tensor cores",
    "launch": "an empty launch",
}
OF_OPERATIONS: tuple[Kind, ...] = ("fma", "fp64", "int", "xu", "tensor")


@dataclass(frozen=True)
class Floor:
    """The time that ``amount`` of ``unit`` takes at the rate that ``kind`` can reach; a launch is one of itself.

    ``assumed`` where that was not measured for just this; ``why`` says in words where the rate is from. ``terms``:
    everything that the workload has to do, the longest first, which is the floor; empty in those.
    """

    kind: Kind
    amount: int
    unit: Literal["byte", "flop", "op", "launch"]
    per_second: float
    why: str
    assumed: bool
    clock_mhz: float | None = None  # of the SMs, where it is of operations whose rate was measured
    terms: tuple[Floor, ...] = ()

    @property
    def ns(self) -> float:
        return self.amount / self.per_second * NS

    @property
    def bound(self) -> str:
        """What sets it, in words."""
        return NAMES[self.kind]

    @property
    def is_of_operations(self) -> bool:
        """Whether arithmetic sets it: bytes a second then say nothing of how good a version is."""
        return self.kind in OF_OPERATIONS


def floor_of(facts: WorkloadFacts, ceilings: Ceilings | None, run: Run | None = None) -> Floor | None:
    """Return what sets the least time of a workload; None where that is not known.

    What has to cross the link from the host goes by that alone. Where nobody measured DRAM on such a GPU, operations
    set it if they take longer than the copy of the same bytes that was timed beside ``run``; else nothing is said.
    """
    if facts.host_bytes is not None:
        link = link_ceiling(ceilings)
        return _whole([_bytes("link", facts.host_bytes, link)]) if link else None
    timing = run.timing(facts.name) if run else None
    moved = _moved(facts, ceilings, is_warm=bool(run and run.bench and run.bench.flush == "none"), run=run)
    terms = [*_operations(facts, ceilings, run, timing)]
    if moved is not None:
        return _whole([moved, *terms, *_launch(ceilings)])
    beside = timing.copy_ns if timing and timing.copy_ns else 0.0 if not facts.algorithmic_bytes else None
    return _whole(terms) if beside is not None and any(one.ns > beside for one in terms) else None


def _whole(terms: list[Floor]) -> Floor:
    ordered = tuple(sorted(terms, key=lambda one: -one.ns))
    return replace(ordered[0], terms=ordered)


def _moved(facts: WorkloadFacts, ceilings: Ceilings | None, *, is_warm: bool, run: Run | None) -> Floor | None:
    """Return the time of the bytes: of L2 where they fit and nothing empties it between calls, else of DRAM."""
    moved = facts.algorithmic_bytes or 0
    if ceilings is None or not moved:
        return None
    size = run.device.l2_bytes if run and run.device else None
    reads = [one for one in ceilings.l2 if one.source == "events"]
    if is_warm and size and moved <= size and reads:
        rate = max(one.bytes_per_second for one in reads)
        return Floor("l2", moved, "byte", rate, f"reads that hit, measured on {ceilings.where}", True)
    written = moved // 2 if facts.written_bytes is None else facts.written_bytes
    found = dram_ceiling(ceilings, moved - written, written, "events")
    if found is None:
        return None
    known = _bytes("dram", moved, found)
    unsure = facts.written_bytes is None
    return replace(known, assumed=True, why=f"{known.why}; {HALF_ASSUMED}") if unsure else known


def _bytes(kind: Kind, moved: int, found: Ceiling) -> Floor:
    why = found.why.replace(" under events", "")  # as everything that a floor is of
    return Floor(kind, moved, "byte", found.bytes_per_second, why, found.assumed)


def _launch(ceilings: Ceilings | None) -> Iterator[Floor]:
    """Yield the time of an empty kernel between two events."""
    if ceilings is not None and ceilings.conditions.empty_seconds:
        why = f"measured on {ceilings.where}"
        yield Floor("launch", 1, "launch", 1.0 / ceilings.conditions.empty_seconds, why, False)


# What tensor cores do of a type beside halves (NVIDIA's architecture papers of 8.0 and 9.0, dense), and which loops
# measured it. A float64 goes by its own pipe's rate.
OF_HALVES: dict[str, float] = {"bf16": 1.0, "fp16": 1.0, "tf32": 0.5, "int8": 2.0}
TENSOR_TYPES = {"bfloat16": "bf16", "float16": "fp16", "uint8": "int8", "int8": "int8", "float32": "tf32"}
# Loops measured, each with the operations of one instruction of a warp. Integers: one a lane of either pipe that does
# them, additions and logic on one, multiply-adds on the other.
PIPES: dict[Math, tuple[tuple[str, int], ...]] = {
    "fma": (("fma", OF_MULTIPLY_ADD * LANES),),
    "fp64": (("fp64", OF_MULTIPLY_ADD * LANES),),
    "int": (("alu", LANES), ("imad", LANES)),
    "xu": (("xu", LANES),),
}
# Of TF32 for one of float32: each number is the sum of two with 11 bits, and the lower bits of both add nothing that a
# float32 keeps (CUTLASS calls it 3xTF32).
SPLIT_PRODUCTS = 3
WGMMA_FROM = 9.0  # the compute capability with instructions of a warp group, which alone reach the full rate


def _operations(
    facts: WorkloadFacts, ceilings: Ceilings | None, run: Run | None, timing: Timing | None
) -> Iterator[Floor]:
    clock = timing.sm_clock_mhz if timing else None
    work = facts.work or {math_of(facts.dtype): facts.flops or 0}
    for math in MATHS:
        amount = work.get(math, 0)
        least = _of_math(math, amount, facts.dtype, ceilings, run, clock) if amount else None
        if least is not None:
            yield least


def _of_math(
    math: Math, amount: int, dtype: str, ceilings: Ceilings | None, run: Run | None, clock_mhz: float | None = None
) -> Floor | None:
    """Return the time of one kind of arithmetic; None where its rate was not measured and no table says it."""
    kind: Kind = "tensor" if math == "tf32" else math
    found = _rate(math, dtype, ceilings, run, clock_mhz)
    least = Floor(kind, amount, "op" if math in ("int", "xu") else "flop", *found) if found else None
    if least and math == "int" and DTYPE_BYTES.get(dtype, INTEGER_BYTES) < INTEGER_BYTES:
        return replace(least, assumed=True, why=f"{least.why}; {PACKED_ASSUMED}")
    return least


# Operations a second, where that is from, whether it is assumed, and the clock of the SMs while it was measured
MathRate = tuple[float, str, bool, float | None]


def _rate(
    math: Math, dtype: str, ceilings: Ceilings | None, run: Run | None, clock_mhz: float | None
) -> MathRate | None:
    form = "tf32" if math == "tf32" else TENSOR_TYPES.get(dtype) if math == "tensor" else None
    if ceilings is not None:
        found = _tensor(form, ceilings) if form else _pipes(math, ceilings)
        if found is not None:
            return found
    device = ceilings.device if ceilings else run.device if run else None
    chip = chip_facts(device.compute_capability) if device else None
    clock = (ceilings.conditions.sm_clock_mhz if ceilings else None) or clock_mhz
    each = _nominal(math, form, dtype, chip) if chip else None
    if device is None or not device.sm_count or not clock or not each:
        return None
    why = f"peak of compute capability {device.compute_capability} at {clock:.0f} MHz, not measured"
    return each * device.sm_count * clock * 1e6, why, True, None


def split_ns(least: Floor, dtype: str, ceilings: Ceilings | None, run: Run | None = None) -> float | None:
    """Return the time of float32 multiply-adds as products of TF32; None of other work, or where that is no less.

    Only sums of products of two matrices can go to the tensor cores.
    """
    if least.kind != "fma" or dtype != "float32":
        return None
    split = _of_math("tf32", SPLIT_PRODUCTS * least.amount, dtype, ceilings, run)
    return split.ns if split and split.ns < least.ns else None


def _pipes(math: Math, ceilings: Ceilings) -> MathRate | None:
    rates = [(ceilings.rate("pipe", name, "events"), each) for name, each in PIPES.get(math, ())]
    known = [rate.per_second * each for rate, each in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    clock = next((rate.sm_clock_mhz for rate, _ in rates if rate), None)
    return sum(known), f"measured on {ceilings.where}", False, clock


def _tensor(form: str, ceilings: Ceilings) -> MathRate | None:
    """Return the rate of warp groups, of this type or from that of halves, else that of warps, where there is no other.

    A half is a half: either type was measured to be as fast.
    """
    for name, part in ((form, 1.0), ("bf16", OF_HALVES[form])):
        if rate := ceilings.rate("tensor", f"wgmma_{name}", "events"):
            same = OF_HALVES[form] == OF_HALVES[name]
            why = f"measured on {ceilings.where}" + ("" if same else f" with {name}: {part:g} of that rate")
            return rate.per_second * part, why, not same, rate.sm_clock_mhz
    rate = ceilings.rate("tensor", f"mma_{form}", "events")
    is_short = float(ceilings.device.compute_capability) >= WGMMA_FROM
    return (rate.per_second, f"measured on {ceilings.where}", is_short, rate.sm_clock_mhz) if rate else None


def _nominal(math: Math, form: str | None, dtype: str, chip: ChipFacts) -> float | None:
    """Return operations a cycle and multiprocessor by NVIDIA's table."""
    if form is not None:
        return OF_MULTIPLY_ADD * OF_HALVES[form] * chip.tensor_fp16 if chip.tensor_fp16 else None
    if math == "tensor" and dtype == "float64":
        return 2.0 * OF_MULTIPLY_ADD * chip.fp64
    integers = min(SCHEDULERS * LANES, (chip.integer or 0) + (chip.imad or 0))
    table: dict[Math, float] = {
        "fma": OF_MULTIPLY_ADD * chip.fma,
        "fp64": OF_MULTIPLY_ADD * chip.fp64,
        "int": integers,
        "xu": chip.xu,
    }
    return table.get(math)
