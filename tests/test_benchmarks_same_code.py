"""The scripts that hold the verdict against real samples: their rehearsal on a CPU, their kernels, their judge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from factories import samples_frame
from requirements import needs

from ncu_assist import process
from ncu_assist.backends import build_versions
from ncu_assist.harness.events import EMPTY
from ncu_assist.spec_file import read_kernel

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
ON_A_CPU = ("--device", "cpu", "--rounds", "12", "--processes", "2", "--pairs")


@pytest.fixture
def judge_samples(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import judge_samples

    return judge_samples


def rehearse(script: str, out: Path, *options: str) -> dict[str, Any]:
    """Run a script on the CPU, where times mean nothing: 3 is as good as 0."""
    argv = [sys.executable, str(BENCHMARKS / script), str(out), *ON_A_CPU, *options]
    completed = process.run(argv, timeout_s=300)
    assert completed.exit_code in (0, 3), completed.stdout + completed.stderr
    document: dict[str, Any] = json.loads((out / f"{Path(script).stem}.json").read_text())
    assert document["failures"] == []
    return document


def pair_of(slow_down: float, pair: int, kind: str = "bench") -> pd.DataFrame:
    rng = np.random.default_rng(pair)
    times = {"plus_0": 1e5, "plus_2": 1e5 * (1 + slow_down), EMPTY: 3e3}
    sides = [
        samples_frame(ns * (1 + rng.normal(0, 0.005, 100)), version=version, bench_id=f"bench-{kind}-{pair}")
        for version, ns in times.items()
    ]
    return pd.concat(sides).assign(pair=pair, kind=kind)


@needs("torch")
def test_same_code_keeps_every_sample_and_counts_what_the_judge_counts(tmp_path: Path, judge_samples: Any) -> None:
    document = rehearse("same_code.py", tmp_path, "4")
    assert set(document["kernels"]) == {"lightning_decode_v0", "small_scale_v0"}
    for name, kernel in document["kernels"].items():
        samples = pd.read_parquet(tmp_path / f"same_code_{name}.parquet")
        assert len(samples) == 2 * 12 * 4  # pairs, rounds; the version twice, an empty call, a copy
        assert samples.groupby("pair")["bench_id"].nunique().tolist() == [1, 1]
        assert samples.groupby("kind")["pair"].unique().map(list).to_dict() == {"same-buffers": [0], "own-buffers": [1]}
        counts = judge_samples.tally(judge_samples.judge(samples))
        assert {kind: dict(words) for (_, _, kind), words in counts.items()} == kernel["verdicts"]
        assert kernel["samples"] == 2 * 12 * 2


@needs("torch")
def test_power_gives_every_slow_down_its_truth_and_its_words(tmp_path: Path, judge_samples: Any) -> None:
    document = rehearse("power.py", tmp_path, "2", "--truth-rounds", "30")
    assert set(document["kernels"]) == {"scale_shift", "polynomial"}
    for kernel in document["kernels"].values():
        assert list(kernel["slow_downs"]) == ["tiny_plus_1", "tiny_plus_2", "tiny_plus_5"]
        assert {s["true_pairs"] for s in kernel["slow_downs"].values()} == {30}
        assert [sum(s["words"].values()) for s in kernel["slow_downs"].values()] == [2, 2, 2]
    first = pd.read_parquet(tmp_path / "power_first20.parquet")
    assert len(first) == 2 * 2 * 12 * 4  # kernels, benches, rounds, slow-downs
    assert len(judge_samples.judge(first)) == 2 * 2 * 3


@needs("nvcc", "ninja")
@pytest.mark.parametrize("name", ["small_scale", "scale_shift", "polynomial", "row_cumsum"])
def test_the_kernels_compile(name: str, tmp_path: Path) -> None:
    kernel = read_kernel(BENCHMARKS / "kernel_folders" / name)
    for outcome in build_versions(kernel, kernel.versions, tmp_path).values():
        assert outcome.artifact is not None, outcome.log
        assert "warning" not in outcome.log


def test_the_judge_takes_the_first_name_for_the_baseline(judge_samples: Any) -> None:
    samples = pd.concat([pair_of(0.05, 0), pair_of(-0.05, 1), pair_of(0.0, 2, "truth")])
    judged = judge_samples.judge(samples)
    assert [(j.kind, j.pair, j.baseline, j.candidate, j.verdict.verdict) for j in judged] == [
        ("bench", 0, "plus_0", "plus_2", "slower"),
        ("bench", 1, "plus_0", "plus_2", "faster"),
        ("truth", 2, "plus_0", "plus_2", "same"),
    ]
    assert judge_samples.tally(judged) == {
        ("small", "plus_2", "bench"): {"slower": 1, "faster": 1},
        ("small", "plus_2", "truth"): {"same": 1},
    }
    assert len(judge_samples.table(judged).splitlines()) == 3


def test_recorded_slow_downs_of_two_percent_are_found(judge_samples: Any) -> None:
    """The first 20 benches of each kernel of benchmarks/power.py on an H200; all 200 are in its results."""
    judged = judge_samples.judge(pd.read_parquet(BENCHMARKS.parent / "tests" / "data" / "power_first20.parquet"))
    words: dict[str, list[str]] = {}
    for one in judged:
        words.setdefault(f"{one.workload} {one.candidate}", []).append(one.verdict.verdict)
    assert {len(found) for found in words.values()} == {20}
    for name, found in words.items():
        wanted = 0.75 if name.endswith("plus_1") else 1.0
        assert found.count("slower") >= wanted * len(found), name
        assert found.count("faster") == 0


def test_the_table_of_rounds_is_what_the_recorded_samples_give(judge_samples: Any) -> None:
    import rounds

    table = rounds.table(sorted(rounds.DATA.glob("same_code_*.parquet")))
    assert table in (BENCHMARKS.parent / "docs" / "accuracy.md").read_text(encoding="utf-8")


def test_more_rounds_find_less(judge_samples: Any) -> None:
    """Noise of 0.5 % a side: four times the rounds halve the interval, and what is found stays above 0.5 %."""
    import rounds

    samples = pd.concat(pair_of(0.0, pair) for pair in range(16))
    (count, wide, more), (fewer, narrow, less) = (rounds.row(samples, of) or (0, 0.0, 0.0) for of in (100, 400))
    assert (count, fewer) == (16, 4)
    assert 1.6 < wide / narrow < 2.6
    assert more > less > 0.005
    assert rounds.row(samples, 1601) is None
