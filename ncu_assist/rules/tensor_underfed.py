"""Tensor cores wait for operands, or run their older instruction.

What the hardware does: tensor cores take operands from registers (`mma.sync`, `nvcuda::wmma`) or, on 9.0, straight from
shared memory (`wgmma`). Only `wgmma` reaches their full rate there.

Why it costs time: each cycle without operands is lost. Tensor cores are idle while the warps that multiply load tiles
themselves, wait for tiles, wait for each product before they issue the next, wait for one another, or do other work
between products. If the code tells, the finding says which of these it is, and only its own advice is about this
kernel.

What to try: if warps load tiles from global memory or use one buffer, stage tiles in shared memory, with two or more
buffers that `cp.async` or TMA fills while the previous ones are multiplied; let several warps share a tile that is 64
to 128 wide (a block of one warp shares nothing, and where bytes take the time another buffer spares none); use larger
tiles a warp, `ldmatrix`, and layouts without bank conflicts. If the chip has `wgmma` and the kernel does not use it,
use it through CUTLASS or a library: `mma.sync` has two thirds of its rate. `mma.sync` needs loads of operands from
shared memory because it takes them from registers; if the chip has `wgmma`, their cost counts at the line of
`mma.sync`. If tiles arrive in time, keep another product in flight, let two groups of warps take turns, and do less
work between products.

When it is reported: tensor cores do most of the operations. If those were not counted, tensor cores are busy as long as
the FMA pipe. What bank conflicts cost is left to `shared-bank-conflict`, which says what to do about them: two buffers
with the same conflicts are hardly faster than one. If global loads touch a third more sectors than their bytes need, or
more, the finding says so beside: a staged tile has to be fetched side by side too, even if the waste alone costs little
(`wmma` loads of narrow fragments from global memory find the other half of their sectors in L1).

How the saving is estimated: the time after the fix is that of a product at the rate a cycle of a library's product on
this GPU model (`ncu-assist ceilings`), else at 70 % of the chip's peak. If the peak is not known, or most of the work
is on other types than halves, it is the time that the tensor cores worked, over 0.9. Multiprocessors without a block
take no part in either: they are `grid-underfill`. For `mma.sync` on a chip with `wgmma` the rate is two thirds of that
until its tensor cores are as busy as that allows: this is what feeding it wins, not another instruction. Loads within
the SM are relieved; other pipes keep their work. L2 and DRAM keep theirs too, with one exception. If the bytes that the
work needs are not known and tiles seem to be read again (SMs ask L2 for twice what comes from DRAM, or DRAM brings a
quarter more than they ask for), wider tiles leave L2 and DRAM less work if these take the time, *assumed*: half with
tiles twice as wide. If a byte of halves from L2 is in fewer operations than in square tiles 64 wide (32, half of the
width), the tiles become so wide, and the work falls by as much.

How the cause of a kernel with `wgmma` is found: by what the warps that multiply do (their code is that which leads to a
product). They wait for *tiles*, at mbarriers that TMA opens, or for cp.async. They wait for *every product*, with no
other one behind it. With no product in flight they wait at *barriers* for other warps, or do *other work*: an epilogue,
exponentials. The largest of these is the cause. If it alone is less than what the tensor cores lack, the advice names
the next ones too, until they make it up. The cause is waits for every product, however, if the work between them, done
meanwhile, would give all that is lacking. If all of them together are less than what the tensor cores lack, the cause
is the work *beside* products, which end before it. A wait while a product is in flight costs nothing, even at a
barrier, and neither do waits for room of warps that load tiles. If a run keeps no code the cause is not reported: ncu's
stall reasons are of all warps, and `barrier` and `long_scoreboard` mix these waits with others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ncu.catalogue.stalls import MBARRIER, WGMMA
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN
from ncu_assist.rules import shared_bank_conflict, uncoalesced_global_load
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.occupancy import tile_room
from ncu_assist.rules.model.pipes import (
    BINDS,
    ISSUE,
    L1_PARTS,
    L2_PARTS,
    LSU,
    MOST_OF_ALL,
    TENSOR,
    TENSOR_HALVES,
    TENSOR_OTHERS,
    busy,
    is_best_instruction,
    is_matrix_work,
    reads_tiles_again,
    tensor_ns,
    tensor_operations,
)
from ncu_assist.rules.model.savings import REACHABLE, START_NS, loads, takes_the_time
from ncu_assist.rules.model.shape import used_share, warps_a_block
from ncu_assist.rules.model.traffic import is_coalesced, needed_words, wasted_by_loads
from ncu_assist.rules.model.warp_roles import MultiplyingWarps, multiplying_warps

if TYPE_CHECKING:
    import pandas as pd

ID = "tensor-underfed"
NEEDS: tuple[str, ...] = ("pipe_tensor_cycles", "sm_active_share")
USES: tuple[str, ...] = ("tensor_ops_fp16", "pipe_fma", "l2_sectors_read", "dram_bytes_read")
WIDER_TILES = 0.5  # of the bytes that a product reads, with tiles twice as wide
WIDE = 64  # rows and columns of the narrowest tile of a block in CUTLASS's instances for tensor cores and halves
KINDS = {
    "pipe_tensor_gmma": ", with gmma instructions (wgmma)",
    "pipe_tensor_hmma": ", with hmma instructions (mma.sync, wmma)",
}  # those counted and used, the first that is
OLDER = ", where the chip has wgmma"
SHARE = "let several warps share a tile 64 to 128 wide in shared memory, with two or more buffers"
SHARE_MORE = "let the warps of a block share tiles twice as wide in shared memory, with two or more buffers"
FEED = "stage tiles in shared memory with two or more buffers, and multiply one while the next arrives"
NEWER = "use wgmma, which takes its operands from shared memory: mma.sync reaches two thirds of its rate at most"
OF_NEWER = 2 / 3  # of the rate of wgmma that mma.sync has
SCATTERED = "sector_efficiency_load"
WAITS = ("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "barrier", "wait")
Cause = Literal["tiles", "product", "barriers", "other", "beside"]
# By cause: what shows where it is, and what to try. What goes on between products is any other state of a warp.
WORK = (
    "selected", "not_selected", "wait", "dispatch_stall", "short_scoreboard", "mio_throttle", "long_scoreboard",
    "lg_throttle", "imc_miss", "no_instructions", "branch_resolving",
)  # fmt: skip
WAITS_OF: dict[Cause, tuple[str, ...]] = {
    "tiles": (MBARRIER, "long_scoreboard"),
    "product": (WGMMA,),
    "barriers": ("barrier",),
    "other": WORK,
    "beside": WORK,
}
ADVICE: dict[Cause, str] = {
    "tiles": "load further ahead: more or smaller stages, filled by a warp that does nothing else",
    "product": "issue the next product before waiting for the last one, or let two groups of warps take turns",
    "barriers": "let warps wait for the tile that they need only (an mbarrier a stage), not for one another",
    "other": "do less between products, or while another product runs: cheaper instructions, a second group of warps",
    "beside": "do less beside products, which end before it: cheaper instructions, or more products in flight",
}
# Of wgmma without code: ncu's stall reasons are of all warps, and mix these waits with others.
BY_CODE = "only the code, which was not read here, tells why: tiles, each product, barriers, or work between products"
AHEAD = 0.5  # of the time of warps that load: those that wait for room so long are ahead of those that multiply
MULTIPLYING = "; time of warps that multiply: "
IN_TIME = "; tiles are there in time: more stages would not help"


def find(facts: Facts) -> Finding | None:
    """Return what fed tensor cores would save; None where they do little of the work, or are at their rate."""
    halves = tensor_operations(facts)
    done = halves + tensor_operations(facts, TENSOR_OTHERS)
    if not is_matrix_work(facts):
        return None
    share = busy(facts, TENSOR)
    after = tensor_ns(facts, done) if halves > MOST_OF_ALL * done else None
    is_older = is_best_instruction(facts) is False
    is_newer_better = is_older and share >= BINDS * OF_NEWER
    if after is not None and is_older and not is_newer_better:
        after /= OF_NEWER
    fed = facts.duration_ns * share / REACHABLE if after is None else after
    fed = fed / used_share(facts) + START_NS * len(facts.combined.launches)
    without_conflicts = facts.duration_ns - _conflicts_ns(facts)
    full = [name for name, load in loads(facts).items() if takes_the_time(name, load)]
    again = reads_tiles_again(facts) and not {*L2_PARTS, "DRAM"}.isdisjoint(full)
    width = _tile_width(facts, halves) if again and halves > MOST_OF_ALL * done else WIDE
    if again:
        fed = max(fed, min(WIDER_TILES, width / WIDE) * facts.duration_ns)
    if fed >= without_conflicts:
        return None
    active = facts.value("sm_active_share") / 100.0 or 1.0
    pipes = [key for key in KINDS if facts.get(key)][:1]
    types = (key for key in (*TENSOR_HALVES, *TENSOR_OTHERS) if facts.get(key))
    how = "".join(KINDS[key] for key in pipes) + (OLDER if is_older else "")
    if width < WIDE:
        how += f"; each byte from L2 is in {width / 2:.1f} operations, as in square tiles {width:.0f} wide"
    is_one_warp = warps_a_block(facts) == 1
    if is_one_warp:
        how += "; a block is one warp, which shares its tiles with no other"
    scattered = _scattered(facts)
    how += scattered
    return Finding(
        rule=ID,
        message=f"feeds tensor cores too little: {100 * share / active:.0f} % busy while SMs are active{how}",
        saved_ns=without_conflicts - fed,
        evidence=("pipe_tensor_cycles", *types, *pipes, *((SCATTERED,) if scattered else ())),
        relieves=(TENSOR, ISSUE, LSU, *L1_PARTS, *(("DRAM", *L2_PARTS) if again else ())),
        stalls=WAITS,
        assumed=again or not done,
        with_operands=is_older,
        detail={"pipe": "tensor"},
        advice=NEWER if is_newer_better else _how_to_feed(facts, width < WIDE or is_one_warp, again),
    )


def _how_to_feed(facts: Facts, is_narrow: bool, again: bool) -> str:
    """Return what feeds tensor cores: another buffer spares no byte, so where bytes take the time it is wider tiles."""
    if facts.get("pipe_tensor_gmma"):
        return BY_CODE
    if is_narrow:
        return SHARE
    return SHARE_MORE if again else FEED


def _scattered(facts: Facts) -> str:
    """Return what global loads waste beside, in words: whatever limits the kernel otherwise, a tile brings it along.

    Not of `wgmma`, whose tiles come by TMA: other loads are then of something else.
    """
    if (
        facts.get("pipe_tensor_gmma")
        or facts.lacks(*uncoalesced_global_load.NEEDS)
        or is_coalesced(facts)
        or not wasted_by_loads(facts).l1
    ):
        return ""
    return f"; {needed_words('load', facts)}"


def _tile_width(facts: Facts, halves: float) -> float:
    """Return how wide square tiles of halves are of which bytes from L2 are in so many operations; WIDE at most.

    A step of such a tile brings 2 x 2 bytes a row for 2 operations a column: half of the width for each byte.
    """
    asked = SECTOR_BYTES * (facts.get("l2_sectors_read") or 0.0)
    return min(float(WIDE), 2.0 * halves / asked) if asked else WIDE


def needs_code(finding: Finding) -> bool:
    """Tell whether a finding is one of `wgmma`, whose cause only the code tells."""
    return finding.rule == ID and "pipe_tensor_gmma" in finding.evidence


def _causes(warps: MultiplyingWarps, lacking: float) -> list[Cause]:
    """Return why ``lacking``, a part of the time, is lost: the largest part of that without a product in flight first,
    and as many as it takes to give all of it.

    Work beside products where all of that is too little. Waits for every product where the work between them, done
    meanwhile, would suffice. No tiles that are there in time.
    """
    parts: dict[Cause, float] = {
        "tiles": warps.tiles, "product": warps.product, "barriers": warps.barriers, "other": warps.other
    }  # fmt: skip
    if sum(parts.values()) < lacking:
        return ["beside"]
    first, *others = sorted(parts, key=lambda cause: -parts[cause])
    if first == "other" and min(warps.product, warps.other) >= lacking:
        return ["product"]
    found, left = [first], lacking - parts[first]
    for cause in others:
        if left > 0 and parts[cause] >= LEAST_PART and not (cause == "tiles" and _is_in_time(warps)):
            found.append(cause)
            left -= parts[cause]
    return found


def _is_in_time(warps: MultiplyingWarps) -> bool:
    return (warps.room or 0.0) >= AHEAD


def by_code(finding: Finding, sass: pd.DataFrame, facts: Facts) -> tuple[Finding, pd.DataFrame]:
    """Return a finding of wgmma with its cause, as the code shows it, and the instructions that it is about.

    ``sass`` and ``facts`` are those of the launches that the finding is of.
    """
    seen = multiplying_warps(sass) if needs_code(finding) and facts.duration_ns else None
    if seen is None:
        return finding, sass
    warps, rows = seen
    causes = _causes(warps, finding.saved_ns / facts.duration_ns)
    cause = causes[0]
    sampled = [name for name in map(str, sass) if name == SAMPLES or name.startswith(STALL_COLUMN)]
    theirs = sass.assign(**{name: sass[name].where(rows[cause], 0.0) for name in sampled})
    message = f"{finding.message.partition(MULTIPLYING)[0]}{MULTIPLYING}{_told(warps)}"  # of one told already, too
    if cause == "tiles" and (room := tile_room(facts)):
        message += f"; {room.told}"
    elif _is_in_time(warps):
        message += IN_TIME
    advice = "; then ".join(map(ADVICE.__getitem__, causes)) if finding.advice == BY_CODE else finding.advice  # library
    return replace(finding, message=message, advice=advice, stalls=WAITS_OF[cause]), theirs


def _told(warps: MultiplyingWarps) -> str:
    parts = {
        "waits for tiles": warps.tiles,
        "waits for the last product": warps.product,
        "waits at barriers": warps.barriers,
        "other work": warps.other,
    }
    told = sorted(parts.items(), key=lambda one: -one[1])
    said = ", ".join(f"{100 * part:.0f} % {name}" for name, part in told if part >= LEAST_PART) or "0 %"
    beside = f"{100 * warps.queued:.0f} % waits, {100 * warps.beside:.0f} % other work"
    return f"{said}; beside products, {beside}"


LEAST_PART = 0.005  # what would print as 0 %


def _conflicts_ns(facts: Facts) -> float:
    """Return what bank conflicts cost; 0 where that was not counted."""
    if facts.lacks(*shared_bank_conflict.NEEDS):
        return 0.0
    conflicts = shared_bank_conflict.find(facts)
    return conflicts.saved_ns if conflicts else 0.0
