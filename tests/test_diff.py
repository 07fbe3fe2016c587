"""Two runs to one answer: time decides, counters explain, and nothing that cannot be compared is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, PROFILE, STALL, WORKLOAD, launch, make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.analysis.diff import Change, Diff, DiffOptions, diff_in_full, diff_runs
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.record import Toolchain, WorkloadFacts
from ncu_assist.rules.model.resources import bottleneck
from ncu_assist.store import Store, StoredRun

DRAM = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
INSTRUCTIONS = "smsp__inst_executed.sum"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
THROUGHPUT = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
REGISTERS = "launch__registers_per_thread"
IDLE = {DRAM: 10.0, MEMORY: 10.0}
Metrics = Mapping[str, float | str | None]


class Bench:
    """An archive in which versions of one bench are saved, each with its own times and counters."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root / "reports")
        self.count = 0

    def save(self, median_ns: float | None, metrics: Metrics | None = None, **changes: Any) -> StoredRun:
        self.count += 1
        version = changes.pop("version", f"v{self.count}_made")
        samples = samples_frame(times(median_ns, self.count), version=version) if median_ns else None
        table = metrics_frame(metrics) if metrics is not None else None
        run = make_run(**{"version": version, "launches": (launch(),) if table is not None else (), **changes})
        return save_run(self.store, run, table, samples)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def changes(diff: Diff) -> dict[str, Change]:
    return {change.metric: change for change in diff.launches[0].changes}


def test_time_decides_and_counters_follow(bench: Bench) -> None:
    """Stalls triple and SM throughput falls while the time halves: faster, and nothing explains a slow-down."""
    slow = bench.save(2e5, {SM: 70.0, DRAM: 40.0, STALL.format("barrier"): 6.0})
    fast = bench.save(1e5, {SM: 52.0, DRAM: 83.0, STALL.format("barrier"): 18.0})
    diff = diff_runs(slow, fast)
    assert (diff.verdict.verdict, diff.workload, diff.source) == ("faster", "small", "live")
    assert diff.verdict.speedup == pytest.approx(2.0, rel=0.01)
    found = changes(diff)
    assert (found["sm_throughput"].verdict, found["sm_throughput"].role) == ("changed", "none")
    assert found["stall_barrier"].role == "side-effect"
    assert found["dram_throughput"].verdict == "improved"
    assert {flag.role for flag in diff.flags} == {"side-effect"}
    assert {flag.metric for flag in diff.flags} == {"stall_barrier"}
    back = diff_runs(fast, slow)
    assert back.verdict.verdict == "slower"
    assert changes(back)["dram_throughput"].verdict == "changed"  # another part of memory binds, at 83 %
    busy = bench.save(2e5, {SM: 90.0, INSTRUCTIONS: 4e6}), bench.save(4e5, {SM: 70.0, INSTRUCTIONS: 8e6, **IDLE})
    roles = {flag.metric: flag.role for flag in diff_runs(*busy).flags}
    assert (roles["instructions"], roles["sm_throughput"]) == ("explains", "explains")  # which binds


def test_a_flag_says_what_got_worse_and_why_it_matters(bench: Bench) -> None:
    name = "derived__memory_l1_wavefronts_shared_excessive"
    good, bad = bench.save(1e5, {}), bench.save(2e5, {name: 1_500_000.0})
    assert diff_runs(good, bad).flags[0].message == (
        "Bank conflicts (wavefronts) rose from 0 to 1.50 M: explains the slowdown"
    )
    same = replace(diff_runs(good, good), flags=())
    assert same.verdict.verdict == "same"
    assert diff_runs(good, good).flags == ()


def test_exact_metrics_compare_exactly_and_the_rest_beyond_noise(bench: Bench) -> None:
    inst, read = "smsp__inst_executed.sum", "dram__bytes_read.sum"
    one = bench.save(1e5, {})
    two = bench.save(1e5, {inst: 1_001_000.0, REGISTERS: 33.0, read: 203_000_000.0, DRAM: 83.9, SM: 31.0})
    found = changes(diff_runs(one, two))
    assert found["instructions"].verdict == "regressed"  # 0.1 %
    assert (found["registers"].verdict, found["registers"].noise) == ("changed", 0.0)
    assert found["dram_bytes"].verdict == "unchanged"  # 0.75 %
    assert found["dram_throughput"].verdict == "unchanged"  # 0.9 points
    assert found["sm_throughput"].verdict == "changed"  # 6 points, in the same time
    assert found["sm_throughput"].delta == pytest.approx(6.0)
    assert found["instructions"].delta == pytest.approx(1e-3)


