"""The verdict in a sentence: what it stands on is said with it, and clocks that differ where they fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from factories import DEVICE, launch, make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.analysis.diff import diff_runs
from ncu_assist.render.words.verdicts import between, fewer_cycles, next_command, settling, verdict_line
from ncu_assist.store import Store, StoredRun


def saved(root: Path, version: str, median_ns: float, rounds: int = 100, **changes: object) -> StoredRun:
    seed = sum(version.encode())
    samples = samples_frame(times(median_ns, seed, rounds), version=version, **changes)  # type: ignore[arg-type]
    return save_run(Store(root / "reports"), make_run(version=version), metrics_frame({}), samples)


def line(root: Path, slow_ns: float, fast_ns: float, rounds: int = 100, **changes: object) -> str:
    old = saved(root, "v0_old", slow_ns, sm_clock_mhz=1980)
    return verdict_line(diff_runs(old, saved(root, "v1_new", fast_ns, rounds, **changes)))


def test_two_benches_are_said_to_be_unpaired(tmp_path: Path) -> None:
    apart = {"bench_id": "other", "sm_clock_mhz": 1980}
    assert (
        line(tmp_path / "a", 2e5, 1e5, **apart)
        == "v1 is 2.00x faster than v0 on small (not paired, 100 and 100 samples; in cycles too)"
    )
    assert line(tmp_path / "b", 1e5, 2e5, 50, **apart).startswith("v1 is 2.0")
    assert line(tmp_path / "c", 1e5, 2e5, 50, **apart).endswith(
        "x slower than v0 on small (not paired, 100 and 50 samples; in cycles too)"
    )
    close = line(tmp_path / "d", 1e5, 1.01e5, **apart)
    assert close.startswith("v1 against v0 on small: unclear (not paired, 100 and 100 samples; 1.0")
    assert close.endswith("x more cycles)")
    few = line(tmp_path / "e", 2e5, 1e5, 5, **apart)
    assert few.startswith("v1 against v0 on small: unclear, likely 2.0")
    assert few.endswith("; in cycles too)")
    other_clock = line(tmp_path / "f", 2e5, 1e5, bench_id="other", sm_clock_mhz=1900)
    assert other_clock.endswith("; 2.09x fewer cycles)")


def test_unpaired_samples_of_the_same_code_are_as_fast(tmp_path: Path) -> None:
    steady = 1e5 * np.exp(np.random.default_rng(1).normal(0, 1e-4, 50))
    runs = [
        save_run(
            Store(tmp_path / "reports"),
            make_run(version=version),
            metrics_frame({}),
            samples_frame(steady, version=version, bench_id=version, sm_clock_mhz=1980),
        )
        for version in ("v0_old", "v1_new")
    ]
    expected = "v1 is as fast as v0 on small (not paired, 50 and 50 samples; the same cycles)"
    assert verdict_line(diff_runs(*runs)) == expected


def test_few_pairs_say_how_few(tmp_path: Path) -> None:
    assert line(tmp_path / "a", 1e5, 1e5, 9) == "v1 against v0 on small: unclear (9 pairs)"
    assert line(tmp_path / "b", 1e5, 1e5, 1) == "v1 against v0 on small: unclear (1 pair)"
    assert line(tmp_path / "c", 2e5, 1e5, 9).endswith("x faster (9 pairs)")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1.0959, 1.1001, "1.096 to 1.100"), (2.4, 2.5, "2.40 to 2.50"), (0.995, 1.2, "0.995 to 1.200")],
)
def test_both_ends_of_an_interval_have_as_many_digits(low: float, high: float, words: str) -> None:
    assert between(low, high) == words


def test_what_settles_a_verdict_names_a_workload_once() -> None:
    command = "ncu-assist bench add_one v1 v2"
    assert settling("interval-across", "add_one", ("v1_a", "v2_b"), "odd") == f"{command} --rounds 400 --workload odd"
    assert settling("not-resolved", "add_one", ("v1_a", "v2_b"), "odd") == f"{command} --workload all"
    assert settling("interval-inside", "add_one", ("v1_a", "v2_b"), "odd") == ""


@pytest.mark.parametrize(
    ("speedup", "words"),
    [
        (8.84, "8.84x fewer cycles"),
        (1 / 1.012, "1.012x more cycles"),
        (0.9996, "the same cycles"),
        (1.0004, "the same cycles"),
        (0.5, "2.00x more cycles"),
    ],
)
def test_cycles_have_a_direction(speedup: float, words: str) -> None:
    assert fewer_cycles(speedup) == words


@pytest.mark.parametrize(
    ("capability", "command"),
    [
        ("6.1", "nv-nsight-cu-cli --set full -o REPORT PROGRAM"),
        ("9.0", "ncu --set full --import-source yes -o REPORT PROGRAM"),
    ],
)
def test_a_program_is_profiled_again_with_the_profiler_that_knows_its_gpu(
    tmp_path: Path, capability: str, command: str
) -> None:
    foreign = {"source": "imported", "workloads": (), "device": replace(DEVICE, compute_capability=capability)}
    before, after = (
        save_run(
            Store(tmp_path / "reports"),
            make_run(version=name, launches=(launch(0, "k", None, ranges=(), duration_ns=ns),), **foreign),
            metrics_frame({}),
        )
        for name, ns in (("old", 1e5), ("new", 2e5))
    )
    assert next_command(diff_runs(before, after)) == f"with 20 launches of the kernel or more in each: {command}"
