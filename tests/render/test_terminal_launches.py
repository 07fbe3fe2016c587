"""Which launches were paired, on a terminal: at most a dozen lines of 80 columns, the rest counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from factories import DEVICE, launch, make_run, metrics_frame, save_run
from made import EVIL
from schemas import held

from ncu_assist.agents import briefs
from ncu_assist.analysis.diff import LaunchDiff, LaunchPair, RunDifference, diff_runs
from ncu_assist.record import ROUNDED, Launch
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.changes import labels_of
from ncu_assist.store import Store, StoredRun
from ncu_assist.verdict import compare_durations, not_comparable

LIBRARY = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3__5x_cudnn"

FOREIGN: dict[str, Any] = {"source": "imported", "workloads": (), "checks": (), "profile": None}
NO_LOADS = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 0.0,
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 0.0,
}


def program(
    root: Path, version: str, *times: tuple[str, float | None], workload: str | None = None, **facts: Any
) -> StoredRun:
    """Save a run of these kernels and times: a foreign report, or a version's call where a workload is named."""
    given = facts.pop("metrics", [{}] * len(times))
    launches = tuple(_launch(i, kernel, workload, ns) for i, (kernel, ns) in enumerate(times))
    foreign = {"source": "imported", "kernel": version, "workloads": (), "checks": (), "profile": None, **facts}
    run = make_run(version=version, launches=launches, **({} if workload else foreign))
    metrics = [{"gpu__time_duration.sum": ns, **more} for (_, ns), more in zip(times, given, strict=True)]
    return save_run(Store(root / "reports"), run, metrics_frame(*metrics))


def _launch(index: int, kernel: str, workload: str | None, duration_ns: float | None) -> Launch:
    ranges = ("ncu-assist", f"v0|{workload}") if workload else ()
    return launch(index, kernel, workload, ranges=ranges, duration_ns=duration_ns)  # type: ignore[arg-type]


def block(text: str) -> list[str]:
    """Return the lines about launches."""
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines)
    start = next(i for i, line in enumerate(lines) if line.startswith(("launch ", "only in")))
    return lines[start : lines.index("", start)]


def test_pairs_of_two_programs(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("add", 1e4), (LIBRARY, 4e5), ("gemm_naive", 4e4), ("end", None), ("reset", 7e3))
    after = program(tmp_path, "new", ("add", 1e4), (LIBRARY, 2e5), ("gemm_native", 1e4), ("end", 1e3), ("quick", 2e3))
    heading, *rows = block(diff_text(diff_runs(before, after), Style()))
    assert heading.split() == ["launch", "old", "new", "change", "by"]
    assert rows[0].startswith("#1 sm80_xmma_")
    assert rows[0].split()[-8:] == ["400", "µs", "200", "µs", "▼", "-50.0", "%", "exact"]
    assert rows[1].startswith("gemm_naive → gemm_native ")
    assert rows[1].split()[-8:] == ["40", "µs", "10", "µs", "▼", "-75.0", "%", "similar"]
    assert rows[2].startswith("#0 add ")
    assert rows[2].split()[-2:] == ["=", "exact"]
    assert rows[3].split() == ["#3", "end", "-", "1", "µs", "exact"]
    assert rows[4:] == ["only in old (1 launch, 7 µs): reset", "only in new (1 launch, 2 µs): quick"]


def test_repeats_stand_in_one_row_and_renamed_kernels_show_both_names(tmp_path: Path) -> None:
    before = program(tmp_path, "old", *[("k_0d1d", 1e4), ("same", 1e3)] * 3)
    after = program(tmp_path, "new", *[("k_0d1", 2e4), ("same", 1e3)] * 3)
    _, *rows = block(diff_text(diff_runs(before, after), Style()))
    ends = ["10", "µs", "20", "µs", "▲", "+100.0", "%", "unclear", "name"]
    assert rows[0].split() == ["k_0d1d", "→", "k_0d1", "×3", *ends]  # the median of one launch
    assert rows[1].split() == ["same", "×3", "1", "µs", "1", "µs", "=", "unclear", "exact"]
    fewer = program(tmp_path, "fewer", *[("k_0d1d", 1e4), ("same", 1e3)] * 2)
    assert any(row.startswith("same ×3→2 ") for row in block(diff_text(diff_runs(before, fewer), Style())))