def test_counts_of_what_a_kernel_does_stray_where_it_waits_for_itself(bench: Bench) -> None:
    """As repeats of one CUTLASS kernel did: what warps that poll execute hangs on when their data comes."""
    conflicts, all_ = "derived__memory_l1_wavefronts_shared_excessive", "memory_l1_wavefronts_shared"
    one = bench.save(1e5, {INSTRUCTIONS: 1e8, conflicts: 1_310_720.0, all_: 4e6})
    two = bench.save(1e5, {INSTRUCTIONS: 1.00007e8, conflicts: 1_310_730.0, all_: 4e6})
    found = changes(diff_runs(one, two))
    assert found["instructions"].verdict == found["shared_wavefronts_excessive"].verdict == "unchanged"
    noise = found["instructions"].noise
    assert noise is not None
    assert 7e-5 <= noise < 1e-3
    more = bench.save(1e5, {INSTRUCTIONS: 1.001e8, conflicts: 1_400_000.0, all_: 4e6})
    worse = changes(diff_runs(one, more))
    assert worse["instructions"].verdict == worse["shared_wavefronts_excessive"].verdict == "regressed"


def test_fewer_instructions_make_no_throughput_worse(bench: Bench) -> None:
    """SMs with less to do are less busy, in a slower version too, and where one sample settles nothing."""
    before, after = {SM: 70.0, INSTRUCTIONS: 4e6}, {SM: 40.0, INSTRUCTIONS: 2e6}
    slower = diff_runs(bench.save(1e5, before), bench.save(1.2e5, after))
    assert slower.verdict.verdict == "slower"
    settled = diff_runs(bench.save(None, before), bench.save(None, after))
    assert settled.verdict.verdict == "unclear"
    for diff in (slower, settled):
        assert changes(diff)["sm_throughput"].verdict == "changed"
        assert "sm_throughput" not in {flag.metric for flag in diff.flags}
    same_work = diff_runs(bench.save(1e5, {SM: 90.0}), bench.save(1.2e5, {SM: 86.0, **IDLE}))
    assert changes(same_work)["sm_throughput"].verdict == "regressed"  # it binds


def test_two_names_of_one_number_are_judged_alike(bench: Bench) -> None:
    """Memory Throughput is that of its busiest part: where that is DRAM, it is the same number and strays as much."""
    for busy in (85.0, 85.5, 86.0, 87.0, 90.0):
        sides = [bench.save(None, {DRAM: share, MEMORY: share}) for share in (83.0, busy)]
        found = changes(diff_runs(*sides))
        assert found["dram_throughput"].candidate == found["memory_throughput"].candidate == busy
        assert found["dram_throughput"].verdict == found["memory_throughput"].verdict
        assert found["dram_throughput"].noise == found["memory_throughput"].noise
        every = {one.metric: one for one in diff_in_full(*sides).every}
        assert (
            every["memory_throughput"].verdict == every["dram_throughput"].verdict == found["dram_throughput"].verdict
        )


def test_short_kernels_leave_small_changes_undecided(bench: Bench) -> None:
    short = {"launches": (launch(duration_ns=11_000.0),)}
    read = "dram__bytes_read.sum"
    one = bench.save(1e4, {}, **short)
    two = bench.save(1e4, {read: 260_000_000.0, DRAM: 33.0, SM: 8.0, "smsp__inst_executed.sum": 2e6}, **short)
    found = changes(diff_runs(one, two))
    assert found["dram_bytes"].verdict == "undecided"  # +15 %
    assert found["dram_throughput"].verdict == "changed"  # -50 points, in the same time
    assert found["sm_throughput"].verdict == "unchanged"  # -17 points
    assert found["instructions"].verdict == "regressed"  # exact everywhere


def test_what_has_no_better_side_is_only_changed(bench: Bench) -> None:
    one, two = bench.save(1e5, {}), bench.save(2e5, {"launch__registers_per_thread": 64.0})
    registers = changes(diff_runs(one, two))["registers"]
    assert (registers.verdict, registers.role, registers.delta) == ("changed", "none", 1.0)


