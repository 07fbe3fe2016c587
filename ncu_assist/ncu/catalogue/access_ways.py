"""Further ways to know accesses of the multiprocessors: requests, sectors, wavefronts, bank conflicts."""

from __future__ import annotations

import math

from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.metric import Way
from ncu_assist.ncu.catalogue.ways import COMPARED, HARDWARE, RELEASE_2019, SECTION, Ways, added, less, same

L1 = "l1tex__t_sectors_pipe_lsu_mem"
LOOKED_UP = f"{COMPARED}: a sector is found in L1 or it is not"
TOGETHER = f"{HARDWARE}: a sector is {SECTOR_BYTES} bytes; {SECTION}: Source Counters, loads and stores together"
NO_ASYNC = f"{COMPARED}: the same but for copies to shared memory that pass by registers"
ONE_REQUEST = f"{HARDWARE}: an instruction of a warp is one request"


def _looked_up(space: str, op: str) -> tuple[Way, ...]:
    return (added((f"{L1}_{space}_op_{op}_lookup_hit.sum", f"{L1}_{space}_op_{op}_lookup_miss.sum"), LOOKED_UP),)


def _hit_rate(space: str, op: str) -> tuple[Way, ...]:
    hit, miss = (f"{L1}_{space}_op_{op}_lookup_{what}.sum" for what in ("hit", "miss"))
    return (Way((hit, miss), _share, f"{hit} / ({hit} + {miss})", LOOKED_UP),)


ACCESSES = ("global_op_ld", "global_op_st", "local_op_ld", "local_op_st")


def _share_of_all(*parts: float) -> float:
    half = len(parts) // 2
    return _share(sum(parts[:half]), sum(parts[half:]))


def _share(hit: float, missed: float) -> float:
    return 100.0 * hit / (hit + missed) if hit + missed > 0 else math.nan


def _requests(space: str, verb: str) -> tuple[Way, ...]:
    return (same(f"{space}_{verb}_instructions", ONE_REQUEST, approximate=True),)


ALIKE = f"{SECTION}: Source Counters, loads and stores together; taken as of one width where both are scattered"
BOTH = ("global_load_sectors", "global_load_requests", "global_store_sectors", "global_store_requests")
CAPABILITY = ("device__attribute_compute_capability_major", "device__attribute_compute_capability_minor")
# Sectors that an L1 takes from L2 in a cycle, by compute capability: bytes received over cycles and ncu's share of the
# peak, the same to 15 digits in every launch of a public or own report that holds all three.
FILL_SECTORS = {(7.0, 5.0): 1.0, (8.0, 0.0): 2.0, (8.0, 6.0): 1.0, (8.0, 9.0): 1.0, (9.0, 0.0): 4.0}
FILL = "l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed"


def _used_by_loads(ideal: float, touched: float, *both: float) -> float:
    return _used(ideal, touched, *both)


def _used_by_stores(ideal: float, touched: float, *both: float) -> float:
    return _used(ideal, touched, *both[2:], *both[:2])


def _used(ideal: float, touched: float, sectors: float, requests: float, others: float, other_requests: float) -> float:
    """Return the bytes used of each sector of one kind of access, where only both kinds together are known.

    A request of either kind needs as many sectors as one of the other, but no more than it touches: so accesses that
    are all coalesced come out so whatever their widths, and of a copy that scatters its stores only the stores are bad.
    """
    if min(sectors, requests, touched) <= 0:
        return math.nan
    left = ideal * (sectors + others) / touched
    kinds = sorted((s / r, r) for s, r in ((sectors, requests), (others, other_requests)) if s > 0 and r > 0)
    every, each = sum(count for _, count in kinds), 0.0
    for most, count in kinds:
        each = left / every
        if each <= most:
            break
        left, every, each = left - most * count, every - count, most
    return SECTOR_BYTES * min(1.0, each * requests / sectors)


def _none_of_none(*requests: float) -> float:
    return math.nan if any(requests) else 0.0


