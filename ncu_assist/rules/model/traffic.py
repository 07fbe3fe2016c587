"""Sectors that uncoalesced accesses waste, by the level of the memory system that they reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.source.contents import COUNTERS
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.dram import LINE_SECTORS, Crossed, crossed, link_ns, moved_bytes
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import L2_PARTS, lsu_a_cycle
from ncu_assist.rules.model.resources import DRAM_ROWS, HOST_LINK, L1_DATA
from ncu_assist.rules.model.savings import assumes_start, saved_ns, worth_saying

# HBM3 hands out 64 bytes: what is read as single sectors comes with a neighbour. `fft_bit_reversal` of the fault
# gallery asks L2 for 16.8 million scattered sectors, and DRAM reads 33.6 million, on an H200 as on an H100.
DRAM_SECTORS = 2
SCATTERED = 0.5  # of the sectors asked for are waste: then the sectors in use stand alone as well
# L2 looks three sectors up in the time of a tag, by its counters of an H200 and an H100: tags keep it busy 2.9 times as
# long as sectors where each is asked for by itself, 0.76 times where four are one request (the fault gallery).
SECTORS_A_TAG = 3.0
MOST_READ = 0.5  # of what SMs read from L2
WIDEST = 16  # sectors of a request of 32 lanes, 16 bytes each
COALESCED = 0.75  # of the bytes in touched sectors are used: a copy shifted by one element still uses 80 %


@dataclass(frozen=True)
class Wasted:
    """Sectors beyond those that the bytes need: looked up in L1, asked of L2, moved at DRAM.

    ``stored``: of those asked of L2, those that are sent there with their bytes; of the others a request is sent.
    ``requests``: to L2 beyond one a line. ``link``: the part of the time of the link to the host that goes on them and
    on asking for less than lines, 0 to 1.
    """

    l1: float
    l2: float
    dram: float
    link: float = 0.0
    stored: float = 0.0
    requests: float = 0.0


def wasted_by_loads(facts: Facts) -> Wasted:
    """Return what global loads waste. What L1 hits of it costs L1 only; DRAM wastes what it read beyond the need.

    Nothing where the addresses touch no more sectors than their bytes need (ncu counts that for each instruction):
    then L1 took some requests apart, which no order of the addresses changes.
    """
    if not _is_excessive(facts):
        return Wasted(0.0, 0.0, 0.0)
    sectors, ideal, missed = facts.value("global_load_sectors"), _ideal(facts, "load"), _missed(facts)
    asked = max(0.0, missed - ideal)
    read = facts.value("dram_bytes_read") / SECTOR_BYTES
    alone = missed if asked > SCATTERED * missed else asked
    dram, link = _within(read - ideal, asked + (DRAM_SECTORS - 1) * alone), link_ns(facts)
    return Wasted(
        max(0.0, sectors - ideal), asked, dram, _share(link - link_ns(facts, must_cross(facts)), link),
        requests=_requests(facts, missed, ideal) if ideal < SCATTERED * sectors else 0.0,
    )  # fmt: skip


def must_cross(facts: Facts) -> Crossed:
    """Return what would cross the link to the host if global loads asked for what they need, line by line.

    Loads that are not coalesced ask for single sectors, and each is a request, even where a cache keeps them until all
    of their bytes were used. What asked for no more than its bytes need (bulk copies) keeps its requests.
    """
    now = crossed(facts)
    if not _is_excessive(facts) or not now.read:
        return now
    missed, ideal = _missed(facts), _ideal(facts, "load")
    read = now.read - _within(now.read - ideal, max(0.0, missed - ideal))
    if is_coalesced(facts):
        return Crossed(read, now.requests * read / now.read, now.written)
    return Crossed(read, max(read / LINE_SECTORS, now.requests - missed), now.written)


def wasted_by_stores(facts: Facts) -> Wasted:
    """Return what global stores waste: DRAM also reads the sectors that are written in part."""
    if not _is_excessive(facts):
        return Wasted(0.0, 0.0, 0.0)
    sectors, ideal = facts.value("global_store_sectors"), _ideal(facts, "store")
    asked = max(0.0, sectors - ideal)
    read, written = (facts.value(f"dram_bytes_{what}") / SECTOR_BYTES for what in ("read", "write"))
    dram = _within(read - _missed(facts), asked) + _within(written - ideal, asked)
    requests = _requests(facts, sectors, ideal) if ideal < SCATTERED * sectors else 0.0
    return Wasted(asked, asked, dram, stored=asked, requests=requests)


def _requests(facts: Facts, sectors: float, ideal: float) -> float:
    """Return the requests to L2 for so many scattered sectors, beyond those of lines; 0 where they were not counted."""
    return max(0.0, requests_a_sector(facts) * sectors - ideal / LINE_SECTORS)


def requests_a_sector(facts: Facts) -> float:
    """Return the requests to L2 a sector, 0 to 1: a quarter where whole lines are asked for, 1 where each is alone."""
    tags, lookups = facts.get("l2_tags_busy"), facts.get("l2_lookups_busy")
    return min(1.0, tags / lookups / SECTORS_A_TAG) if tags and lookups else 0.0


def wasted_dram_bytes(facts: Facts) -> float:
    """Return the bytes that DRAM moved because of uncoalesced loads and stores.

    With the neighbours of sectors that are read to be filled in; how many of them a better order spares is not known.
    """
    if len(facts.by_kernel) > 1:
        return sum(map(wasted_dram_bytes, facts.by_kernel))
    loads, stores = wasted_by_loads(facts), wasted_by_stores(facts)
    read = facts.value("dram_bytes_read") / SECTOR_BYTES
    neighbours = _within(read - _missed(facts) - stores.l2, (DRAM_SECTORS - 1) * stores.l2)
    return SECTOR_BYTES * (loads.dram + stores.dram + neighbours)


def left_without(wasted: Wasted, facts: Facts) -> dict[str, float]:
    """Return for the units that the waste went through the part of their work that is left without it."""
    at_l2, each = _share(wasted.l2, facts.value("l2_sectors_sm")), requests_a_sector(facts)
    shares = dict.fromkeys((*L2_PARTS, "L1 output"), at_l2)
    shares["L2 tags"] = max(at_l2, _share(wasted.requests, each * facts.value("l2_sectors_sm")))
    sent = facts.value("l2_sectors_write") + facts.value("l2_sectors_read") / LINE_SECTORS
    if wasted.stored:  # a request that does not fill its sectors also says which bytes it brings
        shares["L1 output"] = max(at_l2, _share(wasted.stored, sent))
        shares["L2 input"] = max(at_l2, _share(wasted.stored + wasted.requests, sent + wasted.requests))
    else:
        asked = facts.value("l2_sectors_write") + each * facts.value("l2_sectors_read")
        shares["L2 input"] = max(at_l2, _share(wasted.requests, asked))
    shares[L1_DATA] = _share(wasted.l1, l1_sectors(facts)) * global_share_of_l1(facts)
    shares["L1 fill"] = _share(wasted.l2, facts.value("l2_sectors_read"))
    shares["DRAM"] = _share(SECTOR_BYTES * wasted.dram, moved_bytes(facts))
    rows = wasted.stored or (_missed(facts) if wasted.l2 else 0.0)
    shares[DRAM_ROWS] = _share(rows, facts.value("dram_bytes_read") / SECTOR_BYTES - facts.value("l2_sectors_read"))
    shares[HOST_LINK] = wasted.link
    return {name: 1.0 - share for name, share in shares.items() if share > 0}


def uncoalesced(
    rule: str,
    verb: Literal["load", "store"],
    wasted: Wasted,
    facts: Facts,
    evidence: tuple[str, ...],
    stalls: tuple[str, ...],
    advice: str,
) -> Finding | None:
    """Return what wasted sectors of global loads or stores cost; None where that is too little to be said."""
    left = left_without(wasted, facts)
    saved = worth_saying(saved_ns(facts, left), facts)
    if not left or not saved:
        return None
    return Finding(
        rule=rule,
        message=needed_words(verb, facts),
        saved_ns=saved,
        evidence=evidence,
        relieves=tuple(left),
        left=left,
        waste="sectors_excessive",
        stalls=stalls,
        assumed=assumes_start(facts),
        advice=advice,
    )


def needed_words(verb: Literal["load", "store"], facts: Facts) -> str:
    """Return what the accesses touch and need, in words: of both kinds together where only that was counted."""
    if is_told_apart(verb, facts):
        touched = facts.value(f"sectors_per_request_{verb}")
        used = touched * facts.value(f"bytes_per_sector_{verb}")
        if 0 < used < SECTOR_BYTES:  # what was counted are bytes: of sectors one is needed, and not filled
            return f"a global {verb} touches {touched:.1f} sectors for {used:.0f} bytes, which fit in one"
        ideal = facts.value(f"sectors_per_request_{verb}_ideal")
        places = 1 if f"{touched:.1f}" != f"{ideal:.1f}" else 2  # what is told to differ does so in print
        return f"a global {verb} touches {touched:.{places}f} sectors where its bytes need {ideal:.{places}f}"
    times = facts.value("global_sectors_theoretical") / max(1.0, facts.value("global_sectors_ideal"))
    return (
        f"global loads and stores together touch {times:.1f} times the sectors that their bytes need; how many are of "
        f"{verb}s, the report does not tell"
    )


def is_told_apart(verb: Literal["load", "store"], facts: Facts) -> bool:
    """Return whether what loads or stores need was counted of them, and not of both together."""
    names = (*CATALOGUE[f"bytes_per_sector_{verb}"].names, f"{COUNTERS['sectors_ideal']}:{verb}")
    return all(any(name in table for name in names) for table in facts.combined.tables)


def l1_sectors(facts: Facts) -> float:
    """Return the sectors of global and local memory that were looked up in L1."""
    kinds = ("global_load", "global_store", "local_load", "local_store")
    return sum(facts.value(f"{kind}_sectors") for kind in kinds)


def global_share_of_l1(facts: Facts) -> float:
    """Return the share of the wavefronts of L1's data pipe that are not shared memory's, 0 to 1."""
    every = l1_wavefronts(facts)
    return 1.0 - _share(facts.value("shared_wavefronts"), every) if every else 0.0


def l1_wavefronts(facts: Facts) -> float:
    """Return all wavefronts of L1's data pipes; ncu's percentage is of one a cycle on each chip."""
    cycles = facts.value("sm_cycles_elapsed") * facts.value("sm_count")
    return facts.value("l1_data_pipe") / 100.0 * cycles


def passes_a_request(facts: Facts) -> float | None:
    """Return the wavefronts of L1's data pipes for each instruction that enters L1; None where that is not known.

    Shuffles are among both, with one each. The way in takes as many instructions a cycle as the LSU pipe.
    """
    busy, passed, a_cycle = facts.get("l1_requests_busy"), facts.get("l1_data_pipe"), lsu_a_cycle(facts)
    return passed / (busy * a_cycle) if busy and passed is not None and a_cycle else None


def cycles_a_wavefront(facts: Facts) -> float:
    """Return the cycles that a wavefront takes in L1's data pipe: 2 on Turing, 1 on others."""
    passed = facts.get("l1_data_pipe")
    return facts.value("l1_data_busy") / passed if passed else 1.0


