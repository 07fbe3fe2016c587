"""What got worse explains a slowdown that is known, or on the resource that binds; else it is a side effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import pytest
from factories import STALL, launch, make_run, metrics_frame
from recorded_family import ROOT

from ncu_assist.analysis.diff import Change, DiffOptions, Role, diff_runs, flags_heading, follows_sms
from ncu_assist.analysis.diff.changes import COMPARED, OF_THE_LINK, changes, rows
from ncu_assist.analysis.diff.flagging import (
    BINDING,
    EXPLAINS,
    SIDE_EFFECT,
    far_from_limits,
    flags,
    waits_apart,
    with_roles,
)
from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.analysis.gate import NotMeasured
from ncu_assist.frame import Combined, combine
from ncu_assist.ncu.catalogue.rows import STALL_SHARES
from ncu_assist.pipeline.gating import GateRequest, gate
from ncu_assist.pipeline.reading import compare, two_named
from ncu_assist.project import Project
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.changes import counter_note, counters_command
from ncu_assist.rules.model.resources import Bottleneck
from ncu_assist.verdict import Verdict, Word, clock_note, compare_durations, not_comparable
from ncu_assist.verdict.records import Cycles

WORSE = Change("instructions", "Executed Instructions", "inst", 1e9, 2e9, 1.0, "regressed")
RATE = Change("sm_throughput", "Compute (SM) Throughput", "%", 70.0, 50.0, -20.0, "regressed")
BYTES = Change("dram_bytes", "DRAM bytes", "byte", 1e9, 2e9, 1.0, "regressed")
DRAM = Bottleneck("DRAM", 85.0)
ROLES: dict[Word, Role] = {
    "slower": "explains",
    "faster": "side-effect",
    "same": "side-effect",
    "unclear": "side-effect",
}


def verdict(word: Word) -> Verdict:
    return Verdict(word, None, "interval-beyond", 1.0, 1.0, 1.0, 100)


@pytest.mark.parametrize(("word", "role"), ROLES.items())
def test_the_role_follows_the_verdict(word: Word, role: Role) -> None:
    (told,) = with_roles((WORSE,), verdict(word), Bottleneck("SM", 85.0) if word == "slower" else DRAM)
    assert told.role == role
    (flag,) = flags((told,), verdict(word))
    assert flag.role == role
    assert flag.message.startswith("Executed Instructions rose from 1 G to 2 G: ")
    assert ("explains" in flag.message, "side effect" in flag.message) == (word == "slower", word != "slower")
    heading = flags_heading(role, verdict(word))
    assert ("explains" in heading, "side effect" in heading) == (word == "slower", word != "slower")


def test_work_on_the_resource_that_binds_would_explain_a_slowdown_that_is_not_settled() -> None:
    roles = {word: [c.role for c in with_roles((WORSE, BYTES), verdict(word), DRAM)] for word in ROLES}
    assert roles["unclear"] == ["side-effect", "explains"]
    assert roles["same"] == roles["faster"] == ["side-effect", "side-effect"]


def test_what_most_warps_wait_for_limits_a_faster_version_that_latency_binds() -> None:
    top = Change("stall_barrier", "Stall: barrier", "%", 3.0, 40.0, 37.0, "regressed")
    other = replace(top, metric="stall_mio_throttle", label="Stall: mio throttle", candidate=9.0, delta=6.0)
    latency = Bottleneck("latency", 55.0)
    told = with_roles((other, top), verdict("faster"), latency)
    assert [one.role for one in told] == ["side-effect", "limit"]
    first, second = flags(told, verdict("faster"))
    assert (first.message, second.role) == (
        "Stall: barrier rose from 3.0 % to 40.0 %: what limits it now",
        "side-effect",
    )
    assert flags_heading("limit", verdict("faster")) == "What limits it now"
    assert [one.role for one in with_roles((top,), verdict("faster"), DRAM)] == ["side-effect"]
    assert [one.role for one in with_roles((top,), verdict("slower"), latency)] == ["explains"]


@pytest.mark.parametrize(
    ("binds", "role"),
    [
        ("latency", "explains"),
        *((name, "side-effect") for name in ("DRAM", "L2 data", "shared memory", "tensor cores", "FMA pipe", "memory")),
        (None, "none"),
    ],
)
@pytest.mark.parametrize("word", ["slower", "unclear"])
def test_waits_explain_only_where_no_unit_binds(binds: str | None, role: Role, word: Word) -> None:
    """A unit at its limit makes warps wait: a share of stalls that rose is its symptom, and no cause."""
    stall = Change("stall_long_scoreboard", "Stall: long scoreboard", "%", 20.0, 40.0, 20.0, "regressed")
    bottleneck = Bottleneck(binds, 80.0) if binds else None
    told = with_roles((stall,), verdict(word), bottleneck)
    assert [one.role for one in told] == [role]
    assert [flag.role for flag in flags(told, verdict(word))] == ([role] if role != "none" else [])


def test_no_stall_explains_a_slower_version_that_dram_binds() -> None:
    """From v6 to v4 of softmax, which DRAM binds, warps wait more for loads: because DRAM is busy."""
    diff = compare(Project(ROOT), ("softmax/v6", "softmax/v4"), None, DiffOptions())
    assert (diff.verdict.verdict, diff.candidate.bottleneck and diff.candidate.bottleneck.name) == ("slower", "DRAM")
    waits = [one for one in diff.changes if one.metric.startswith("stall_") and one.verdict == "regressed"]
    assert waits
    assert {one.role for one in waits} == {"side-effect"}


def test_waits_for_products_are_told_apart_from_barriers() -> None:
    """v11 of flash attention waits at WARPGROUP.DEPBAR for 32 % of its warp states and at BAR.SYNC for 8 %."""
    project = Project(ROOT)
    two = ("flash_attention/v10", "flash_attention/v11")
    diff = diff_runs(*two_named(project, two, None, DiffOptions())[0])
    known = {one.metric: one for one in diff.changes}
    told = compare(project, two, None, DiffOptions())
    parts = {one.metric: one for one in told.changes}
    assert known.keys() < parts.keys()
    assert diff.why
    assert diff.why.candidate
    assert diff.why.candidate.stall == "barrier"
    assert told.why
    assert told.why.candidate
    assert told.why.candidate.stall == "wgmma"
    wgmma, barrier = parts["stall_wgmma"], parts["stall_barrier"]
    assert wgmma.candidate == pytest.approx(32.1, abs=0.1)
    assert (wgmma.baseline, wgmma.role, barrier.role) == (0.0, "limit", "side-effect")
    assert (wgmma.candidate or 0.0) + (barrier.candidate or 0.0) == pytest.approx(known["stall_barrier"].candidate)
    assert next(flag.message for flag in told.flags).startswith(
        "Stall: wgmma (in ncu: barrier) rose from 0.0 % to 32.1 %"
    )
    assert waits_apart(told) == told


def test_a_part_that_stayed_has_no_role_of_the_whole() -> None:
    """ncu's long scoreboard rose by 8.2 points from v11 to v12; without waits for mbarriers it did not."""
    told = compare(Project(ROOT), ("flash_attention/v11", "flash_attention/v12"), None, DiffOptions())
    parts = {one.metric: one for one in told.changes}
    loads, tiles = parts["stall_long_scoreboard"], parts["stall_mbarrier"]
    assert (loads.verdict, loads.role, tiles.verdict, tiles.role) == ("unchanged", "none", "changed", "none")
    assert tiles.label == "Stall: mbarrier (in ncu: long scoreboard)"
    assert not [flag.metric for flag in told.flags if flag.metric.startswith("stall_")]
    assert told.launches[0].changes == told.changes


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_warps_that_came_and_only_wait_make_nothing_better_or_worse(order: tuple[int, int]) -> None:
    """v15 of the product has 9 warps an SM; the three more of v16 have ended, and wait for their cluster."""
    both = ("gemm_bias_gelu/v15", "gemm_bias_gelu/v16")
    told = compare(Project(ROOT), (both[order[0]], both[order[1]]), None, DiffOptions("square8k"))
    words = {one.metric: one.verdict for one in told.changes}
    waits = ("stall_cluster_barrier", "stall_wgmma", "stall_mio_throttle")
    assert {name: words[name] for name in waits} == dict.fromkeys(waits, "changed")
    assert "cluster barrier" not in "".join(flag.message for flag in told.flags)


