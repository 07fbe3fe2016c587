"""The kernel reads or writes memory of the host, across PCIe or C2C.

What the hardware does: pinned host memory can be used from a kernel as if it were the GPU's. Each access that misses
the caches crosses the link to the host: about 55 GB/s over PCIe 5.0 x16, where DRAM delivers thousands.

Why it costs time: DRAM and the SMs are idle while the link works.

What to try: copy the data to the GPU first, with the copy engine and beside other work; leave on the GPU what is used
again; read what must come from the host once, side by side, into shared memory. Managed memory: prefetch it.

How the time is worked out: the larger of the bytes read and written over what the link can deliver. That is the link's
measured rate; without one, of the generation of PCIe that GPUs of this compute capability have, 16 lanes, 85 % of the
nominal rate (the copy engine reaches 55.5 of 63 GB/s on an H200), *assumed*. Over a faster link, such as C2C, it is
too long; it is never more than the launch took.

Where: reads make warps wait for the load. No warp waits for a store: a full link shows at whatever else uses memory,
so where more is written than read the lines are those that store, by the sectors they send. Which of several stores
goes to the host is not counted.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.rules.base import Finding
from ncu_assist.rules.blame import WRITES
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.host_link import link_ns, link_rate
from ncu_assist.rules.savings import START_NS, filled, is_worth_saying

ID = "host-link-bound"
NEEDS: tuple[str, ...] = ("host_sectors_read", "host_sectors_write")
EVIDENCE = ("host_bytes", "host_sectors_read", "host_sectors_write", "pcie_read_bandwidth", "pcie_write_bandwidth")
WAITS, STORES = ("long_scoreboard", "lg_throttle"), WRITES


def find(facts: Facts) -> Finding | None:
    """Return what traffic with the host costs."""
    sectors = {verb: facts.value(f"host_sectors_{verb}") for verb in ("read", "write")}
    time, taken = facts.duration_ns, link_ns(facts)
    rest = max(time * max(filled(facts).values(), default=0.0), min(time, START_NS))
    saved = min(taken, max(0.0, time - rest))
    if not is_worth_saying(saved, facts):
        return None
    words = [f"{verb}s {quantity(SECTOR_BYTES * count, 'byte')}" for verb, count in sectors.items() if count]
    message = f"the kernel {' and '.join(words)} of host memory across the link"
    advice = "copy the data to the GPU first, beside other work, and keep there what is used again"
    writes, assumed = sectors["write"] > sectors["read"], link_rate(facts)[1]
    return Finding(
        ID, message, saved, EVIDENCE, (), "sectors" if writes else "samples", WAITS, {}, assumed, advice,
        about=STORES if writes else frozenset(),
    )  # fmt: skip
