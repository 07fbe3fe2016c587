"""Estimated against achieved: what was said then of faults that are gone, beside the best that is known of time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE, launch, make_run, metrics_frame, samples_frame, save_run, times
from made import EVIL

from ncu_assist.analysis.faults_gone import FaultsGone, faults_gone
from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.errors import DamagedData
from ncu_assist.pipeline.history import Floors, _judged
from ncu_assist.render.json.history import history_json
from ncu_assist.render.markdown.history import history_markdown
from ncu_assist.render.terminal.history import history_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words import history as words
from ncu_assist.render.words.history_tables import faults_gone_table
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.findings import FINDINGS, Findings, Judged, StoredFinding, findings_json
from ncu_assist.suggest.evidence.gathering import _faults
from ncu_assist.verdict import Verdict, not_comparable

RULES = ("uncoalesced-global-store", "tail-effect", "pipe-bound", "unexplained")
FASTER = Verdict("faster", None, "interval-beyond", 2.5, 2.4, 2.6, 100)
LONG = "v12_quite_a_long_name_xx"  # 24 letters


def finding(rule: str, saved_ns: float, severity: str = "high", **changes: Any) -> StoredFinding:
    """A fault of a version that takes 100 µs."""
    return StoredFinding(rule, severity, saved_ns, 1e5 / (1e5 - saved_ns), **changes)


STORE, TAIL = finding("uncoalesced-global-store", 6e4), finding("tail-effect", 2e4, "medium")


def run_of(
    root: Path, version: str, *found: StoredFinding, unanswered: Sequence[str] = (), **changes: Any
) -> StoredRun:
    """Save a timed run of which a tool said this; it never looked for ``barrier-stall``."""
    samples = samples_frame(times(1e5, 1), version=version) if changes.pop("timed", True) else None
    judged = Judged("small", True, 0, "add_one_kernel", changes.pop("ns", 1e5), found, tuple(unanswered))
    said = Findings(changes.pop("tool", "0.0.9"), changes.pop("rules", RULES), (judged,))
    files = {} if changes.pop("older", False) else {FINDINGS: findings_json(said)}
    files |= {name: changes.pop(name) for name in list(changes) if name.startswith("source/")}
    metrics = metrics_frame(*[{"gpu__time_duration.sum": 1e5}] * len(changes.get("launches", (0,))))
    return save_run(Store(root / "reports"), make_run(version=version, **changes), metrics, samples, **files)


def history_of(before: StoredRun, after: StoredRun, verdict: Verdict | None = FASTER, **changes: Any) -> History:
    last = HistoryCell("small", after, verdict, **changes)
    steps = (
        VersionRow(before.run.version, None, (HistoryCell("small", before, None),)),
        VersionRow(after.run.version, before.run.version, (last,)),
    )
    return History("add_one", ("small",), "small", steps)


def judged(history: History) -> History:
    """Return a history with what the rules say now, as the pipeline gives it."""
    reports = _store(history.rows[0]).reports
    answers = Answers(reports, history.kernel)
    return replace(history, rows=tuple(_judged(step, "small", Floors(reports), answers) for step in history.rows))


def _store(step: VersionRow) -> Store:
    run = step.cells[0].stored
    assert run is not None
    return Store(run.folder.parent.parent.parent)


def told(history: History) -> FaultsGone:
    (one,) = faults_gone(judged(history)).values()
    return one


def gone(history: History) -> list[str]:
    return [one.rule for one in told(history).gone]


def test_what_was_said_then_is_shown_whatever_the_rules_say_now(tmp_path: Path) -> None:
    before = run_of(tmp_path, "v0_torch", STORE)  # of counters in which no store is uncoalesced
    history = history_of(before, run_of(tmp_path, "v1_fused"))
    one = told(history)
    assert (one.version, one.before, one.source, one.tool) == ("v1_fused", "v0_torch", "stored", "0.0.9")
    assert (one.gone, one.appeared) == ((STORE,), ())
    assert one.achieved is not None
    assert (one.achieved, one.achieved_by) == (2.5, "bench")
    text = history_text(history, Style())
    assert "v1_fused  uncoalesced-global-store      2.50x     2.50x\n" in text
    assert "\nestimated: stored with the run of the parent, by ncu-assist 0.0.9, 2026-11-21\n" in text
    assert "\nachieved: in one bench, paired\n" in text
    assert "together" not in text


def test_the_run_that_predicted_goes_before_the_one_that_is_shown(tmp_path: Path) -> None:
    first = run_of(tmp_path, "v0_torch", TAIL, tool="0.0.1")
    again = run_of(tmp_path, "v0_torch", STORE, run_id="20261122T000000Z-bbbbbb")
    one = told(history_of(again, run_of(tmp_path, "v1_fused"), predicted=first))
    assert (one.gone, one.tool) == ((TAIL,), "0.0.1")


def test_a_run_without_findings_is_judged_now_and_says_so(tmp_path: Path) -> None:
    history = judged(history_of(run_of(tmp_path, "v0_torch", STORE, older=True), run_of(tmp_path, "v1_fused")))
    one = told(history)
    assert (one.source, one.gone) == ("computed now", ())  # the rules find no uncoalesced store in these counters
    assert "fault gone" not in history_text(history, Style())
    assert "fault gone" not in history_markdown(history)
    assert history_json(history)["rows"][1]["prediction"]["estimated"] is None


def test_what_is_gone(tmp_path: Path) -> None:
    faults = (STORE, TAIL, finding("unexplained", 0.0, "info"))
    before = run_of(tmp_path, "v0_torch", *faults)
    remark = finding("tail-effect", 1e3, "info")
    assert gone(history_of(before, run_of(tmp_path, "v1_fused", remark))) == [STORE.rule, TAIL.rule]
    assert gone(history_of(before, run_of(tmp_path, "v2_tail", TAIL))) == [STORE.rule]
    hidden = finding("tail-effect", 2e4, "info")  # as large as it was, beside something worse
    assert gone(history_of(before, run_of(tmp_path, "v4_slow", hidden))) == [STORE.rule]
    silent = run_of(tmp_path, "v3_basic", unanswered=[STORE.rule])
    assert gone(history_of(before, silent)) == [TAIL.rule]  # what lacks its counters is not known to be gone


def test_a_fault_that_another_rule_finds_on_the_same_resource_is_not_gone(tmp_path: Path) -> None:
    strided = finding("uncoalesced-global-load", 5e4)
    before = run_of(tmp_path, "v0_naive", STORE, TAIL, rules=(*RULES, strided.rule))
    one = told(history_of(before, run_of(tmp_path, "v1_swapped", strided, rules=(*RULES, strided.rule))))
    assert (one.gone, one.appeared, one.renamed) == ((TAIL,), (), ((STORE, strided),))
    said = "v1: uncoalesced-global-store is not gone, the same resource now shows it as uncoalesced-global-load"
    assert said in list(words.prediction_legend([one]))
    little = finding("uncoalesced-global-load", 1e4, "low")  # a sixth of what it was: most of it is gone
    rest = told(history_of(before, run_of(tmp_path, "v2_better", little, rules=(*RULES, strided.rule))))
    assert (rest.gone, rest.appeared, rest.renamed) == ((STORE, TAIL), (little,), ())


LESS = replace(STORE, saved_ns=3e4, estimated_speedup=1.43)


@pytest.mark.parametrize(
    ("left", "ns", "is_less"),
    [
        (LESS, 1e5, True),
        (replace(LESS, severity="info", saved_ns=3.1e4), 1e5, True),  # behind something worse: it still costs half
        (replace(STORE, saved_ns=5.7e4), 1e5, False),  # as far as two durations of one code are apart
        (LESS, 1e4, False),  # less time, and a larger part of it: the rest of the time went
        (replace(LESS, to_floor=True), 1e5, False),  # what is left to the floor, not what the fault costs
        (replace(LESS, saved_ns=None), 1e5, False),
    ],
)
def test_a_fault_that_is_still_there_with_less_to_win_is_lessened(
    tmp_path: Path, left: StoredFinding, ns: float, is_less: bool
) -> None:
    """From the other side the same fault is worse: it is one rule."""
    before, after = run_of(tmp_path, "v0_torch", STORE), run_of(tmp_path, "v1_fused", left, ns=ns)
    one = told(history_of(before, after))
    assert (one.gone, one.appeared, one.worse) == ((), (), ())
    assert one.lessened == (((STORE, left),) if is_less else ())
    if left.severity != "info":
        other = told(history_of(after, before))
        assert (other.lessened, other.worse) == ((), ((left, STORE),) if is_less else ())


def test_a_fault_is_lessened_by_what_would_be_a_fault(tmp_path: Path) -> None:
    small, smaller = (finding("tail-effect", ns, "low") for ns in (4e3, 2.1e3))
    before = run_of(tmp_path, "v0_torch", small)
    assert told(history_of(before, run_of(tmp_path, "v1_fused", smaller))).lessened == ()  # 1.9 % of the time
    large = replace(small, saved_ns=4.2e3)
    before = run_of(tmp_path, "v2_torch", large)
    assert told(history_of(before, run_of(tmp_path, "v3_fused", smaller))).lessened == ((large, smaller),)


def test_what_is_less_or_more_stands_beside_what_is_gone(tmp_path: Path) -> None:
    more, rules = (finding("pipe-bound", 1e4, "medium"), finding("pipe-bound", 4e4)), (*RULES, "pipe-bound")
    before = run_of(tmp_path, "v0_torch", STORE, TAIL, more[0], rules=rules)
    history = history_of(before, run_of(tmp_path, "v1_fused", LESS, more[1], rules=rules))
    assert rows(told(history)) == [
        ("v1_fused", "tail-effect", "1.25x", "2.50x"),
        ("", "less: uncoalesced-global-store", "2.50x → 1.43x", ""),
        ("", "more: pipe-bound", "1.11x → 1.67x", ""),
    ]
    text = history_text(history, Style())
    assert "\nfaults gone or lessened since the parent: " in text
    assert "\nless, more: a fault that is still there, and what it was and is to win" in text
    assert "less: uncoalesced-global-store | 2.50x → 1.43x" in history_markdown(history)
    prediction = history_json(history)["rows"][1]["prediction"]
    for key, (was, now) in (("lessened", (STORE, LESS)), ("worse", more)):
        (pair,) = prediction[key]
        assert (pair["before"]["saved_ns"], pair["now"]["saved_ns"]) == (was.saved_ns, now.saved_ns)


def test_a_step_that_only_lessened_a_fault_is_told(tmp_path: Path) -> None:
    history = history_of(run_of(tmp_path, "v0_torch", STORE), run_of(tmp_path, "v1_fused", LESS))
    assert "v1_fused  less: uncoalesced-global-store  2.50x → 1.43x     2.50x\n" in history_text(history, Style())
    assert history_json(history)["rows"][1]["prediction"]["estimated"] is None  # that is of what is gone
    assert list(_faults(told(history))) == ["less: uncoalesced-global-store"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"peer": True}, "v0_before is a library's or a framework's own"),
        ({"source": "py"}, "it is written in another language (.py, then .cu)"),
        ({"launches": 3}, "a call makes 1 launch, before 3"),
    ],
)
def test_no_fault_is_gone_with_a_change_of_everything(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    chain = tuple(launch(index) for index in range(change.get("launches", 1)))
    files = {f"source/v0_before.{change.get('source', 'cu')}": b"x"}
    before = run_of(tmp_path, "v0_before", STORE, launches=chain, **files)
    after = run_of(tmp_path, "v1_after", **{"source/v1_after.cu": b"y"})
    history = history_of(before, after)
    first, *others = history.rows
    history = replace(history, rows=(replace(first, is_peer=change.get("peer", False)), *others))
    one = told(history)
    assert (one.gone, one.another_program) == ((), reason)
    assert "fault gone" not in history_text(history, Style())
    prediction = history_json(history)["rows"][1]["prediction"]
    assert (prediction["gone"], prediction["another_program"]) == ([], reason)


def test_a_rule_that_a_tool_did_not_know_found_nothing(tmp_path: Path) -> None:
    barrier = finding("barrier-stall", 5e4)
    before, after = run_of(tmp_path, "v0_torch", barrier), run_of(tmp_path, "v1_fused")
    assert gone(history_of(before, after)) == []
    assert told(history_of(after, before)).appeared == ()


def rows(one: FaultsGone) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row) for row in faults_gone_table([one]).rows]


def test_another_pipe_is_another_fault_and_another_limiter_is_not(tmp_path: Path) -> None:
    double, single = (finding("pipe-bound", 5e4, detail={"pipe": pipe}) for pipe in ("fp64", "fma"))
    one = told(history_of(run_of(tmp_path, "v0_torch", double), run_of(tmp_path, "v1_fused", single)))
    assert (one.gone, one.appeared) == ((double,), (single,))
    assert [row[1] for row in rows(one)] == ["pipe-bound (fp64)", "new: pipe-bound (fma)"]
    two = (finding("tail-effect", 5e4, detail={"limiter": name}) for name in ("registers", "shared"))
    assert gone(history_of(*(run_of(tmp_path, f"v{7 + i}_x", one) for i, one in enumerate(two)))) == []


def test_several_faults_at_once(tmp_path: Path) -> None:
    history = history_of(run_of(tmp_path, "v0_torch", STORE, TAIL), run_of(tmp_path, "v1_fused"))
    one = told(history)
    assert (one.low, one.high) == (pytest.approx(2.5), pytest.approx(5.0))  # 40 µs are left, or 20
    assert rows(one) == [
        ("v1_fused", "2 together", "2.50x to 5.00x", "2.50x"),
        ("", "· uncoalesced-global-store", "2.50x", ""),
        ("", "· tail-effect", "1.25x", ""),
    ]
    assert words.TOGETHER in words.prediction_legend([one])


@pytest.mark.parametrize("saved_ns", [4e4, 3.8e4], ids=["all that is left", "nearly all"])
def test_savings_of_as_much_time_as_there_is_have_no_sum(tmp_path: Path, saved_ns: float) -> None:
    more = replace(TAIL, saved_ns=saved_ns)
    history = history_of(run_of(tmp_path, "v0_torch", STORE, more), run_of(tmp_path, "v1_fused"))
    assert (told(history).high, rows(told(history))[0][2]) == (None, "2.50x or more")
    unknown = StoredFinding("tail-effect", "high", None, None)
    assert rows(replace(told(history), gone=(unknown, unknown)))[0][2] == "-"


def test_new_faults_beside_what_they_cost_and_what_is_assumed(tmp_path: Path) -> None:
    new = (replace(TAIL, assumed=True), finding("pipe-bound", 1e4, "low", detail={"pipe": "xu"}))
    history = history_of(run_of(tmp_path, "v0_torch", STORE), run_of(tmp_path, "v1_fused", *new))
    assert rows(told(history))[1] == ("", "new: tail-effect +1", "~1.25x", "")
    text = history_text(history, Style())
    assert "\n~: rests on an assumed ceiling\nnew: " in text


def test_of_what_the_achieved_is(tmp_path: Path) -> None:
    before, slow = run_of(tmp_path, "v0_torch", STORE), (launch(duration_ns=40_000.0),)
    after = run_of(tmp_path, "v1_fused", launches=slow)
    untimed = run_of(tmp_path, "v2_quick", launches=slow, timed=False)
    robust = Verdict("faster", None, "robust-faster", 2.4, None, None, 0, samples=(100, 100))
    unpaired = told(history_of(before, after, robust))
    one_sample = told(history_of(before, after, Verdict("unclear", "faster", "one-sample", 2.5, None, None, 0)))
    under_ncu = told(history_of(before, untimed, None))
    assert [(one.achieved_by, one.achieved) for one in (unpaired, one_sample, under_ncu)] == [
        ("unpaired samples", 2.4),
        ("ncu", 2.5),
        ("ncu", 2.5),
    ]
    assert "achieved: of durations under ncu" in history_text(history_of(before, untimed, None), Style())


def test_what_cannot_be_compared_is_held_against_nothing(tmp_path: Path) -> None:
    before = run_of(tmp_path, "v0_torch", STORE)
    elsewhere = run_of(tmp_path, "v1_moved", device=replace(DEVICE, name="NVIDIA H100"), timed=False)
    for history in (
        history_of(before, run_of(tmp_path, "v2_other"), not_comparable("other-workload")),
        history_of(before, elsewhere, None),
    ):
        assert faults_gone(history) == {}
        assert history_json(history)["rows"][1]["prediction"] is None


def test_what_is_said_of_some_versions_only() -> None:
    def of(version: str, source: Any, tool: str) -> FaultsGone:
        return FaultsGone(version, "v0", source, tool, "2026-11-21", 1e5, (STORE,), (), None, None)

    several = [of("v1_a", "stored", "0.1"), of("v2_b", "computed now", "0.2"), of("v3_c", "stored", "0.1")]
    line, *_ = words.prediction_legend(several)
    assert line.startswith("estimated: v1, v3 stored with the run of the parent, by ncu-assist 0.1, 2026-11-21; v2")


def test_the_json_of_a_prediction(tmp_path: Path) -> None:
    history = history_of(run_of(tmp_path, "v0_torch", STORE, TAIL), run_of(tmp_path, "v1_fused"))
    first, second = json.loads(json.dumps(history_json(history), allow_nan=False))["rows"]
    assert first["prediction"] is None
    one = second["prediction"]
    assert (one["source"], one["tool"], one["achieved"], one["achieved_by"]) == ("stored", "0.0.9", 2.5, "bench")
    assert one["estimated"] == {"low": pytest.approx(2.5), "high": pytest.approx(5.0)}
    assert [(each["rule"], each["saved_ns"]) for each in one["gone"]] == [(STORE.rule, 6e4), (TAIL.rule, 2e4)]
    assert one["appeared"] == []


def test_80_columns_and_whole_names(tmp_path: Path) -> None:
    before = run_of(tmp_path, "v0_torch", STORE, TAIL)
    after = run_of(tmp_path, LONG, finding("pipe-bound", 3e4, detail={"pipe": "tensor"}), finding("unexplained", 3e4))
    text = history_text(history_of(before, after), Style())
    assert max(map(len, text.splitlines())) <= 80
    assert f"\n{LONG}  2 together " in text
    assert " · uncoalesced-global-store " in text
    assert " new: pipe-bound (tensor) +1 " in text


def test_no_name_of_a_fault_is_cut(tmp_path: Path) -> None:
    new = (finding("uncoalesced-global-store", 6e4), finding("pipe-bound", 5e4))
    before = run_of(tmp_path, "v0_torch", TAIL, finding("barrier-stall", 1e4), rules=(*RULES, "barrier-stall"))
    text = history_text(history_of(before, run_of(tmp_path, LONG, *new, rules=(*RULES, "barrier-stall"))), Style())
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert " 1.25x to 1.43x     2.50x\n" in text


def test_nothing_hostile(tmp_path: Path) -> None:
    hostile = replace(STORE, rule=EVIL, detail={"pipe": "<b>|`@all`"})
    before = run_of(tmp_path, "v0_torch", hostile, tool="\x1b[31m<i>", rules=(EVIL,))
    history = history_of(before, run_of(tmp_path, LONG, rules=(EVIL,)))
    text, markdown = history_text(history, Style()), history_markdown(history)
    assert max(map(len, text.splitlines())) <= 80
    assert "evil" in text
    assert "\x1b" not in text + markdown
    assert "evil" in markdown
    assert not any(part in markdown for part in ("<b>", "<i>", "`@all`"))


def test_findings_that_were_changed_are_refused(tmp_path: Path) -> None:
    before = run_of(tmp_path, "v0_torch", STORE)
    path = before.folder / FINDINGS
    path.write_bytes(path.read_bytes().replace(b"2.5", b"9.5"))
    with pytest.raises(DamagedData, match=r"findings\.json was changed"):
        history_text(history_of(before, run_of(tmp_path, "v1_fused")), Style())


def test_a_fault_of_a_version_at_its_floor_is_not_gone(tmp_path: Path) -> None:
    left = replace(STORE, severity="info", saved_ns=0.0, estimated_speedup=1.0, to_floor=True)
    assert gone(history_of(run_of(tmp_path, "v0_torch", STORE), run_of(tmp_path, "v1_fused", left))) == []
    less = replace(left, to_floor=False)
    assert gone(history_of(run_of(tmp_path, "v2_torch", STORE), run_of(tmp_path, "v3_fused", less))) == [STORE.rule]


def test_far_less_than_was_estimated_says_what_came_instead(tmp_path: Path) -> None:
    """10x estimated, 2.50x achieved: the next fault is named; an estimate that nearly came has no such line."""
    large = finding("pipe-bound", 9e4)
    before, after = run_of(tmp_path, "v1", large), run_of(tmp_path, "v2", STORE)
    (step,) = faults_gone(judged(history_of(before, after))).values()
    told = list(words.prediction_legend([step]))
    assert (
        "v2: 10x is what pipe-bound alone was to win if nothing else cost time; what replaced it has faults of its "
        "own, uncoalesced-global-store 2.50x"
    ) in told
    near = replace(step, achieved=6.0)
    assert not any("alone was to win" in line for line in words.prediction_legend([near]))
    bare = replace(step, appeared=())
    assert any(line.endswith("nothing was found that says why less came") for line in words.prediction_legend([bare]))