WARPS = Change("achieved_occupancy", "Achieved Occupancy", "%", 12.0, 16.0, 4.0, "changed")
IDLE = Change("stall_barrier", "Stall: barrier", "%", 10.0, 32.0, 22.0, "regressed", beyond=4.0)
OTHER = Change("stall_wait", "Stall: wait", "%", 40.0, 30.0, -10.0, "improved", beyond=4.0)


@pytest.mark.parametrize(
    ("changed", "word", "other"),
    [
        ({}, "changed", "changed"),  # 1.2 of 12 warps, 5.1 of 16: four came, of which 3.9 wait
        ({"candidate": 36.0, "delta": 26.0}, "regressed", "improved"),  # 4.6 more wait than came
        ({"candidate": 19.0, "delta": 9.0}, "regressed", "improved"),  # of those that came most do something else
        ({"metric": "stall_long_scoreboard"}, "regressed", "improved"),  # a wait for memory
    ],
)
def test_a_wait_is_of_idle_warps_where_most_that_came_wait_and_no_other(
    changed: dict[str, float], word: str, other: str
) -> None:
    told = with_roles((WARPS, replace(IDLE, **changed), OTHER), verdict("unclear"), DRAM)
    assert [one.verdict for one in told] == ["changed", word, other]


@pytest.mark.parametrize(
    ("word", "binds", "waiting", "role"),
    [
        ("slower", "latency", 10.0, "explains"),
        ("slower", "DRAM", 10.0, "none"),  # it has what it needs in flight
        ("faster", "latency", 10.0, "none"),
        ("unclear", "latency", 10.0, "none"),
        ("slower", "latency", 32.0, "none"),  # 3.9 of the 4 warps that went only waited for others
    ],
)
def test_fewer_warps_explain_a_slowdown_that_latency_binds(word: Word, binds: str, waiting: float, role: Role) -> None:
    fewer = replace(WARPS, baseline=16.0, candidate=12.0, delta=-4.0)
    wait = replace(IDLE, baseline=waiting, candidate=10.0, delta=10.0 - waiting, verdict="improved")
    told = with_roles((fewer, wait), verdict(word), Bottleneck(binds, 55.0))[0]
    assert (told.role, told.verdict) == (role, "regressed" if role == "explains" else "changed")