def test_what_a_side_lacks_is_missing_and_never_zero(bench: Bench) -> None:
    gone = dict.fromkeys((DRAM, THROUGHPUT, "dram__bytes_read.sum", "dram__bytes.sum.per_second"))
    one, two = bench.save(1e5, {}), bench.save(1e5, gone)
    found = changes(diff_runs(one, two))
    for key in ("dram_throughput", "dram_bytes"):
        assert (found[key].verdict, found[key].candidate, found[key].delta) == ("missing", None, None)
        assert found[key].baseline is not None


def test_from_zero_has_no_relative_change(bench: Bench) -> None:
    one, two = bench.save(1e5, {}), bench.save(1e5, {"derived__local_spilling_requests": 8.0})
    spills = changes(diff_runs(one, two))["local_spilling_requests"]
    assert (spills.delta, spills.verdict) == (None, "regressed")
    back = changes(diff_runs(two, one))["local_spilling_requests"]
    assert (back.delta, back.verdict) == (-1.0, "improved")


def test_traffic_that_a_counter_cannot_see_is_said(bench: Bench) -> None:
    tma = {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 0.0, "smsp__inst_executed_op_tma_st.sum": 9.0}
    change = changes(diff_runs(bench.save(1e5, {}), bench.save(1e5, tma)))["sectors_per_request_store"]
    assert (change.verdict, change.note) == ("missing", "n/a (TMA)")


def test_a_share_of_stalls_that_fell_while_its_time_rose_is_not_improved(repository: Path) -> None:
    """v3 of lightning_decode takes 7.7 times as long: less of it waits for loads, and that is more than before."""
    store = Store(repository / "reports")
    runs = [store.runs("lightning_decode", name)[0] for name in ("v2_triton_masked", "v3_global_memory")]
    found = changes(diff_runs(*runs))
    shares = [found["stall_long_scoreboard"], found["stall_barrier"]]
    assert [(one.delta > 0, one.verdict) for one in shares if one.delta] == [(False, "changed"), (True, "regressed")]


def test_top_stalls_of_either_side_are_shown(bench: Bench) -> None:
    reasons = ("a", "b", "c", "d", "e", "f", "g")
    rising = {STALL.format(r): float(i) for i, r in enumerate(reasons, 1)}
    falling = {STALL.format(r): float(8 - i) for i, r in enumerate(reasons, 1)}
    none = {STALL.format(r): 0.0 for r in ("long_scoreboard", "barrier")}
    found = changes(diff_runs(bench.save(1e5, {**rising, **none}), bench.save(1e5, {**falling, **none})))
    assert {key for key in found if key.startswith("stall_")} == {f"stall_{r}" for r in reasons}
    assert found["stall_a"].in_points


@pytest.mark.parametrize(
    ("change", "reason", "what"),
    [
        ({"device": replace(DEVICE, name="NVIDIA H100")}, "other-device", "GPU model"),
        ({"device": replace(DEVICE, uuid_sha256="99" * 32)}, "other-device", "GPU"),
        ({"profile": replace(PROFILE, clock_control="base")}, "other-settings", "clock control"),
        ({"profile": replace(PROFILE, cache_control="none")}, "other-settings", "cache control"),
        ({"workloads": (replace(WORKLOAD, algorithmic_bytes=1),)}, "other-workload", "bytes of the workload"),
        ({"workloads": (replace(WORKLOAD, dtype="float16"),)}, "other-workload", "dtype"),
        ({"workloads": (replace(WORKLOAD, integers={"n": 2}),)}, "other-workload", "sizes"),
    ],
)
def test_hard_differences_forbid_the_comparison(bench: Bench, change: dict[str, Any], reason: str, what: str) -> None:
    slow = bench.save(2e5, {})
    diff = diff_runs(slow, bench.save(1e5, {SM: 1.0}, **change))
    assert (diff.verdict.verdict, diff.verdict.reason, diff.verdict.speedup) == ("not-comparable", reason, None)
    assert [(d.what, d.hard) for d in diff.differences] == [(what, True)]
    assert diff.flags == ()
    assert {c.role for c in changes(diff).values()} == {"none"}


