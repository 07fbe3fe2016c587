"""The kernel reads or writes memory of the host, across PCIe or C2C.

What the hardware does: pinned host memory can be used from a kernel as if it were the GPU's. Each access that misses
the caches crosses the link to the host: about 55 GB/s over PCIe 5.0 x16, where DRAM delivers thousands.

Why it costs time: DRAM and the SMs are idle while the link works.

What to try: ask for whole lines of 128 bytes; copy the data to the GPU first, with the copy engine and beside other
work; leave on the GPU what is used again; read what must come from the host once, side by side, into shared memory.
Managed memory: prefetch it.

How the time is worked out: the longest of bytes read, bytes written, and requests for reading, over what the link can
deliver of each. A request is for a line of 128 bytes at most, and the link carries only so many a second, however small
they are. They are counted as what is written over PCIe beside the data, 16 bytes a request.
The rates are the link's measured ones; without them bytes alone count, at the rate of the generation of PCIe that GPUs
of this compute capability have, 16 lanes, 85 % of the nominal rate (the copy engine reaches 55.5 of 63 GB/s on an
H200), *assumed*. Over a faster link, such as C2C, it is too long; it is never more than the launch took.

What loads waste that are not coalesced, sectors that they do not use and requests for less than a line, is
`uncoalesced-global-load`; here is what crosses without it.

Where: reads make warps wait for the load. No warp waits for a store: a full link shows at whatever else uses memory,
so where more is written than read the lines are those that store, by the sectors they send. Which of several stores
goes to the host is not counted.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.blame import WRITES
from ncu_assist.rules.model.dram import Crossed, are_requests_the_limit, crossed, link_ns, link_rate
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import HOST_LINK
from ncu_assist.rules.model.savings import START_NS, filled, worth_saying
from ncu_assist.rules.model.traffic import COALESCED, must_cross

ID = "host-link-bound"
NEEDS: tuple[str, ...] = ("host_sectors_read", "host_sectors_write")
USES: tuple[str, ...] = ("global_load_requests", "sectors_per_request_load_ideal")
EVIDENCE = ("host_bytes", "host_sectors_read", "host_sectors_write", "pcie_read_bandwidth", "pcie_write_bandwidth")
ADVICE = "copy the data to the GPU first, beside other work, and keep there what is used again"
WIDER = "ask for whole lines of 128 bytes, or copy the data to the GPU first, beside other work"


def find(facts: Facts) -> Finding | None:
    """Return what traffic with the host costs that no order of the addresses spares."""
    what, time = must_cross(facts), facts.duration_ns
    others = max((share for name, share in filled(facts).items() if name != HOST_LINK), default=0.0)
    left = max(time * others, min(time, START_NS))
    saved = worth_saying(min(link_ns(facts, what), max(0.0, time - left)), facts)
    if not saved:
        return None
    writes = what.written > what.read
    return Finding(
        rule=ID,
        message=_message(facts, what),
        saved_ns=saved,
        evidence=EVIDENCE,
        relieves=(HOST_LINK,),
        waste="sectors" if writes else "samples",
        stalls=("long_scoreboard", "lg_throttle"),
        assumed=link_rate(facts)[1],
        advice=WIDER if are_requests_the_limit(facts, what) else ADVICE,
        about=WRITES if writes else frozenset(),
    )


def _message(facts: Facts, what: Crossed) -> str:
    now = crossed(facts)
    counts = {"reads": now.read, "writes": now.written}
    words = [f"{verb} {quantity(SECTOR_BYTES * count, 'byte')}" for verb, count in counts.items() if count]
    message = f"the kernel {' and '.join(words)} of host memory across the link"
    if what.read < COALESCED * now.read:
        message += f", of which its loads need {quantity(SECTOR_BYTES * what.read, 'byte')}"
    if are_requests_the_limit(facts, what):
        message += f", in requests of {SECTOR_BYTES * what.read / what.requests:.0f} bytes where a line is 128"
    return message