def test_many_pairs_take_a_dozen_lines(tmp_path: Path) -> None:
    gone, added = ([(f"{letter}{i}", 1e3) for i in range(30)] for letter in "ab")
    before = program(tmp_path, "old", *((f"kernel_{i}", 1e4) for i in range(40)), *gone)
    after = program(tmp_path, "new", *added, *((f"kernel_{i}", 1e4 + i) for i in range(40)))
    lines = block(diff_text(diff_runs(before, after), Style()))
    assert len(lines) == 12
    assert lines[1].startswith("#39→69 kernel_39 ")
    assert lines[9] == "32 more pairs: 320 µs → 320 µs"
    assert lines[10].startswith("only in old (30 launches, 30 µs): a0 1 µs, a1 1 µs, a2 1 µs, a3 1 µs, a4 1 µs, …")
    assert lines[11].startswith("only in new (30 launches, 30 µs): b0 1 µs, b1 1 µs,")


def test_a_call_of_a_version_is_one_group_in_the_table(tmp_path: Path) -> None:
    before = program(tmp_path, "v1_chain", ("a", 1e4), ("b", 1e4), ("c", 1e4), workload="small")
    text = diff_text(diff_runs(before, program(tmp_path, "v2_fused", ("abc", 1e4), workload="small")), Style())
    assert "\nmetric (3 launches → 1) " in text
    assert "\nlaunch " not in text
    one = program(tmp_path, "v3_one", ("d", 1e4), workload="small")
    assert "\nmetric (under ncu) " in diff_text(diff_runs(one, one), Style())


def test_a_side_without_launches_of_the_other(tmp_path: Path) -> None:
    one, none = program(tmp_path, "one", ("a", 1e4)), program(tmp_path, "none")
    found = diff_runs(one, none)
    assert block(diff_text(found, Style())) == ["only in one (1 launch, 10 µs): a"]
    assert diff_json(found)["launches"] == []
    assert [launch["kernel"] for launch in diff_json(found)["unpaired"]["baseline"]] == ["a"]


def test_hostile_names_are_spelled_out_and_cut(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    before, after = program(tmp_path, "old", (EVIL, 1e4), (long, 1e4)), program(tmp_path, "new", (long, 1e4))
    text = diff_text(diff_runs(before, after), Style())
    assert "\x1b" not in text
    assert "only in old (1 launch, 10 µs): evil[red]\\x1b[31m\\x07\\u202ekernel" in block(text)


def test_the_table_says_which_launches_it_is_of(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), ("b", 1e5), ("gone", 9e5))
    found = diff_runs(before, program(tmp_path, "new", ("a", 1e5), ("b", 1.0001e5)))
    text = diff_text(found, Style())
    assert "\nmetric (2 of 3 launches → 2) " in text
    assert text.startswith("new against old on the launches of both: unclear (one sample a side)\n")
    assert "regressed" not in text
    assert diff_json(found)["baseline"]["launches"] == 3
    assert diff_json(found)["baseline"]["compared_launches"] == 2
    both = diff_runs(before, program(tmp_path, "more", ("a", 1e5), ("b", 1e5), ("added", 1e5), ("too", 1e5)))
    assert "metric (2 of 3 launches → 2 of 4)" in diff_text(both, Style())


def test_a_change_that_prints_as_nothing_is_none(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), ("b", 1e5))
    text = diff_text(diff_runs(before, program(tmp_path, "new", ("a", 1.0004e5), ("b", 0.9999e5))), Style())
    assert " 0.0 " not in text.replace("+", " ").replace("-", " ")
    row = next(line for line in text.splitlines() if line.startswith("Duration"))
    assert row.split()[-2:] == ["=", "unchanged"]
    assert sum(line.split()[-2:] == ["=", "exact"] for line in block(text)) == 2


def test_runs_that_cannot_be_compared_stand_side_by_side(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), ("b", 1e5))
    other = program(tmp_path, "new", ("a", 1e4), device=replace(DEVICE, name="NVIDIA H100"))
    text = diff_text(diff_runs(before, other), Style())
    assert not any(word in text for word in ("▲", "▼", "regressed", "improved", "got worse", "change", "launch "))
    assert "\nnew is bound by DRAM (83 %)" in text
    assert "old is bound by" not in text  # a and b each by something
    row = next(line for line in text.splitlines() if line.startswith("Duration"))
    assert row.split() == ["Duration", "200", "µs", "10", "µs"]


