"""The kernel is done: DRAM is at its ceiling, and the bytes that it moves are needed.

What the hardware does: no kernel reaches the nominal bandwidth of DRAM. DRAM must open rows and switch between reads
and writes, and the first and last bytes of a launch do not fill it. On an H200 a copy of 32 MiB reaches 77 % of the
peak, and copies from 128 MiB on reach 89 to 90 %. On an H100 a copy reaches 90 % at 32 MiB, 95 % at 128 MiB and 91 %
above that (measured under ncu; the curves ship with the tool).

Why it costs time: at the ceiling, the time is the bytes divided by the rate. More warps, fewer instructions or fewer
stalls change neither.

What to try: stop, or move fewer bytes: fuse the kernel with the one before or after it, use smaller types, or keep data
in L2 from one launch to the next.

When it is reported: DRAM reaches 95 % of the bandwidth that a plain kernel reached on this GPU model with the same mix
of reads and writes and the same number of bytes (`ncu-assist ceilings`; curves of known GPUs ship with the tool).
Without a measured curve the limit is *assumed*: 95 % of the least that streams reached on this kind of memory (GDDR 91
to 96 % of the peak, HBM 89 to 95 %), less 3 µs for the start, and at least 75 % of the peak. Below that least, the
finding says *within 5 %* of the ceiling. If the bytes that the work needs are not known, the finding says that DRAM is
at its ceiling, and the kernel may still move too much.

Results that L2 still holds at the end count as moved, as they do in the curves. Without a curve they count only up to
the peak of DRAM. A rate within 1 % of the limit has reached it, below 1 GB within 2.2 %: repeats and GPUs of one model
differ by that much. Launches below 20 µs (`short-kernel`) move little more than the smallest point of a curve, and most
of their time is not DRAM's. They must also reach 75 % of the peak.

Waste has rules of its own: nothing is reported if uncoalesced accesses or repeated traffic waste more than 5 % of the
DRAM bytes. The same applies to a product whose tensor cores are mostly idle and whose tiles seem to be read again
(`tensor-underfed`).

How the saving is estimated: there is nothing to save.
"""

from __future__ import annotations

from ncu_assist.ceilings import DramDefault
from ncu_assist.quantity import percent, quantity
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.dram import (
    OF_CEILING,
    OF_PEAK_SHORT,
    STRAYS_SMALL,
    are_counted,
    asked_share,
    counted_share,
    is_full,
    moved_bytes,
    reach,
    streams_share,
)
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import reads_tiles_again
from ncu_assist.rules.model.traffic import wasted_dram_bytes
from ncu_assist.rules.redundant_traffic import redundant_bytes

ID = "at-dram-roofline"
NEEDS: tuple[str, ...] = ("dram_throughput",)
USES: tuple[str, ...] = (
    "dram_bytes_read", "dram_bytes_write",
    "global_sectors_excessive", "global_load_requests", "global_store_requests", "global_store_sectors",
    "sectors_per_request_load_ideal", "sectors_per_request_store_ideal",
)  # fmt: skip
EVIDENCE = ("dram_throughput", "dram_rate", "dram_peak_bandwidth", "dram_bytes", "dram_read_share")
ADVICE = "stop here, or move fewer bytes: fuse with a neighbour, use smaller types"
WASTE = 0.05  # of the bytes: as far as the limit is from the ceiling


def find(facts: Facts) -> Finding | None:
    """Return that the kernel is done; it saves nothing."""
    limit = reach(facts)
    moved, is_counted = moved_bytes(facts), are_counted(facts)
    if (
        (is_counted and moved <= 0)
        or not is_full(facts)
        or _is_too_short(facts)
        or wasted_dram_bytes(facts) + redundant_bytes(facts) > WASTE * moved
        or reads_tiles_again(facts)
    ):
        return None
    is_known = facts.algorithmic_bytes is not None
    near = "within 5 % of" if limit.default and asked_share(facts) < streams_share(facts, limit.default) else "at"
    first = "done" if is_known and not limit.assumed else f"{near} DRAM's ceiling{', assumed' if limit.assumed else ''}"
    what = f"these {quantity(moved, 'byte')} are" if is_counted else "what it moves is"
    needed = "" if is_known else f"; whether {what} needed is not known"
    return Finding(
        rule=ID,
        message=f"{first}: {_where(facts)}{needed}",
        saved_ns=0.0,
        evidence=EVIDENCE,
        assumed=limit.assumed,
        advice=ADVICE,
        is_done=True,
    )


def _where(facts: Facts) -> str:
    """Return how far DRAM went, beside what can be reached and where that is from, in words."""
    limit, busy = reach(facts), f"DRAM is at {percent(counted_share(facts))} of its peak"
    held = f" ({percent(asked_share(facts))} including results that L2 still holds)" if _is_held(facts) else ""
    if limit.default is not None:
        return f"{busy}{held}{_of_streams(facts, limit.default)}; {limit.why}"
    return f"{busy}{held}, a plain kernel of this mix and size at {percent(limit.share / OF_CEILING)} ({limit.why})"


def _of_streams(facts: Facts, default: DramDefault) -> str:
    """Return what streams reach in launches of this length, in words; nothing where that is what they reach at all."""
    least = streams_share(facts, default)
    takes = quantity(facts.combined.typical_ns or 0.0, "ns")
    return f", streams of {takes} reach {percent(least)}" if percent(least) != percent(default.low) else ""


def _is_too_short(facts: Facts) -> bool:
    return facts.is_short and asked_share(facts) < (1.0 - STRAYS_SMALL) * OF_PEAK_SHORT


def _is_held(facts: Facts) -> bool:
    """Return whether what L2 still holds is seen in whole percents."""
    return percent(asked_share(facts)) != percent(counted_share(facts))
