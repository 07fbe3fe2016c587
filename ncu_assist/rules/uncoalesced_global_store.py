"""Global stores move more sectors than their bytes need.

What the hardware does: memory moves in sectors of 32 bytes. Adjacent lanes of a warp fill whole sectors. Lanes that are
32 bytes or more apart send a sector each with a few bytes in it. If L2 does not receive a sector whole, it must read
the rest from DRAM before the sector can be written back.

Why it costs time: the wasted sectors take room at L2's input and, unless later stores complete them there, twice at
DRAM: once read, once written.

What to try: let neighbouring lanes write neighbouring addresses. Turn an array of structures into a structure of
arrays; collect a tile in shared memory and write it out coalesced; in a transpose, stride on the shared-memory side,
with a padded tile.

When it is reported: the saving is more than 0.8 % of the time, by which repeats of a launch differ, and the addresses
touch more sectors than their bytes need (`Excessive L2 sectors, global`).

How the saving is estimated: sectors beyond the ideal for the bytes written, at least one a request, over what each unit
handled, times how busy the unit was. The needs of the other units stay. L2 takes a request for up to four sectors of a
line at once and looks its tag up once. A request that fills no sector also says which bytes it brings, and takes the
way into L2 for one more cycle (counted in the fault gallery: 2.0 cycles for a single sector, 1.0 in whole lines). At
DRAM, reads beyond those of the loads count as well. A sector written in part at a random place opens two rows of DRAM,
one to be read and one to be written. HBM3 opens rows at a limited rate (`DRAM rows`).
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.traffic import uncoalesced, wasted_by_stores

ID = "uncoalesced-global-store"
EVIDENCE = (
    "sector_efficiency_store",
    "sectors_per_request_store",
    "sectors_per_request_store_ideal",
    "dram_throughput",
    "l2_input_busy",
)
NEEDS: tuple[str, ...] = (
    "sectors_per_request_store_ideal", "global_store_requests", "global_store_sectors", "l2_sectors_sm",
    "dram_throughput", "dram_bytes_read", "dram_bytes_write",
)  # fmt: skip
USES: tuple[str, ...] = ("l1_data_pipe", "sm_count", "sm_cycles_elapsed")
ADVICE = "let neighbouring lanes write neighbouring addresses, or collect a tile in shared memory first"


def find(facts: Facts) -> Finding | None:
    """Return what wasted sectors of stores cost."""
    return uncoalesced(
        ID, "store", wasted_by_stores(facts), facts, EVIDENCE, ("lg_throttle", "long_scoreboard"), ADVICE
    )
