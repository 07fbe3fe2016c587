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


def test_runs_of_a_second_gpu_are_saved_without_counters(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    assert script.main("add_one", tmp_path / "there", ("w0",)) == 0
    counted = Store(tmp_path / "there").runs()
    capsys.readouterr()
    assert script.times_of(tmp_path / "there", tmp_path / "shipped") == 0
    stored = Store(tmp_path / "shipped").runs()
    assert sorted(capsys.readouterr().out.split()) == sorted(one.reference for one in stored)
    assert {one.reference for one in stored} == {one.reference for one in counted}
    assert all(one.run.notes[0].startswith("counters were taken on w0") for one in stored)
    assert all(
        one.run.notes[0].endswith(" and are not kept, nor are included files: this run has only times")
        for one in stored
    )
    assert Store(tmp_path / "shipped").verify() == []
