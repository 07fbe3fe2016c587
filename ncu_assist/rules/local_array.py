"""The kernel keeps an array in local memory because it is indexed at run time.

What the hardware does: registers have no addresses. An array of a thread that is indexed by a value known only at run
time is in local memory: in DRAM, behind L1 and L2. An access takes one sector for eight lanes if all lanes use the same
index.

Why it costs time: each access is a memory instruction, and stores go through to L2. The arrays of many threads soon
exceed L1.

What to try: unroll the loops so that every index is a constant; select by comparison if there are few elements; keep
the array in shared memory, one column a thread so that lanes have no bank conflicts; pack small counters.

When it is reported: local requests that are not spills cost at least 1 % of the time. A repeated launch varies by that
much. If spills were not counted separately, `local-array` is reported for threads with registers to spare and
`register-spill` for threads without, both *assumed*.

How the saving is estimated: the larger of two times. One is the time in which schedulers issue nothing because warps
wait for memory, times local memory's part of all sectors, plus the issue slots of the accesses and their addresses. The
other is local memory's part of the work of L1 or L2, if one of them is 72 % busy, or of DRAM, if that is the busiest
unit and too busy for waiting alone to explain the time (as for `register-spill`). If there is an operation on floats
for every two accesses, all instructions that are neither are loops and addresses, which disappear once the index is a
constant. In other work, or if it may not be an array, an access has one instruction for its address: in a build without
optimisation each variable is in local memory.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model import local_traffic
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import ALU, float_instructions, memory_instructions

ID = "local-array"
NEEDS: tuple[str, ...] = local_traffic.NEEDS
USES: tuple[str, ...] = local_traffic.USES
INSTRUCTIONS_AN_ACCESS = 2  # itself, and the product or sum that is its address
USED = 0.5  # operations on floats an access: below it the work is of another kind, which nobody can tell from a loop's


def find(facts: Facts) -> Finding | None:
    """Return what an array in local memory costs; None where there is none, or nobody waits for it."""
    requests = facts.value("local_load_requests") + facts.value("local_store_requests")
    is_known = not facts.lacks("local_spilling_requests")
    if not is_known and local_traffic.may_be_spills(facts):
        return None
    unspilled = max(0.0, requests - facts.value("local_spilling_requests"))
    an_access = _an_access(facts, requests) if is_known else INSTRUCTIONS_AN_ACCESS
    saved = local_traffic.cost_ns(facts, unspilled, an_access)
    if saved <= 0.0:
        return None
    share = 100.0 * local_traffic.local_share(facts)
    kind = "keeps an array in local memory, indexed at run time" if is_known else f"uses {local_traffic.KIND_UNKNOWN}"
    return Finding(
        rule=ID,
        message=f"{kind}; {share:.0f} % of all sectors{', no spills' if is_known else ''}",
        saved_ns=saved,
        evidence=("local_requests_unspilled", "local_load_sectors", "local_store_sectors", "local_hit_rate_load"),
        relieves=(*local_traffic.relieved(facts), *((ALU,) if _is_used(facts, requests) else ())),
        stalls=local_traffic.WAITS,
        assumed=not is_known,
        advice="unroll the loops so that every index is a constant, or keep the array in shared memory",
    )


def _is_used(facts: Facts, requests: float) -> bool:
    """Tell whether what is loaded goes into operations on floats, so that all else is loops and addresses."""
    return float_instructions(facts) >= USED * requests > 0.0


def _an_access(facts: Facts, requests: float) -> float:
    """Return the instructions that go with an access: with its index a constant, its loop and its address go, too.

    They are what is neither an operation on floats nor an access, spread over all accesses.
    """
    every, accesses = facts.get("instructions") or 0.0, memory_instructions(facts)
    if not _is_used(facts, requests) or not accesses:
        return INSTRUCTIONS_AN_ACCESS
    return max(INSTRUCTIONS_AN_ACCESS, 1.0 + (every - accesses - float_instructions(facts)) / accesses)
