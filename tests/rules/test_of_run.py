"""The diagnosis of a run: of one workload, with its bytes; of one launch of several without them."""

from __future__ import annotations

from pathlib import Path

from factories import launch, make_run, metrics_frame

from ncu_assist.frame import Combined, combine
from ncu_assist.rules import RULES
from ncu_assist.rules.model.of_run import results_of
from ncu_assist.store import Store

REPORTS = Path(__file__).parents[2] / "reports"
HEADINGS = ("What the ", "Why it costs time: ", "What to try", "When it is reported: ", "How the saving is estimated: ")
# What each step of the ladder is about (its worklog); v4's conflicts are worth less than its stores: v5, which removes
# them, is 1.05 times as fast, v6, which mends the stores, 2.76 times.
LADDER = {
    "v0_torch_eager": "redundant-traffic",
    "v3_global_memory": "uncoalesced-global-store",
    "v4_shared_memory": "uncoalesced-global-store",
    "v5_shared_padded": "uncoalesced-global-store",
    "v6_coalesced_store": "uncoalesced-global-load",
    "v7_registers_128bit": "at-dram-roofline",
}


def test_the_recorded_ladder() -> None:
    store = Store(REPORTS)
    for version, wanted in LADDER.items():
        stored = next(one for one in store.runs("lightning_decode", version) if one.run.source == "recorded")
        told = results_of(stored.run, combine(stored.run, stored.metrics(), "b64_d96"))
        assert told is not None
        first = told.diagnosis.findings[0]
        assert first.finding.rule == wanted, version
        assert (first.severity == "info") == (wanted == "at-dram-roofline")
        assert told.diagnosis.unanswered == ()


def test_a_section_set_of_few_counters_leaves_questions_open() -> None:
    table = metrics_frame({"gpu__time_duration.sum": 1e5}, defaults=False)
    told = results_of(make_run(), combine(make_run(launches=(launch(),)), table, "small"))
    assert told is not None
    silent = {one.rule for one in told.diagnosis.unanswered}
    assert {"uncoalesced-global-load", "shared-bank-conflict"} <= silent
    assert all(one.missing for one in told.diagnosis.unanswered)
    assert [one.finding.rule for one in told.diagnosis.findings] == ["unexplained"]


def test_without_counters_nothing_is_said() -> None:
    assert results_of(make_run(), Combined("small", (), ())) is None
    assert results_of(make_run(), Combined("small", (launch(),), ({},))) is None


def test_every_rule_documents_itself() -> None:
    for name, rule in RULES.items():
        text = rule.__doc__ or ""
        assert name == rule.ID
        assert len(text) > 400, name
        begins = [text.find(f"\n\n{heading}") for heading in HEADINGS]
        assert min(begins) > 0, name
        assert begins == sorted(begins), name