def _received(percent: float, cycles: float, count: float, major: float, minor: float) -> float:
    """Return the bytes that L1 received; NaN for a chip whose rate was not read off a report."""
    return FILL_SECTORS.get((major, minor), math.nan) * SECTOR_BYTES * percent / 100.0 * cycles * count


# fmt: off
ACCESS_WAYS: Ways = {
    "bytes_per_sector_load": (
        Way(("global_sectors_ideal", "global_sectors_theoretical", *BOTH), _used_by_loads,
            f"{SECTOR_BYTES} * sectors that a request needs over those that it touches, of global_sectors_ideal in "
            f"global_sectors_theoretical by {', '.join(BOTH)}", ALIKE, approximate=True),
    ),
    "bytes_per_sector_store": (
        Way(("global_sectors_ideal", "global_sectors_theoretical", *BOTH), _used_by_stores,
            f"{SECTOR_BYTES} * sectors that a request needs over those that it touches, of global_sectors_ideal in "
            f"global_sectors_theoretical by {', '.join(BOTH)}", ALIKE, approximate=True),
    ),
    "l1_hit_rate": (
        Way(tuple(f"{L1}_{what}_lookup_{found}.sum" for found in ("hit", "miss") for what in ACCESSES), _share_of_all,
            " + ".join(f"{L1}_{what}_lookup_hit.sum" for what in ACCESSES) + " over the same with "
            + ", ".join(f"{L1}_{what}_lookup_miss.sum" for what in ACCESSES), LOOKED_UP, approximate=True),
        same("tex__hitrate_pct", RELEASE_2019),
    ),
    "l1_bytes_from_l2": (
        Way((FILL, "sm_cycles_elapsed", "sm_count", *CAPABILITY), _received,
            f"{SECTOR_BYTES} * sectors a cycle by {' and '.join(CAPABILITY)} * {FILL} / 100 * sm_cycles_elapsed "
            "* sm_count", f"{COMPARED}: one, two or four sectors a cycle, by chip"),
    ),
    "global_sectors_theoretical": (same("memory_l2_transactions_global", RELEASE_2019),),
    "global_sectors_excessive": (
        less("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal", SECTION),
    ),
    "global_load_sectors": _looked_up("global", "ld"),
    "global_store_sectors": _looked_up("global", "st"),
    "local_load_sectors": _looked_up("local", "ld"),
    "local_store_sectors": _looked_up("local", "st"),
    "l1_hit_rate_load": _hit_rate("global", "ld"),
    "local_hit_rate_load": _hit_rate("local", "ld"),
    "global_load_requests": _requests("global", "load"),
    "global_store_requests": _requests("global", "store"),
    "local_load_requests": _requests("local", "load"),
    "local_store_requests": _requests("local", "store"),
    "local_spilling_requests": (
        Way(("local_load_requests", "local_store_requests"), _none_of_none,
            "0 where local_load_requests and local_store_requests are 0", f"{SECTION}: spills are local memory"),
    ),
    "shared_wavefronts": (
        added(("shared_wavefronts_load", "shared_wavefronts_store"), NO_ASYNC, approximate=True),
        same("memory_shared_transactions", RELEASE_2019),
    ),
    "shared_wavefronts_ideal": (
        less("shared_wavefronts", "shared_wavefronts_excessive", SECTION),
    ),
    "shared_wavefronts_excessive": (
        less("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal", SECTION),
        same("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", f"{COMPARED}: up to 2 % of it is arbitration",
             approximate=True),
        added(("bank_conflicts_load", "bank_conflicts_store"), f"{COMPARED}: up to 2 % of it is arbitration",
              approximate=True),
    ),
    "bank_conflicts_load": (same("sm__shmem_ld_bank_conflict_sum", RELEASE_2019),),
    "bank_conflicts_store": (same("sm__shmem_st_bank_conflict_sum", RELEASE_2019),),
}
# fmt: on
