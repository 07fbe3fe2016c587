"""profile --adaptive: a first run of ncu finds what binds, a second collects the sections that matter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from measured import Notes

from ncu_assist.ncu.command import ADAPTIVE, ALL_SECTIONS, COMPUTE_SECTIONS, MEMORY_SECTIONS, ProfileOptions
from ncu_assist.pipeline.adaptive import FIRST, sections_for
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.record import Toolchain

DRAM = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
DATA_PIPE = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"


def capture(*launches: dict[str, float]) -> VersionCapture:
    rows = [(number, name, value) for number, one in enumerate(launches) for name, value in one.items()]
    return VersionCapture((), pd.DataFrame(rows, columns=["launch", "metric", "value"]), b"", "", None, Toolchain())


def test_where_memory_binds_the_sections_of_computing_are_left_out() -> None:
    of_dram, of_sm = {DRAM: 85.0, MEMORY: 85.0, SM: 20.0}, {DRAM: 10.0, MEMORY: 12.0, SM: 90.0}
    waiting = {DRAM: 10.0, MEMORY: 12.0, SM: 15.0}
    assert sections_for(capture(of_dram)) == MEMORY_SECTIONS
    assert sections_for(capture(of_sm)) == ALL_SECTIONS
    assert sections_for(capture(waiting)) == ALL_SECTIONS
    assert sections_for(capture(of_dram, of_sm)) == ALL_SECTIONS  # one launch is enough
    assert sections_for(capture({DRAM: 85.0}, {"unknown": 1.0})) == ALL_SECTIONS  # nobody knows


def asked(file: Path) -> list[list[str]]:
    argvs = [json.loads(line)["argv"] for line in file.read_text().splitlines()]
    return [[argv[at + 1] for at, word in enumerate(argv) if word == "--section"] for argv in argvs]


@pytest.mark.slow
def test_two_runs_of_ncu_and_only_what_this_ncu_knows(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded naive transpose is bound by L2, the shared one by nothing: it gets all that rules ask for."""
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    outcome = measure(replace(job, options=ProfileOptions(ADAPTIVE)), notes)
    assert [one.failure for one in outcome.versions] == ["", ""]
    first, *second = asked(tmp_path / "argv")
    assert first == list(FIRST)
    assert sum(set(one) == set(MEMORY_SECTIONS) for one in second) == 1
    runs = [one.run for one in outcome.versions]
    assert all(run is not None and run.run.profile is not None for run in runs)
    naive = next(run.run for run in runs if run and run.run.version == "v0_naive")
    assert naive.profile is not None
    assert (naive.profile.section_set, naive.sections) == (ADAPTIVE, MEMORY_SECTIONS)
    assert naive.profile.command.endswith("--adaptive")
    assert set(COMPUTE_SECTIONS).isdisjoint(naive.sections)
    assert any("v0: bound by memory" in line for line in notes.notes)
