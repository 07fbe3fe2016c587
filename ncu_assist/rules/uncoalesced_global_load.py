"""Global loads move more sectors than their bytes need.

What the hardware does: memory moves in sectors of 32 bytes. The 32 lanes of a warp ask together, and each sector that
one of them touches is fetched whole. Lanes that read side by side need 4 sectors for 4 bytes each; lanes that are 32
bytes or more apart need 32 of them, and 28 bytes of each are thrown away.

Why it costs time: the wasted sectors take room in L1, in L2 and, unless they are found there, at DRAM. Where one of
these is at its limit, the time shrinks with the sectors. What L1 finds again costs L1 only.

What to try: let neighbouring lanes read neighbouring addresses. Turn an array of structures into a structure of
arrays; exchange the loops so that the innermost index runs along the lanes; fetch a tile side by side into shared
memory and turn it there; read the whole structure as one or two vectors of 16 bytes.

How the time is worked out: sectors beyond the ideal for the bytes used, at least one a request, over what each unit
handled, times how busy the unit was; what the others need stays. L2 takes a request of up to four sectors of a line at
once, and looks its tag up once: of scattered sectors each is a request. The way back to registers stays as busy as it
is, as nothing that is counted tells addresses that could be neighbours from those of a table. DRAM hands out 64 bytes,
so a sector that stands alone comes with a neighbour. Memory of the host is fetched in requests of a line at most, of
which the link carries only so many a second. Lanes in lines of their own ask for a sector each, and the link is full of
requests before it is full of bytes. Where loads use less than three quarters of the sectors that they touch, what is
left are the bytes used, in whole lines; what those cost is `host-link-bound`. Nothing is said of a saving below 0.8 %
of the time, by which repeats of one launch differ, nor where the addresses touch no more sectors than their bytes need
(`Excessive L2 sectors, global`).
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
