"""A diff as the comment of a pull request: the verdict in the open, tables folded, text from outside harmless."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from factories import STALL, launch, make_run, metrics_frame, save_run
from made import EVIL, saved

from ncu_assist.analysis.diff import DiffOptions, RunDifference, diff_runs
from ncu_assist.analysis.diff.lines import LineChanges
from ncu_assist.analysis.diff.why import Factor, Factors
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.store import Store

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
INSTRUCTIONS = "smsp__inst_executed.sum"
COMMENT_LIMIT = 65_536  # characters of a comment on GitHub


def test_verdict_and_why_stand_in_the_open(tmp_path: Path) -> None:
    slow, fast = saved(tmp_path, "v1_a", 2e5, {INSTRUCTIONS: 3e6}), saved(tmp_path, "v2_b", 1e5, {INSTRUCTIONS: 9e6})
    text = diff_markdown(diff_runs(slow, fast))
    before_fold = text.partition("<details>")[0]
    assert before_fold.startswith("🟢 **v2 is 2.0")
    assert "bound by DRAM" in before_fold
    assert "**What got worse as a side effect**" in before_fold
    assert "- Executed Instructions rose from 3 M to 9 M" in before_fold
    assert text.count("<details>") == text.count("</details>") >= 2
    assert "| Executed Instructions | 3 M | 9 M | ▲ +200.0 % | regressed |" in text
    assert "metrics did not change, or lack a value" in text


def test_ncus_notation_of_repeats(tmp_path: Path) -> None:
    repeats = [{SM: 40.0 + i} for i in range(5)]
    launches = tuple(launch(i, repeat=i) for i in range(5))
    run = make_run(version="v1_a", launches=launches)
    before = save_run(Store(tmp_path / "reports"), run, metrics_frame(*repeats))
    text = diff_markdown(diff_runs(before, saved(tmp_path, "v2_b", None, {SM: 60.0})))
    assert "| Compute (SM) Throughput | 42.0 % | 60.0 % | ▲ +18.0 pt, +11.4@5 | changed |" in text


def test_an_unclear_answer_names_the_next_command(tmp_path: Path) -> None:
    slow = saved(tmp_path, "v1_a", None, launches=(launch(duration_ns=178_000.0),))
    fast = saved(tmp_path, "v2_b", None, launches=(launch(duration_ns=100_000.0),))
    text = diff_markdown(diff_runs(slow, fast))
    assert text.startswith("🟡 **v2 against v1 on small: unclear, likely 1.78x faster (one sample a side)**")
    assert "try: `ncu-assist bench add_one v1 v2 --workload small`" in text


def test_what_a_terminal_wraps_is_one_bullet(tmp_path: Path) -> None:
    """A note, and a product with long names, are two lines in 80 columns."""
    note = "no warp states were sampled: ncu-assist profile samples them, as ncu --set full does, and lines need them"
    diff = diff_runs(
        saved(tmp_path, "v1_a", 2e5, {INSTRUCTIONS: 3e6}), saved(tmp_path, "v2_b", 1e5, {INSTRUCTIONS: 9e6})
    )
    made = Factors(
        "DRAM",
        tuple(
            Factor(kind, f"{kind}-of-something-with-a-long-name", "", before, after)  # type: ignore[arg-type]
            for kind, before, after in (("work", 9.0, 3.0), ("rate", 3.0, 1.0), ("clock", 1.0, 2.0))
        ),
        (80.0, 70.0),
    )
    assert diff.why
    told = replace(diff, why=replace(diff.why, factors=(made,)), lines=LineChanges((), (), (note, note)))
    bullets = [line for line in diff_markdown(told).replace("\\", "").splitlines() if line.startswith("- ")]
    assert [line for line in bullets if line.startswith("- lines: ")] == [f"- lines: v1 and v2: {note}"]
    assert [len(re.findall(" [x/] ", line)) for line in bullets if line.startswith("- ncu: ")] == [2]
    assert [word for word in bullets if word.removeprefix("- ").startswith((" ", "x ", "/ "))] == []
    screen = diff_text(told, Style(80))
    assert "\n     x " in screen or "\n     / " in screen
    assert f"lines: v1 and v2: {note}" in " ".join(screen.split())


def test_one_change_of_time_is_told_by_one_number(tmp_path: Path) -> None:
    """The ratio of medians and that of what ncu counted differ in which of two middle launches they take."""
    facts: dict[str, Any] = {"source": "imported", "workloads": (), "checks": (), "profile": None}
    clock = "gpc__cycles_elapsed.avg.per_second"
    runs = []
    for name, times in (("before", (28_900.0, 28_930.0, 28_932.0, 28_990.0)), ("after", (100.0,))):
        own = tuple(launch(i, "gemm", None, ranges=(), duration_ns=ns) for i, ns in enumerate(times))  # type: ignore[arg-type]
        run = make_run(kernel=name, version=name, launches=own, **facts)
        frame = metrics_frame(*({"gpu__time_duration.sum": ns, clock: 1.98e9 + 1e5 * ns / 1e4} for ns in times))
        runs.append(save_run(Store(tmp_path / "reports"), run, frame))
    diff = diff_runs(runs[0], runs[1])
    assert diff.why
    assert diff.why.time_ratio != diff.why.by_verdict == diff.verdict.speedup == diff.why.told_ratio
    for text in (diff_text(diff, Style()), diff_markdown(diff)):
        assert set(re.findall(r"28\d\.\d+x", text)) == {"289.32x"}
        assert "in cycles too" in text


def test_one_difference_is_counted_as_one(tmp_path: Path) -> None:
    before, after = saved(tmp_path, "v1_a", 2e5, {}), saved(tmp_path, "v2_b", 1e5, {})
    only = RunDifference("CUDA", "12.1", "12.4", hard=False)
    text = diff_markdown(replace(diff_runs(before, after), differences=(only,)))
    assert "<summary>1 other difference</summary>" in text


def test_names_from_outside_do_nothing(tmp_path: Path) -> None:
    launches = (
        launch(0, EVIL, None, ranges=(), signature=EVIL),  # type: ignore[arg-type]
        launch(1, "a|b`<img src=x>@team", None, ranges=(), signature="x"),  # type: ignore[arg-type]
    )
    run = make_run(kernel="k", version="v_all", source="imported", workloads=(), launches=launches)
    stored = save_run(Store(tmp_path / "reports"), run, metrics_frame({}, {}))
    text = diff_markdown(diff_runs(stored, stored))
    assert not any(bad in text for bad in ("<img", "@team", "\x1b", "\u202e"))


def test_all_metrics_still_fit_in_a_comment(tmp_path: Path) -> None:
    many = {f"made__up_counter_with_a_rather_long_name_{i}.sum": float(i + 1) for i in range(2500)}
    stalls = {STALL.format("barrier"): 3.0}
    more = {name: 2 * value for name, value in many.items()}
    slow, fast = saved(tmp_path, "v1_a", 2e5, many), saved(tmp_path, "v2_b", 1e5, more | stalls)
    text = diff_markdown(diff_runs(slow, fast, DiffOptions(every=True)))
    assert "more: `--all` in the terminal" in text
    assert len(text) < COMMENT_LIMIT
