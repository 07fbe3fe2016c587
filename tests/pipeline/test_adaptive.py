"""profile --adaptive: what is thought to bind a version chooses the sections, and its counters confirm it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from measured import Notes

from ncu_assist.ncu.command import ADAPTIVE, ALL_SECTIONS, COMPUTE_SECTIONS, MEMORY_SECTIONS, ProfileOptions
from ncu_assist.pipeline import measuring, profiling
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.profiling import is_bound_by_memory, may_be_bound_by_memory
from ncu_assist.record import Timing
from ncu_assist.store import Store

DRAM = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
OF_DRAM, OF_SM = {DRAM: 85.0, MEMORY: 85.0, SM: 20.0}, {DRAM: 10.0, MEMORY: 12.0, SM: 90.0}
WAITING = {DRAM: 10.0, MEMORY: 12.0, SM: 15.0}


def timing(median_ns: float, copy_ns: float | None, link_ns: float | None = None) -> Timing:
    return Timing("w0", "bench", 10, 0, median_ns, median_ns, median_ns, median_ns, None, 1.0, copy_ns, link_ns)


def test_memory_binds_where_it_binds_every_launch() -> None:
    assert is_bound_by_memory([OF_DRAM, OF_DRAM])
    assert not is_bound_by_memory([OF_DRAM, OF_SM])
    assert not is_bound_by_memory([WAITING])
    assert not is_bound_by_memory([OF_DRAM, {"unknown": 1.0}])
    assert not is_bound_by_memory([])


def test_without_a_run_the_rate_of_a_copy_tells_it() -> None:
    assert may_be_bound_by_memory(None, [timing(100.0, 61.0)])
    assert not may_be_bound_by_memory(None, [timing(100.0, 59.0)])
    assert not may_be_bound_by_memory(None, [timing(100.0, 90.0), timing(100.0, 5.0)])
    assert may_be_bound_by_memory(None, [timing(100.0, None, 95.0)])
    assert not may_be_bound_by_memory(None, [timing(100.0, None)])
    assert not may_be_bound_by_memory(None, [])


def test_the_last_run_with_counters_tells_it_better() -> None:
    store = Store(Path(__file__).parents[2] / "reports")
    last = store.runs("lightning_decode", "v7_registers_128bit")[0]
    large, small = replace(timing(100.0, 5.0), workload="b64_d96"), replace(timing(100.0, 95.0), workload="b1_d96")
    assert may_be_bound_by_memory(last, [large])
    assert not may_be_bound_by_memory(last, [small])  # one head waits
    assert not may_be_bound_by_memory(last, [large, small])
    assert may_be_bound_by_memory(last, [timing(100.0, 95.0)])  # a workload that it was never counted on


def asked(file: Path) -> list[set[str]]:
    argvs = [json.loads(line)["argv"] for line in file.read_text().splitlines()]
    return [{argv[at + 1] for at, word in enumerate(argv) if word == "--section"} for argv in argvs]


@pytest.mark.slow
@pytest.mark.parametrize("thought", [False, True])
def test_one_run_of_ncu_and_another_for_what_it_contradicts(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thought: bool
) -> None:
    """Of the recorded transposes the naive one is bound by L2, and the shared one by nothing."""
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    monkeypatch.setattr(measuring, "may_be_bound_by_memory", lambda *_: thought)
    outcome = measure(replace(job, options=ProfileOptions(ADAPTIVE)), notes)
    assert [one.failure for one in outcome.versions] == ["", ""]
    runs = {one.version: one.run.run for one in outcome.versions if one.run}
    naive = runs["v0_naive"]
    assert naive.profile is not None
    assert naive.profile.section_set == ADAPTIVE
    assert naive.profile.command.endswith("--adaptive")
    if thought:
        assert asked(tmp_path / "argv") == [set(MEMORY_SECTIONS), set(ALL_SECTIONS)]
        assert naive.sections == MEMORY_SECTIONS
        assert runs["v1_shared"].sections == ALL_SECTIONS
        assert any("v1: not bound by memory after all" in line for line in notes.notes)
    else:
        assert asked(tmp_path / "argv") == [set(ALL_SECTIONS)]
        assert naive.sections == ALL_SECTIONS


@pytest.mark.slow
def test_sections_that_this_ncu_does_not_know_are_left_out(
    job: MeasureJob, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    monkeypatch.setattr(profiling, "list_sections", lambda _: MEMORY_SECTIONS)
    measure(replace(job, options=ProfileOptions(ADAPTIVE)), notes)
    assert all(one.isdisjoint(COMPUTE_SECTIONS) for one in asked(tmp_path / "argv"))
