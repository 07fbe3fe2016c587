"""Noise that is learned from the runs of an archive: of one GPU model, by size class, where nothing else is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import DEVICE, PROFILE, launch, make_run, metrics_frame, save_run

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.diff.noise import noise_model
from ncu_assist.pipeline.reading import learned_noise
from ncu_assist.record import Device
from ncu_assist.store import Store, StoredRun

OTHER = replace(DEVICE, name="Some GPU", compute_capability="12.0")
READ, SM = "dram__bytes_read.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def repeated(store: Store, version: str, *bytes_read: float, device: Device = OTHER, ns: float = 1e5) -> StoredRun:
    launches = tuple(launch(i, repeat=i, duration_ns=ns) for i in range(len(bytes_read)))
    profile = replace(PROFILE, repeats=len(bytes_read))
    run = make_run(version=version, launches=launches, profile=profile, device=device)
    metrics = metrics_frame(*[{READ: value, "gpu__time_duration.sum": ns} for value in bytes_read])
    return save_run(store, run, metrics)


def test_repeated_runs_of_the_same_gpu_teach_how_far_a_metric_strays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    repeated(store, "v1_wild", 1e8, 1.3e8, 1e8)
    known = learned_noise(store, OTHER)
    assert known
    strays = known.of("dram_bytes_read", "byte", 1e5)
    assert strays is not None
    assert strays.relative == pytest.approx(0.3)
    assert known.of("dram_bytes_read", "byte", 3e3) is None  # no short kernel was repeated
    assert known.of("nonsense.sum", "byte", 1e5) is None


def test_another_gpu_or_two_calls_teach_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    repeated(store, "v1_two", 1e8, 1.3e8)
    repeated(store, "v2_here", 1e8, 1.3e8, 1e8, device=DEVICE)
    assert learned_noise(store, OTHER) is None
    assert learned_noise(store, None) is None
    assert learned_noise(store, DEVICE)


def test_what_strays_is_no_change(tmp_path: Path) -> None:
    store = Store(tmp_path)
    repeated(store, "v1_wild", 1e8, 1.3e8, 1e8)
    one, two = repeated(store, "v2_one", 1e8), repeated(store, "v3_two", 1.5e8)
    words = {}
    for name, learned in (("nothing", None), ("learned", learned_noise(store, OTHER))):
        changes = diff_runs(one, two, DiffOptions(every=True, learned=learned)).changes
        words[name] = next(change.verdict for change in changes if change.metric == "dram_bytes_read")
    assert words == {"nothing": "regressed", "learned": "unchanged"}


def test_what_is_known_of_the_gpu_goes_before_a_stand_in(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = repeated(store, "v1_wild", 1e8, 1.3e8, 1e8).run
    known = learned_noise(store, OTHER)
    assert noise_model(run).recording is not None
    assert noise_model(run, learned=known).recording is None
    assert noise_model(replace(run, device=DEVICE), learned=known).recording is not None