def test_what_one_side_alone_launched_is_told_of_problems_of_another_size(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), ("b", 1e5))
    diff = diff_runs(before, program(tmp_path, "new", ("a", 1e4), ("c", 1e4)))
    text = diff_text(replace(diff, verdict=not_comparable("other-size")), Style())
    assert "\nonly in old (1 launch, 100 µs): b\nonly in new (1 launch, 10 µs): c\n\nmetric (1 of 2" in text
    assert "launch  " not in text


def test_programs_without_a_common_launch_are_only_listed(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), (LIBRARY, 1e5))
    text = diff_text(diff_runs(before, program(tmp_path, "new", ("c", 1e4))), Style())
    first = "new and old cannot be compared: no launch of one corresponds to a launch of the"
    assert text.startswith(f"{first}\nother, by NVTX range, name or shape\n")
    assert "likely" not in text
    assert "Duration" not in text
    assert "Besides the version these differ" not in text
    lists = f"only in old (2 launches, 200 µs): a 100 µs, {LIBRARY} 100 µs only in new (1 launch, 10 µs): c"
    assert "".join(text.split()).endswith("".join(lists.split()))


def test_notes_stand_below_the_origin(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), notes=(ROUNDED, "odd \x1b[2J"))
    found = diff_runs(before, program(tmp_path, "new", ("a", 1e5)))
    text = diff_text(found, Style())
    assert "note: old: read from a printed page: values are rounded" in text
    assert "note: old: odd \\x1b[2J" in text
    assert "  values: rounded (printed page) against as counted\n" in text
    assert diff_json(found)["baseline"]["notes"][0] == ROUNDED
    assert diff_json(found)["candidate"]["notes"] == []


def test_values_of_some_launches_are_marked(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5), ("a", 1e5), workload="small", metrics=({}, NO_LOADS))
    found = diff_runs(before, program(tmp_path, "new", ("a", 1e5), ("a", 1e5), workload="small"))
    text = diff_text(found, Style())
    row = next(line for line in text.splitlines() if line.startswith("Sector efficiency, global loads"))
    assert row.split()[4:] == ["100.0", "%*", "100.0", "%", "=", "unchanged"]
    assert "* old of 1 of 2 launches (else n/a): Sector efficiency, global loads\n" in text
    told = {change["metric"]: change for change in diff_json(found)["changes"]}["sector_efficiency_load"]
    assert told["baseline_coverage"] == {"known": 1, "launches": 2, "reasons": ["n/a"]}
    assert told["candidate_coverage"] is None
    again = diff_text(diff_runs(before, before), Style())
    assert "* each of 1 of 2 launches (else n/a): Sector efficiency, global loads\n" in again


def test_a_name_that_says_nothing_alone_has_its_library_before_it(tmp_path: Path) -> None:
    """As ``show`` has it; a filter takes the name that the report has."""
    signature = "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<1>>(Params)"
    gemms = [launch(0, "Kernel", None, signature=signature, duration_ns=ns) for ns in (1e5, 2e5)]
    others = [launch(1, "reference", None, duration_ns=9e6), launch(2, "Kernel", None, duration_ns=5e3)]
    facts = {"source": "imported", "workloads": (), "checks": (), "profile": None}
    runs = []
    for version, gemm, more in (("old", gemms[0], others[:1]), ("new", gemms[1], others)):
        run = make_run(kernel=version, version=version, launches=(gemm, *more), **facts)
        frame = metrics_frame(*({"gpu__time_duration.sum": one.duration_ns} for one in run.launches))
        runs.append(save_run(Store(tmp_path / "reports"), run, frame))
    text = diff_text(diff_runs(runs[0], runs[1]), Style())
    assert "\n#0 CUTLASS Kernel " in text
    assert "CUTLASS Kernel alone is likely 2.00x slower" in text
    assert "--filter Kernel\n" in text
    assert "only in new (1 launch, 5 µs): Kernel\n" in text


