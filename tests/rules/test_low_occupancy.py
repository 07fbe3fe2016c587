"""low-occupancy: which limit is named, what more warps would save, and where more warps would not help."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings
from made_facts import gallery
from shape_facts import Counters, found, made, missing, of_case, saved_share, told, without

from ncu_assist.ceilings import Rate, Spread
from ncu_assist.ncu.catalogue.metrics import SM_LIMIT_NAMES
from ncu_assist.rules import low_occupancy
from ncu_assist.rules.model.shape import uncovered_part

WAITS: Counters = {
    "theoretical_warps": 16, "max_warps": 16, "block_size": 256, "grid_size": 1320, "sm_count": 132,
    "block_limit_registers": 2, "block_limit_shared_memory": 20, "block_limit_blocks": 32, "block_limit_warps": 8,
    "block_limit_barriers": 16, "shared_memory_dynamic": 4096, "shared_memory_static": 0, "dram_throughput": 10,
    "warps_long_scoreboard": 0, "issue_slots_busy": 5,
}  # fmt: skip
LIMITS = {
    "registers": "block_limit_registers",
    "shared": "block_limit_shared_memory",
    "blocks": "block_limit_blocks",
    "warps": "block_limit_warps",
    "barriers": "block_limit_barriers",
}


@pytest.mark.parametrize(("case", "limiter"), [("occupancy_registers", "registers"), ("occupancy_shared", "shared")])
def test_recorded_kernels_that_few_warps_fit(case: str, limiter: str) -> None:
    finding = found(low_occupancy, of_case(case))
    assert finding
    assert finding.detail == {"limiter": limiter}


def test_what_the_limit_costs_is_near_what_the_recorded_fix_achieved_which_has_none() -> None:
    facts = of_case("occupancy_registers")
    (ranked,) = told(low_occupancy, facts).findings
    whole = facts.duration_ns / (facts.duration_ns - ranked.finding.whole_ns)
    assert whole == pytest.approx(5.59, rel=0.2)
    assert f"; {whole:.2f}x if the fault were gone" in ranked.finding.full_advice


@pytest.mark.parametrize("limiter", LIMITS)
def test_the_scarcest_is_the_limiter(limiter: str) -> None:
    finding = found(low_occupancy, made(WAITS | {"block_limit_registers": 8, LIMITS[limiter]: 2}, long_scoreboard=90))
    assert finding
    assert finding.detail == {"limiter": limiter}


@pytest.mark.parametrize(
    ("limiter", "waves", "words"), [("registers", 9.0, ""), ("blocks", 0.9, ""), ("blocks", 9.0, "4.5 warps run")]
)
def test_a_limit_that_is_not_reached_is_not_the_reason(limiter: str, waves: float, words: str) -> None:
    """As in a kernel of short blocks, of which an SM is given the next later than it ends one."""
    values = WAITS | {"block_limit_registers": 8, LIMITS[limiter]: 2, "waves_per_sm": waves}
    reached = found(low_occupancy, made(values | {"achieved_warps": 14.0}, long_scoreboard=90))
    assert reached
    assert "16 of 64 warps fit" in reached.message
    finding = found(low_occupancy, made(values | {"achieved_warps": 4.5}, long_scoreboard=90))
    said = finding.message if finding else ""
    assert said.startswith(f"{words} on a multiprocessor where 16 fit: blocks of 256" if words else "")
    assert bool(said) == bool(words)


# All 64 warps fit, and half of them run: 50 waves of blocks, of which each place gets the next after 600 cycles.
SHORT = WAITS | {
    "theoretical_warps": 64, "block_limit_registers": 8, "grid_size": 50 * 8 * 132, "waves_per_sm": 50,
    "achieved_warps": 32, "sm_cycles_elapsed": 30_000, "sm_cycles_active": 30_000, "sm_cycles_active_max": 30_000,
}  # fmt: skip
# One block of 1,024 threads fits, and multiprocessors have none for 30 % of the time.
ALONE = SHORT | {
    "theoretical_warps": 32, "block_size": 1024, "grid_size": 50 * 132, "achieved_warps": 32, "block_limit_warps": 2,
    "block_limit_registers": 1, "sm_cycles_active": 21_000, "sm_cycles_active_max": 21_000, "max_warps": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "share"),
    [
        (SHORT, 0.8 * 0.475 / 0.975),
        # a block lives five times as long: 400 of 3,000 cycles are its start; the rest has another cause
        (SHORT | {key: 150_000 for key in SHORT if key.startswith("sm_cycles")}, 0.8 * (0.4 / 3) / (0.5 + 0.4 / 3)),
        (ALONE, 0.275),
        (SHORT | {"waves_per_sm": 9}, 0.0),
        (SHORT | {"achieved_warps": 62.5}, 0.0),
        (SHORT | {"l1_data_pipe": 73}, 0.0),
    ],
)
def test_places_that_are_empty_between_short_blocks_are_named(values: Counters, share: float) -> None:
    """Public reports: all warps fit, 45 % of them ran, or every multiprocessor was empty for 16 % of the time."""
    finding = low_occupancy.find(made(values, long_scoreboard=80))
    assert (finding.saved_ns / 100_000 if finding else 0.0) == pytest.approx(share)
    if finding:
        assert finding.detail == {"limiter": "short blocks"}
        assert ("smaller blocks" in finding.advice) == (values is ALONE)


def test_waits_shrink_by_the_warps_that_fit_then() -> None:
    share = saved_share(low_occupancy, made(WAITS, long_scoreboard=80))
    assert share == pytest.approx(0.8 * (1 - 16 / 64))


def test_the_next_limit_and_the_blocks_of_the_launch_end_the_gain() -> None:
    next_limit = saved_share(low_occupancy, made(WAITS | {"block_limit_shared_memory": 4}, long_scoreboard=80))
    few_blocks = saved_share(low_occupancy, made(WAITS | {"grid_size": 396}, long_scoreboard=80))
    assert next_limit == pytest.approx(0.8 * (1 - 16 / 32))
    assert few_blocks == pytest.approx(0.8 * (1 - 16 / 24))


def test_shared_memory_set_aside_for_nobody_is_no_limit() -> None:
    unused = WAITS | {"shared_memory_dynamic": 0, "block_limit_shared_memory": 2}
    finding = found(low_occupancy, made(unused, long_scoreboard=80))
    assert finding
    assert finding.detail == {"limiter": "registers"}
    assert finding.saved_ns == pytest.approx(80_000 * (1 - 16 / 64))


def test_equal_limits_of_one_warp_blocks_are_the_places_for_blocks() -> None:
    small = WAITS | {"block_size": 32, "theoretical_warps": 32, "grid_size": 8448, "shared_memory_dynamic": 0}
    small |= {"block_limit_registers": 64, "block_limit_warps": 64, "block_limit_barriers": 32}
    finding = found(low_occupancy, made(small | {"block_limit_shared_memory": 32}, long_scoreboard=90))
    assert finding
    assert finding.detail == {"limiter": "blocks"}
    assert finding.advice == "use larger blocks"


@pytest.mark.parametrize(("threads", "words"), [(1, "a single thread, so 31 of 32"), (24, "24 threads, so 8 of 32")])
def test_a_block_shorter_than_a_warp_is_told_to_have_whole_ones(threads: int, words: str) -> None:
    small = WAITS | {"block_size": threads, "theoretical_warps": 32, "grid_size": 8448, "shared_memory_dynamic": 0}
    small |= {"block_limit_registers": 64, "block_limit_warps": 64, "block_limit_barriers": 32}
    finding = found(low_occupancy, made(small | {"block_limit_shared_memory": 32}, long_scoreboard=90))
    assert finding
    assert finding.advice == f"use larger blocks, of whole warps: a block is {words} lanes are idle"


def test_the_estimate_is_of_the_change_that_is_named_not_of_all_that_the_limit_costs() -> None:
    """169 registers in blocks of 256: the 16 warps of the advice win what the model gives for 16, not for 64."""
    facts = gallery("occupancy_registers")
    (ranked,) = told(low_occupancy, facts).findings
    finding = ranked.finding
    threads, now = facts.value("block_size"), facts.value("theoretical_warps")
    assert f"__launch_bounds__({threads:.0f}, {16 * 32 / threads:.0f})" in finding.advice
    assert finding.saved_ns / finding.whole_ns == pytest.approx((1 - now / 16) / (1 - now / 64))
    said = f"16 warps fit with 128 registers, 8 with 169: {ranked.estimated_speedup:.2f}x if none spills"
    assert finding.figures.startswith(said)
    assert finding.message.endswith("; 16 with the next step, 64 without that limit")


def test_blocks_of_one_warp_ask_for_as_many_as_fit_with_the_registers_of_the_step() -> None:
    """Registers go to warps in fours: with 168 of them 12 warps fit, not only the ninth."""
    counted: Counters = {"block_size": 32, "registers": 212, "block_limit_registers": 8, "block_limit_warps": 64}
    finding = low_occupancy.find(gallery("occupancy_registers", **counted, shared_memory_static=1024, grid_size=8448))
    assert finding is not None
    assert finding.advice.startswith("give it __launch_bounds__(32, 12) or ")
    assert finding.figures.startswith("12 warps fit with 168 registers, 8 with 212: ")


def test_less_shared_memory_is_named_by_the_next_step_and_larger_blocks_where_warps_share_it() -> None:
    """Two blocks of 96 KiB: a third fits with 75 KiB. Warps that meet at no barrier have a part of it each."""
    (alone,) = told(low_occupancy, gallery("occupancy_shared")).findings
    assert gallery("occupancy_shared").get("barriers") == 0
    assert alone.finding.advice == low_occupancy.TRY["shared"]
    assert alone.finding.figures.startswith("12 warps fit with 76800 bytes of shared memory, 8 with 98304: 1.48x; ")
    (shared,) = told(low_occupancy, gallery("occupancy_shared", barriers=1)).findings
    assert shared.finding.advice == f"{low_occupancy.TRY['shared']}, or blocks of 1024 threads that share it"
    assert f"; 64 with 1024 threads, now 128: {shared.estimated_speedup:.2f}x" in shared.finding.figures
    assert shared.estimated_speedup > 4 * alone.estimated_speedup
    assert shared.finding.whole_ns == pytest.approx(alone.finding.whole_ns)


def test_the_smallest_block_is_named_that_wins_all_that_other_units_leave() -> None:
    """At 60 % of its peak the ALU has a third of the time left: that takes fewer warps than there are places."""
    finding = low_occupancy.find(gallery("occupancy_shared", barriers=1, pipe_alu=59.0))
    assert finding is not None
    size = int(finding.advice.partition("blocks of ")[2].split()[0])
    assert 128 < size < 1024
    assert finding.saved_ns == pytest.approx(finding.whole_ns)


def test_two_limits_that_are_as_tight_are_lifted_together() -> None:
    """Neither fewer registers nor less shared memory alone lets another block in."""
    both: Counters = {"registers": 255, "shared_memory": 99_328, "shared_memory_dynamic": 98_304, "block_size": 128,
                      "block_limit_registers": 2, "block_limit_shared_memory": 2}  # fmt: skip
    finding = low_occupancy.find(gallery("occupancy_registers", **both))
    assert finding is not None
    assert "limited by registers and shared memory" in finding.message
    assert finding.advice.startswith("give it __launch_bounds__(128, 3) and use less shared memory, or ")
    figures = "12 warps fit with 168 registers and 76800 bytes of shared memory, 8 with 255 and 98304: "
    assert finding.figures.startswith(figures)


def test_a_block_of_all_places_is_not_told_to_share_them_with_another() -> None:
    """On 8.6 an SM has places for 48 warps: no second block of 32 fits, with however few registers."""
    places: Counters = {"block_size": 1024, "registers": 40, "theoretical_warps": 32, "achieved_warps": 30,
                        "block_limit_registers": 1,
                        "block_limit_warps": 1}  # fmt: skip
    names = dict(zip(SM_LIMIT_NAMES, (48.0, 16.0, 65_536.0, 102_400.0, 101_376.0, 1024.0), strict=True))
    facts = gallery("occupancy_registers", **places)
    tables = tuple({**table, **names} for table in facts.combined.tables)
    facts = replace(facts, combined=replace(facts.combined, tables=tables))
    finding = low_occupancy.find(facts)
    assert finding is not None
    assert finding.advice == "use blocks of 512 threads"
    assert finding.figures.startswith("48 warps fit with 512 threads, 32 with 1024: ")


def test_smaller_blocks_come_first_where_they_fill_what_registers_leave() -> None:
    """134 registers a thread: one block of 256 on 65,536 registers, or three of 128; not with a tile."""
    counted: Counters = {"block_size": 256, "registers": 134, "theoretical_warps": 8, "block_limit_registers": 1}
    alone = low_occupancy.find(gallery("occupancy_registers", **counted))
    assert alone is not None
    assert alone.advice.startswith("use blocks of 128 threads, give it __launch_bounds__(256, 2), or ")
    assert alone.figures.startswith("12 warps fit with 128 threads, 8 with 256: ")
    tiled = low_occupancy.find(gallery("occupancy_registers", **counted, shared_memory_static=1024))
    assert tiled is not None
    assert tiled.advice.startswith("give it __launch_bounds__(256, 2) or ")


def test_without_warp_states_it_says_that_schedulers_rested() -> None:
    told = low_occupancy.find(made(WAITS))
    assert told is not None
    assert "schedulers issue nothing in 95 % of the cycles in which they have warps" in told.message


@pytest.mark.parametrize(
    "changes",
    [
        {"theoretical_warps": 64, "block_limit_registers": 8},  # full
        {"grid_size": 200},  # no blocks for more: grid-underfill
        {"dram_throughput": 85},  # something takes the time: no latency problem
        {"issue_slots_busy": 51, "sm_cycles_active": 70, "sm_cycles_elapsed": 100},  # busy while SMs had work
        {"l1_data_pipe": 73},  # where nobody measured what that pipe reaches
        {"memory_throughput": 73, "l1_data_pipe": 40},  # a part of the memory that has no counter of its own
        {"tma_load_bytes": 6e6, "l2_sectors_read": 3e5},  # bulk copies bring it: stages are missing
    ],
)
def test_silent_where_more_warps_would_not_help(changes: Counters) -> None:
    assert found(low_occupancy, made(WAITS | changes, long_scoreboard=90)) is None


@pytest.mark.parametrize(("busy", "part"), [(59.9, 1.0), (60.0, 1.0), (66.0, 0.5), (71.9, 0.01), (72.1, 0.0)])
def test_two_launches_that_hardly_differ_are_not_told_different_causes(busy: float, part: float) -> None:
    """A public kernel at 59.8 and 60.3 % of L1: from 60 to 72 % warps queue more and more, and others win less."""
    facts = made(WAITS | {"l1_data_pipe": busy}, long_scoreboard=20)
    assert uncovered_part(facts) == pytest.approx(part, abs=0.005)
    waits = low_occupancy.find(made(WAITS, long_scoreboard=20))
    queues = low_occupancy.find(facts)
    assert waits is not None
    assert (queues.saved_ns if queues else 0.0) == pytest.approx(waits.saved_ns * part, abs=0.02 * 100_000)


def test_a_launch_of_what_fits_at_once_has_more_blocks_where_more_fit() -> None:
    """Blocks that loop over their work: as many as have room. Neither their number nor the grid is another limit."""
    assert saved_share(low_occupancy, made(WAITS | {"grid_size": 264}, long_scoreboard=80)) == pytest.approx(0.6)


def test_a_unit_at_sixty_percent_is_no_limit_where_it_reaches_all_of_its_peak() -> None:
    """Conflicts keep the data pipe of L1 busy for 61 % of the time; a loop of nothing else does for 99 %."""
    spread = Spread(1e-3, 1e-3, 1e-3, 2)
    whole = Rate("shared", "wavefronts", "inst", "ncu", spread, 1e12, 0.99, 99.0, "made_up", 1500.0)
    busy = made(WAITS | {"l1_data_pipe": 61, "memory_throughput": 61}, long_scoreboard=80)
    finding = found(low_occupancy, replace(busy, ceilings=replace(ceilings(), rates=(whole,))))
    assert finding
    assert finding.saved_ns == pytest.approx((1 - 61 / 90) * 100_000)


def test_silent_where_warps_do_not_wait_for_what_others_could_cover() -> None:
    assert found(low_occupancy, made(WAITS, mio_throttle=60, barrier=35)) is None


def test_silent_at_the_ceiling_of_dram() -> None:
    assert found(low_occupancy, of_case("occupancy_low_at_ceiling")) is None


def test_launches_of_several_shapes_are_not_mixed() -> None:
    full = WAITS | {"theoretical_warps": 64, "block_limit_registers": 8}
    facts = made(full, WAITS, long_scoreboard=80)
    first, second = facts.combined.launches
    apart = replace(facts, combined=replace(facts.combined, launches=(first, replace(second, grid=(9, 1, 1)))))
    finding = found(low_occupancy, apart)
    assert finding
    assert finding.saved_ns == pytest.approx(80_000 * (1 - 16 / 64))


def test_says_what_it_lacks() -> None:
    facts = without(made(WAITS, long_scoreboard=80), "block_limit_registers")
    assert missing(low_occupancy, facts) == ("block_limit_registers",)


def test_nobody_who_spills_is_told_to_use_fewer_registers() -> None:
    spilling = {"local_load_requests": 1e7, "local_store_requests": 1e7, "local_spilling_requests": 2e7}
    sectors = {"local_load_sectors": 4e8, "local_store_sectors": 4e8}
    told = low_occupancy.find(gallery("occupancy_registers", **spilling, **sectors))
    assert told is not None
    assert told.message.endswith(low_occupancy.SPILLING)
    assert "__launch_bounds__" not in told.advice
    full = {"registers": 255.0, **spilling, **sectors}  # not counted apart, and a thread has all that it can have
    told = low_occupancy.find(gallery("occupancy_registers", without=("local_spilling_requests",), **full))
    assert told is not None
    assert told.message.endswith(low_occupancy.SPILLING)
    for facts in (gallery("occupancy_registers"), gallery("occupancy_registers", without=("local_spilling_requests",))):
        told = low_occupancy.find(facts)
        assert told is not None
        assert "__launch_bounds__" in told.advice


def test_issue_slots_that_were_not_counted_are_at_most_what_the_sm_did() -> None:
    """Of what ncu prints by default: no warp states, no issue slots, the throughput of the SM."""
    bare = {key: value for key, value in WAITS.items() if key not in ("issue_slots_busy", "warps_long_scoreboard")}
    finding = found(low_occupancy, made(bare | {"sm_throughput": 40.0, "memory_throughput": 10.0}))
    assert finding
    assert "schedulers issue nothing in at least 60 % of the cycles" in finding.message
    assert finding.assumed
    assert found(low_occupancy, made(bare | {"memory_throughput": 10.0})) is None