def test_a_gpu_is_the_same_one_whether_its_driver_says_nvidia_or_not(bench: Bench) -> None:
    old = bench.save(1e5, {}, device=replace(DEVICE, name=DEVICE.name.removeprefix("NVIDIA "), driver="460"))
    diff = diff_runs(bench.save(2e5, {}), old)
    assert diff.verdict.verdict == "faster"
    assert {d.what for d in diff.differences} == {"driver"}


def test_soft_differences_are_named_only(bench: Bench) -> None:
    other = bench.save(
        1e5,
        {},
        profile=replace(PROFILE, section_set="basic"),
        toolchain=Toolchain(ncu="2026.1"),
        device=replace(DEVICE, driver="590"),
    )
    diff = diff_runs(bench.save(2e5, {}), other)
    assert diff.verdict.verdict == "faster"
    assert {d.what for d in diff.differences} == {"section set", "ncu", "driver"}
    assert not any(d.hard for d in diff.differences)


def test_what_a_run_does_not_know_is_no_difference(bench: Bench) -> None:
    unknown = bench.save(1e5, {}, device=None, profile=replace(PROFILE, clock_control="unknown"))
    assert diff_runs(bench.save(2e5, {}), unknown).verdict.verdict == "faster"


def test_other_workloads(bench: Bench) -> None:
    odd = WorkloadFacts("odd", "float32", {"n": 1000}, 8000, 1000)
    both = bench.save(1e5, {}, workloads=(odd, WORKLOAD))
    one = bench.save(2e5, {})
    assert diff_runs(one, both).workload == diff_runs(both, one).workload == "small"
    with pytest.raises(UsageProblem, match=r"v2_made was not measured on workload 'odd', only the base") as problem:
        diff_runs(both, one, DiffOptions("odd"))
    assert problem.value.hint == "leave out --workload, or --workload small"  # odd, the first of one side, is no answer
    with pytest.raises(UsageProblem, match="only the candidate was"):
        diff_runs(one, both, DiffOptions("odd"))
    with pytest.raises(UsageProblem, match=r"neither v1_made nor v2_made was .* 'nosuch'; known: small\n") as problem:
        diff_runs(both, one, DiffOptions("nosuch"))
    assert problem.value.hint == "leave out --workload, or --workload small"
    with pytest.raises(UsageProblem) as problem:
        diff_runs(one, both, DiffOptions("smal"))
    assert problem.value.hint.endswith("--workload small")
    only_odd = bench.save(1e5, {}, workloads=(odd,))
    assert diff_runs(one, only_odd).verdict.reason == "other-workload"


def test_runs_without_timings_are_unclear_at_best_likely(bench: Bench) -> None:
    fast = bench.save(None, {}, launches=(launch(duration_ns=100.0),))
    slow = bench.save(None, {}, launches=(launch(duration_ns=178.0),))
    verdict = diff_runs(slow, fast).verdict
    assert (verdict.verdict, verdict.likely, verdict.reason) == ("unclear", "faster", "one-sample")
    assert verdict.speedup == pytest.approx(1.78)
    timed = bench.save(1e5, {}, launches=(launch(duration_ns=100.0),))
    assert diff_runs(timed, slow).verdict.likely == "slower"
    worse = bench.save(None, {INSTRUCTIONS: 9e6}, launches=(launch(duration_ns=140.0),))
    assert {flag.role for flag in diff_runs(timed, worse).flags} == {"side-effect"}


def test_runs_without_counters_have_a_verdict_and_no_changes(bench: Bench) -> None:
    diff = diff_runs(bench.save(2e5), bench.save(1e5))
    assert (diff.verdict.verdict, diff.launches, diff.flags) == ("faster", (), ())
    assert diff.baseline.bottleneck is None
    nothing = diff_runs(bench.save(None), bench.save(1e5))
    assert (nothing.verdict.verdict, nothing.verdict.reason) == ("unclear", "no-samples")