def test_the_warps_that_a_slower_version_lacks_are_told() -> None:
    """v7 of elementwise_add has 14 % of the warps that fit, v6 74 %: latency binds it, which DRAM did before."""
    diff = compare(Project(ROOT), ("elementwise_add/v6", "elementwise_add/v7"), None, DiffOptions())
    said = next(flag for flag in diff.flags if flag.metric == "achieved_occupancy")
    assert said.message == "Achieved Occupancy fell from 73.8 % to 14.2 %: explains the slowdown"


def test_a_share_that_fell_by_more_than_idle_warps_make_of_it_is_better() -> None:
    fell = replace(OTHER, candidate=20.0, delta=-20.0)
    assert [one.verdict for one in with_roles((WARPS, IDLE, fell), verdict("unclear"), DRAM)][2] == "improved"
    same = replace(WARPS, candidate=12.0, delta=0.0, verdict="unchanged")
    assert with_roles((same, IDLE, OTHER), verdict("unclear"), DRAM)[1].verdict == "regressed"


def test_text_json_and_gate_have_one_share_of_a_wait() -> None:
    project, two = Project(ROOT), ("flash_attention/v11", "flash_attention/v12")
    asked = DiffOptions(metrics=("stall_mbarrier", "stall_cluster_barrier"))
    diff = compare(project, two, None, asked)
    told = {one["metric"]: one for one in diff_json(diff)["changes"]}
    limits = tuple(f"{key}:+0.5pt" for key in ("stall_mbarrier", "stall_long_scoreboard", "stall_wgmma"))
    judged = gate(project, GateRequest(two[1], against=two[0], fail_on=limits, workload="d128"))
    assert not isinstance(judged, NotMeasured)
    assert [one.outcome for one in judged.checks] == ["regression", "pass", "regression"]
    text = diff_text(diff, Style())
    for check in judged.checks:
        row = told[check.limit.metric.key]
        assert (check.baseline, check.candidate) == pytest.approx((row["baseline"], row["candidate"]))
        assert row["label"].split(" (")[0] in text
        assert f"{row['baseline']:.1f} %" in text


