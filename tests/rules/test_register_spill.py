"""Rule `register-spill`: where it fires, where not, and what it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factories import STALL
from made_facts import gallery, made, told

from ncu_assist.frame import combine_launches
from ncu_assist.rules import local_array, register_spill
from ncu_assist.rules.model import local_traffic
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.savings import loads


def test_fires() -> None:
    (ranked,) = told(register_spill, gallery("spill_asked_occupancy")).findings
    assert ranked.finding.rule == "register-spill"
    assert ranked.severity == "high"


@pytest.mark.parametrize("case", ["spill_outside_the_loop", "local_stack"])
def test_does_not_fire(case: str) -> None:
    assert register_spill.find(gallery(case)) is None


def test_without_its_metrics_it_cannot_answer() -> None:
    (silent,) = told(register_spill, gallery("spill_asked_occupancy", without=("local_spilling_requests",))).unanswered
    assert silent.missing == ("local_spilling_requests",)


def test_spills_that_nobody_waits_for_cost_nothing() -> None:
    few = gallery("spill_asked_occupancy", local_load_sectors=1e4, local_store_sectors=1e4, l2_sectors_sm=1e7,
                  local_load_requests=1e3, local_store_requests=1e3, local_spilling_requests=2e3)  # fmt: skip
    assert register_spill.find(few) is None


@pytest.mark.parametrize(
    ("registers", "threads", "words"),
    [
        (128.0, 256, "give the kernel more"),
        (128.0, 512, "use smaller blocks"),  # 65,536 registers for 512 threads: no thread can have more
        (255.0, 256, "spread a tile over more"),
    ],
)
def test_nobody_is_told_to_give_more_registers_than_there_are(registers: float, threads: int, words: str) -> None:
    found = register_spill.find(gallery("spill_asked_occupancy", registers=registers, block_size=threads))
    assert found is not None
    assert words in found.advice
    assert f"{registers:.0f} registers a thread" in found.message


def test_local_memory_of_unknown_kind_is_of_spills_where_a_thread_has_all_its_registers() -> None:
    unknown = ("local_spilling_requests",)
    full = gallery("spill_asked_occupancy", without=unknown, registers=255.0)
    found = register_spill.find(full)
    assert found is not None
    assert found.assumed
    assert "spills or an array" in found.message
    assert local_array.find(full) is None
    spare = gallery("spill_asked_occupancy", without=unknown, registers=16.0)
    assert register_spill.find(spare) is None
    array = local_array.find(spare)
    assert array is not None
    assert array.assumed


BESIDE_SPILLS = {
    "local_load_requests": 5e6, "local_store_requests": 2.5e6, "local_spilling_requests": 7.5e6,
    "local_load_sectors": 2e7, "local_store_sectors": 1e7, "local_hit_rate_load": 0.0, "l2_sectors_sm": 3.2e7,
    "global_load_sectors": 1.5e6, "global_store_sectors": 5e5, "registers": 255.0, "issue_slots_busy": 10.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("throughput", "l2_busy", "part"),
    [
        (81.0, 50.0, 0.9),  # DRAM moves 640 MB, and 64 MB at most are of the other 2 M sectors
        (60.0, 70.0, 0.0),  # another unit is busier
        (45.0, 30.0, 0.0),  # waiting explains the time
    ],
)
def test_what_dram_moves_for_spills_goes_with_them(throughput: float, l2_busy: float, part: float) -> None:
    """A public report: 0.22 GB of other accesses, DRAM at 67 % with 2 GB. Its spills were to win 1.13x."""
    counters = {**BESIDE_SPILLS, "dram_throughput": throughput, "l2_lookups_busy": l2_busy}
    facts = made(1e6, dram_bytes_read=4e8, dram_bytes_write=2.4e8, **counters)
    found = register_spill.find(facts)
    saved = found.saved_ns if found else 0.0
    assert saved == pytest.approx(part * loads(facts)["DRAM"] * 1e6)
    assert found is None or "DRAM" in found.relieves


@pytest.mark.parametrize(
    "stalls",
    [
        {"long_scoreboard": 70.0, "barrier": 20.0},  # warps wait for memory, or for those that do
        {"long_scoreboard": 40.0, "math_pipe_throttle": 50.0},  # half of them queue for a pipe
    ],
)
def test_dram_wins_no_more_than_warps_wait_for(stalls: dict[str, float]) -> None:
    """A public report: DRAM at 67 %, one warp state in five about memory. Its spills were to win 1.88x."""
    counters = {**BESIDE_SPILLS, "dram_throughput": 81.0, "l2_lookups_busy": 50.0, "no_eligible": 70.0}
    facts = made(1e6, dram_bytes_read=4e8, dram_bytes_write=2.4e8, **counters)
    facts = _stalled(facts, **stalls)
    (ranked,) = told(register_spill, facts).findings
    most = 0.7 * sum(stalls.get(one, 0.0) for one in ("long_scoreboard", "barrier")) / 90
    queued = 0.7 * stalls["long_scoreboard"] / 90 * local_traffic.local_share(facts)
    assert ranked.finding.saved_ns == pytest.approx(max(0.9 * min(loads(facts)["DRAM"], most), queued) * 1e6)


def test_it_says_what_the_time_goes_with() -> None:
    """A public report: *warps wait for them* beside 9 % of the stalls in long scoreboard; DRAM was the estimate."""
    counters = {**BESIDE_SPILLS, "no_eligible": 70.0, "instructions": 3e7}
    moved = {"dram_bytes_read": 4e8, "dram_bytes_write": 2.4e8, "dram_throughput": 81.0, "l2_lookups_busy": 50.0}
    of_dram = register_spill.find(_stalled(made(1e6, **counters, **moved), long_scoreboard=10.0, barrier=80.0))
    assert of_dram is not None
    assert of_dram.message.endswith("local memory's, and DRAM is busy with them")
    waited = register_spill.find(_stalled(made(1e6, **counters), long_scoreboard=80.0, barrier=10.0))
    assert waited is not None
    assert waited.message.endswith("local memory's, and warps wait for them")
    issued = register_spill.find(_stalled(made(1e6, **counters | {"issue_slots_busy": 60.0}), barrier=90.0))
    assert issued is not None
    assert issued.message.endswith("local memory's, and their instructions take issue slots")


def _stalled(facts: Facts, **stalls: float) -> Facts:
    by_name = {STALL.format(reason): share for reason, share in {**stalls, "selected": 10.0}.items()}
    tables = [{**table, **by_name} for table in facts.combined.tables]
    return replace(facts, combined=combine_launches(None, facts.combined.launches, tables))


def test_local_memory_of_unknown_kind_is_said_in_one_sentence() -> None:
    unknown = gallery("spill_asked_occupancy", without=("local_spilling_requests",), registers=255.0)
    found = register_spill.find(unknown)
    assert found is not None
    said = "uses local memory with 255 registers a thread, spills or an array: the report does not say which; "
    assert found.message.startswith(said)
