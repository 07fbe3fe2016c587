"""How much a fix can win before the next limit is reached."""

from __future__ import annotations

from ncu_assist.ceilings.chips import SCHEDULERS, SECTOR_BYTES
from ncu_assist.diff.resources import HOST_LINK, PARTS, SM_PARTS
from ncu_assist.rules.arithmetic import ISSUE
from ncu_assist.rules.base import Finding
from ncu_assist.rules.dram import asked_share, fill
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.host_link import link_load

# No kernel keeps a unit busy all the time: a loop of nothing but FMA its pipe 85 to 95 % (docs/sources.md,
# Rates). It stands for what `ceilings` did not measure as a share: units of L2 (whose reads are held
# against the measured rate as well), of L1 but the data pipe, and all of a GPU that nobody measured. Also for the FMA
# pipe and the tensor cores, whose measured loops use operands again as no product can (with three others a multiply-add
# reaches 85 %, a library's product 91 %). What DRAM can be asked for depends on mix and size: rules.dram.
REACHABLE = 0.9
# By unit: the loop of nothing else that `ceilings` runs on it, and whose share of the peak ncu counted.
PROBES = {
    "ALU pipe": ("pipe", "alu"), "FP64 pipe": ("pipe", "fp64"), "XU pipe": ("pipe", "xu"), "LSU pipe": ("pipe", "lsu"),
    "L1 data pipe": ("shared", "wavefronts"),
}  # fmt: skip
# The loop that fills issue slots, where the FMA pipe takes an instruction a cycle: 94 % of them on an H200 and an H100.
# More can be reached (`pipe_fma_unfused` of the fault gallery fills 98 %), less was only assumed.
FILLS_SLOTS = ("pipe", "fma")
L2_READS = "L2 output"  # where what SMs read leaves L2
START = "start"  # of a kernel: what relieves it of that is fused with its neighbours
LEAST_SHARE = 0.02  # of the time that anything takes: launching, the first loads, the last stores


def bounded_ns(finding: Finding, facts: Facts) -> float:
    """Return the most time that a fix can save: the other resources keep the work that it does not take off them.

    A fix that spares the start of a kernel leaves DRAM the time for its bytes, not that of a kernel of this size.
    """
    kept = loads(facts)
    if START in finding.relieves:
        kept["DRAM"] = asked_share(facts) / REACHABLE
    others = [load for name, load in kept.items() if name not in finding.relieves]
    return max(0.0, facts.duration_ns * (1.0 - max([LEAST_SHARE, *others])))


def reachable(facts: Facts, name: str) -> float:
    """Return how busy a unit can be, 0 to 1: as it was in a loop of nothing else on such a GPU, else REACHABLE."""
    if name == ISSUE:
        return max(REACHABLE, _filled_slots(facts))
    rate = facts.ceilings.rate(*PROBES[name], "ncu") if facts.ceilings and name in PROBES else None
    measured = rate.pct_of_peak if rate else None
    return measured / 100.0 if measured else REACHABLE


def _filled_slots(facts: Facts) -> float:
    """Return the share of issue slots that a loop of `ceilings` filled, 0 to 1; 0 where none was run."""
    rate = facts.ceilings.rate(*FILLS_SLOTS, "ncu") if facts.ceilings else None
    return (rate.per_cycle_per_sm or 0.0) / SCHEDULERS if rate else 0.0


def loads(facts: Facts) -> dict[str, float]:
    """Return how busy each unit (names of diff.resources) was, of what a kernel can ask of it; 1 is at its limit.

    The link to the host is one of them: what has to cross it does so no faster, whatever else is changed. Of different
    kernels it is the share of their time.
    """
    if len(facts.by_kernel) > 1:
        parts = [(one.duration_ns / facts.duration_ns, loads(one)) for one in facts.by_kernel]
        return {name: sum(share * own[name] for share, own in parts) for name in parts[0][1]}
    found = {HOST_LINK: link_load(facts)}
    for one in (*PARTS, *SM_PARTS):
        load = fill(facts) if one.name == "DRAM" else facts.busy(one) / reachable(facts, one.name)
        found[one.name] = max(load, found.get(one.name, 0.0))
    found[L2_READS] = max(found[L2_READS], _l2_reads(facts))
    return found


def _l2_reads(facts: Facts) -> float:
    """Return what SMs read from L2 a second, of the most that was measured on such a GPU; 0 where that is not known."""
    measured = [one.bytes_per_second for one in facts.ceilings.l2 if one.source == "ncu"] if facts.ceilings else []
    sectors = facts.get("l2_sectors_read")
    if not measured or sectors is None or not facts.duration_ns:
        return 0.0
    return 1e9 * SECTOR_BYTES * sectors / facts.duration_ns / max(measured)
