"""Citations and predictions are held against the evidence; what is wrong is said and rejects nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from ncu_assist.store.drafts import Claim, MetricPrediction, QuotedEvidence
from ncu_assist.suggest.reply import flaws, item_of


@dataclass(frozen=True)
class Row:
    id: str
    metric: str
    name: str
    value: float
    unit: str


ROWS = {
    row.id: row
    for row in (
        Row("E1", "duration", "gpu__time_duration.sum", 74.0, "µs"),
        Row("E2", "DRAM throughput", "dram_throughput", 83.1, "%"),
        Row("E3", "spills", "derived__local_spilling_requests", 0.0, ""),
        Row("E4", "stall barrier", "stall_barrier", 0.3, "%"),
    )
}
RIGHT = Claim(
    "b", "c", "s", (QuotedEvidence("E1", 74.0), QuotedEvidence("E2")), (MetricPrediction("duration", "down", 0.5),), 1.8
)


def said(**changes: object) -> tuple[str, ...]:
    return flaws(replace(RIGHT, **changes), ROWS)  # type: ignore[arg-type]


def test_a_right_claim_has_no_flaw() -> None:
    assert said() == ()


@pytest.mark.parametrize(
    ("quoted", "right"),
    [
        (QuotedEvidence("E1", 74.0), True),
        (QuotedEvidence("E1", 74.7), True),
        (QuotedEvidence("E1", 73.26), True),
        (QuotedEvidence("E1", 74.8), False),
        (QuotedEvidence("E1", 74000.0), False),
        (QuotedEvidence("E2", 83.0), True),
        (QuotedEvidence("E2", 0.831), False),
        (QuotedEvidence("E3", 0.0), True),
        (QuotedEvidence("E3", 0.001), False),
        (QuotedEvidence("E4", 0.4), True),
        (QuotedEvidence("E4", 0.5), False),
        (QuotedEvidence("E1", -74.0), False),
        (QuotedEvidence("E1", float("nan")), False),
    ],
)
def test_a_number_must_be_the_one_shown(quoted: QuotedEvidence, right: bool) -> None:
    assert (said(evidence=(quoted,)) == ()) is right


def test_citations_of_nothing() -> None:
    assert said(evidence=()) == ("it cites no evidence",)
    assert said(evidence=(QuotedEvidence("E9", 1.0),)) == ("it cites E9, which is no row of the evidence",)
    assert said(evidence=(QuotedEvidence("E1", 32.0),)) == ("it quotes 32 for E1 (duration), which is 74 µs",)


@pytest.mark.parametrize(
    ("predictions", "flaw"),
    [
        ((), "predicts nothing"),
        ((MetricPrediction("warp speed", "up"),), "'warp speed', which is no metric"),
        ((MetricPrediction("duration", "down", 2.0),), "goes down by a factor of 2, which contradicts"),
        ((MetricPrediction("duration", "up", 0.5),), "goes up by a factor of 0.5, which contradicts"),
        ((MetricPrediction("duration", "up", 1.0),), "contradicts"),
        ((MetricPrediction("duration", "down", -1.0),), "less than nothing"),
        ((MetricPrediction("duration", "up"), MetricPrediction("E1", "down")), "goes up and goes down"),
        ((MetricPrediction("spills", "down", 0.5),), "which is 0 already"),
    ],
)
def test_predictions_that_cannot_be(predictions: tuple[MetricPrediction, ...], flaw: str) -> None:
    (only,) = said(predictions=predictions)
    assert flaw in only


@pytest.mark.parametrize(
    ("expected", "count"), [(None, 0), (1.0, 0), (40.0, 0), (0.0, 1), (-2.0, 1), (0.9, 1), (1e6, 1)]
)
def test_a_speed_up_is_one(expected: float | None, count: int) -> None:
    assert len(said(expected_speedup=expected)) == count


def test_a_metric_is_known_by_label_name_and_id() -> None:
    assert {item_of(name, ROWS) for name in ("E2", " dram THROUGHPUT ", "dram_throughput")} == {ROWS["E2"]}
    assert item_of("dram", ROWS) is None
