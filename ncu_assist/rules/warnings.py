"""What misleads about a measurement itself, never about the kernel: the warnings of a diagnosis, by id."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.frame import Combined
from ncu_assist.ncu.catalogue.noise import SHORT_NS
from ncu_assist.rules.facts import Facts

# Less than half of what must have come from or gone to DRAM: no rounding, and no estimate of the bytes that is a little
# off, but data that was in L2 before the kernel began.
RESIDENT_BELOW = 0.5
# DRAM writes that no store explains. A recorded kernel that stores nothing, with its caches flushed by ncu, shows up to
# 3.5 % of its traffic and 5 MB; a zeroing flush leaves up to 60 MB (ncu_facts.md, "Measuring"). Between the two.
DIRTY_SHARE = 0.1
DIRTY_BYTES = 10 << 20
# Where a launch writes more than three times the L2, little of it is still there when the next one reads it.
OUTGROWN = 3


@dataclass(frozen=True)
class Warned:
    """Something to keep in mind about a measurement; ``id`` as users and scripts refer to it."""

    id: str
    sentence: str


def warnings(facts: Facts) -> tuple[Warned, ...]:
    """Return what misleads about a measurement; what cannot be told from these counters is left out."""
    told = (_short(facts), _resident(facts), _dirty(facts), _chain(facts), _counts(facts))
    return tuple(one for one in told if one)


def _short(facts: Facts) -> Warned | None:
    typical = facts.combined.typical_ns
    if not typical or not facts.is_short:
        return None
    return Warned(
        "short-kernel",
        f"a launch takes {typical / 1000:.1f} µs: below {SHORT_NS / 1000:.0f} µs ratios of counters from different "
        "passes are not to be trusted",
    )


def _resident(facts: Facts) -> Warned | None:
    moved, needed = facts.get("dram_bytes"), _least_dram_bytes(facts)
    if moved is None or needed is None or needed <= 0 or moved >= RESIDENT_BELOW * needed:
        return None
    return Warned(
        "l2-resident-input",
        f"DRAM moved {_mb(moved)} where at least {_mb(needed)} had to pass: the input was in L2 before the kernel "
        "began, so that no DRAM figure holds for a cold one; flush L2 or use data larger than it",
    )


def _least_dram_bytes(facts: Facts) -> float | None:
    """Return the bytes of the workload that cannot have stayed in L2 nor in the host's memory; None if unknown."""
    written, host = _bytes_written(facts), facts.value("host_bytes")
    if facts.algorithmic_bytes is None or written is None:
        return None
    l2 = facts.device.l2_bytes if facts.device else None
    stays = written if l2 is None else min(written, float(l2))  # dirty lines, written back after the end
    return facts.algorithmic_bytes - host - stays


def _bytes_written(facts: Facts) -> float | None:
    """Return the bytes that the launches handed to L2 to write; None where stores were not counted."""
    stored = facts.get("l2_sectors_write")
    if stored is None:
        return None
    return SECTOR_BYTES * (stored + facts.value("l2_sectors_reduction") + facts.value("l2_sectors_atomic"))


def _dirty(facts: Facts) -> Warned | None:
    written, own, moved = facts.get("dram_bytes_write"), _bytes_written(facts), facts.value("dram_bytes")
    if written is None or own is None:
        return None
    foreign = written - own
    if foreign < DIRTY_BYTES * len(facts.combined.launches) or foreign < DIRTY_SHARE * moved:
        return None
    return Warned(
        "dirty-flush",
        f"DRAM took {_mb(written)} of writes where the kernel stored {_mb(own)}: dirty lines of whatever ran before "
        "are billed to it; flush by reading a clean buffer",
    )


def _chain(facts: Facts) -> Warned | None:
    launches = facts.combined.launches
    if len(launches) < 2 or not _fits_l2(facts):
        return None
    return Warned(
        "chain-upper-bound",
        f"the DRAM bytes of {len(launches)} launches are a sum: where ncu flushed the caches before each, as by "
        "default, what one leaves in L2 for the next is counted as DRAM traffic; take them as an upper bound",
    )


def _fits_l2(facts: Facts) -> bool:
    """Tell whether what any launch but the last leaves behind could be read from L2; True if that is not known."""
    l2 = facts.device.l2_bytes if facts.device else None
    written = [_bytes_written(Facts(facts.combined.only([one]))) for one in facts.combined.launches[:-1]]
    return l2 is None or any(one is None or one < OUTGROWN * l2 for one in written)


def _counts(facts: Facts) -> Warned | None:
    repeats: tuple[Combined, ...] = (facts.combined, *facts.combined.further)
    counts = sorted({len(one.launches) for one in repeats})
    if len(counts) < 2:
        return None
    return Warned(
        "launch-count-differs",
        f"the same work was profiled {len(repeats)} times, with {counts[0]} to {counts[-1]} launches: their sums are "
        "not of the same work",
    )


def _mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"