def test_a_change_that_the_whole_hides_is_near_the_top_with_the_command_that_compares_it(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("gemm_naive", 1e5), ("reference", 9e6))
    found = diff_runs(before, program(tmp_path, "new", ("gemm_native", 2e5), ("reference", 9e6)))
    said = "gemm_naive → gemm_native alone is likely 2.00x slower (100 µs → 200 µs)"
    command = f"ncu-assist diff {before.reference} {found.candidate.reference} --filter gemm_naive --filter gemm_native"
    assert " ".join(diff_text(found, Style()).splitlines()[2:5]) == f"{said}: {command}"
    assert f"{said}: `{command}`" in diff_markdown(found)
    answer = held(diff_json(found))
    assert answer["outlier"] == briefs.diff(answer)["outlier"]
    assert answer["outlier"] == {
        "baseline": "gemm_naive",
        "candidate": "gemm_native",
        "baseline_ns": 1e5,
        "candidate_ns": 2e5,
        "likely": "slower",
        "next": command,
    }
    alone = diff_runs(before, program(tmp_path, "same", ("gemm_naive", 1e5), ("reference", 9e6)))
    assert "alone is" not in diff_text(alone, Style())
    assert "alone is" not in diff_markdown(alone)
    assert held(diff_json(alone))["outlier"] is None


def test_functions_of_both_that_do_not_correspond_are_named(tmp_path: Path) -> None:
    """Closure 5 of a Julia program, once and in two shapes: nothing says which of them is which."""
    facts = {"source": "imported", "workloads": (), "checks": (), "profile": None}
    runs = []
    for version, main, blocks in (("old", "bb", (258048,)), ("new", "frb", (39312, 6308))):
        own = [launch(at, f"julia__5_{at}", None, ranges=(), grid=(of, 1, 1)) for at, of in enumerate(blocks)]
        own = [*own, launch(len(own), f"julia_{main}_77", None, ranges=(), duration_ns=1e7)]
        run = make_run(kernel=version, version=version, launches=tuple(own), **facts)
        runs.append(save_run(Store(tmp_path / "reports"), run, metrics_frame(*[{}] * len(own))))
    found = diff_runs(*runs)
    assert (found.verdict.verdict, found.verdict.reason) == ("not-comparable", "no-common-launch")
    assert "  launches of julia__5 in other shapes: 1 against 2 (forbids a comparison)\n" in diff_text(found, Style())


def test_what_does_not_fit_into_a_line_of_a_list_is_indented(tmp_path: Path) -> None:
    before = program(tmp_path, "old", ("a", 1e5))
    found = diff_runs(before, program(tmp_path, "new", ("a", 1e5)))
    long = RunDifference("threads of generate_encoded_signal", "306,390,016", "262,144", hard=True)
    text = diff_text(replace(found, differences=(long,)), Style(width=60))
    assert "\n  threads of generate_encoded_signal: 306,390,016 against\n    262,144 (forbids a comparison)\n" in text


def test_no_table_of_metrics_that_nobody_counted(tmp_path: Path) -> None:
    before, after = (
        save_run(
            Store(tmp_path / "reports"),
            make_run(
                kernel=name, version=name, launches=(launch(0, "a", None, ranges=(), duration_ns=None),), **FOREIGN
            ),
            metrics_frame({}, defaults=False),
        )
        for name in ("old", "new")
    )
    text = diff_text(diff_runs(before, after), Style())
    assert "\nmetric" not in text
    assert "in neither report: Duration; " in text


def test_names_are_cut_where_they_differ() -> None:
    """A library's kernels differ in the size of their tile, in the middle of their names."""
    names = ["ampere_sgemm_128x64_nn", "ampere_sgemm_64x64_nn"]
    before, after = (launch(0, name, None) for name in names)
    pairs = [LaunchPair((before,), (after,), "similar"), LaunchPair((after,), (before,), "similar")]
    verdict = compare_durations(1e5, 1e5)
    rows = [[LaunchDiff("k", "similar", pair, 1e5, 1e5, verdict, ())] for pair in pairs]
    first, second = labels_of(rows, 25)
    assert first == "amp…128x64… → amp…64x64_…"
    assert second.split(" → ") == first.split(" → ")[::-1]
    assert labels_of(rows)[0] == " → ".join(names)


