"""DRAM moves more bytes than the work needs.

What the hardware does: data that does not stay in registers, shared memory or L2 between two uses is read from DRAM
again. Data that a kernel passes to the next one through memory is written and read again.

Why it costs time: a kernel at DRAM's limit takes as long as its bytes do. Three launches that each read and write an
array take three times as long as one launch that does all three steps.

What to try: fuse launches that work on the same elements; finish all work on a tile while it is on the chip; change the
order of blocks so that those that share data run at the same time; keep intermediate results in smaller types.

When it is reported: DRAM moves over 5 % more bytes than `bytes` of kernel.toml, not counting what uncoalesced accesses
and local memory explain. Up to 5 % are halos, and what the flush of the caches left behind. The order of blocks is the
cause if, in one launch, SMs read at least twice as much from L2 as comes from DRAM: several blocks use the data, and
part of it had left L2 before the last of them came. Otherwise a block reads again what it already had.

How the saving is estimated: the surplus bytes are a part of the work of each unit: of the bytes at DRAM, of the sectors
that SMs ask of L2, of those that L1 receives and sends. That part counts times how busy the unit was. The caches are
flushed before every launch of a chain, so what one launch leaves in L2 for the next counts as moved. A surplus below
three times L2 is therefore an upper bound, *assumed*.

Where it happens: the lines that read an array which an earlier line of the same launch has read, by the sectors that
they ask for. Without such lines, and in a chain of launches, all lines that access global memory, by their sectors:
those that read, or those that write, where the surplus is more than twice what DRAM did of the other.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.blame import GLOBAL_READS
from ncu_assist.rules.model.blame import WRITES as GLOBAL_WRITES
from ncu_assist.rules.model.dram import moved_bytes
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import ASKED_AGAIN
from ncu_assist.rules.model.savings import assumes_start, saved_ns, worth_saying
from ncu_assist.rules.model.traffic import Wasted, left_without, wasted_dram_bytes

ID = "redundant-traffic"
NEEDS: tuple[str, ...] = ("dram_bytes_read", "dram_bytes_write", "dram_throughput")
USES: tuple[str, ...] = ("global_sectors_excessive",)
EVIDENCE = ("dram_bytes", "dram_bytes_read", "dram_bytes_write", "dram_throughput")
MARGIN = 0.05  # of the bytes needed; what at-dram-roofline leaves to its ceiling as well
ON_CHIP = "finish all work on a tile while it is on the chip"
IN_ORDER = (
    "let blocks that share data run together (tiles in groups, one head or batch after another), or use larger tiles"
)
TIMES_L2 = 3.0  # below it what one launch leaves for the next may be in L2 still: as buffers are rotated for a cold L2


def find(facts: Facts) -> Finding | None:
    """Return what bytes cost that the work does not need; None where ``bytes`` is not known."""
    needed, surplus = facts.algorithmic_bytes, redundant_bytes(facts)
    if needed is None or surplus <= 0:
        return None
    left = left_by_unit(surplus, facts)
    saved = worth_saying(saved_ns(facts, left), facts)
    if not saved:
        return None
    message = f"DRAM moves {quantity(moved_bytes(facts), 'byte')} where the work needs {quantity(needed, 'byte')}"
    bound = _may_have_stayed_in_l2(facts, surplus)
    if bound:
        message += "; an upper bound, because the caches are flushed between the launches"
    is_one = len(facts.combined.launches) == 1
    asked, came = SECTOR_BYTES * facts.value("l2_sectors_read"), facts.value("dram_bytes_read")
    is_shared = is_one and asked >= ASKED_AGAIN * came > 0.0
    if is_shared:
        message += f"; L2 delivers it {asked / came:.1f} times on average, and drops it before its last use"
    return Finding(
        rule=ID,
        message=message,
        saved_ns=saved,
        evidence=EVIDENCE,
        relieves=tuple(left),
        left=left,
        waste="read_again",
        stalls=("long_scoreboard",),
        about=_ways(surplus, facts),
        assumed=bound or assumes_start(facts),
        advice=IN_ORDER if is_shared else ON_CHIP if is_one else f"fuse launches, or {ON_CHIP}",
    )


def redundant_bytes(facts: Facts) -> float:
    """Return the DRAM bytes beyond the need that no other fault explains; 0 within the margin or if not known."""
    if facts.algorithmic_bytes is None:
        return 0.0
    local = SECTOR_BYTES * (facts.value("local_load_sectors") + facts.value("local_store_sectors"))
    surplus = moved_bytes(facts) - facts.algorithmic_bytes - wasted_dram_bytes(facts) - local
    return surplus if surplus > MARGIN * facts.algorithmic_bytes else 0.0


def left_by_unit(surplus: float, facts: Facts) -> dict[str, float]:
    """Return what part of their work is left without so many bytes to units that they passed on the way to DRAM."""
    sectors, part = surplus / SECTOR_BYTES, facts.value("dram_bytes_read") / moved_bytes(facts)
    left = left_without(Wasted(0.0, sectors, sectors), facts)
    filled = facts.value("l2_sectors_read")  # what L1 gets: of the surplus what was read
    return {**left, "L1 fill": 1.0 - min(1.0, part * sectors / filled)} if filled else left


def _ways(surplus: float, facts: Facts) -> frozenset[str]:
    """Return the opcodes of the accesses that must be most of the surplus: reads, writes, or both where it is open."""
    read, written = facts.value("dram_bytes_read"), facts.value("dram_bytes_write")
    if surplus > 2.0 * min(read, written):
        return GLOBAL_READS if read > written else GLOBAL_WRITES
    return GLOBAL_READS | GLOBAL_WRITES


def _may_have_stayed_in_l2(facts: Facts, surplus: float) -> bool:
    l2 = facts.device.l2_bytes if facts.device else None
    return len(facts.combined.launches) > 1 and (l2 is None or surplus < TIMES_L2 * l2)
