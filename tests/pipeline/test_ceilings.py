"""Measuring ceilings around its child processes: what is kept when one fails."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from fakes.fake_ncu import install
from made_ceilings import MADE_UP
from measured import Notes
from requirements import needs

from ncu_assist.ceilings import dram_ceiling, stored
from ncu_assist.environment import Gpu
from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.executors.local import Local
from ncu_assist.harness import ceilings as harness_ceilings
from ncu_assist.harness.results import MeasurementFacts, write_facts
from ncu_assist.ncu.command import ProfileOptions, profile_argv
from ncu_assist.pipeline import ceilings_plan
from ncu_assist.pipeline import ceilings_plan as points
from ncu_assist.pipeline.ceilings import BuiltKernels, CeilingsStages, measure_ceilings
from ncu_assist.project import Project
from ncu_assist.record import Toolchain

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from ncu_assist.ceilings import Ceilings

GPU = Gpu(0, MADE_UP.name, "GPU-0", 80 << 30, 1500, 1500, 30)
CLOCK_HZ = 1.5e9


@dataclass(frozen=True)
class Counts:
    """What a report would give."""

    launches: pd.DataFrame
    ncu_version: str = "2099.1"


def result(probe: harness_ceilings.Probe, times: bool) -> harness_ceilings.ProbeResult:
    """Return what the child would leave: 1 ms for everything, streams in way 5."""
    reads, writes = probe.arrays
    each = probe.bytes_each
    moved = (reads * each, writes * each) if probe.kind == "dram" else (probe.bytes, 0)
    if probe.name == "wgmma_bf16":
        return harness_ceilings.ProbeResult(probe, problem="wgmma.cu was not built for this GPU")
    clocks = (1500.0, None, 1500.0)
    return harness_ceilings.ProbeResult(
        probe, probe.way or 5, (1e6,) * 3 if times else (), clocks if times else (), 3e8, *moved
    )


def leave(request: harness_ceilings.CeilingsRequest, times: bool, limit: int | None = None) -> None:
    write_facts(Path(request.out), MeasurementFacts(Toolchain(torch="9.9"), MADE_UP, (30.0, 40.0)))
    for probe in request.probes[:limit]:
        harness_ceilings.append(Path(request.out), result(probe, times))


def counts(request: harness_ceilings.CeilingsRequest, metrics: tuple[str, ...]) -> Counts:
    """Return counters of two launches a probe, one of which took half as long again."""
    rows = [
        dict.fromkeys(metrics, 50.0)
        | {"ranges": ("ncu-assist", probe.id), "gpu__time_duration.sum": time, "sm__cycles_active.avg": 1e6}
        | {"sm__cycles_elapsed.avg.per_second": CLOCK_HZ}
        for probe in request.probes
        for time in (1e6, 2e6)
    ]
    return Counts(pd.DataFrame(rows))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A GPU for NVML, libraries that need no compiler, and children that leave what they should."""
    monkeypatch.setattr("ncu_assist.environment.query_gpus", lambda: ("1.2", (GPU,)))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(CeilingsStages, "built", BuiltKernels({}, "13.0", ""))
    monkeypatch.setattr(CeilingsStages, "time", lambda self, request: leave(request, True))

    def count(self: CeilingsStages, request: harness_ceilings.CeilingsRequest, metrics: tuple[str, ...]) -> Counts:
        leave(request, False)
        return counts(request, metrics)

    monkeypatch.setattr(CeilingsStages, "count", count)
    return monkeypatch


def failing(words: str) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise StageFailed(words, "try something")

    return fail


def measured(root: Path, notes: Notes, quick: bool = False) -> Ceilings:
    return measure_ceilings(Project(root), Local(), quick, notes)[0]


