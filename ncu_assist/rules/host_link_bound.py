"""The kernel reads or writes memory of the host, across PCIe or C2C.

What the hardware does: a kernel can use pinned host memory as if it were the GPU's own. Each access that misses the
caches crosses the link to the host: about 55 GB/s over PCIe 5.0 x16, while DRAM delivers thousands.

Why it costs time: DRAM and the SMs are idle while the link works.

What to try: ask for whole lines of 128 bytes; copy the data to the GPU first, with the copy engine and while other
kernels run; keep on the GPU what is used again; read host data once, coalesced, into shared memory; prefetch managed
memory.

When it is reported: the link needs more than 0.8 % of the time, by which repeats of a launch differ. What uncoalesced
loads waste (sectors that they do not use, requests for less than a line) is left to `uncoalesced-global-load`. This
rule is about the traffic that would still cross.

How the saving is estimated: the longest of three times: of the bytes read, the bytes written and the read requests,
each at the rate of the link. A request is for at most one line of 128 bytes, and the link carries a limited number of
requests a second, however small they are. Requests are counted as what is written over PCIe in addition to the data, 16
bytes a request. The rates are measured on the link. Without measured rates only bytes count, at 85 % of the nominal
rate of 16 lanes of the PCIe generation of GPUs of this compute capability (on an H200 the copy engine reaches 55.5 of
63 GB/s), *assumed*. For a faster link, such as C2C, that time is too long; it is never more than the launch took.

A load from host memory takes several times as long as one from DRAM, so warps can wait for the host while the link has
room. That is so if no unit is busy, each multiprocessor has a block and at least half of what the SMs read from L2
comes from the host: then the saving is that part of the time in which warps wait for loads, *assumed*; without counted
stall reasons, of all the time. It is bounded by what the other units need.

Atomics on host memory fetch their sector each time, and those on one address one after the other: 0.5 to 0.6 µs each in
three public reports, whose time is that of their atomics (one a block). The finding says how many sectors come from the
host beyond those that SMs read, and how often one does.

Where it happens: reads make warps wait for the load. No warp waits for a store, so a full link shows at other memory
instructions. If the kernel writes more than it reads, the lines shown are those that store, by the sectors that they
send. Which of several stores goes to the host is not counted.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.quantity import duration, percent, quantity
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.blame import WRITES
from ncu_assist.rules.model.dram import Crossed, are_requests_the_limit, crossed, link_load, link_ns, link_rate
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import HOST_LINK
from ncu_assist.rules.model.savings import START_NS, busiest_unit, filled, worth_saying
from ncu_assist.rules.model.traffic import COALESCED, must_cross

ID = "host-link-bound"
NEEDS: tuple[str, ...] = ("host_sectors_read",)
USES: tuple[str, ...] = (
    "host_sectors_write", "l2_sectors_read", "global_load_requests", "sectors_per_request_load_ideal", "grid_size",
)  # fmt: skip
EVIDENCE = ("host_bytes", "host_sectors_read", "host_sectors_write", "pcie_read_bandwidth", "pcie_write_bandwidth")
ADVICE = "copy the data to the GPU first, while other work runs, and keep reused data there"
WIDER = "ask for whole lines of 128 bytes, or copy the data to the GPU first, while other work runs"
UNMIGRATED = "copy the data to the GPU first, or prefetch managed memory, and keep reused data there"
# First where atomics on host memory come one by one, as they do on one address: nothing else is as slow.
HOST_ATOMICS = "keep what atomics add to in GPU memory, or do fewer of them; then"
NOTABLE = 0.01  # of what is read from the host: counters of different passes differ by 0.2 % (a public report)
MOST_READ = 0.5  # of what SMs read from L2: then most loads that wait for L2 wait for the host
WAITS = ("long_scoreboard", "lg_throttle")


def find(facts: Facts) -> Finding | None:
    """Return what traffic with the host costs that no order of the addresses spares."""
    what, time = must_cross(facts), facts.duration_ns
    others = max((share for name, share in filled(facts).items() if name != HOST_LINK), default=0.0)
    most = max(0.0, time - max(time * others, min(time, START_NS)))
    saved, waiting = worth_saying(min(link_ns(facts, what), most), facts), min(_waiting_ns(facts), most)
    if not saved:
        return None
    waits = waiting > saved
    writes = what.written > what.read
    return Finding(
        rule=ID,
        message=_message(facts, what) + (_waits(facts) + _atomics(facts) if waits else ""),
        saved_ns=max(saved, waiting),
        evidence=(*EVIDENCE, *(("l2_sectors_read", "dram_bytes_read") if waits else ())),
        relieves=(HOST_LINK,),
        waste="sectors" if writes else "samples",
        stalls=WAITS,
        assumed=link_rate(facts)[1] or waits,
        advice=(f"{HOST_ATOMICS} {UNMIGRATED}" if _atomics(facts) else UNMIGRATED)
        if waits
        else WIDER
        if are_requests_the_limit(facts, what)
        else ADVICE,
        about=WRITES if writes else frozenset(),
    )


def _of_reads(facts: Facts) -> float:
    """Return which part of what SMs read from L2 comes from the host, 0 to 1; 0 where that was not counted."""
    asked = facts.get("l2_sectors_read")
    return min(1.0, crossed(facts).read / asked) if asked else 0.0


def _waits_said(facts: Facts) -> str:
    return "warps wait for it" if facts.combined.stalls else "warps probably wait for it, which was not counted"


def _waiting_ns(facts: Facts) -> float:
    """Return the time in which warps wait for loads from the host while no unit, nor the link, is busy.

    0 where the link is one of unknown rate: nobody knows whether it has room. And where the grid leaves multiprocessors
    empty: more blocks would use that room first (`grid-underfill`).
    """
    if facts.value("grid_size") < facts.value("sm_count"):
        return 0.0
    busiest, share = busiest_unit(facts), _of_reads(facts)
    if busiest is None or busiest.is_busy or share < MOST_READ or not link_load(facts):
        return 0.0
    waiting = sum(map(facts.stall, WAITS)) / 100.0 if facts.combined.stalls else 1.0
    return facts.duration_ns * share * min(1.0, waiting)


def _waits(facts: Facts) -> str:
    return (
        f", {percent(_of_reads(facts))} of what SMs read from L2; {_waits_said(facts)}, while the link is busy "
        f"{percent(link_load(facts))} of the time"
    )


def _atomics(facts: Facts) -> str:
    """Return what atomics on host memory fetch, in words; empty without them.

    L2 fetches the sector of each from the host, also where SMs read nothing there: what comes beyond their reads.
    """
    more = facts.value("host_sectors_read") - facts.value("l2_sectors_read")
    if facts.lacks("l2_sectors_read") or more < NOTABLE * facts.value("host_sectors_read"):
        return ""
    each = duration(facts.duration_ns / more)
    return f"; {quantity(more, '')} of these sectors are fetched for atomics, one every {each}"


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
