"""L1 is at its limit because the same data is loaded from it again and again.

What the hardware does: the L1 of an SM delivers 128 bytes a cycle, one wavefront. A load of 16 bytes a lane takes four
wavefronts, or two if all lanes want the same 16 bytes. A load of 4 bytes takes one in both cases (counted in the fault
gallery). In the cycle of one wavefront the four schedulers issue four multiply-adds.

Why it costs time: loads that hit are cheap, not free. A kernel that loads an operand for every multiply-add waits for
L1 long before the arithmetic is busy, even if each load hits. When L1's pipe is the busiest unit, the time is
proportional to the number of loads.

What to try: keep in registers what is used again: several results a thread, so that one load serves all of them; a
sliding window in a filter; a register tile in a product. Use wider loads, 16 bytes a lane, if requests rather than
bytes are the limit.

When it is reported: a part of L1 or the LSU pipe is the busiest unit, at 60 % or more (below that NVIDIA's own
speed-of-light rule calls a kernel bound by latency). Coalesced global loads are most of its wavefronts, and at least
half of them hit. It is also reported when L1 takes the time, at 80 % of what it can reach, and something else fills it.
`detail.path` says what: shared memory without conflicts, or the way back to registers.

`--set basic`, which ncu collects unless told otherwise, counts neither loads nor passes through shared memory. What it
has still rules some of it out. A block without shared memory makes no passes through it. A store or a load that misses
takes L1 a cycle at least to send it to L2: where that way is busy for less than half as long as the data pipe, most
passes are loads that hit, or shuffles. And an access whose lanes lie side by side takes four passes at most, 16 bytes a
lane: where the mean one takes more, lanes lie far apart (in shared memory: in the same bank).

How the saving is estimated: the time of the loads that hit, because data that is already there could have been kept.
For shared memory, what exceeds a quarter of a wavefront a multiply-add: a thread that multiplies 8 x 8 values loads 16
of them for 64 multiply-adds. If the work is not a product, half. Without counts of loads and wavefronts the rule cannot
tell what fills L1: half, *assumed*. Of accesses whose lanes lie far apart the four passes stay that the widest access
takes, *assumed*. Products keep their quarter in all cases.

A load that is saved is not issued either. If the work is on floats, several results share the address of a load and the
loop around it, so the issue slots lose these as well. For other work the issue slots lose only the loads, if the rate
of the LSU pipe was measured.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import ISSUE, float_needs, heavy_instructions, lsu_instructions, operations
from ncu_assist.rules.model.resources import L1_DATA, RESOURCES, SHARED
from ncu_assist.rules.model.savings import UNKNOWN_PART, assumes_start, bound_at, filled_by, saved_ns, worth_saying
from ncu_assist.rules.model.traffic import (
    global_share_of_l1,
    is_coalesced,
    is_widest,
    l1_wavefronts,
    passes_a_request,
)

ID = "l1-bound"
NEEDS: tuple[str, ...] = ("l1_data_pipe",)
OF_LOADS: tuple[str, ...] = (
    "l1_hit_rate_load", "global_load_requests", "global_load_sectors", "sectors_per_request_load_ideal",
    "shared_wavefronts", "sm_cycles_elapsed", "sm_count",
)  # fmt: skip
USES: tuple[str, ...] = (
    *OF_LOADS,
    "shared_wavefronts_all",
    "shared_wavefronts_excessive",
    "fp32_fma_per_cycle",
    "instructions",
)
EVIDENCE = ("l1_busy", "pipe_lsu", "l1_hit_rate_load", "global_load_requests", "sectors_per_request_load")
UNITS = (L1_DATA, "L1 input", "L1 writeback", "LSU pipe")
ADVICE = "keep reused values in registers, so that one load serves several results"
MOST = 0.5
HITS, ON_CHIP, FAR_APART, MANY_PASSES = "hits", "on chip", "far apart", "many passes"
OF_PATH = {
    HITS: ("l1_output_busy", "shared_memory_static", "shared_memory_dynamic"),
    ON_CHIP: ("l1_output_busy",),
    FAR_APART: ("l1_data_pipe", "l1_requests_busy"),
    MANY_PASSES: ("l1_data_pipe", "l1_requests_busy"),
}
WITH = {
    SHARED: "with passes through shared memory that conflicts do not explain: each operand is reused too little",
    "write-back": "with data that goes back to registers",
    HITS: "with loads of data that L1 already has, or with shuffles: the block has no shared memory, and few "
    "accesses go on to L2",
    ON_CHIP: "with shared memory, shuffles or loads of data that L1 already has: few accesses go on to L2",
    FAR_APART: "with accesses whose lanes lie far apart",
    MANY_PASSES: "with bank conflicts in shared memory or accesses whose lanes lie far apart: which was not counted",
    "no shared memory": "whether with loads or stores was not counted",
    "unknown": "whether with loads, stores or shared memory was not counted",
}
SECTORS_A_WAVEFRONT = 4  # 128 bytes a cycle
WIDEST_PASSES = 4.0  # of an access of 16 bytes a lane, the widest, whose lanes lie side by side: 512 bytes
# Of shared memory a multiply-add of a warp, where a thread multiplies 8 x 8 values: 16 words of 32 lanes, of which a
# wavefront carries 32 words (CUDA Programming Guide, "Shared Memory"), for 64 multiply-adds. Lanes that want the same
# words need fewer.
WAVEFRONTS_A_PRODUCT = 0.25
LEAST_PRODUCTS = 1 / 8  # of all instructions, else it is no product: two loads each, their use, and a loop
FROM_SHARED = "keep a larger tile of results in each thread, and load 16 bytes at a time: each operand then serves more"
ANY = "keep reused values in registers, and load 16 bytes at a time"
OF_REQUESTS = ("L1 input", "LSU pipe")  # what a wider load takes less of: an instruction brings more
WIDER = ", and load 16 bytes at a time: requests are the limit, not bytes"
SIDE_BY_SIDE = "let neighbouring lanes access neighbouring addresses"
AN_ARRAY = "; an array that is indexed at run time is such loads as well"
TO_TRY = {
    SHARED: FROM_SHARED,
    FAR_APART: f"{SIDE_BY_SIDE}, or fetch a tile side by side into shared memory",
    MANY_PASSES: f"pad or swizzle the rows of tiles in shared memory, and {SIDE_BY_SIDE}",
}


def find(facts: Facts) -> Finding | None:
    """Return what it costs to load again what a register could have kept."""
    found = None if facts.lacks(*OF_LOADS) else _loads(facts)
    return found or _full(facts)


def _full(facts: Facts) -> Finding | None:
    """Return what takes the time of L1 beside loads that hit and conflicts, which have rules of their own."""
    busiest = filled_by(UNITS, facts)
    found = _path(facts, busiest.name) if busiest else None
    if busiest is None or found is None:
        return None
    path, part, assumed = found
    left = spared(facts, part)
    saved = worth_saying(saved_ns(facts, left), facts)
    if not saved:
        return None
    busy = f"{100 * busiest.share:.0f} % busy{busiest.where}"
    return Finding(
        rule=ID,
        message=f"{busiest.name} is {busy}, {WITH[path]}{_passes(facts, path)}",
        saved_ns=saved,
        evidence=_with(RESOURCES[busiest.name].busy, (*EVIDENCE, "shared_wavefronts_all", *OF_PATH.get(path, ()))),
        relieves=(*UNITS, ISSUE),
        left=left,
        stalls=("mio_throttle", "short_scoreboard", "lg_throttle"),
        detail={"path": path},
        unless_known=path not in (FAR_APART, MANY_PASSES),
        assumed=assumed,
        advice=ADVICE + _wider(busiest.name, facts) + AN_ARRAY if path == HITS else TO_TRY.get(path, ANY),
        figures=_a_product(facts) if path == SHARED else "",
    )


def _wider(unit: str, facts: Facts) -> str:
    """Return that loads can be wider, in words, where that relieves the unit and they are not the widest."""
    return WIDER if unit in OF_REQUESTS and not is_widest("load", facts) else ""


def _with(first: str, evidence: tuple[str, ...]) -> tuple[str, ...]:
    """Return evidence that begins with the counter of the unit that the message names."""
    return tuple(dict.fromkeys((first, *evidence)))


def spared(facts: Facts, part: float) -> dict[str, float]:
    """Return what units keep where a part of the work of L1 is left.

    A load that is spared is not issued. Several results a thread share its address and the loop around it as well: of
    work on floats all that is none goes with the loads.
    """
    issued, loads = facts.get("instructions"), lsu_instructions(facts)
    if not issued:
        return dict.fromkeys(UNITS, part)
    floats = sum(float_needs(facts))
    shared = issued - floats - heavy_instructions(facts) if floats >= LEAST_PRODUCTS * issued else loads or 0.0
    return {**dict.fromkeys(UNITS, part), ISSUE: 1.0 - min(1.0, (1.0 - part) * max(0.0, shared) / issued)}


def _path(facts: Facts, unit: str) -> tuple[str, float, bool] | None:
    """Return what fills L1, the part of its work that is left with more reuse, and whether that is assumed.

    None where it is a mix, for which nothing better than less work is known (`near-ceiling`).
    """
    every = l1_wavefronts(facts)
    passes = facts.get("shared_wavefronts_all") or facts.get("shared_wavefronts")
    if unit == "L1 writeback" and (passes is None or passes < MOST * every):
        return "write-back", UNKNOWN_PART, True
    if passes is None or not every:
        return _without_counts(facts)
    if passes < MOST * every:
        return None
    conflicts = facts.get("shared_wavefronts_excessive") or 0.0
    products = operations(facts, "fp32_fma_per_cycle") / LANES
    if products < LEAST_PRODUCTS * (facts.get("instructions") or float("inf")):
        return SHARED, max(UNKNOWN_PART, conflicts / every), True
    wanted = WAVEFRONTS_A_PRODUCT * products + conflicts
    return SHARED, 1.0 - max(0.0, passes - wanted) / every, facts.ceilings is None


def _without_counts(facts: Facts) -> tuple[str, float, bool]:
    """Return what fills L1 where neither loads nor passes through shared memory were counted, as `_path` does."""
    has_none = facts.get("shared_memory_static") == 0 and facts.get("shared_memory_dynamic") == 0
    each = passes_a_request(facts)
    if each is not None and each > WIDEST_PASSES and facts.lacks("global_load_requests"):
        return FAR_APART if has_none else MANY_PASSES, WIDEST_PASSES / each, True
    sent = facts.get("l1_output_busy")
    stays = sent is not None and sent < MOST * facts.value("l1_data_pipe")
    if has_none:
        return HITS if stays else "no shared memory", UNKNOWN_PART, True
    return ON_CHIP if stays else "unknown", UNKNOWN_PART, True


def _passes(facts: Facts, path: str) -> str:
    each = passes_a_request(facts)
    if path not in (FAR_APART, MANY_PASSES) or each is None:
        return ""
    return f"; an access takes {each:.1f} passes, side by side {WIDEST_PASSES:.0f} at most"


def _least(facts: Facts) -> float:
    """Return the part of the work of L1 that products need with the largest tile; 0 where the work is no product."""
    products, every = operations(facts, "fp32_fma_per_cycle") / LANES, l1_wavefronts(facts)
    if products < LEAST_PRODUCTS * (facts.get("instructions") or float("inf")) or not every:
        return 0.0
    return min(1.0, WAVEFRONTS_A_PRODUCT * products / every)


def _loads(facts: Facts) -> Finding | None:
    share, loads, hits = bound_at(UNITS, facts), _share_of_loads(facts), facts.value("l1_hit_rate_load") / 100.0
    busiest = facts.busiest()
    if share is None or busiest is None or min(loads, hits) < MOST or not is_coalesced(facts):
        return None
    left = spared(facts, max(1.0 - loads * hits, _least(facts)))
    saved = worth_saying(saved_ns(facts, left), facts)
    if not saved:
        return None
    return Finding(
        rule=ID,
        message=f"{busiest[0].name} is {100 * share:.0f} % busy, mostly with loads of data that L1 already has: "
        f"{100 * hits:.0f} % hit",
        saved_ns=saved,
        evidence=_with(busiest[0].busy, EVIDENCE),
        relieves=(*UNITS, ISSUE),
        left=left,
        stalls=("lg_throttle", "long_scoreboard", "mio_throttle"),
        detail={"pipe": "lsu"},
        assumed=assumes_start(facts),
        advice=ADVICE + _wider(busiest[0].name, facts),
        figures=_a_product(facts),
    )


def _a_product(facts: Facts) -> str:
    """Return the wavefronts a multiply-add now and with a larger tile, in words; empty where the work is no product."""
    products = operations(facts, "fp32_fma_per_cycle") / LANES
    now = l1_wavefronts(facts) / products if products else 0.0
    if products < LEAST_PRODUCTS * (facts.get("instructions") or float("inf")) or now <= WAVEFRONTS_A_PRODUCT:
        return ""
    return f"{now:.2f} wavefronts a multiply-add now, {WAVEFRONTS_A_PRODUCT} with 8 x 8 results a thread"


def _share_of_loads(facts: Facts) -> float:
    """Return the share of global loads in the wavefronts of the data pipe; one a request at least."""
    every = l1_wavefronts(facts)
    loads = max(facts.value("global_load_requests"), facts.value("global_load_sectors") / SECTORS_A_WAVEFRONT)
    return min(global_share_of_l1(facts), loads / every) if every else 0.0
