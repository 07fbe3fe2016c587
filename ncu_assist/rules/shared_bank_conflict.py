"""Lanes of a warp want different words of the same bank of shared memory.

What the hardware does: shared memory has 32 banks of 4 bytes, and successive words are in successive banks. One pass (a
wavefront) serves each bank once. Lanes that want different words of one bank need further passes: up to 32 for one
instruction. Lanes that want the same word share it at no cost.

Why it costs time: L1 and shared memory have one data pipe an SM, with one wavefront a cycle. If the pipe is busy, the
time is proportional to the wavefronts. If it is mostly idle, the conflicts are hidden behind something else.

What to try: it depends on where the lanes are. If they are in different rows of a tile, pad the rows by one element (33
instead of 32), or by 16 bytes where lanes access 8 or 16 at a time, which a shift by less would misalign; or mix bits
of the row into the column (a swizzle). If they are in one row, padding shifts all of them alike, and nothing is won. A
thread that owns 8 floats side by side reads them in two loads of 16 bytes. Its lanes are then 32 bytes apart in each,
and each takes twice the passes. Let it own two groups of 4, half a row apart: neighbouring lanes then read neighbouring
16 bytes. Else let lanes walk the banks in another order, or store an array of structures as separate arrays.

Which of the two it is: with eight times the passes and more, the lanes are at least eight of their accesses apart: that
is a row each. Operands of tensor cores are rows of tiles as well. With fewer passes it may be either, and the advice
says both. If the code was read and most conflicts are those of 16-byte loads with twice their passes, each of which has
another one of the next 16 bytes beside it, the advice is that of one row.

When it is reported: more than 2 % of the wavefronts of shared memory are excessive. Up to 2 % are left alone, because
arbitration between warps looks the same. Conflicts of atomics do not count: padding does not help against them.

How the saving is estimated: excessive wavefronts over all wavefronts of the data pipe, times how busy it was. The work
of DRAM and the other units limits the saving. Units within an SM do their work while it has warps, not while it rests.
If nobody measured what such a unit can reach and it ends the gain, the saving is *assumed*. If no unit is busy, the
share of time that warps wait for shared memory limits the saving, too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import is_matrix_work
from ncu_assist.rules.model.resources import L1_DATA
from ncu_assist.rules.model.savings import assumes_start, busiest_unit, loads, saved_ns, worth_saying
from ncu_assist.rules.model.shape import room_at_work
from ncu_assist.rules.model.traffic import l1_wavefronts

if TYPE_CHECKING:
    import pandas as pd

ID = "shared-bank-conflict"
NEEDS: tuple[str, ...] = (
    "shared_wavefronts", "shared_wavefronts_excessive", "l1_data_pipe", "sm_cycles_elapsed", "sm_count",
)  # fmt: skip
USES: tuple[str, ...] = ()
EVIDENCE = ("bank_conflict_ways", "shared_wavefronts_excessive", "shared_wavefronts", "l1_data_busy")
IGNORED = 0.02  # of all wavefronts (docs/sources.md: up to 2 % of raw conflicts are arbitration)

WAITS = ("mio_throttle", "short_scoreboard")
ROW_A_LANE = "pad the rows of the tile by {padding}, or swizzle its columns"
EITHER = (
    "if lanes of a warp access one row, let each thread own {groups} that lie apart, so that neighbouring lanes access "
    "neighbouring ones; if they access different rows, pad these by {padding}, or swizzle them"
)
# Times the passes of the same accesses without conflicts: of 16 bytes a lane one pass serves eight lanes, and one alone
# where the rows of all begin at the same bank; of fewer bytes it serves more lanes, and such rows cost more.
A_ROW_EACH = 8.0
NEAR = 0.95  # of it: a few accesses without conflicts are beside
TWO_GROUPS = (
    "let each thread own two groups of 16 bytes, half a row apart, not 32 bytes side by side, which it reads in two "
    "loads with twice the passes each; padding helps only if lanes access different rows"
)
TWICE = 2.0
MOST_OF_THEM = 0.5  # of all conflicts
WIDE_LOAD = re.compile(r"\bLDS(?:\.U)?\.128\b.*\[(?P<base>[^]]*?)(?:\+(?P<offset>0x[0-9a-f]+))?\]")
WIDE_BYTES = 16
ACCESSES = ("shared_load_instructions", "shared_store_instructions", "shared_atomics")
KINDS = ("load", "store")
OF_TWO_BYTES = ("float16", "bfloat16")


def find(facts: Facts) -> Finding | None:
    """Return what bank conflicts of loads and stores cost."""
    excessive, every, shared = _excessive(facts), l1_wavefronts(facts), facts.value("shared_wavefronts")
    if every <= 0 or shared <= 0 or excessive <= IGNORED * shared:
        return None
    gone = min(1.0, excessive / every)
    ends_ns = facts.duration_ns * room_at_work(facts, (L1_DATA,))
    by_passes = min(saved_ns(facts, {L1_DATA: 1.0 - gone}), _waited_ns(facts, gone))
    saved = worth_saying(min(by_passes, ends_ns), facts)
    if not saved:
        return None
    share = 100.0 * excessive / shared
    return Finding(
        rule=ID,
        message=f"{share:.0f} % of the passes through shared memory are caused by bank conflicts",
        saved_ns=saved,
        evidence=EVIDENCE,
        relieves=(L1_DATA,),
        left={L1_DATA: 1.0 - gone},
        waste="wavefronts_excessive",
        stalls=WAITS,
        assumed=assumes_start(facts) or (facts.ceilings is None and ends_ns <= by_passes),
        advice=_advice(facts),
    )


def _advice(facts: Facts) -> str:
    """Return what to try: a padding where lanes have a row each, else that beside what helps within one row."""
    advice = ROW_A_LANE if is_matrix_work(facts) or _ways(facts) >= NEAR * A_ROW_EACH else EITHER
    if _is_wide(facts):
        return advice.format(groups="groups of 16 bytes", padding="16 bytes, which keeps wide accesses aligned")
    padding = "4 bytes, a whole bank" if facts.dtype in OF_TWO_BYTES else "one element"
    return advice.format(groups="elements", padding=padding)


def _is_wide(facts: Facts) -> bool:
    """Return whether some accesses take more than 4 bytes a lane: a row is shifted by as much as the widest takes.

    Without conflicts an access of 4 bytes a lane is one pass, one of 8 two, one of 16 and `ldmatrix` up to four. The
    last is not among the accesses that are counted, but its passes are.
    """
    if all(facts.get(key) is None for key in ACCESSES):
        return False
    return facts.value("shared_wavefronts_ideal") > (1.0 + IGNORED) * sum(facts.value(key) for key in ACCESSES)


def _ways(facts: Facts) -> float:
    """Return how often the passes of loads or of stores are what they need, of the kind that has more conflicts."""
    every, excessive = max(
        ((facts.value(f"shared_wavefronts_{kind}"), facts.value(f"bank_conflicts_{kind}")) for kind in KINDS),
        key=lambda pair: pair[1],
    )
    if not 0.0 < excessive < every:  # not counted apart
        every, excessive = facts.value("shared_wavefronts"), facts.value("shared_wavefronts_excessive")
    return every / max(1.0, every - excessive)


def by_code(finding: Finding, sass: pd.DataFrame) -> Finding:
    """Return a finding that may be of one row or of several with the advice of one row, where the code shows that."""
    if not finding.advice.startswith(EITHER[: EITHER.index("{")]):
        return finding
    excess = sass["wavefronts_excessive"].fillna(0.0).tolist()
    twice = (sass["wavefronts"] <= TWICE * (1.0 + IGNORED) * sass["wavefronts_ideal"]).tolist()
    found = [WIDE_LOAD.search(str(text)) if twice[place] else None for place, text in enumerate(sass["sass"])]
    read = {place: (one["base"], int(one["offset"] or "0", 16)) for place, one in enumerate(found) if one}
    at = set(read.values())
    pairs = (place for place, (base, by) in read.items() if {(base, by - WIDE_BYTES), (base, by + WIDE_BYTES)} & at)
    is_one_row = sum(excess[place] for place in pairs) > MOST_OF_THEM * sum(excess)
    return replace(finding, advice=TWO_GROUPS) if is_one_row else finding


def _waited_ns(facts: Facts, gone: float) -> float:
    """Return the most that shorter queues can win: the passes that go.

    As many accesses stay as there were, with the time that the pipe rests between them. Where no unit is busy, no more
    than warps wait for shared memory.
    """
    busiest, passes = busiest_unit(facts), gone * min(1.0, loads(facts)[L1_DATA])
    if busiest is None or busiest.is_busy or not facts.combined.stalls:
        return facts.duration_ns * passes
    return facts.duration_ns * min(passes, gone * sum(facts.stall(reason) for reason in WAITS) / 100.0)


def _excessive(facts: Facts) -> float:
    """Return the excessive wavefronts of loads and stores: hardware's conflicts say how many are the atomics'."""
    plain = facts.value("bank_conflicts_load") + facts.value("bank_conflicts_store")
    atomic = facts.value("bank_conflicts_atomic")
    part = plain / (plain + atomic) if atomic > 0 else 1.0
    return part * facts.value("shared_wavefronts_excessive")
