"""Pipes at their limit: which, and what leaving it could win."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest
from factories import DEVICE, STALL
from made_facts import gallery, made, told

from ncu_assist.frame import combine_launches
from ncu_assist.record import Device
from ncu_assist.rules import Facts, pipe_bound
from ncu_assist.rules.model.savings import START_NS

H200 = DEVICE
IDLE = {
    "sm_active_share": 100.0,
    "sm_cycles_elapsed": 200_000.0,
    "sm_count": 132.0,
    "issue_slots_busy": 30.0,
    "pipe_fma": 5.0,
    "pipe_alu": 5.0,
    "pipe_xu": 0.0,
    "pipe_lsu": 1.0,
}


def busy(**values: float) -> Facts:
    """Return an SM that is active all the time, otherwise idle, on an H200."""
    kept = {**IDLE, **values}
    active = {"sm_cycles_active": 200_000.0}
    facts = made(**{key: value for key, value in kept.items() if key != "sm_active_share"}, **active)
    return Facts(facts.combined, H200)


@pytest.mark.parametrize(
    ("case", "pipe"), [("pipe_fma_unfused", "fma"), ("pipe_lsu_shuffles", "lsu"), ("pipe_issue_angles", "issue")]
)
def test_names_the_pipe(case: str, pipe: str) -> None:
    found = pipe_bound.find(gallery(case))
    assert found is not None
    assert found.detail == {"pipe": pipe}


def test_the_message_has_the_share_that_the_evidence_has() -> None:
    found = pipe_bound.find(busy(pipe_xu=95.0, sm_cycles_elapsed=250_000.0))  # SMs are active for 80 % of the time
    assert found is not None
    assert "95 % busy while SMs are active" in found.message


def test_fusing_saves_the_sums_that_have_a_product() -> None:
    # the repaired kernel took 81.25 µs instead of 141.4: the estimate must be near
    (ranked,) = told(pipe_bound, gallery("pipe_fma_unfused")).findings
    assert ranked.estimated_speedup == pytest.approx(141.4 / 81.25, rel=0.15)


def test_doubles_cost_the_ratio_of_the_rates() -> None:
    found = pipe_bound.find(busy(pipe_fp64=90.0))
    assert found is not None
    assert found.detail == {"pipe": "fp64"}
    assert found.saved_ns == pytest.approx(0.9 * 0.5 * 100_000)


def test_integer_division_goes_by_conversions_without_floats() -> None:
    found = pipe_bound.find(busy(pipe_xu=90.0))
    assert found is not None
    assert "division" in found.message
    sines = pipe_bound.find(busy(pipe_xu=90.0, fp32_mul_per_cycle=132 * 16 * 0.9))
    assert sines is not None
    assert "special functions" in sines.message
    assert sines.saved_ns < found.saved_ns


def test_conversions_between_floats_and_doubles_go_with_the_doubles() -> None:
    found = pipe_bound.find(busy(pipe_xu=89.0, pipe_fp64=15.0, fp64_mul_per_cycle=500.0, fp64_add_per_cycle=500.0))
    assert found is not None
    assert "conversions between floats and doubles" in found.message
    assert "constants with an f" in found.advice
    functions = pipe_bound.find(busy(pipe_xu=89.0, fp32_mul_per_cycle=4000.0))
    assert functions is not None
    assert found.saved_ns == pytest.approx(2 * functions.saved_ns)


def test_the_alu_could_share_with_the_fma_pipe() -> None:
    found = pipe_bound.find(busy(pipe_alu=95.0, pipe_fma=15.0))
    assert found is not None
    assert found.detail == {"pipe": "alu"}
    assert found.saved_ns == pytest.approx(0.4 * 100_000)


def test_the_alu_is_left_alone_where_the_fma_pipe_has_its_part_of_the_integers() -> None:
    """Instructions of the heavy half alone: 0.5 of the time more than both halves are busy, half of one a cycle."""
    heavy = 2 * (0.55 - 0.3) * 4 * 0.5 * 200_000 * 132
    shared = {"pipe_alu": 98.0, "pipe_fma": 30.0, "pipe_fma_heavy": 55.0, "issue_slots_busy": 60.0}
    assert pipe_bound.find(busy(**shared, instructions=heavy / 0.3)) is None
    found = pipe_bound.find(busy(**shared, instructions=heavy / 0.2))
    assert found is not None
    assert found.detail == {"pipe": "alu"}


def test_integer_multiplications_fill_the_fma_pipe() -> None:
    found = pipe_bound.find(busy(pipe_fma=90.0, fp32_fma_per_cycle=0.0))
    assert found is not None
    assert found.detail == {"pipe": "fma"}
    assert "one instruction" not in found.advice  # that is for products and sums of floats
    floats = busy(pipe_fma=90.0, fp32_fma_per_cycle=132 * 128 * 0.9)
    assert pipe_bound.find(floats) is None
    assert pipe_bound.find(busy(pipe_fma=90.0)) is None, "whether it multiplies integers was not counted"


@pytest.mark.parametrize("case", ["pipe_half_busy_beside_dram", "pipe_fma_unfused_fix", "healthy_float_product"])
def test_says_nothing_of_pipes_that_do_not_bind_or_do_the_work(case: str) -> None:
    assert pipe_bound.find(gallery(case)) is None


def test_a_busy_lsu_that_loads_is_not_its_business() -> None:
    loads = 0.9 * 200_000 * 132
    assert pipe_bound.find(busy(pipe_lsu=90.0, shared_load_instructions=loads)) is None


def loads_of(width: float) -> dict[str, float]:
    """Return a million coalesced loads of so many bytes a lane."""
    return {"bytes_per_sector_load": 32.0, "global_load_sectors": width * 1e6, "global_load_requests": 1e6}


MIXED = {"issue_slots_busy": 90.0, "pipe_fma": 45.0, "pipe_alu": 50.0, "pipe_xu": 40.0, "pipe_lsu": 25.0}


def test_a_mix_of_instructions_fills_the_issue_slots_and_no_pipe() -> None:
    (ranked,) = told(pipe_bound, busy(**MIXED, sm_cycles_elapsed=210_000.0)).findings
    assert ranked.finding.detail == {"pipe": "issue"}
    assert "95 % of the issue slots" in ranked.finding.message  # while SMs are active, for 95 % of the time
    assert "ALU pipe is busiest, 50 %" in ranked.finding.message
    assert ranked.saved_ns == pytest.approx(0.9 / 2 * 100_000)
    assert ranked.finding.advice.endswith(pipe_bound.WIDER)


def test_who_accesses_16_bytes_already_is_not_told_to() -> None:
    widest = {"global_store_requests": 1e3, "global_store_sectors": 16e3, "bytes_per_sector_store": 32.0}
    (ranked,) = told(pipe_bound, busy(**MIXED, **widest, sm_cycles_elapsed=210_000.0)).findings
    assert ranked.finding.advice == pipe_bound.ADVICE["issue"]


@pytest.mark.parametrize(("accesses", "is_told"), [(1e3, False), (1e5, True)])
def test_wider_accesses_are_advised_where_accesses_are_some_of_the_instructions(accesses: float, is_told: bool) -> None:
    found = pipe_bound.find(busy(**MIXED, instructions=1e6, global_load_instructions=accesses))
    assert found is not None
    assert ("16 bytes" in found.advice) == is_told


def test_fewer_instructions_leave_memory_the_work_it_has() -> None:
    (ranked,) = told(pipe_bound, busy(**MIXED, l2_data_busy=0.9 * 70.0)).findings
    assert ranked.saved_ns == pytest.approx(0.3 * 100_000 - START_NS)  # a kernel has to start beside it


def test_idle_lanes_are_not_counted_twice() -> None:
    found = pipe_bound.find(busy(**MIXED, threads_per_instruction=16.0))
    assert found is not None
    assert found.saved_ns == pytest.approx(0.9 / 4 * 100_000)


@pytest.mark.parametrize(
    "changed",
    [
        {"issue_slots_busy": 71.0},
        {"pipe_fma": 62.0, "fp32_fma_per_cycle": 132 * 128 * 0.62},  # multiply-adds are what queues
        {"l2_data_busy": 91.0},  # nearer to its limit than the issue slots
        {"pipe_lsu": 75.0},  # full itself
    ],
)
def test_issue_slots_are_not_the_limit_beside_another(changed: dict[str, float]) -> None:
    assert pipe_bound.find(busy(**MIXED)) is not None
    assert pipe_bound.find(busy(**{**MIXED, **changed})) is None


def test_a_full_pipe_is_full_also_where_most_of_the_time_sms_rest() -> None:
    """A last wave that leaves most SMs idle: products fill slots and FMA pipe while there is work, as they should."""
    assert gallery("tail_one_wave_and_eight").value("sm_active_share") < 70
    assert pipe_bound.find(gallery("tail_one_wave_and_eight")) is None


def test_without_pipes_it_cannot_answer() -> None:
    (silent,) = told(pipe_bound, made(pipe_fma=90.0)).unanswered
    assert silent.missing == pipe_bound.NEEDS


def test_what_one_pipe_lacks_does_not_silence_the_others() -> None:
    found = pipe_bound.find(gallery("pipe_fma_unfused", without=("pipe_xu", "pipe_lsu")))
    assert found is not None
    assert found.detail == {"pipe": "fma"}


def test_a_busy_lsu_of_which_nobody_counted_what_it_does_is_not_said_to_shuffle() -> None:
    counted = {"global_load_instructions": 0.0, "shared_load_instructions": 0.0}
    assert pipe_bound.find(busy(pipe_lsu=95.0, **counted)) is not None
    assert pipe_bound.find(busy(pipe_lsu=95.0)) is None


def test_accesses_that_no_lane_takes_part_in_are_no_shuffles() -> None:
    """A tree of sums in shared memory: most of its loads and stores are switched off by a predicate."""
    counted = {"global_load_instructions": 0.0, "shared_load_instructions": 0.0, "instructions": 6e7}
    tree = {"threads_per_instruction": 32.0, "threads_per_instruction_predicated": 20.0}
    assert pipe_bound.find(busy(pipe_lsu=95.0, **counted)) is not None
    assert pipe_bound.find(busy(pipe_lsu=95.0, **counted, **tree)) is None


@pytest.mark.parametrize(("capability", "is_known"), [("8.0", True), ("8.6", False), ("8.9", False), ("7.5", False)])
def test_half_as_many_units_do_half_as_many_instructions_in_a_cycle(capability: str, is_known: bool) -> None:
    """What keeps the LSU of such a chip busy may all be loads: where a cycle has half an instruction."""
    cycles, count, share = 250_000.0, 84.0, 0.9
    loads = {"global_load_instructions": 0.49 * share * 0.8 * cycles * count, "shared_load_instructions": 0.0}
    facts = busy(pipe_lsu=100 * share, sm_count=count, sm_cycles_elapsed=cycles, **loads)
    chip = replace(facts, device=Device("GPU", "", capability, 84, 50 << 20, None, None), ceilings=None)
    assert (pipe_bound.find(chip) is not None) == is_known


STORED: dict[str, float] = dict.fromkeys(pipe_bound.STORES, 0.0)


@pytest.mark.parametrize(
    ("stores", "is_said"),
    [
        ({"global_store_instructions": 40.0}, True),
        ({"global_store_instructions": 40.0, "shared_store_instructions": 500.0}, False),  # sums of a block
        ({"global_reductions": 900.0}, False),
        ({}, False),  # whatever its results are, they leave it by another way
        ({"global_store_instructions": 40.0, "tma_stores": 10.0}, False),
    ],
)
def test_a_grid_larger_than_the_work_is_told_by_warps_that_store_nothing(
    stores: dict[str, float], is_said: bool
) -> None:
    """A public kernel: 306 million threads, of which one in twenty has an element to write."""
    found = pipe_bound.find(busy(pipe_adu=95.0, threads=32_000.0, **STORED | stores))
    assert found is not None
    said = "96 % of the warps store nothing: if they have no work, launch fewer threads; else use fewer branches"
    assert found.advice.startswith(said) == is_said


def with_stalls(facts: Facts, **stalls: float) -> Facts:
    by_name = {STALL.format(reason): share for reason, share in stalls.items()}
    tables = [{**table, **by_name, STALL.format("selected"): 1.0} for table in facts.combined.tables]
    return replace(facts, combined=combine_launches(None, facts.combined.launches, tables))


@pytest.mark.parametrize(
    ("pipe", "reason", "share"), [("adu", "mio_throttle", 65.0), ("alu", "math_pipe_throttle", 65.0)]
)
def test_a_pipe_that_warps_wait_for_most_binds_from_sixty_percent_on(pipe: str, reason: str, share: float) -> None:
    quiet = busy(**{f"pipe_{pipe}": share})
    assert pipe_bound.find(with_stalls(quiet, long_scoreboard=90.0)) is None
    found = pipe_bound.find(with_stalls(quiet, **{reason: 90.0}))
    assert found is not None
    assert found.detail == {"pipe": pipe}


# Divisions of 64 bits: products of integers keep one half of the FMA pipe busy, which is less than half of both.
DIVIDED = {"issue_slots_busy": 57.0, "pipe_fma": 38.0, "pipe_fma_heavy": 74.0, "pipe_alu": 51.0, "instructions": 6e7}


def test_what_idle_lanes_cost_is_not_the_pipes() -> None:
    full, half = (pipe_bound.find(busy(pipe_alu=90.0, threads_per_instruction=lanes)) for lanes in (32.0, 16.0))
    assert full is not None
    assert half is not None
    assert half.detail == {"pipe": "alu"}
    assert half.saved_ns == pytest.approx(full.saved_ns / 2)


def test_products_of_integers_have_half_of_the_pipe() -> None:
    found = pipe_bound.find(busy(**DIVIDED))
    assert found is not None
    assert found.detail == {"pipe": "fma_heavy"}
    assert found.saved_ns == pytest.approx(0.75 * 74_000.0)  # four elements share one


def test_half_of_the_counts_of_bits_go_and_their_adders_come() -> None:
    """0.47 of 94 %, 7.52 counts a cycle; 2.5 operations for each, 18.8 of 64 a cycle, beside what the ALU has."""
    counts = {"pipe_xu": 94.0, "pipe_fma": 4.6, "pipe_fma_heavy": 9.2, "instructions": 6e7}
    for alu, saved in (10.0, 0.47), (40.0, 1.0 - (0.40 + 18.8 / 64) / 0.9):
        found = pipe_bound.find(busy(**counts, pipe_alu=alu))
        assert found is not None
        assert found.saved_ns == pytest.approx(saved * 100_000, rel=1e-3), alu


def test_constants_that_are_shared_leave_the_issue_slots_the_rest() -> None:
    """The ADU at 96 %: 0.36 of its 0.48 instructions a cycle go, 9 points of the 60 of the issue slots."""
    found = pipe_bound.find(busy(pipe_adu=96.0, issue_slots_busy=54.0))
    assert found is not None
    assert found.detail == {"pipe": "adu"}
    assert found.saved_ns == pytest.approx((1.0 - (54.0 / 0.9 / 100 - 0.75 * 0.96 * 0.5 / 4)) * 100_000, rel=1e-3)


@pytest.mark.parametrize(("ready", "named"), [(60.0, True), (40.0, False)])
def test_doubles_that_ready_warps_queue_for_are_named_below_their_threshold(ready: float, named: bool) -> None:
    stalls = {"not_selected": ready / 2, "math_pipe_throttle": ready / 2, "wait": 100.0 - ready}
    keys = {f"warps_{reason}": share for reason, share in stalls.items()}
    found = pipe_bound.find(busy(pipe_fp64_cycles=59.0, pipe_fp64=59.0, issue_slots_busy=40.0, **keys))
    assert (found is not None and found.detail == {"pipe": "fp64"}) is named


@pytest.mark.parametrize("changed", [{"pipe_fma": 74.0}, {"pipe_fma_heavy": 55.0}])
def test_floats_that_go_to_both_halves_and_a_half_that_rests_are_not_named(changed: dict[str, float]) -> None:
    found = pipe_bound.find(busy(**{**DIVIDED, **changed}))
    assert found is None or found.detail["pipe"] != "fma_heavy"


@pytest.mark.parametrize(("heavy", "words"), [(4.6 * 2, "counts of bits"), (60.0, "integer divisions, 17")])
def test_divisions_have_products_beside_their_conversions_and_counts_of_bits_have_not(heavy: float, words: str) -> None:
    found = pipe_bound.find(busy(pipe_xu=94.0, pipe_fma=heavy / 2, pipe_fma_heavy=heavy, instructions=6e7))
    assert found is not None
    assert words in found.message


def test_a_division_of_64_bits_leaves_14_of_its_44_products() -> None:
    """38.0 million instructions of products, 2.48 of conversions: 0.827 million divisions, each 30 products less."""
    divided = busy(**DIVIDED, pipe_xu=18.8)
    found = pipe_bound.find(divided)
    assert found is not None
    assert "75 instructions each where a product with a reciprocal takes 20" in found.message
    assert found.saved_ns == pytest.approx(0.57 * 30 * 0.827e6 / 38.0e6 * 100_000, rel=0.01)
    hashed = pipe_bound.find(busy(**DIVIDED, pipe_xu=18.8, fp32_fma_per_cycle=132 * 32.0))  # so the XU works for floats
    assert hashed is not None
    assert "among them" in hashed.message


def test_a_routine_to_the_last_bit_leaves_its_function_and_a_product() -> None:
    """Two branches a special function: exact divisions. Without branches the same floats are the work itself."""
    each = {"issue_slots_busy": 90.0, "pipe_xu": 25.0, "instructions": 9.5e7, "fp32_fma_per_cycle": 132 * 32 * 0.8}
    functions = 0.25 * 0.5 * 200_000 * 132  # warps' instructions: 16 lanes a cycle
    exact = pipe_bound.find(busy(**each, branches=2.0 * functions))
    plain = pipe_bound.find(busy(**each, branches=0.0))
    assert exact is not None
    assert plain is not None
    assert "reciprocals" in exact.advice
    assert "`__fdividef`" in exact.advice
    assert "`-prec-div=false -prec-sqrt=false`" in exact.advice
    assert "exact divisions" not in plain.advice
    spared = (5 - 1) * functions / 9.5e7  # products and sums inside, but one; the function stays
    assert exact.saved_ns - plain.saved_ns == pytest.approx(0.9 * spared * 100_000)


def test_addresses_and_loops_can_be_spared_and_products_not() -> None:
    every, cycles = 9.5e7, 200_000
    floats = {"fp32_fma_per_cycle": 32 * 0.5 * every / cycles}
    facts = busy(
        issue_slots_busy=90.0, pipe_fma=45.0, instructions=every, shared_load_instructions=0.2 * every, **floats
    )
    found = pipe_bound.find(facts)
    assert found is not None
    assert found.saved_ns == pytest.approx(0.9 * (1 - 0.5 - 0.2) * 100_000)
    assert not found.assumed


@pytest.mark.parametrize("counted", [{}, {f"fp32_{one}_per_cycle": 0.0 for one in ("add", "mul", "fma")}])
def test_where_no_work_on_floats_is_known_half_is_assumed(counted: dict[str, float]) -> None:
    """Public reports of the basic set have no counts of floats: a gain of 1.93x was a guess, and did not say so."""
    found = pipe_bound.find(busy(issue_slots_busy=90.0, pipe_fma=45.0, instructions=9.5e7, **counted))
    assert found is not None
    assert found.saved_ns == pytest.approx(0.9 * 0.5 * 100_000)
    assert found.assumed


def test_halves_made_floats_are_conversions() -> None:
    """`HADD2.F32` stands before each product of floats: no sum of the work."""
    every, cycles = 9.5e7, 200_000
    a_cycle = 32 * 0.3 * every / cycles
    facts = busy(
        issue_slots_busy=90.0, instructions=every, fp32_fma_per_cycle=a_cycle, fp16_add_per_cycle=0.9 * a_cycle
    )
    found = pipe_bound.find(facts)
    assert found is not None
    assert found.saved_ns == pytest.approx(0.9 * 0.7 * 100_000)


def test_doubles_that_are_the_data_are_no_choice() -> None:
    wide = {"pipe_fp64": 90.0, **loads_of(8.0)}
    assert pipe_bound.find(busy(**wide)) is None
    converted = 0.5 * 200_000 * 132 / 1e6  # instructions of the XU pipe, at all of it, over the loads
    floats = pipe_bound.find(busy(**wide, pipe_xu=100.0 * 2 / converted))  # two floats a lane and load
    assert floats is not None
    assert floats.detail == {"pipe": "fp64"}
    assert pipe_bound.find(replace(busy(pipe_fp64=90.0), dtype="float64")) is None


def test_doubles_between_floats_are_no_choice_where_kernel_toml_says_so() -> None:
    """No counter tells a sum that needs doubles from one that does not; who wrote the kernel knows."""
    unknown = pipe_bound.find(busy(pipe_fp64=90.0))
    declared = replace(busy(pipe_fp64=90.0), dtype="float32", work={"fma": 1_000})
    choice = pipe_bound.find(declared)
    assert unknown is not None
    assert choice is not None
    assert unknown.saved_ns == choice.saved_ns
    assert (unknown.assumed, choice.assumed) == (True, False)
    assert 'math = "fp64"' in choice.message
    assert pipe_bound.find(replace(declared, work={"fp64": 1_000})) is None
    converting = busy(pipe_xu=89.0, pipe_fp64=15.0, fp64_mul_per_cycle=500.0, fp64_add_per_cycle=500.0)
    functions = pipe_bound.find(replace(converting, work={"fp64": 1_000}))
    assert functions is not None
    assert "constants with an f" not in functions.advice


def test_divisions_of_doubles_are_told() -> None:
    """`doubles_divided_each_step` without its name: eight operations, a function and two branches a division."""
    functions = 0.25 * 0.5 * 200_000 * 132
    doubles = {"fp64_fma_per_cycle": 8.5 * 32 * functions / 200_000, "pipe_fp64": 60.0}
    found = pipe_bound.find(busy(**doubles, pipe_xu=25.0, branches=2 * functions, instructions=17 * functions))
    assert found is not None
    assert "divisions and roots of doubles" in found.message
    assert found.advice.endswith("reciprocals worked out once, or divide floats where their precision does")
    assert "reciprocals" in found.advice


@pytest.mark.parametrize(("width", "part"), [(4.0, 0.75), (8.0, 0.5), (16.0, 0.5)])
def test_elements_share_by_the_width_of_an_access(width: float, part: float) -> None:
    found = pipe_bound.find(busy(pipe_adu=90.0, **loads_of(width)))
    assert found is not None
    assert found.saved_ns == pytest.approx(0.9 * part * 100_000)


def test_barriers_in_the_adu_pipe_are_left_to_their_own_rule() -> None:
    facts = busy(pipe_adu=90.0)
    assert pipe_bound.find(facts) is not None
    table = {**facts.combined.tables[0], STALL.format("barrier"): 9.0, STALL.format("selected"): 1.0}
    waiting = replace(facts, combined=combine_launches("small", facts.combined.launches, [table]))
    assert pipe_bound.find(waiting) is None


def test_what_a_compiler_fused_leaves_no_pairs() -> None:
    """Sums and products beside as many fused ones: the compiler may fuse, and these have no partner."""
    apart = {"pipe_fma": 90.0, "fp32_add_per_cycle": 5000.0, "fp32_mul_per_cycle": 5000.0}
    assert pipe_bound.find(busy(**apart, fp32_fma_per_cycle=100.0)) is not None
    assert pipe_bound.find(busy(**apart, fp32_fma_per_cycle=5000.0)) is None


@pytest.mark.parametrize(("needed", "named"), [(0.8, False), (0.7, True)])
def test_the_overhead_of_a_good_loop_is_not_named(needed: float, named: bool) -> None:
    every, cycles = 9.5e7, 200_000
    floats = {"fp32_add_per_cycle": 32 * needed * every / cycles}
    assert (pipe_bound.find(busy(issue_slots_busy=90.0, instructions=every, **floats)) is not None) is named


def test_products_of_integers_that_are_all_the_work_are_no_fault() -> None:
    """A generator of random numbers: nine of ten instructions are products, and the pipe is at its limit."""
    every = 2 * 2 * (0.92 - 0.5) * 0.5 * 4 * 200_000 * 132 / 2  # of warps: what the heavy half does beyond the other
    pure = {"issue_slots_busy": 57.0, "pipe_fma": 50.0, "pipe_fma_heavy": 92.0, "pipe_alu": 50.0}
    assert pipe_bound.find(busy(**pure, instructions=every / 0.9)) is None
    mixed = pipe_bound.find(busy(**pure, instructions=every / 0.6))
    assert mixed is not None
    assert mixed.detail == {"pipe": "fma_heavy"}


def test_without_conversions_the_operations_stay() -> None:
    """Of four instructions one converts: the others are issued as before, and take 60 % of what the slots can do."""
    counts = {"pipe_xu": 90.0, "pipe_fp64": 40.0, "fp64_mul_per_cycle": 500.0, "fp64_add_per_cycle": 500.0}
    conversions = 0.9 * 0.5 * 200_000 * 132
    found = pipe_bound.find(busy(**counts, issue_slots_busy=72.0, instructions=4 * conversions))
    assert found is not None
    assert found.saved_ns == pytest.approx((1 - 0.75 * 0.72 / 0.9) * 100_000)


class TestOperationsDoneAgain:
    """As a scan by doubling offsets has them: eleven sums for each that is declared, and a pass for each of them."""

    PASSES: ClassVar[dict[str, float]] = {
        "issue_slots_busy": 78.0, "fp32_add_per_cycle": 3_690.0, "fp32_mul_per_cycle": 0.0, "fp32_fma_per_cycle": 0.0,
        "pipe_lsu": 69.0, "l1_data_pipe": 70.0, "dram_throughput": 30.0, "threads_per_instruction": 32.0,
        "instructions": 416e6,
    }  # fmt: skip

    def test_what_is_carried_out_is_held_against_what_is_declared(self) -> None:
        (found,) = told(pipe_bound, replace(busy(**self.PASSES), flops=67_108_864)).findings
        assert (found.severity, found.finding.detail, found.finding.assumed) == ("high", {"pipe": "issue"}, True)
        assert "738 MFLOP are carried out where the work needs 67.1 MFLOP, 11 times as many" in found.finding.message
        assert found.next_limit is not None
        assert found.next_limit.name == "DRAM"  # which keeps its work
        assert found.estimated_speedup < 0.9 / 0.3

    @pytest.mark.parametrize("flops", [None, 0, 200_000_000])
    def test_a_loose_count_says_nothing(self, flops: int | None) -> None:
        """A product and a sum counted as one, added up by a tree: four times the operations."""
        assert not any("carried out" in one for one in self._said(flops=flops))

    def test_functions_and_what_surrounds_them_are_no_surplus(self) -> None:
        assert not any("carried out" in one for one in self._said(pipe_xu=40.0))

    def test_tensor_cores_pad_their_tiles(self) -> None:
        assert not any("carried out" in one for one in self._said(tensor_ops_fp16=1e9))

    def test_where_nothing_of_the_sm_binds_the_sums_are_hidden(self) -> None:
        assert not any("carried out" in one for one in self._said(issue_slots_busy=40.0, dram_throughput=90.0))

    def _said(self, flops: int | None = 67_108_864, **values: float) -> list[str]:
        facts = replace(busy(**{**self.PASSES, **values}), flops=flops)
        return [one.finding.message for one in told(pipe_bound, facts).findings]


def test_full_issue_slots_are_no_finding_where_a_pipe_may_be_full() -> None:
    """The FMA pipe of a recorded kernel is at its ceiling; without its counters it was called 0 % busy."""
    kept = {key: value for key, value in IDLE.items() if not key.startswith("pipe") and key != "sm_active_share"}
    full = kept | {"issue_slots_busy": 97.0, "sm_cycles_active": 200_000.0, "threads": 1e6, "instructions": 1e9}
    assert pipe_bound.find(Facts(made(**full).combined, H200)) is None
