"""profile --adaptive costs no first finding over the gallery, and the script that says so can say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def loss(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import adaptive_loss

    return adaptive_loss


def test_a_metric_is_of_the_sections_that_the_report_names_it_in(loss: Any) -> None:
    pipe = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"
    assert loss.sections_of(pipe) == {"ComputeWorkloadAnalysis"}
    assert loss.sections_of("smsp__inst_executed.sum") == {"InstructionStats", "SourceCounters"}
    assert loss.sections_of("idc__requests.sum") == {"MemoryWorkloadAnalysis_Tables"}  # a table names no metric
    assert "SpeedOfLight" in loss.sections_of("gpu__time_duration.sum")
    values = loss.Kept({pipe: 1.0, "idc__requests.sum": 2.0}, {"ComputeWorkloadAnalysis"})
    assert dict(values) == {pipe: 1.0}
    assert values.get("idc__requests.sum") is None


def test_no_first_finding_changes(
    loss: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["adaptive_loss.py"])
    assert loss.main() == 0
    assert "first findings that change: 0 of 2" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["adaptive_loss.py", "--without", "MemoryWorkloadAnalysis_Tables"])
    assert loss.main() == 3
