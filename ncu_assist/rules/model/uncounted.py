"""What the code of a kernel says of local memory and atomics where the report has no counters of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ncu_assist.quantity import noun_of
from ncu_assist.rules.model.blame import PREDICATE
from ncu_assist.rules.model.facts import Facts

LOCAL = re.compile(r"(LDL|STL)\b")
ATOMIC = re.compile(r"(ATOMG?|REDG?)\b")
# Spills have a fixed place on the stack, of which R1 is the pointer; any other address is worked out at run time.
INDEXED = re.compile(r"\[(?!R1\b)U?R\d+")
LEAST = 0.05  # of the instructions: exact sines and cosines have a few accesses for huge arguments, which never run
# The same word of 32 threads is side by side in local memory (CUDA Programming Guide, "Local Memory").
LONE = "; a thread alone in its warp moves 32 bytes for each 4 of local memory"
OF_LOCAL = ("local_load_requests", "local_store_requests")
OF_ATOMICS = ("global_atomic_requests", "global_reduction_requests")


def uncounted_words(sass: Sequence[str], facts: Facts, executed: Sequence[float] = ()) -> str:
    """Return which accesses stand in the code that nobody counted, in words; empty where they are few or were counted.

    Atomics are those that may be of global memory. ``executed``: how often warps executed each instruction; empty, or
    zeros, where that is not known.
    """
    if any(executed):
        return ""
    plain = [PREDICATE.sub("", one) for one in sass]
    local, atomics = (list(filter(kind.match, plain)) for kind in (LOCAL, ATOMIC))
    found, where = [], ""
    if facts.lacks(*OF_LOCAL) and len(local) >= max(1.0, LEAST * len(sass)):
        found.append(_of_local(local))
        where = LONE if facts.get("block_size") == 1 else ""
    if facts.lacks(*OF_ATOMICS) and len(atomics) >= max(1.0, LEAST * len(sass)):
        found.append(f"{len(atomics)} {noun_of(len(atomics), 'atomic')}")
    if not found:
        return ""
    return f"; its code has {' and '.join(found)}: how often they run was not counted{where}"


def _of_local(local: Sequence[str]) -> str:
    stores = sum(one.startswith("STL") for one in local)
    counts = {"store": stores, "load": len(local) - stores}
    said = ", ".join(f"{count} {noun_of(count, what)}" for what, count in counts.items())
    if any(map(INDEXED.search, local)):
        kind = "an array that is indexed at run time"
    else:  # what is never read again is no spill
        kind = f"{'spills, ' if all(counts.values()) else ''}an array or arguments of a call"
    return f"{kind} in local memory ({said})"