def test_bare_reports_need_no_workload(bench: Bench) -> None:
    def report(version: str, duration_ns: float, kernel: str = "k") -> StoredRun:
        one = launch(workload=None, ranges=(), kernel=kernel, duration_ns=duration_ns)  # type: ignore[arg-type]
        run = make_run(kernel=version, version=version, source="imported", workloads=(), launches=(one,), profile=None)
        return save_run(bench.store, run, metrics_frame({}))

    before = report("before", 300.0)
    diff = diff_runs(before, report("after", 100.0))
    assert (diff.verdict.likely, diff.workload, diff.source) == ("faster", None, "imported")
    assert (diff.launches[0].kernel, diff.launches[0].pairing) == ("k", "exact")
    assert diff_runs(before, report("other", 1.0, "other")).launches[0].pairing == "order"
    same = report("same", 300.0, launch().kernel)
    assert diff_runs(same, bench.save(1e5, {})).verdict.reason == "one-sample"


def test_a_recorded_side_makes_the_answer_recorded(bench: Bench) -> None:
    live, recorded = bench.save(1e5, {}), bench.save(1e5, {}, source="recorded")
    assert diff_runs(live, recorded).source == diff_runs(recorded, live).source == "recorded"


def test_several_launches_stand_together(bench: Bench) -> None:
    def chain(*durations: float) -> tuple[StoredRun, ...]:
        bench.count += 1
        launches = tuple(launch(i, f"k{i}", duration_ns=ns) for i, ns in enumerate(durations))
        run = make_run(version=f"v{bench.count}_chain", launches=launches)
        return (save_run(bench.store, run, metrics_frame(*[{}] * len(durations))),)

    (three,), (one,) = chain(10.0, 30.0, 20.0), chain(50.0)
    diff = diff_runs(three, one)
    assert (diff.baseline.launches, diff.candidate.launches) == (3, 1)
    assert (diff.launches[0].pairing, diff.launches[0].baseline_ns) == ("sum", 60.0)
    assert diff_runs(one, three).launches[0].kernel == "k1"  # the longest


def test_different_kernels_are_a_usage_problem(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="different kernels"):
        diff_runs(bench.save(1e5), bench.save(1e5, kernel="other"))


def test_a_changed_file_is_not_compared(bench: Bench) -> None:
    one, two = bench.save(1e5, {}), bench.save(1e5, {})
    path = two.folder / "samples.parquet"
    data = bytearray(path.read_bytes())
    data[50] ^= 255
    path.write_bytes(data)
    with pytest.raises(DamagedData, match=r"samples\.parquet"):
        diff_runs(one, two)


def test_the_bottleneck_is_the_busiest_resource() -> None:
    def name(**values: float | None) -> str | None:
        found = bottleneck(values)
        return found.name if found else None

    assert name(dram_throughput=83.0, sm_throughput=25.0) == "DRAM"
    assert name(dram_throughput=61.0, sm_throughput=62.0, l2_busy=None) == "SM"
    assert name(dram_throughput=40.0, l2_busy=75.0, memory_throughput=75.0) == "L2"
    assert name(dram_throughput=40.0, memory_throughput=75.0, sm_throughput=60.0) == "memory"
    assert name(memory_throughput=40.0, sm_throughput=59.9) == "latency"
    assert name(dram_throughput=None) is None
    assert name(sm_throughput=61.0) == "SM"
    assert name(sm_throughput=20.0) is None  # what memory did was not collected


def test_a_foreign_report_of_another_kernel_cannot_be_compared(bench: Bench) -> None:
    ours = bench.save(100_000, {DRAM: 50.0})
    theirs = bench.save(None, {DRAM: 50.0}, kernel="imported", source="imported", launches=(launch(kernel="other"),))
    verdict = diff_runs(ours, theirs).verdict
    assert (verdict.verdict, verdict.reason) == ("not-comparable", "other-kernel")


def test_repeats_under_ncu_are_more_than_one_sample(bench: Bench) -> None:
    def repeated(middle: float) -> StoredRun:
        bench.count += 1
        launches = tuple(launch(i, repeat=i, duration_ns=middle * (1 + 0.001 * (i % 5))) for i in range(30))
        run = make_run(version=f"v{bench.count}_made", launches=launches)
        return save_run(bench.store, run, metrics_frame(*[{}] * 30))

    verdict = diff_runs(repeated(2e5), repeated(1e5)).verdict
    assert (verdict.samples, verdict.likely) == ((30, 30), "faster")
    assert (verdict.verdict, verdict.reason) == ("unclear", "clocks-unknown")  # half the time, and still only likely
