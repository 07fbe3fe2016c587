"""No rule explains the time: the finding names the nearest ceiling, its distance, and what warps wait for.

What the hardware does: the nearest ceiling is that of the unit which does the largest part of what it can reach: what
was measured (`ncu-assist ceilings`), or nine tenths of its peak, *assumed*, as in `near-ceiling`. If it is far away,
warps wait.

Why it costs time: the most frequent stall reason says what warps wait for, and the lines with the most samples say
where.

What to try: look at the lines with the most samples of that stall reason; profile with `--set full` if counters are
missing.

When it is reported: no other finding explains the time. None could win a tenth of it, takes work off the busiest unit,
or says that the kernel is done. A kernel that no rule knows is then reported as such, not with a wrong cause.

How the saving is estimated: it is not.
"""

from __future__ import annotations

from ncu_assist.ncu.catalogue.stalls import STALL_REASONS, TOLD_APART, WGMMA, spoken
from ncu_assist.quantity import percent
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.dram import reach
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import HOST_LINK, RESOURCES
from ncu_assist.rules.model.savings import Busiest, busiest_unit, uncounted_caches

ID = "unexplained"
NEEDS: tuple[str, ...] = ()
USES: tuple[str, ...] = ()


def find(facts: Facts) -> Finding | None:
    """Return how far the nearest ceiling is and what warps wait for most; says something of every launch."""
    top = next(iter(facts.combined.stalls.items()), None)
    nearest, evidence = _nearest(facts)
    if top and top[0] in STALL_REASONS:
        evidence.append(f"warps_{top[0]}")
    stalls = (top[0],) if top else ()
    said = waits(top, bool(facts.get("pipe_tensor_gmma")))
    return Finding(rule=ID, message=f"{nearest}; {said}", saved_ns=0.0, evidence=tuple(evidence), stalls=stalls)


def _nearest(facts: Facts) -> tuple[str, list[str]]:
    """Return the nearest ceiling in words, and its counter; the link to the host is none of the GPU's own resources."""
    busiest = busiest_unit(facts)
    if busiest is None:
        return "no resource was counted", []
    limit = reach(facts)
    is_measured = busiest.name == "DRAM" and facts.ceilings is not None and not limit.assumed
    why = f" ({limit.why})" if is_measured else " (assumed)" if facts.ceilings is None else ""
    reached = f", {percent(busiest.reached)} of what it can reach{why}"
    if busiest.name == HOST_LINK:  # its time is that at the rate that it can reach
        name, counter, reached = "the link to the host", "host_bytes", ""
    else:
        name, counter = busiest.name, RESOURCES[busiest.name].busy
    words = f"the nearest ceiling is {name}, busy {percent(busiest.share)} of the time{busiest.where}{reached}"
    return words + cache_doubt(facts, busiest), [counter]


def cache_doubt(facts: Facts, busiest: Busiest) -> str:
    """Return that a cache may be nearer to its limit than the unit, of which no part was counted; else nothing."""
    for cache, share in uncounted_caches(facts):
        if share > busiest.share:
            return f"; ncu calls {cache} {percent(share)} busy, and whether that limits it was not counted"
    return ""


def waits(top: tuple[str, float] | None, has_wgmma: bool) -> str:
    """Return what warps wait for most, from the first stall reason and its share in percent, without a full stop."""
    if top is None:
        return "what warps wait for was not counted"
    reason, share = top
    known = STALL_REASONS.get(reason)
    what = f"waits for {known.waits_for}" if known else "a reason that this version does not know"
    if reason == "barrier" and has_wgmma:
        what = f"waits for {TOLD_APART[WGMMA].waits_for}, or for {STALL_REASONS[reason].waits_for}"
    return f"the first stall reason, {share:.0f} % of all warp states, is {spoken(reason)} ({what})"
