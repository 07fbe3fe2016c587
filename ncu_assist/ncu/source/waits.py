"""What warps wait for at instructions whose stall reason names only the queue: mbarriers, products, cluster barriers.

ncu books them under a reason that has another meaning first. A warp that tries an mbarrier (`SYNCS.PHASECHK`, what
TMA and `mbarrier.try_wait` are waited for by) is sampled as ``long_scoreboard`` at the instruction that looks at the
outcome; one that waits for wgmma (`WARPGROUP.DEPBAR`) and one at the barrier of a cluster (`UCGABAR_WAIT`) as
``barrier``. The reasons ``mbarrier``, ``wgmma`` and ``cluster_barrier`` are ours, and only of instructions and lines:
no counter has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MBARRIER, WGMMA, CLUSTER_BARRIER = "mbarrier", "wgmma", "cluster_barrier"
BOOKED_AS = {MBARRIER: "long_scoreboard", WGMMA: "barrier", CLUSTER_BARRIER: "barrier"}
MEANINGS = {
    MBARRIER: "the phase of an mbarrier to end: bytes that TMA brings, or other warps that arrive there",
    WGMMA: "matrix instructions of its warpgroup (wgmma) to end",
    CLUSTER_BARRIER: "the other blocks of its cluster at their barrier",
}
TRIED = re.compile(r"SYNCS\.PHASECHK\S*\s+(U?P\d)\b")
AT_ONCE = {"WARPGROUP.DEPBAR": WGMMA, "UCGABAR_WAIT": CLUSTER_BARRIER}
HEAD = re.compile(r"\s*(?:@!?U?P\w+\s+)?((?:WARPGROUP\.\w+)|UCGABAR_WAIT)")
MARKS = ("SYNCS.PHASECHK", "WARPGROUP.", "UCGABAR_WAIT")  # code without these has nothing of it
WITHIN = 24  # instructions behind one that tries, where its outcome is looked at: 1 to 10 were seen


def awaited(texts: Sequence[str | None]) -> dict[int, str]:
    """Return what a warp at an instruction waits for, by place, where ncu's reason has another meaning first."""
    if not any(text and any(mark in text for mark in MARKS) for text in texts):
        return {}
    found: dict[int, str] = {}
    for place, text in enumerate(texts):
        if not text:
            continue
        if tried := TRIED.search(text):
            reader = _reader(texts, place, tried[1])
            if reader is not None:
                found[reader] = MBARRIER
        elif (head := HEAD.match(text)) and head[1] in AT_ONCE:
            found[place] = AT_ONCE[head[1]]
    return found


def _reader(texts: Sequence[str | None], place: int, predicate: str) -> int | None:
    """Return the instruction that looks at the predicate which the one at ``place`` sets."""
    named = re.compile(rf"!?\b{predicate}\b")
    for later in range(place + 1, min(place + 1 + WITHIN, len(texts))):
        if named.search(texts[later] or ""):
            return later
    return None
