"""How many warps would fit on a multiprocessor with other blocks, registers or shared memory: curves as ncu draws them.
And how many tiles of TMA shared memory has room for, and how many blocks fit where they come in clusters.

What hardware hands out, from NVIDIA's occupancy calculator: registers to a warp, in pieces of 256, and to as many warps
as are a multiple of four; shared memory in pieces of 128 bytes (256 before 8.0), with what the driver keeps for itself
in each block. Of L1 as much is set aside as blocks ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ncu_assist.ceilings.chips import LANES, SCHEDULERS, SM_LIMITS, SmLimits
from ncu_assist.ncu.catalogue.metrics import SM_LIMIT_NAMES
from ncu_assist.quantity import quantity
from ncu_assist.rules.model.facts import Facts

Over = Literal["block_size", "registers", "shared_memory"]
REGISTER_PIECE, SHARED_PIECE, OLDER_SHARED_PIECE = 256, 128, 256
STEP_REGISTERS, MOST_REGISTERS = REGISTER_PIECE // LANES, 255
UNITS: dict[Over, str] = {
    "registers": "registers a thread",
    "shared_memory": "bytes of shared memory",
    "block_size": "threads a block",
}
Change = tuple[Mapping[Over, tuple[int, int]], int]  # what a block takes and would take, and the warps that fit then
MOST_THREADS = 1024  # of a block, on every GPU (CUDA Programming Guide)


@dataclass(frozen=True)
class OccupancyPoint:
    """What would fit with another ``value``: 0 blocks where not even one does.

    ``limiter`` is what allows no more, as `low-occupancy` calls it. ``waves``: of as many
    threads as now, None where the grid is not known.
    """

    value: int
    blocks: int
    warps: int
    limiter: str
    waves: float | None


@dataclass(frozen=True)
class OccupancyCurve:
    """Warps by one number of a launch, all others as they are; ``now`` is among the points, which are sorted.

    ``assumed`` is the compute capability whose limits it goes by, empty where the report says them itself.
    """

    over: Over
    now: int
    most_warps: int
    points: tuple[OccupancyPoint, ...]
    assumed: str = ""

    @property
    def here(self) -> OccupancyPoint:
        """The point of the launch as it is."""
        return next(one for one in self.points if one.value == self.now)


@dataclass(frozen=True)
class LaunchShape:
    """What a block takes. ``barriers`` is how many blocks those of the hardware allow, None where that is not known."""

    threads: int
    registers: int
    shared: int  # bytes, without what the driver keeps
    barriers: int | None = None


def sm_limits(facts: Facts) -> SmLimits | None:
    """Return what a multiprocessor holds: by the attributes in the report, else by its compute capability.

    None where neither is known. Reports of before 2020 lack how many blocks it holds as an attribute, but have it as
    the limit of the launch.
    """

    def known(name: str) -> float | None:
        return next((value for table in facts.combined.tables if (value := table.get(name)) is not None), None)

    warps, blocks, registers, shared, a_block, reserved = map(known, SM_LIMIT_NAMES)
    blocks = blocks or facts.get("block_limit_blocks")
    if warps and blocks and registers and shared and a_block:
        return SmLimits(int(warps), int(blocks), int(registers), int(shared), int(a_block), int(reserved or 0.0))
    return SM_LIMITS.get(facts.device.compute_capability) if facts.device else None


def fits(shape: LaunchShape, limits: SmLimits) -> dict[str, int]:
    """Return how many blocks fit by each limit; the scarcest decides. Of shared memory none where it uses none."""
    each = -(-shape.threads // LANES)
    a_warp = _up(max(1, shape.registers) * LANES, REGISTER_PIECE)
    by_registers = limits.registers // a_warp // SCHEDULERS * SCHEDULERS // each
    found = {"registers": by_registers if shape.registers <= MOST_REGISTERS else 0, "blocks": limits.blocks}
    if shape.barriers is not None:
        found["barriers"] = shape.barriers
    found["warps"] = limits.warps // each
    if shape.shared:
        taken = _up(shape.shared + limits.reserved, _piece(limits))
        found["shared"] = limits.shared // taken if shape.shared <= limits.shared_a_block else 0
    return found


def _piece(limits: SmLimits) -> int:
    """Return the bytes that shared memory is handed out in: smaller from the chips on where the driver keeps some."""
    return SHARED_PIECE if limits.reserved else OLDER_SHARED_PIECE


def _up(value: int, piece: int) -> int:
    return -(-value // piece) * piece


def shape_of(facts: Facts) -> LaunchShape | None:
    """Return what a block takes; None where that was not counted, or differs between launches."""
    threads, registers = facts.get("block_size"), facts.get("registers")
    shared, own = facts.get("shared_memory"), facts.get("shared_memory_driver")
    if not threads or not registers or shared is None:
        return None
    barriers = facts.get("block_limit_barriers")
    limit = int(barriers) if barriers is not None else None
    return LaunchShape(int(threads), int(registers), max(0, int(shared - (own or 0.0))), limit)


def occupancy_curves(facts: Facts) -> tuple[OccupancyCurve, ...]:
    """Return warps over threads a block, registers a thread and shared memory a block; none without what they take."""
    limits, shape = sm_limits(facts), shape_of(facts)
    if limits is None or shape is None:
        return ()
    steps: dict[Over, tuple[int, set[int]]] = {
        "block_size": (shape.threads, set(range(LANES, MOST_THREADS + 1, LANES))),
        "registers": (shape.registers, {*range(STEP_REGISTERS, MOST_REGISTERS, STEP_REGISTERS), MOST_REGISTERS}),
        "shared_memory": (shape.shared, _shared_steps(limits)),
    }
    return tuple(
        OccupancyCurve(
            over,
            now,
            limits.warps,
            tuple(_point(facts, over, one, shape, limits) for one in sorted({now, *values})),
            limits.assumed,
        )
        for over, (now, values) in steps.items()
    )


def _curve(facts: Facts, over: Over | None) -> OccupancyCurve | None:
    return next((one for one in occupancy_curves(facts) if one.over == over), None)


def changes(facts: Facts, limiter: str) -> Iterator[Sequence[Change]]:
    """Yield the changes with which more warps fit, kind by kind, the cheapest kind first, each from the nearest on.

    None where the report does not say what a block takes, or says that another number fits than these would.
    """
    limits, shape, curve = sm_limits(facts), shape_of(facts), _curve(facts, "block_size")
    if limits is None or shape is None or curve is None or curve.here.warps != facts.value("theoretical_warps"):
        return
    steps = _less(shape, limits) if limiter in ("registers", "shared") else ()
    less = tuple(one for one, after in pairwise((*steps, ({}, 0))) if one[0] != after[0])
    sizes = _other_blocks(facts, curve, limiter)
    blocks: tuple[Change, ...] = tuple(({"block_size": (curve.now, one.value)}, one.warps) for one in sizes)
    yield from (blocks, less) if limiter == "registers" else (less, blocks)


def _less(shape: LaunchShape, limits: SmLimits) -> Iterator[Change]:
    """Yield the most registers and shared memory with which more blocks fit, of what is too short for these."""
    allowed, each = fits(shape, limits), -(-shape.threads // LANES)
    most = min(count for limit, count in allowed.items() if limit not in ("registers", "shared"))
    for blocks in range(min(allowed.values()) + 1, most + 1):
        values: dict[Over, tuple[int, int]] = {}
        if allowed["registers"] < blocks:
            a_warp = limits.registers // _up(blocks * each, SCHEDULERS)
            values["registers"] = shape.registers, a_warp // REGISTER_PIECE * STEP_REGISTERS
        if allowed.get("shared", blocks) < blocks:
            values["shared_memory"] = shape.shared, _most_shared(blocks, limits)
        if any(then <= 0 for _, then in values.values()):
            return
        yield values, blocks * each


def _other_blocks(facts: Facts, curve: OccupancyCurve, limiter: str) -> list[OccupancyPoint]:
    """Return the block sizes with which more warps fit, the nearest first.

    Registers are handed out by the block: what is left over may hold a part of one. Blocks with shared memory share a
    tile by their size: more warps may share it, fewer not. Without a barrier no warp reads what another wrote, so that
    each has a part of its own.
    """
    now, better = curve.here, [one for one in curve.points if one.warps > curve.here.warps]
    if limiter == "registers":
        better = [one for one in better if one.value < now.value and now.value % one.value == 0]
    elif limiter not in ("shared", "blocks", "warps"):
        better = []
    if facts.get("shared_memory_static") or facts.get("shared_memory_dynamic"):
        better = [one for one in better if one.value > now.value and facts.get("barriers") != 0]
    return sorted(better, key=lambda one: abs(one.value - now.value))


def _shared_steps(limits: SmLimits) -> set[int]:
    """Return the most bytes with which each number of blocks fits, and 0."""
    most = (_most_shared(count, limits) for count in range(1, limits.blocks + 1))
    return {0, *(value for value in most if value > 0)}


def _most_shared(blocks: int, limits: SmLimits) -> int:
    piece = _piece(limits)
    return min(limits.shared // blocks // piece * piece - limits.reserved, limits.shared_a_block)


def _point(facts: Facts, over: Over, value: int, now: LaunchShape, limits: SmLimits) -> OccupancyPoint:
    shape = LaunchShape(
        value if over == "block_size" else now.threads,
        value if over == "registers" else now.registers,
        value if over == "shared_memory" else now.shared,
        now.barriers,
    )
    allowed = fits(shape, limits)
    limiter = min(allowed, key=lambda word: allowed[word])
    blocks = allowed[limiter]
    grid, count = facts.get("grid_size"), facts.get("sm_count")
    waves = -(-grid * now.threads // shape.threads) / (blocks * count) if grid and count and blocks else None
    return OccupancyPoint(value, blocks, blocks * -(-shape.threads // LANES), limiter, waves)


@dataclass(frozen=True)
class TileRoom:
    """What TMA brings, and room for more: bytes of one load on average, and of shared memory that a block does not have
    and could have with as many blocks an SM as now. How many loads make a stage is not known.
    """

    load_bytes: float
    free_bytes: int

    @property
    def told(self) -> str:
        each, free = quantity(self.load_bytes, "byte"), quantity(self.free_bytes, "byte")
        return f"a TMA load brings {each} on average, and a block could have {free} more of shared memory"


@dataclass(frozen=True)
class ClusterRoom:
    """Blocks in clusters of ``size``: ``clusters`` fit on the GPU at once, so ``blocks``; ``alone`` would without."""

    size: int
    clusters: int
    blocks: int
    alone: int


def tile_room(facts: Facts) -> TileRoom | None:
    """Return what TMA brings a block and how much shared memory is free for more; None without TMA."""
    limits, shape = sm_limits(facts), shape_of(facts)
    moved, loads = facts.get("tma_load_bytes"), facts.get("tma_loads")
    if limits is None or shape is None or not moved or not loads or not shape.shared:
        return None
    blocks = max(1, min(fits(shape, limits).values()))
    most = min(limits.shared_a_block, limits.shared // blocks // _piece(limits) * _piece(limits) - limits.reserved)
    return TileRoom(moved / loads, max(0, int(most - shape.shared)))


def cluster_room(facts: Facts) -> ClusterRoom | None:
    """Return how many blocks fit in clusters, and how many would without; None for a launch without clusters."""
    limits, shape = sm_limits(facts), shape_of(facts)
    size, clusters, count = (facts.get(key) for key in ("cluster_size", "clusters_max_active", "sm_count"))
    if limits is None or shape is None or not size or not clusters or not count:
        return None
    alone = min(fits(shape, limits).values()) * int(count)
    return ClusterRoom(int(size), int(clusters), int(size * clusters), alone)