def test_all_stages_end_in_one_file(tmp_path: Path, notes: Notes, here: pytest.MonkeyPatch) -> None:
    answer = measured(tmp_path, notes)
    (found,) = stored(tmp_path / "reports")
    assert replace(found, digest="") == replace(answer, digest="")
    assert [(stage.name, stage.problem) for stage in found.stages] == [
        ("events", ""),
        ("ncu dram", ""),
        ("ncu pipes", ""),
    ]
    per_source = len(ceilings_plan.SIZES) * len(harness_ceilings.MIXES)
    assert [p.source for p in found.dram] == ["ncu"] * per_source + ["events"] * per_source
    copy = next(p for p in found.dram if (p.name, p.source) == ("copy", "ncu"))
    assert (copy.bytes, copy.seconds.median, copy.seconds.count, copy.way) == (32 << 20, 1.5e-3, 2, 5)
    assert copy.bytes_per_second == pytest.approx((32 << 20) / 1.5e-3)
    assert copy.counted_read_bytes == 50.0
    fma = found.rate("pipe", "fma", "ncu")
    assert fma is not None
    assert (fma.pct_of_peak, fma.metric) == (50.0, "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active")
    assert fma.per_cycle_per_sm == pytest.approx(3e8 / (1e6 * 100)), "the work is known, not counted"
    timed = found.rate("pipe", "fma", "events")
    assert timed is not None
    assert timed.per_cycle_per_sm == pytest.approx(3e8 / (1e-3 * CLOCK_HZ * 100))
    assert found.conditions.ncu_flags[:2] == ("--config-file", "off")
    assert "-o" not in found.conditions.ncu_flags
    assert (found.conditions.clock_control, found.conditions.cache_control) == ("none", "all")
    assert found.conditions.sm_clock_mhz == 1500.0
    assert [note for note in found.notes if "wgmma" in note]
    assert found.rate("tensor", "wgmma_bf16", "events") is None
    ceiling = dram_ceiling(found, 16 << 20, 16 << 20)
    assert ceiling is not None
    assert not ceiling.assumed


def test_what_was_timed_is_kept_when_ncu_fails(tmp_path: Path, notes: Notes, here: pytest.MonkeyPatch) -> None:
    here.setattr(CeilingsStages, "count", failing("no counters"))
    answer = measured(tmp_path, notes)
    assert [stage.problem for stage in answer.stages] == ["", "no counters", "no counters"]
    (found,) = stored(tmp_path / "reports")
    assert {p.source for p in found.dram} == {"events"}
    assert "ncu dram: no counters; try: try something" in notes.notes


def test_a_child_that_dies_leaves_what_it_had(tmp_path: Path, notes: Notes, here: pytest.MonkeyPatch) -> None:
    def die(self: CeilingsStages, request: harness_ceilings.CeilingsRequest) -> None:
        leave(request, True, limit=3)
        with (Path(request.out) / harness_ceilings.RESULTS).open("ab") as file:
            file.write(b'{"probe": {"ki')
        raise StageFailed("the measuring process crashed")

    here.setattr(CeilingsStages, "time", die)
    found = measured(tmp_path, notes)
    assert [p.name for p in found.dram if p.source == "events"] == ["fill", "copy", "add"]
    assert found.stages[0].problem == "the measuring process crashed"
    assert {p.way for p in found.dram if p.source == "ncu"} == {harness_ceilings.DEFAULT_WAY, 5}