BY_CLOCK = replace(
    verdict("slower"), by_clock=True, cycles=Cycles("faster", "interval-beyond", 1.01), clocks_mhz=(1590.0, 1556.0)
)


@pytest.mark.parametrize(
    ("cycles", "binds", "role", "theirs"),
    [
        ("faster", "tensor cores", "side-effect", "all"),
        ("same", "latency", "side-effect", "all"),
        ("unclear", "tensor cores", "explains", "part"),  # some of it may be cycles
        ("faster", "DRAM", "explains", "part"),  # it waits for a clock that is not the SMs'
    ],
)
def test_no_counter_explains_what_the_clock_made(cycles: Word, binds: str, role: Role, theirs: str) -> None:
    by_clock = replace(BY_CLOCK, cycles=Cycles(cycles, "interval-beyond", 1.0))
    told = with_roles((BYTES,), by_clock, Bottleneck(binds, 85.0))
    assert [one.role for one in told] == [role]
    note = clock_note(by_clock, None, follows_sms(Bottleneck(binds, 85.0)))
    assert (
        note
        == f"SM clocks 1590 and 1556 MHz: {theirs} of the difference {'is' if theirs == 'all' else 'may be'} theirs"
    )


def test_a_version_slowed_by_its_clock_takes_no_more_cycles() -> None:
    """v18 of the product takes 1.2 % fewer cycles than v17, at a clock that is 2.2 % lower."""
    diff = compare(Project(ROOT), ("gemm_bias_gelu/v17", "gemm_bias_gelu/v18"), None, DiffOptions("square8k"))
    text = diff_text(diff, Style())
    assert {flag.role for flag in diff.flags} == {"side-effect"}
    assert "What got worse as a side effect (it takes no more cycles):\n" in text
    assert "MHz: all of the difference is theirs\n" in text
    assert "explains the slowdown" not in text


TENSOR = {"dram_throughput": 20.0, "sm_throughput": 75.0, "pipe_tensor_cycles": 75.0, "sm_active_share": 100.0}


@pytest.mark.parametrize(
    ("before", "after", "is_far"),
    [
        ({"issue_slots_busy": 30.0}, {"issue_slots_busy": 32.0}, True),
        ({"issue_slots_busy": 70.0}, {"issue_slots_busy": 32.0}, False),  # it was near on one side
        ({"issue_slots_busy": 30.0}, {}, False),  # not counted
        ({}, {"issue_slots_busy": 30.0}, True),  # of a baseline of several kernels, which have no share of their own
        ({"issue_slots_busy": 30.0, "pipe_alu_cycles": 65.0}, {"issue_slots_busy": 30.0}, False),  # a pipe of theirs
        ({"issue_slots_busy": 30.0}, {"issue_slots_busy": 30.0, "pipe_tensor_cycles": 0.0}, False),  # coarse: some part
        (
            {"issue_slots_busy": 30.0},
            {"issue_slots_busy": 30.0, "sm_throughput": 32.0, "pipe_tensor_cycles": 0.0},
            False,  # latency
        ),
    ],
)
def test_work_of_a_unit_with_room_explains_no_slowdown(
    before: dict[str, float], after: dict[str, float], is_far: bool
) -> None:
    far = far_from_limits({**TENSOR, **before}, {**TENSOR, **after})
    assert ("instructions" in far) == is_far
    told = with_roles((WORSE, BYTES), verdict("slower"), Bottleneck("tensor cores", 75.0), far)
    assert told[0].role == ("side-effect" if is_far else "explains")


