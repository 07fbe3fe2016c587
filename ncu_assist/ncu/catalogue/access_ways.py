"""Further ways to know accesses of the multiprocessors: requests, sectors, wavefronts, bank conflicts."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.metric import Way
from ncu_assist.ncu.catalogue.ways import COMPARED, HARDWARE, SECTION, Ways, added, less, over, same

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


def _share(hit: float, missed: float) -> float:
    return 100.0 * hit / (hit + missed) if hit + missed > 0 else float("nan")


def _requests(space: str, verb: str) -> tuple[Way, ...]:
    return (same(f"{space}_{verb}_instructions", ONE_REQUEST, approximate=True),)


# fmt: off
ACCESS_WAYS: Ways = {
    "bytes_per_sector_load": (
        over(("global_sectors_ideal",), ("global_sectors_theoretical",), TOGETHER, factor=SECTOR_BYTES,
             approximate=True),
    ),
    "bytes_per_sector_store": (
        over(("global_sectors_ideal",), ("global_sectors_theoretical",), TOGETHER, factor=SECTOR_BYTES,
             approximate=True),
    ),
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
    "shared_wavefronts": (
        added(("shared_wavefronts_load", "shared_wavefronts_store"), NO_ASYNC, approximate=True),
        same("shared_wavefronts_all", f"{COMPARED}: hardware counts other passes on the same path too",
             approximate=True),
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
    "shared_wavefronts_all": (
        added(("shared_wavefronts_load", "shared_wavefronts_store"), COMPARED, approximate=True),
    ),
    "bank_conflicts_load": (same("sm__shmem_ld_bank_conflict_sum", "section files of Nsight Compute 2019"),),
    "bank_conflicts_store": (same("sm__shmem_st_bank_conflict_sum", "section files of Nsight Compute 2019"),),
}
# fmt: on