def test_ctrl_c_keeps_the_stages_before(tmp_path: Path, notes: Notes, here: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    here.setattr(CeilingsStages, "count", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measured(tmp_path, notes)
    (found,) = stored(tmp_path / "reports")
    assert [(s.name, s.problem) for s in found.stages] == [("events", ""), ("ncu dram", "interrupted")]


def test_nothing_is_stored_where_nothing_was_measured(tmp_path: Path, notes: Notes, here: pytest.MonkeyPatch) -> None:
    here.setattr(CeilingsStages, "time", failing("no device"))
    with pytest.raises(StageFailed, match="no device"):
        measured(tmp_path, notes)
    assert list(stored(tmp_path / "reports")) == []


@needs("nvcc", "ninja", "torch")
def test_the_kernels_compile_and_a_child_without_a_gpu_says_so(
    tmp_path: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    shop = CeilingsStages(Project(tmp_path), tmp_path / "work", Local(), notes)
    built = shop.built
    assert built.problem == ""
    assert sorted(built.libraries) == ["device", "memory", "pipes", "tensor", "wgmma"]
    probes = ceilings_plan.event_probes(80 << 30, quick=True)
    with pytest.raises(EnvironmentProblem, match="cannot use a GPU"):
        shop.time(shop.request("events", "events", probes))


@pytest.fixture
def shop(tmp_path: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> CeilingsStages:
    """A workshop whose ncu is the fake one, and that needs no compiler."""
    monkeypatch.setattr(CeilingsStages, "built", BuiltKernels({}, "13.0", ""))
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    return CeilingsStages(Project(tmp_path), tmp_path / "work", Local(), notes)


def test_a_real_report_is_read_for_its_counters(shop: CeilingsStages, tmp_path: Path, notes: Notes) -> None:
    probe = harness_ceilings.Probe("dram", "copy", 2, 32 << 20)
    report = shop.count(shop.request("ncu-dram", "ncu", (probe,)), ceilings_plan.DRAM_METRICS)
    called = json.loads((tmp_path / "argv").read_text().splitlines()[0])
    assert f"--metrics {','.join(ceilings_plan.DRAM_METRICS)} --import-source" in str(called).replace("', '", " ")
    assert any("ncu: launch 2 of 2" in line for line in notes.lines)
    counted = points.CountedLaunches(report.launches)
    assert counted.seconds is not None
    assert 1e-6 < counted.seconds.median < 1e-2
    assert counted.median(ceilings_plan.DRAM_READ) is not None
    assert points.by_probe(report.launches.assign(ranges=[("ncu-assist", probe.id), (), ()])).keys() == {probe.id, ""}


def test_counters_that_may_not_be_read_are_explained(shop: CeilingsStages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "permission")
    request = shop.request("ncu-dram", "ncu", ())
    with pytest.raises(EnvironmentProblem, match="may not read GPU performance counters"):
        shop.count(request, ceilings_plan.DRAM_METRICS)


def test_ncu_runs_as_in_profile_but_for_what_it_collects() -> None:
    usual = profile_argv(Path("ncu"), ProfileOptions(), Path("x"), Path("log"), ["program"])
    few = profile_argv(Path("ncu"), ProfileOptions(metrics=("a", "b")), Path("x"), Path("log"), ["program"])
    assert [word for word in few if word not in ("--metrics", "a,b")] == [
        w for w in usual if w not in ("--set", "full")
    ]


def test_every_metric_asked_for_exists_on_the_chip() -> None:
    assert ceilings_plan.known_metrics(ceilings_plan.DRAM_METRICS, "9.0") == ceilings_plan.DRAM_METRICS
    on_hopper = ceilings_plan.pipe_metrics("9.0")
    assert {ceilings_plan.share_metric(name) for name in ceilings_plan.COUNTERS} <= set(on_hopper)
    assert ceilings_plan.known_metrics(("made__up.sum",), "9.0") == ()
    assert ceilings_plan.known_metrics(("made__up.sum",), "99.0") == ("made__up.sum",), "an unknown chip may have it"


def test_small_gpus_get_small_streams() -> None:
    sizes = {p.bytes for p in ceilings_plan.counted_streams(2 << 30, False, {})}
    assert max(sizes) == 512 << 20
    assert {p.bytes for p in ceilings_plan.counted_streams(64 << 20, False, {})} == {32 << 20}


@pytest.mark.gpu
def test_a_quick_measurement_on_a_gpu(tmp_path: Path, notes: Notes) -> None:
    found = measured(tmp_path, notes, quick=True)
    assert [stage.problem for stage in found.stages] == ["", "", ""]
    assert found.notes == ()
    for under in ("ncu", "events"):
        points = [p for p in found.dram if p.source == under]
        assert len(points) == len(harness_ceilings.MIXES) * len(ceilings_plan.QUICK_SIZES)
    counted = [p for p in found.dram if p.source == "ncu" and p.name == "read"]
    assert all(p.counted_read_bytes == pytest.approx(p.read_bytes, rel=0.05) for p in counted)
    fma = found.rate("pipe", "fma", "ncu")
    assert fma is not None
    assert fma.pct_of_peak is not None
    assert 80 < fma.pct_of_peak <= 101
    shared = found.rate("shared", "wavefronts", "ncu")
    assert shared is not None
    assert shared.per_cycle_per_sm == pytest.approx(128, rel=0.15)