def test_one_number_is_told_by_one_name() -> None:
    """In percent of its peak, in bytes a second, and as the busiest part of memory."""
    busy = replace(RATE, metric="dram_throughput", label="DRAM Throughput")
    memory, bandwidth = replace(busy, metric="memory_throughput"), replace(busy, metric="dram_bandwidth", unit="byte/s")
    told = with_roles((bandwidth, busy, memory), verdict("slower"), DRAM)
    assert [one.role for one in told] == ["explains"] * 3
    assert [flag.metric for flag in flags(told, verdict("slower"))] == ["dram_throughput"]
    other = with_roles((busy, replace(memory, candidate=60.0)), verdict("slower"), DRAM)
    assert [flag.metric for flag in flags(other, verdict("slower"))] == ["dram_throughput", "memory_throughput"]


def test_all_metrics_have_rates_as_those_always_looked_at() -> None:
    diff = compare(Project(ROOT), ("lightning_decode/v2", "lightning_decode/v3"), None, DiffOptions(every=True))
    words = {one.metric: one.verdict for one in diff.changes}
    assert words["dram_bandwidth"] == words["dram_rate"] == "changed"


PARTS_KNOWN = {"memory_throughput": 80.0, "dram_throughput": 11.0, "l2_busy": 30.0, "sm_throughput": 20.0}


def test_what_binds_is_not_a_part_of_memory_that_is_known_to_be_idle() -> None:
    """Only the busiest of several parts is known: DRAM at 11 % is not it, whatever it was before."""
    for before in ({"dram_throughput": 20.0}, {}):
        assert "dram_bytes" in far_from_limits({**PARTS_KNOWN, **before}, PARTS_KNOWN)
    unknown = {**PARTS_KNOWN, "dram_throughput": None}
    assert "dram_bytes" not in far_from_limits(unknown, unknown)
    assert "global_sectors_excessive" not in far_from_limits(PARTS_KNOWN, PARTS_KNOWN)  # L1 may be, nobody counted it
    far = far_from_limits(PARTS_KNOWN, PARTS_KNOWN)
    told = with_roles((BYTES,), verdict("unclear"), Bottleneck("memory", 80.0), far)
    assert [one.role for one in told] == ["side-effect"]


@pytest.mark.parametrize(("candidate_ns", "busy", "is_far"), [(140e3, 14.0, True), (35e3, 56.0, False)])
def test_a_unit_that_was_near_its_limit_explains_what_it_was_busy_for_longer(
    candidate_ns: float, busy: float, is_far: bool
) -> None:
    """DRAM was busy for 10.5 us, now for 19.6 us: of 21 us that came that is much, of 126 us a trifle."""
    before = {**TENSOR, "dram_throughput": 75.0, "duration": 14e3}
    after = {**TENSOR, "dram_throughput": busy, "duration": candidate_ns}
    assert ("dram_bytes" in far_from_limits(before, after)) == is_far


@pytest.mark.parametrize(
    ("moved", "busy", "active", "word"),
    [
        ((14e3, 37e3), 0.25, 76.0, "changed"),  # of 16 us a thousandth of what DRAM could move
        ((4e6, 8e6), 10.0, 100.0, "regressed"),
        ((50e6, 110e6), 0.05, 1.2, "regressed"),  # one block alone: what its SM could move
        ((37e3, 14e3), 0.25, 76.0, "changed"),
    ],
)
def test_bytes_matter_by_what_the_launch_could_have_moved(
    moved: tuple[float, float], busy: float, active: float, word: str
) -> None:
    names = ("dram__bytes_read.sum", "dram__bytes_write.sum")
    own = {
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": busy,
        "sm__cycles_active.avg": active,
        "sm__cycles_elapsed.avg": 100.0,
    }
    tables = (metrics_frame({**dict(zip(names, (amount, 0.0), strict=True)), **own}) for amount in moved)
    sides = [combine(make_run(launches=(launch(duration_ns=1e5),)), table, "small") for table in tables]
    told = {one.metric: one for one in changes(*sides, NoiseModel(None))}["dram_bytes"]
    assert (told.verdict, told.is_material) == (word, word != "changed")


