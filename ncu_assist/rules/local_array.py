"""Keeps an array in local memory because it is indexed at run time.

Hardware: registers have no addresses. An array of a thread that is indexed by a value known only at run time lies in
local memory: in DRAM behind L1 and L2, a sector for eight lanes if all lanes read the same index.

Cost: each access is a memory instruction; stores go through to L2. Arrays of many threads together soon exceed L1.

What to try: unroll the loops so that every index is a constant; choose by comparisons where there are few elements;
keep the array in shared memory, one column a thread so that lanes meet no bank conflicts; pack small counters.

Thresholds: counted are local requests that are no spills. Where spills were not counted apart, it is either: this is
said where a thread had registers to spare, `register-spill` where it had none, *assumed*.

The time is the larger of two: that in which schedulers issue nothing since warps wait on memory, by local memory's part
of all sectors, with the issue slots of the accesses and their addresses; and that of local memory's part of the work of
L1 or L2, where one of them is 72 % busy. Where there is half an operation on floats an access, all that is neither is
loops and addresses, which go with an index that is a constant; else, and where nobody knows that it is an array, an
access has one instruction for its address: in a build without optimisation each variable lies in local memory.
Below 1 % of the time nothing is said, since a repeated launch varies by that much.
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
