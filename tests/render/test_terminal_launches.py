"""Which launches were paired, on a terminal: at most a dozen lines of 80 columns, the rest counted."""

from __future__ import annotations

from pathlib import Path

from factories import launch, make_run, metrics_frame, save_run
from made import EVIL

from ncu_assist.diff import diff_runs
from ncu_assist.record import Launch
from ncu_assist.render.json import diff_json
from ncu_assist.render.terminal import Style, diff_text
from ncu_assist.store import Store, StoredRun

LIBRARY = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3__5x_cudnn"


def program(root: Path, version: str, *times: tuple[str, float | None], workload: str | None = None) -> StoredRun:
    """Save a run of these kernels and times: a foreign report, or a version's call where a workload is named."""
    launches = tuple(_launch(i, kernel, workload, ns) for i, (kernel, ns) in enumerate(times))
    foreign = {"source": "imported", "kernel": version, "workloads": (), "checks": (), "profile": None}
    run = make_run(version=version, launches=launches, **({} if workload else foreign))
    metrics = [{"gpu__time_duration.sum": ns} for _, ns in times]
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
    chain = ("x", 1e4), ("y", 3e4)
    before = program(tmp_path, "old", ("add", 1e4), (LIBRARY, 4e5), *chain, ("end", None), ("gone", 7e3))
    after = program(tmp_path, "new", ("add", 1e4), (LIBRARY, 2e5), ("fused_xy", 1e4), ("end", 1e3))
    heading, *rows = block(diff_text(diff_runs(before, after), Style()))
    assert heading.split() == ["launch", "old", "new", "change", "by"]
    assert rows[0].startswith("#1 sm80_xmma_")
    assert rows[0].endswith("_cudnn  400 µs  200 µs  ▼ -50.0 %  exact")
    assert rows[1].startswith("2 launches → 1: fused_xy ")
    assert rows[1].endswith("  40 µs   10 µs  ▼ -75.0 %  order")
    assert rows[2].startswith("#0 add ")
    assert rows[2].endswith("=  exact")
    assert rows[3].split() == ["#4→3", "end", "-", "1", "µs", "exact"]
    assert rows[4:] == ["only in old (1 launch, 7 µs): gone"]


def test_repeats_stand_in_one_row_and_renamed_kernels_show_both_names(tmp_path: Path) -> None:
    before = program(tmp_path, "old", *[("k_0d1d", 1e4), ("same", 1e3)] * 3)
    after = program(tmp_path, "new", *[("k_0d1", 2e4), ("same", 1e3)] * 3)
    _, *rows = block(diff_text(diff_runs(before, after), Style()))
    assert rows[0].split() == ["k_0d1d", "→", "k_0d1", "×3", "30", "µs", "60", "µs", "▲", "+100.0", "%", "name"]
    assert rows[1].split() == ["same", "×3", "3", "µs", "3", "µs", "=", "exact"]


def test_many_pairs_take_a_dozen_lines(tmp_path: Path) -> None:
    gone, added = ([(f"{letter}{i}", 1e3) for i in range(30)] for letter in "ab")
    before = program(tmp_path, "old", *((f"kernel_{i}", 1e4) for i in range(40)), *gone)
    after = program(tmp_path, "new", *added, *((f"kernel_{i}", 1e4 + i) for i in range(40)))
    lines = block(diff_text(diff_runs(before, after), Style()))
    assert len(lines) == 12
    assert lines[1].startswith("#39→69 kernel_39 ")
    assert lines[9] == "32 more pairs: 320 µs → 320 µs"
    assert lines[10].startswith("only in old (30 launches, 30 µs): a0, a1, a2, a3, a4, a5, a6, a7, …")
    assert lines[11].startswith("only in new (30 launches, 30 µs): b0,")


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