@pytest.mark.parametrize(
    ("before", "after", "binds"),
    [("fast_h2d/v4", "fast_h2d/v5", "host link"), ("gemm_bias_gelu/v10", "gemm_bias_gelu/v11", "tensor cores")],
)
def test_where_nothing_on_what_binds_got_worse_that_is_said(before: str, after: str, binds: str) -> None:
    """Instructions rose by 5 %, where a link of the host or tensor cores bind and slots to issue are free."""
    diff = compare(Project(ROOT), (before, after), None, DiffOptions())
    lower = ", which ran at a lower rate"  # the product on it says so, two lines above
    said = f"What got worse and explains the slowdown:\n  no counter of what binds ({binds}{lower})\n"
    beside = "What got worse as a side effect (another resource binds):\n  Executed Instructions rose"
    assert [(flag.metric, flag.role) for flag in diff.flags] == [("instructions", "side-effect")]
    assert said in diff_text(diff, Style())
    assert beside in diff_text(diff, Style())


def test_the_work_of_what_binds_explains_where_no_metric_of_the_list_does() -> None:
    """The ring of v7 is read with more wavefronts: shared memory binds it, and there are no conflicts to tell of."""
    diff = compare(Project(ROOT), ("gemm_bias_gelu/v8", "gemm_bias_gelu/v7"), None, DiffOptions())
    said = "What got worse and explains the slowdown:\n  Shared-memory wavefronts rose from 276 M to 417 M\n"
    assert said in diff_text(diff, Style())
    assert "no counter of what binds" not in diff_markdown(diff)


def test_where_nobody_knows_what_binds_nothing_is_said_to_explain() -> None:
    """A call of several kernels has no one limit: three times the instructions may cost time, or not."""
    diff = compare(
        Project(ROOT), ("layernorm_dropout_residual/v0", "layernorm_dropout_residual/v2"), None, DiffOptions()
    )
    assert (diff.verdict.verdict, diff.candidate.bottleneck) == ("slower", None)
    (flag,) = diff.flags
    assert flag.message.endswith(": may explain the slowdown")
    heading = "What got worse, and may explain the slowdown (what binds is not known)"
    for form in (diff_text(diff, Style()), diff_markdown(diff)):
        assert heading in form
        assert "another resource binds" not in form


def test_only_what_is_near_its_limit_explains_against_a_chain_of_kernels() -> None:
    """v4 of the product fills the data pipe of L1 and DRAM by a seventh, whatever v0 did with its kernels."""
    diff = compare(Project(ROOT), ("gemm_bias_gelu/v0", "gemm_bias_gelu/v4"), None, DiffOptions())
    roles = {flag.metric: flag.role for flag in diff.flags}
    assert diff.candidate.bottleneck
    assert diff.candidate.bottleneck.name == "L1 data pipe"
    assert (roles["global_sectors_excessive"], roles["dram_bytes"]) == ("explains", "side-effect")


def test_a_rate_of_what_does_not_bind_follows_the_time_and_is_not_worse() -> None:
    for binds in (DRAM, Bottleneck("latency", 50.0), None):
        told = with_roles((RATE, BYTES), verdict("slower"), binds)
        assert [(one.verdict, one.role) for one in told] == [("changed", "none"), ("regressed", "explains")]
    (binding,) = with_roles((RATE,), verdict("slower"), Bottleneck("SM", 80.0))
    assert (binding.verdict, binding.role) == ("regressed", "explains")


@pytest.mark.parametrize(
    ("word", "fell", "rose"),
    [
        ("slower", "regressed", "changed"),
        ("faster", "changed", "improved"),
        ("same", "changed", "changed"),
        ("unclear", "changed", "changed"),
    ],
)
def test_a_rate_is_good_or_bad_only_with_the_time(word: Word, fell: str, rose: str) -> None:
    """Half of the instructions in the same time are half of the rate, and nothing got worse."""
    up = replace(RATE, baseline=50.0, candidate=70.0, delta=20.0, verdict="improved")
    assert [one.verdict for one in with_roles((RATE, up), verdict(word), Bottleneck("SM", 80.0))] == [fell, rose]


def test_what_is_only_likely_is_not_settled() -> None:
    for likely in (compare_durations(100.0, 150.0), compare_durations(150.0, 100.0)):
        assert likely.likely
        assert likely.way == "unclear"
        assert {change.role for change in with_roles((WORSE,), likely)} == {"side-effect"}
        assert "identical binaries have been seen" in likely.meaning


