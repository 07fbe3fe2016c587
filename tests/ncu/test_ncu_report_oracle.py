"""What read_report gives is what NVIDIA's reader gives: every value, instance, range and finding of real reports."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from ncu.nvidia_reader import everything

from ncu_assist.ncu import compressed
from ncu_assist.ncu.report import Report, read_report

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
FULL = ("transpose_full", "streams_full", "triton_full", "torch_full", "library_full")
NAMES = (*FULL, "transpose_basic", "graph_basic", "range")
KINDS = {1: "ok", 2: "optimization", 3: "warning", 4: "error"}  # ncu_report.MsgType
SPEEDUPS = {1: "local", 2: "global"}  # ncu_report.SpeedupType


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, list]:  # type: ignore[type-arg]
    path = DATA / f"{request.param}_h200_2025.3.1.ncu-rep.zst"
    plain = compressed.plain_file(path, tmp_path_factory.mktemp("plain"))
    return read_report(path), everything(plain)


@pytest.mark.slow
def test_every_value(both: tuple[Report, list]) -> None:  # type: ignore[type-arg]
    report, known = both
    assert len(known) == len(report.launches) == report.metrics.launch.nunique()
    for launch, facts in enumerate(known):
        frame = report.metrics[report.metrics.launch == launch]
        assert set(facts["metrics"]) == set(frame.metric)
        for row in frame.itertuples():
            value, unit = facts["metrics"][row.metric][:2]
            own = repr(row.text) if row.text is not None else repr(row.value)
            assert unit == row.unit
            assert own == (value if str(value).startswith("'") else repr(float(value or "nan"))), row.metric


def test_the_wide_frame_has_the_same_values(both: tuple[Report, list]) -> None:  # type: ignore[type-arg]
    report, _ = both
    numbers = report.metrics[report.metrics.text.isna()]
    wide = numbers.pivot(index="launch", columns="metric", values="value")
    for name in wide.columns:
        pd.testing.assert_series_equal(
            report.launches[name].astype("float64"), wide[name], check_names=False, check_index=False
        )


def test_every_instance(both: tuple[Report, list]) -> None:  # type: ignore[type-arg]
    report, known = both
    groups = dict(list(report.instances.groupby(["launch", "metric"], observed=True)))
    total = 0
    for launch, facts in enumerate(known):
        for name, (_, _, values, ids) in facts["metrics"].items():
            if not values:
                assert (launch, name) not in groups
                continue
            own = groups[launch, name]
            total += len(own)
            assert _texts(own.value, own.text) == [v if v.startswith("'") else repr(float(v)) for v in values]
            assert not ids or _texts(own.id, own.id_text) == ids
    assert total == len(report.instances)


def _texts(numbers: pd.Series, texts: pd.Series) -> list[str]:
    return [repr(n) if text is None else repr(text) for n, text in zip(numbers.tolist(), texts, strict=True)]


def test_every_name_and_range(both: tuple[Report, list]) -> None:  # type: ignore[type-arg]
    report, known = both
    for row, facts in zip(report.launches.itertuples(), known, strict=True):
        assert [row.kernel, row.signature, row.mangled] == facts["names"]
        assert list(row.ranges) == facts["ranges"][0]
        assert [one.split(":", 1)[1] for one in row.domain_ranges] == [r for rest in facts["ranges"][1:] for r in rest]


def test_every_finding(both: tuple[Report, list]) -> None:  # type: ignore[type-arg]
    report, known = both
    for launch, facts in enumerate(known):
        frame = report.rules[report.rules.launch == launch]
        own = [
            _finding(r.rule, r.section, r.message, r.kind, r.speedup_type, r.speedup_pct, r.focus_metrics)
            for r in frame.itertuples()
        ]
        assert sorted(own) == sorted(_nvidias(rule) for rule in facts["rules"])


def _nvidias(rule: dict) -> str:  # type: ignore[type-arg]
    message, estimate = rule["rule_message"], rule.get("speedup_estimation") or {}
    return _finding(
        rule["rule_identifier"],
        rule["section_identifier"],
        message["message"] or None,
        KINDS.get(message["type"]),
        SPEEDUPS.get(estimate.get("type", 0)),
        estimate.get("speedup", float("nan")),
        tuple(metric["name"] for metric in rule.get("focus_metrics", [])),
    )


def _finding(*parts: object) -> str:
    return repr(parts)
