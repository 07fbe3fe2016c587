"""``ncu-assist diff``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run, plain_report

KEYS = {
    "schema",
    "baseline",
    "candidate",
    "verdict",
    "likely",
    "reason",
    "speedup",
    "source",
    "bottleneck",
    "launches",
    "flags",
    "lines",
}
LAUNCH_KEYS = {"kernel", "pairing", "baseline_ns", "candidate_ns", "verdict", "likely", "reason", "changes"}
CHANGE_KEYS = {"metric", "label", "unit", "baseline", "candidate", "delta", "verdict", "role"}
MUST_SHOW = ("Memory Throughput", "Sector efficiency, global loads", "Bank conflicts", "Registers", "DRAM bytes")


@pytest.mark.parametrize(
    ("baseline", "candidate", "words"), [("v2", "v3", "slower than v2"), ("v3", "v7", "faster than v3")]
)
def test_the_verdict_comes_first(run: Run, recorded: Path, baseline: str, candidate: str, words: str) -> None:
    answer = run("diff", baseline, candidate)
    assert answer.code == 0
    first = answer.out.splitlines()[0]
    assert first.startswith(f"{candidate} is ")
    assert words in first
    assert "99 % interval" in first
    assert all(metric in answer.out for metric in MUST_SHOW)
    assert max(map(len, answer.out.splitlines())) <= 80


def test_the_json_that_others_read(run: Run, recorded: Path) -> None:
    answer = run("diff", "v5", "v6", "--json").json
    assert answer["schema"] == "ncu-assist.diff/1"
    assert set(answer) >= KEYS
    assert (answer["verdict"], answer["source"], answer["likely"]) == ("faster", "recorded", None)
    assert answer["speedup"] == pytest.approx(2.8, rel=0.1)
    assert set(answer["bottleneck"]) == {"baseline", "candidate"}
    launch = answer["launches"][0]
    assert set(launch) >= LAUNCH_KEYS
    assert all(set(change) >= CHANGE_KEYS for change in launch["changes"])
    assert all(isinstance(launch[key], float | int) for key in ("baseline_ns", "candidate_ns"))
    assert "(" not in launch["kernel"]
    conflicts = next(c for c in launch["changes"] if c["metric"] == "shared_wavefronts_excessive")
    assert conflicts["verdict"] in ("unchanged", "improved", "regressed", "changed")


def test_another_workload(run: Run, recorded: Path) -> None:
    assert run("diff", "v2", "v7", "--workload", "b16_d128", "--json").json["workload"] == "b16_d128"
    answer = run("diff", "v2", "v7", "--workload", "b16")
    assert answer.code == 2
    assert "was not measured on workload 'b16'" in answer.err


def test_without_names_the_last_against_the_baseline(run: Run, recorded: Path) -> None:
    answer = run("diff", "--json").json
    assert answer["baseline"]["version"] == "v0_torch_eager"
    assert answer["candidate"]["version"] != "v0_torch_eager"


def test_bare_reports_give_no_hard_verdict(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_report(tmp_path, "a.ncu-rep")
    plain_report(tmp_path, "b.ncu-rep")
    monkeypatch.chdir(tmp_path)
    answer = run("diff", "a.ncu-rep", "b.ncu-rep", "--json")
    assert answer.code == 0
    assert (answer.json["verdict"], answer.json["source"]) == ("unclear", "imported")


@pytest.mark.parametrize("pair", [("v2", "v99"), ("v99", "v2"), ("v2", "nothere.ncu-rep")])
def test_a_side_that_is_not_there(run: Run, recorded: Path, pair: tuple[str, str]) -> None:
    answer = run("diff", *pair)
    assert (answer.code, answer.out) == (2, "")


def test_a_changed_source_has_no_verdict(run: Run, recorded: Path) -> None:
    path = recorded / "kernels" / "lightning_decode" / "v3_global_memory.cu"
    path.write_text(path.read_text() + "\nint more;\n")
    answer = run("diff", "v2", "v3")
    assert (answer.code, answer.out) == (2, "")
    assert "has changed since it was measured" in answer.err