@pytest.mark.parametrize("ratio", [1.6, 240.0, 737.0])
def test_a_time_farther_apart_than_identical_code_was_ever_seen_has_changed(ratio: float) -> None:
    """From one launch a side on: how much is not settled, so the verdict stays likely."""
    slower, faster = compare_durations(1e6, ratio * 1e6), compare_durations(ratio * 1e6, 1e6)
    time = Change("duration", "Duration", "ns", 1e6, ratio * 1e6, ratio - 1, "regressed")
    assert (slower.verdict, slower.likely, slower.way) == ("unclear", "slower", "slower")
    told = with_roles((time, WORSE), slower)
    assert [(one.verdict, one.role) for one in told] == [("regressed", "none"), ("regressed", "explains")]
    assert flags_heading("explains", slower) == "What got worse and explains the slowdown"
    assert "the time changed, by how much is not settled" in slower.meaning
    assert (faster.way, [one.role for one in with_roles((WORSE,), faster)]) == ("faster", ["side-effect"])
    assert flags_heading("side-effect", faster) == "What got worse as a side effect"


@pytest.mark.parametrize(("word", "told"), [("unclear", "undecided"), ("faster", "improved"), ("slower", "improved")])
@pytest.mark.parametrize("likely", [None, "faster"])
def test_the_time_under_ncu_is_not_settled_where_the_verdict_is_not(
    word: Word, told: str, likely: Literal["faster"] | None
) -> None:
    duration = Change("duration", "Duration", "ns", 2e5, 1e5, -0.5, "improved")
    (change,) = with_roles((duration,), replace(verdict(word), likely=likely), None)
    assert (change.verdict, change.role) == (told, "none")


def test_a_trifle_is_no_flag() -> None:
    trifle = replace(BYTES, is_material=False)
    assert flags(with_roles((trifle,), verdict("slower")), verdict("slower")) == ()


def test_every_verdict_has_words_but_the_one_that_has_no_flags() -> None:
    words = set(get_args(Word))
    assert set(SIDE_EFFECT) | set(EXPLAINS) == words - {"not-comparable"}
    assert flags_heading("explains", not_comparable("other-device")) == ""
    assert with_roles((WORSE,), not_comparable("other-device")) == (WORSE,)


def test_what_binds_is_always_looked_at() -> None:
    assert {metric for metrics in BINDING.values() for metric in metrics} <= {*COMPARED, *OF_THE_LINK}


def test_the_catalogue_says_which_way_a_stall_is_better() -> None:
    reasons = ("long_scoreboard", "not_selected", "a_new_one")

    def side(*warps: float) -> Combined:
        named = {STALL.format(reason): value for reason, value in zip(reasons, warps, strict=True)}
        return combine(make_run(launches=(launch(),)), metrics_frame({STALL.format("wait"): 30.0, **named}), None)

    def words(before: Combined, after: Combined) -> dict[str, str]:
        return {change.metric: change.verdict for change in changes(before, after, NoiseModel(None))}

    more = words(side(1.0, 2.0, 1.0), side(9.0, 30.0, 12.0))
    less = words(side(9.0, 30.0, 12.0), side(1.0, 2.0, 1.0))
    for reason in reasons:
        row = STALL_SHARES.get(f"stall_{reason}")
        better = row.better if row else None
        told = {more[f"stall_{reason}"], less[f"stall_{reason}"]}
        assert told == ({"improved", "regressed"} if better else {"changed"}), reason


def test_the_throughput_of_memory_that_is_drams_is_judged_as_that_is() -> None:
    more = Change("l2_sectors_sm", "L2 sectors", "sector", 1e6, 2e6, 1.0, "regressed")
    busy = [Change(key, key, "%", 40.0, 80.0, 40.0, "improved") for key in ("dram_throughput", "memory_throughput")]
    assert [one.verdict for one in with_roles((more, *busy), verdict("faster"), DRAM)[1:]] == ["improved", "improved"]
    other = replace(busy[1], baseline=60.0)
    assert with_roles((more, busy[0], other), verdict("faster"), DRAM)[2].verdict == "changed"


