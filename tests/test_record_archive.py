"""The script that records a ladder: everything is checked and timed, counters are taken where they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.commandline import measure_here
from kernel_folder import write_kernel
from pipeline.measured import VERSIONS, WORKLOADS
from requirements import require

from ncu_assist.errors import UsageProblem
from ncu_assist.store import Store

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    require("torch")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    write_kernel(tmp_path, VERSIONS, WORKLOADS)
    measure_here(monkeypatch, tmp_path)
    import record_archive

    return record_archive


def test_every_workload_is_timed_and_those_named_are_profiled(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    assert script.main("add_one", tmp_path / "shipped", ("w0",)) == 0
    stored = Store(tmp_path / "shipped").runs()
    assert {one.run.version for one in stored} == {"v0_naive", "v1_shared"}
    for one in stored:
        assert (one.run.source, one.run.machine) == ("recorded", None)
        assert {timing.workload for timing in one.run.bench.timings} == {"w0", "w1"}  # type: ignore[union-attr]
        assert "counters were taken on w0 only" in one.run.notes
        assert one.report_bytes()
    assert Store(tmp_path / "shipped").verify() == []


def test_a_workload_that_is_not_there_stops_it_before_anything_is_measured(script: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no workload 'w7'"):
        script.main("add_one", tmp_path / "shipped", ("w7",))
    assert not (tmp_path / "shipped").exists()