def test_a_launch_that_does_other_work_is_told_above_the_table(tmp_path: Path) -> None:
    facts = {"source": "imported", "workloads": (), "checks": (), "profile": None}
    stored = [f"lts__t_sectors_srcunit_tex_op_{what}.sum" for what in ("write", "red", "atom")]
    runs = []
    for version, did in (("old", 1.0), ("new", 0.0)):
        own = (launch(0, "gemm", None, duration_ns=1e4 + 1e5 * did), _launch(1, "reference", None, 9e6))
        run = make_run(kernel=version, version=version, launches=own, **facts)
        made = [
            {**dict.fromkeys(stored, 0.0), stored[0]: 1e6 * part, "smsp__inst_executed.sum": 1e3 + 1e6 * part}
            for part in (did, 1.0)
        ]
        frame = metrics_frame(*made)
        runs.append(save_run(Store(tmp_path / "reports"), run, frame))
    found = diff_runs(runs[0], runs[1])
    assert [one.doubt for one in found.launches] == ["no-result", ""]
    said = "note: gemm: one of the two wrote nothing to memory and executed less than a sixteenth"
    above, _, table = diff_text(found, Style()).partition("#0 gemm")
    assert said in " ".join(above.split())
    assert "  L2 sectors written of gemm: 1 M against 0\n" in table
    assert "alone is" not in above


def test_no_line_sends_to_a_comparison_of_launches_of_another_size(tmp_path: Path) -> None:
    """The command would refuse it. Fewer threads for as many bytes are the same work."""
    facts = {"source": "imported", "workloads": (), "checks": (), "profile": None}
    runs = {}
    made = (("old", 2e5, 512, 32), ("less", 1e5, 512, 32), ("few", 1e5, 16, 32), ("small", 1e5, 16, 1))
    for version, ns, blocks, of in made:
        own = (launch(0, "gemm", None, duration_ns=ns, grid=(blocks, 1, 1)), _launch(1, "reference", None, 9e6))
        run = make_run(kernel=version, version=version, launches=own, **facts)
        moved = {"dram__bytes_read.sum": 1e6 * of, "dram__bytes_write.sum": 0.0}
        frame = metrics_frame(*({"gpu__time_duration.sum": one.duration_ns, **moved} for one in own))
        runs[version] = save_run(Store(tmp_path / "reports"), run, frame)
    for same in ("less", "few"):
        assert "gemm alone is likely 2.00x faster" in diff_text(diff_runs(runs["old"], runs[same]), Style())
    small = diff_runs(runs["old"], runs["small"])
    assert "threads of gemm, another size of the problem?" in diff_text(small, Style())
    assert "alone is" not in diff_text(small, Style())
    assert held(diff_json(small))["outlier"] is None


def test_a_pair_by_order_is_said_to_be_one_by_nothing_else(tmp_path: Path) -> None:
    baseline = program(tmp_path, "old", ("generalLaunch", 2e5))
    found = diff_runs(baseline, program(tmp_path, "new", ("fill_kernel", 1e5)))
    said = "generalLaunch and fill_kernel are paired by order: their names do not say that they do the same"
    assert f"note: {said}" in " ".join(diff_text(found, Style()).split())
    assert f"note: {said}" in diff_markdown(found).replace("\\", "")
    same = diff_runs(baseline, program(tmp_path, "again", ("generalLaunch", 1e5)))
    assert "by order" not in diff_text(same, Style())


def test_repeats_that_the_other_side_has_not_are_said_to_be_left_out(tmp_path: Path) -> None:
    more = program(tmp_path, "more", *[("gemm", 2e5)] * 5, ("scan", 1e5), ("gemm", 2e5))
    found = diff_runs(more, program(tmp_path, "fewer", *[("gemm", 1e5)] * 4, ("scan", 1e5)))
    assert (found.baseline.compared, found.candidate.compared) == (5, 5)
    said = "more: 2 repeats of gemm more than the other side has: not in its total, nor in a metric"
    assert f"note: {said}" in " ".join(diff_text(found, Style()).split())
    assert f"note: {said}" in diff_markdown(found).replace("\\", "")
    other = program(tmp_path, "other", *[("gemm", 1e5)] * 3)
    for name, often in (("five", 5), ("two", 2)):
        alone = diff_runs(program(tmp_path, name, *[("gemm", 2e5)] * often), other)  # medians over all of either
        assert "the other side has" not in " ".join(diff_text(alone, Style()).split())


def test_in_markdown_the_command_that_settles_it_is_code_alone(tmp_path: Path) -> None:
    before, after = (program(tmp_path, name, ("gemm", ns)) for name, ns in (("old", 2e5), ("new", 1e5)))
    assert "try: with 20 launches of the kernel or more in each: `ncu " in diff_markdown(diff_runs(before, after))
