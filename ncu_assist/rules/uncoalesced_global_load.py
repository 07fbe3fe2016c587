"""Global loads move more sectors than their bytes need.

What the hardware does: memory moves in sectors of 32 bytes. The 32 lanes of a warp make one request, and each sector
that one of them touches is fetched whole. Adjacent lanes with 4 bytes each need 4 sectors. Lanes that are 32 bytes or
more apart need 32 sectors, and 28 bytes of each are thrown away.

Why it costs time: the wasted sectors take room in L1, in L2 and, unless they are found there, at DRAM. If one of these
is at its limit, the time is proportional to the sectors. Sectors that L1 finds again cost L1 only.

What to try: let neighbouring lanes read neighbouring addresses. Turn an array of structures into a structure of arrays;
exchange the loops so that the innermost index runs along the lanes; load a tile coalesced into shared memory and
transpose it there; read the whole structure as one or two vectors of 16 bytes.

When it is reported: the saving is more than 0.8 % of the time, by which repeats of a launch differ, and the addresses
touch more sectors than their bytes need (`Excessive L2 sectors, global`).

How the saving is estimated: sectors beyond the ideal for the bytes used, at least one a request, over what each unit
handled, times how busy the unit was. The needs of the other units stay. L2 takes a request for up to four sectors of a
line at once and looks its tag up once, so each scattered sector is a request. The way back to registers stays as busy
as it is, because no counter tells addresses that could be adjacent from those of a table. DRAM delivers 64 bytes, so a
single sector comes with a neighbour. It opens a row for each place. HBM3 does so at a limited rate: single sectors at
random places reach 54 % of the peak of an H200. At that rate the time is proportional to the rows (`DRAM rows`).

Host memory is fetched in requests for at most a line, and the link carries a limited number of them a second. Lanes in
lines of their own ask for a sector each, so the link is full of requests before it is full of bytes. If loads use less
than three quarters of the sectors that they touch, the bytes used remain, in whole lines. What those cost is
`host-link-bound`.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.traffic import uncoalesced, wasted_by_loads

ID = "uncoalesced-global-load"
EVIDENCE = (
    "sector_efficiency_load",
    "sectors_per_request_load",
    "sectors_per_request_load_ideal",
    "l1_hit_rate_load",
    "dram_throughput",
)
NEEDS: tuple[str, ...] = (
    "sectors_per_request_load_ideal", "global_load_requests", "global_load_sectors", "l1_hit_rate_load",
    "l2_sectors_sm", "dram_throughput", "dram_bytes_read", "dram_bytes_write",
)  # fmt: skip
USES: tuple[str, ...] = ("l1_data_pipe", "sm_count", "sm_cycles_elapsed")
ADVICE = "let neighbouring lanes read neighbouring addresses, or fetch a tile side by side into shared memory"


def find(facts: Facts) -> Finding | None:
    """Return what wasted sectors of loads cost."""
    wasted = wasted_by_loads(facts)
    evidence = (*EVIDENCE, "host_bytes") if wasted.link > 0 else EVIDENCE
    return uncoalesced(ID, "load", wasted, facts, evidence, ("long_scoreboard", "lg_throttle"), ADVICE)