def is_coalesced(facts: Facts) -> bool:
    """Return whether global loads touch hardly more sectors than their bytes need."""
    sectors = facts.value("global_load_sectors")
    return sectors > 0 and _ideal(facts, "load") >= COALESCED * sectors


def is_widest(verb: Literal["load", "store"], facts: Facts) -> bool:
    """Return whether lanes access 16 bytes at a time already, as many as they can."""
    return facts.value(f"sectors_per_request_{verb}_ideal") >= WIDEST


def come_by_copies(facts: Facts) -> bool:
    """Return whether bulk copies and TMA, which no counter of loads shows, bring most of what SMs read."""
    copied = facts.get("tma_load_bytes") or 0.0
    return copied > 0.0 and copied >= MOST_READ * SECTOR_BYTES * (facts.get("l2_sectors_read") or 0.0)


def _is_excessive(facts: Facts) -> bool:
    """Return whether global accesses touch more sectors than their bytes need; True where that was not counted."""
    excessive = facts.get("global_sectors_excessive")
    return excessive is None or excessive > 0


def _ideal(facts: Facts, verb: str) -> float:
    return facts.value(f"sectors_per_request_{verb}_ideal") * facts.value(f"global_{verb}_requests")


def _missed(facts: Facts) -> float:
    return facts.value("global_load_sectors") * (1.0 - facts.value("l1_hit_rate_load") / 100.0)


def _within(value: float, most: float) -> float:
    return min(max(0.0, value), most)


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0