def test_a_workload_without_counters_says_so_in_a_line() -> None:
    diff = compare(Project(ROOT), ("rope/v9", "rope/v10"), None, DiffOptions("far_f32"))
    for form in (diff_text(diff, Style()), diff_markdown(diff).replace("\\", "")):
        text = " ".join(form.split())
        assert "no counters of v9 and v10 on far_f32, so nothing says why" in text
        assert "ncu-assist profile rope v9 v10 --workload far_f32" in text


def test_a_version_that_launches_no_kernel_is_not_told_to_be_profiled() -> None:
    diff = compare(Project(ROOT), ("fast_h2d/v6", "fast_h2d/v7"), None, DiffOptions("t256k"))
    assert "v7: launched no kernel: nothing to count" in diff_text(diff, Style())
    assert counter_note(diff) == counters_command(diff) == ""
    other = replace(diff, candidate=replace(diff.candidate, is_silent=False))
    assert counters_command(other) == "ncu-assist profile fast_h2d v7 --workload t256k"


def test_a_time_that_the_bench_decides_and_ncu_does_not_is_explained_in_a_sentence() -> None:
    project = Project(ROOT)
    diff = compare(project, ("rope/v9", "rope/v10"), None, DiffOptions())
    text = " ".join(diff_text(diff, Style()).split())
    assert counter_note(diff) in text
    assert counter_note(diff) in diff_markdown(diff)
    assert "time under ncu is of one launch a side, and within its noise: the bench decides; beyond it moved" in text
    clear = compare(project, ("flash_attention/v11", "flash_attention/v12"), None, DiffOptions())
    assert "the bench decides" not in diff_text(clear, Style())
    calm = replace(clear, changes=tuple(replace(one, verdict="unchanged") for one in clear.changes))
    assert "no counter moved beyond its own either" in " ".join(diff_text(calm, Style()).split())


def test_a_time_that_may_be_noise_is_not_said_to_be_and_a_call_is_no_launch() -> None:
    project = Project(ROOT)
    slower = compare(project, ("flash_attention/v18", "flash_attention/v2"), None, DiffOptions())
    assert counter_note(slower).startswith("time under ncu is of one launch a side, and not clearly beyond its noise")
    chains = compare(project, ("lightning_decode_deferred/v3", "lightning_decode_deferred/v4"), None, DiffOptions())
    assert counter_note(chains).startswith("time under ncu is of one call a side, and ")


def test_a_rate_strays_by_points_of_its_peak() -> None:
    """From 4.64 to 26.5 GB/s, of 4 TB/s, is no change; that rates stray by 3760 % would be untrue."""
    diff = compare(Project(ROOT), ("flash_attention/v5", "flash_attention/v6"), None, DiffOptions())
    said = " ".join(diff_text(diff, Style()).split())
    throughput = next(one for one in diff.changes if one.metric == "dram_throughput")
    assert f"as DRAM Bandwidth by up to {throughput.beyond:.1f} pt of its peak" in said


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        (("lightning_decode_deferred/v0", "lightning_decode_deferred/v1"), False),  # v0 was timed and not counted
        (("fast_h2d/v1", "fast_h2d/v7"), True),  # v7 was, and launches no kernel
    ],
)
def test_only_one_side_launched_what_the_other_was_counted_without(pair: tuple[str, str], told: bool) -> None:
    diff = compare(Project(ROOT), pair, None, DiffOptions())
    assert ("only in v1 (" in diff_text(diff, Style())) == told


def test_a_part_has_the_room_of_its_whole_unit() -> None:
    """0.5 MB more of writes beside 97 MB of reads, at half of what DRAM can move: 0.3 % of what it could."""
    busy = {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 50.0}
    sides = [
        combine(
            make_run(launches=(launch(duration_ns=1e5),)),
            metrics_frame(busy | {"dram__bytes_read.sum": 97e6, "dram__bytes_write.sum": written}),
            "small",
        )
        for written in (1.5e6, 2e6)
    ]
    (writes,) = (one for one in rows(*sides, every=True) if one.key == "dram_bytes_write")
    assert writes.possible == pytest.approx(198e6)
    assert writes.is_beside_possible
