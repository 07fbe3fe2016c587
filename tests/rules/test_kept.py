"""What is kept of the rules' answers: workloads, launches of a chain, figures that JSON can hold."""

from __future__ import annotations

from dataclasses import replace

import ladder
import pytest
from factories import WORKLOAD, launch, make_run

from ncu_assist import __version__
from ncu_assist.frame import Combined
from ncu_assist.rules import RULES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model import of_run
from ncu_assist.rules.model.diagnosis import Diagnosis, Ranked
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.of_run import MOST_LAUNCHES, RuleResults, findings_of, judged, results_of
from ncu_assist.store.findings import decode_findings, findings_json

TABLE = {"gpu__time_duration.sum": 1e5}


def test_one_launch_a_workload() -> None:
    stored = ladder.step(5)
    said = findings_of(stored.run, stored.by_launch(), None)
    assert (said.tool, said.rules) == (__version__, tuple(RULES))
    assert [one.workload for one in said.judged] == [one.workload for one in stored.run.launches]
    one = said.of_workload(ladder.WORKLOAD)
    told = results_of(stored.run, ladder.counters(5))
    assert one is not None
    assert told is not None
    assert (one.whole, one.kernel, one.duration_ns) == (True, "decode_shared_padded", told.facts.duration_ns)
    assert [(f.rule, f.severity, f.saved_ns, f.estimated_speedup) for f in one.findings] == [
        (r.finding.rule, r.severity, r.saved_ns, r.estimated_speedup) for r in told.diagnosis.findings
    ]
    assert decode_findings(findings_json(said), "x") == said


def test_a_chain_as_a_whole_and_launch_by_launch() -> None:
    stored = ladder.step(1)
    run = replace(stored.run, launches=tuple(one for one in stored.run.launches if one.workload == ladder.WORKLOAD))
    whole, *single = findings_of(run, stored.by_launch(), None).judged
    assert (whole.whole, whole.launch, whole.kernel) == (True, None, None)
    assert {one.launch for one in single} == {one.index for one in run.launches}
    assert not any(one.whole for one in single)
    assert {one.kernel for one in single} == {one.kernel for one in run.launches}
    rules = [finding.rule for one in single for finding in one.findings]
    assert "redundant-traffic" in {finding.rule for finding in whole.findings}
    assert "redundant-traffic" not in rules  # of the workload's bytes, which no launch alone has to move


def test_of_many_launches_the_longest() -> None:
    launches = tuple(launch(index, duration_ns=1e5 + index) for index in range(MOST_LAUNCHES + 3))
    said = findings_of(make_run(launches=launches), dict.fromkeys(range(len(launches)), TABLE), None)
    assert [one.launch for one in said.judged] == [None, *range(MOST_LAUNCHES + 2, 2, -1)]
    assert said.judged[0].unanswered


def test_without_counters_nothing_is_kept() -> None:
    assert findings_of(make_run(), {}, None).judged == ()
    assert judged(make_run(), Combined("small", (), ()), None) is None


def test_no_time_left_and_no_number_are_kept_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding(rule="launch-bound", message="", saved_ns=0.0, evidence=(), detail={"pipe": "xu"})
    found = Ranked(
        Finding(rule="launch-bound", message="", saved_ns=0.0, evidence=(), detail={"pipe": "xu"}),
        float("nan"),
        float("inf"),
        "high",
    )

    def told(run: object, combined: Combined, *_: object, **__: object) -> RuleResults:
        return RuleResults(Facts(combined), Diagnosis((found,), ()), ())

    monkeypatch.setattr(of_run, "results_of", told)
    one = judged(make_run(workloads=(WORKLOAD,)), Combined("small", (launch(),), (TABLE,)), None)
    assert one is not None
    (finding,) = one.findings
    assert (finding.saved_ns, finding.estimated_speedup, finding.detail) == (None, None, {"pipe": "xu"})
