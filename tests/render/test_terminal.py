"""What the terminal shows: the verdict first, 80 columns, colours only where asked, nothing hostile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import DEVICE, PROFILE, launch, make_run, metrics_frame, samples_frame, save_run, times
from made import chain, outcome, saved, wrong

from ncu_assist.analysis.archive import QueryResult
from ncu_assist.analysis.diff import diff_runs
from ncu_assist.analysis.ladder import KernelListing, KernelOutcome, VersionOutcome
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.run_verdict import outcome_box
from ncu_assist.render.json.versions import outcome_json
from ncu_assist.render.markdown import query_markdown
from ncu_assist.render.terminal.archive import list_text, query_text, verify_text
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.terminal.versions import UNPAIRED_MARK, outcome_text
from ncu_assist.render.words.verdicts import factor
from ncu_assist.store import Damage, Store

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
INSTRUCTIONS = "smsp__inst_executed.sum"
COLOR = Style(80, True)


def check_layout(text: str) -> None:
    assert text.endswith("\n")
    for line in text.splitlines():
        assert len(line) <= 80, line
        assert line == line.rstrip()
    assert "\x1b" not in text


def test_a_diff_starts_with_the_verdict(tmp_path: Path) -> None:
    slow, fast = (
        saved(tmp_path, "v3_slow", 3.42e5, {INSTRUCTIONS: 3e6}),
        saved(tmp_path, "v7_quick", 1e5, {INSTRUCTIONS: 9e6}),
    )
    text = diff_text(diff_runs(slow, fast), Style())
    check_layout(text)
    lines = text.splitlines()
    assert lines[0].startswith("v7 is 3.42x faster than v3 on small (99 % interval 3.")
    assert lines[0].endswith(", 100 pairs)")
    assert lines[1] == "add_one · measured on NVIDIA H200, 2026-11-21"
    assert lines[2] == "both bound by DRAM (83 %, now 83 %)"
    row = next(line for line in lines if line.startswith("Executed Instructions"))
    assert row.split()[2:] == ["3", "M", "9", "M", "▲", "+200.0", "%", "regressed"]
    assert "What got worse as a side effect:" in text
    assert "  Executed Instructions rose from 3 M to 9 M" in text
    back = diff_text(diff_runs(fast, slow), Style())
    assert back.startswith("v3 is 3.42x slower than v7 on small (99 % interval 3.")


def test_a_slower_version_is_explained(tmp_path: Path) -> None:
    slow, fast = (
        saved(tmp_path, "v3_slow", 2e5, {SM: 50.0, INSTRUCTIONS: 9e6}),
        saved(tmp_path, "v7_quick", 1e5, {SM: 70.0, INSTRUCTIONS: 3e6}),
    )
    text = diff_text(diff_runs(fast, slow), Style())
    assert "What got worse and explains the slowdown:\n  Executed Instructions rose" in text
    assert "side effect" not in text  # less of the SMs a second is what a longer time is


def test_the_other_verdicts(tmp_path: Path) -> None:
    one = saved(tmp_path, "v1_a", 1e5)
    itself = diff_text(diff_runs(one, one), Style())
    assert itself.startswith("v1 is as fast as itself on small (99 % interval 1.000 to 1.000, 100 pairs)\n")
    assert "note: both sides are the same run" in itself
    slow = saved(tmp_path, "v2_b", None, launches=(launch(duration_ns=178_000.0),))
    text = diff_text(diff_runs(slow, one), Style())
    assert text.startswith("v1 against v2 on small: unclear, likely 1.78x faster (one sample a side)\n")
    assert "why: there is one duration a side" in text
    assert "try: ncu-assist bench add_one v2 v1" in text
    other = saved(tmp_path, "v4_c", 1e5, device=replace(DEVICE, name="NVIDIA H100"), source="recorded")
    text = diff_text(diff_runs(one, other), Style())
    assert text.startswith("v4 and v1 cannot be compared on small: the two were measured on different GPUs\n")
    assert "add_one · v1: measured on NVIDIA H200, 2026-11-21; v4: recorded on NVIDIA H100, 2026-11-21" in " ".join(
        text.split()
    )
    assert "GPU model: NVIDIA H200 against NVIDIA H100 (forbids a comparison)" in text
    soft = saved(tmp_path, "v5_d", 1e5, profile=replace(PROFILE, section_set="basic"))
    assert "section set: full against basic\n" in diff_text(diff_runs(one, soft), Style())


def test_from_zero_and_missing_are_shown(tmp_path: Path) -> None:
    one = saved(tmp_path, "v1_a")
    two = saved(tmp_path, "v2_b", 1e5, {"derived__local_spilling_requests": 4.0, SM: None})
    text = diff_text(diff_runs(one, two), Style())
    check_layout(text)
    assert "▲ new" in text
    row = next(line for line in text.splitlines() if line.startswith("Compute (SM) Throughput"))
    assert row.split()[3:] == ["25.0", "%", "-", "-", "missing"]


def test_colours_only_where_asked(tmp_path: Path) -> None:
    before, after = saved(tmp_path, "v1_a", 2e5, {INSTRUCTIONS: 3e6}), saved(tmp_path, "v2_b", 1e5, {INSTRUCTIONS: 9e6})
    diff = diff_runs(before, after)
    assert "\x1b[1;32mv2 is 2." in diff_text(diff, COLOR)
    assert "\x1b[31m▲ +200.0 %" in diff_text(diff, COLOR)
    assert "\x1b" not in diff_text(diff)  # pytest's stdout is no terminal


def test_a_terminal_decides_width_and_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    from ncu_assist.render.terminal.style import detected

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert detected() == Style(100, True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert detected() == Style(80, False)
    monkeypatch.delenv("NO_COLOR")
    for terminal, has_colours in (("dumb", False), ("xterm", True)):
        monkeypatch.setenv("TERM", terminal)
        assert detected().color == has_colours


def test_show_has_times_counters_launches_and_stalls(tmp_path: Path) -> None:
    text = show_text(gather(chain(tmp_path)), Style())
    check_layout(text)
    assert text.startswith("add_one/v2_chain@20261121T074500Z-1a2b3c\nmeasured on NVIDIA H200, 2026-11-21; --set full")
    times = next(line for line in text.splitlines() if line.startswith("small"))
    assert times.split()[1] in ("50.0", "49.9", "50.1")
    assert times.split()[-1] == "passed"
    assert next(line for line in text.splitlines() if line.startswith("odd")).split()[-1] == "FAILED"
    assert "odd: element 999 is nan [bold]" in text
    assert "Speed of light of launch 2 alone, third" in " ".join(text.split())
    assert "the longest of 3" in " ".join(text.split())
    assert "\nbound by DRAM, at 83 % of its peak" in text
    assert "Counters of small, 3 launches of different kernels: sums of all, the others of" in text
    assert "long scoreboard  87.0 %" in text
    assert "note: a note \\x1b[2J" in text
    assert "second" in text
    assert "odd_one" not in text


def test_hostile_names_are_spelled_out(tmp_path: Path) -> None:
    text = show_text(gather(chain(tmp_path)), Style(120))
    assert "evil[red]\\x1b[31m\\x07\\u202ekernel" in text.replace("\n", "")


def test_show_chooses_a_workload(tmp_path: Path) -> None:
    stored = chain(tmp_path)
    assert "Speed of light of odd\n" in show_text(gather(stored, "odd"), Style())
    with pytest.raises(Exception, match="was not measured on workload 'od'"):
        show_text(gather(stored, "od"))


def test_show_of_a_bare_report(tmp_path: Path) -> None:
    stored = saved(tmp_path, "report", None, source="imported", verified=False, workloads=(), checks=(), profile=None)
    text = show_text(gather(stored), Style())
    check_layout(text)
    assert "imported 2026-11-21, measured on NVIDIA H200, unverified" in text.replace("\n", " ")


def test_a_gpu_without_a_name_is_not_called_unknown(tmp_path: Path) -> None:
    stored = saved(tmp_path, "report", None, source="imported", verified=False, workloads=(), checks=(), profile=None)
    assert stored.run.device
    nameless = replace(stored, run=replace(stored.run, device=replace(stored.run.device, name="unknown")))
    text = show_text(gather(nameless), Style())
    assert "measured on a GPU of compute capability 9.0 that is not named, unverified" in text.replace("\n", " ")


def test_profile_shows_every_version(tmp_path: Path) -> None:
    text = outcome_text(outcome(tmp_path), Style())
    check_layout(text)
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("v")}
    assert rows["v0_torch"][2] == "1.000x"
    assert rows["v1_fused"][2].startswith("2.")
    assert rows["v1_fused"][-3:] == ["passed", "83", "%"]
    assert rows["v3_new"][:2] == ["not", "measured"]
    assert "failed: error: expected a ';' [red]\\x1b[31m" in text


def test_the_speedup_over_v0_is_that_of_the_verdict(tmp_path: Path) -> None:
    """One figure: beside a verdict on pairs stands no ratio of medians, which is another."""
    shown = outcome(tmp_path)
    v0, v1, *_ = shown.versions
    assert v0.run
    assert v1.run
    (cell,) = shown.cells(v1)
    said, medians = diff_runs(v0.run, v1.run), [one.run.run.timing("small") for one in (v0, v1) if one.run]
    assert (cell.speedup, cell.is_paired) == (said.verdict.speedup, True)
    assert medians[0]
    assert medians[1]
    assert cell.speedup != medians[0].median_ns / medians[1].median_ns
    assert UNPAIRED_MARK not in outcome_text(replace(shown, diffs=(said,)), Style())
    (found,) = [one for one in outcome_json(shown, "bench")["versions"] if one["version"] == "v1_fused"]
    assert (found["workloads"][0]["speedup_over_v0"], found["workloads"][0]["speedup_is_paired"]) == (
        cell.speedup,
        True,
    )


def test_the_ratio_of_medians_of_two_benches_is_marked(tmp_path: Path) -> None:
    samples = samples_frame(times(1e5, 7), version="v2_later", bench_id="another")
    later = save_run(Store(tmp_path / "reports"), make_run(version="v2_later"), metrics_frame({}), samples)
    first, rest = outcome(tmp_path).versions[0], VersionOutcome("v2_later", later)
    shown = KernelOutcome("add_one", ("small",), "live", (first, rest))
    (cell,) = shown.cells(rest)
    assert first.run
    medians = [one.run.timing("small") for one in (first.run, later)]
    assert medians[0]
    assert medians[1]
    assert (cell.speedup, cell.is_paired) == (medians[0].median_ns / medians[1].median_ns, False)
    text = outcome_text(shown, Style())
    assert f"{factor(cell.speedup or 0.0)}{UNPAIRED_MARK}" in text
    assert "*: of the medians of two benches, not paired\n" in text
    assert "medians of two benches" in outcome_box(shown)
    assert outcome_json(shown, "bench")["versions"][1]["workloads"][0]["speedup_is_paired"] is False


def test_a_wrong_version_says_why(tmp_path: Path) -> None:
    stored = wrong(saved(tmp_path, "v1_fused", None), "unwritten output: y[1023] is nan")
    text = outcome_text(KernelOutcome("add_one", ("small",), "live", (VersionOutcome("v1_fused", stored),)), Style())
    assert "v1_fused on small: unwritten output: y[1023] is nan" in text
    assert "median" not in text  # nobody was timed: no such column


def test_list_and_verify(tmp_path: Path) -> None:
    versions = (VersionOutcome("v1_a", saved(tmp_path, "v1_a")), VersionOutcome("v2_b", None))
    text = list_text([KernelListing("add_one", "adds one", ("small", "odd"), "small", versions)], Style())
    check_layout(text)
    assert "workloads: small (default), odd" in text
    assert "measured on NVIDIA H200, 2026-11-21" in text
    assert "not measured" in text
    assert "there are no kernels" in list_text([])
    assert verify_text([], 1) == "✓ 1 run, nothing damaged\n"
    damaged = verify_text([Damage("k/v/\x1b", "is a link")], 3)
    assert damaged.startswith("✗ reports/k/v/\\x1b: is a link\n1 damaged; 3 other runs can be read")


def test_a_query_of_more_columns_than_a_line_holds_is_a_block_a_row() -> None:
    names = tuple(f"a_long_name_{number}" for number in range(8))
    found = QueryResult(names, (("kernel/v1@" + "2026" * 20, *range(1, 8)), ("b", *range(1, 7), None)))
    first, second = query_text(found, Style()).split("\n\n")
    assert max(map(len, first.splitlines())) <= 80
    assert first.replace("\n               ", "").startswith(f"a_long_name_0  {found.rows[0][0]}\na_long_name_1  1\n")
    assert second.splitlines()[-1] == "a_long_name_7  -"
    assert query_text(found, Style(width=200)).count("a_long_name_7") == 1, "where a line holds it, it is a table"
    assert query_text(QueryResult(names, ()), Style()).split() == list(names), "without rows, what there would be"


def test_a_query_has_floats_as_integers_are_in_one_column() -> None:
    found = QueryResult(("n",), ((1234567,), (1234567.8,), (23456789.0,), (0.25,), (None,)))
    shown = ["n", "1234567", "1234568", "23456789", "0.25", "-"]
    assert query_text(found).split() == shown
    assert [line.strip("| ") for line in query_markdown(found).splitlines() if "--" not in line] == shown
