"""The JSON contracts: schema, names, numbers that are numbers, null for what is absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factories import launch
from made import EVIL, chain, outcome, saved
from schemas import held

from ncu_assist.analysis.diff import diff_runs
from ncu_assist.analysis.ladder import KernelListing, VersionOutcome
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.json.archive import list_json, verify_json
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.json.run import show_json
from ncu_assist.render.json.values import clean
from ncu_assist.render.json.versions import outcome_json
from ncu_assist.store import Damage

INSTRUCTIONS = "smsp__inst_executed.sum"
DIFF_KEYS = {
    "schema", "baseline", "candidate", "verdict", "likely", "reason", "speedup", "source", "bottleneck", "launches",
    "flags", "lines",
}  # fmt: skip
LAUNCH_KEYS = {
    "kernel", "pairing", "confidence", "range", "baseline", "candidate", "baseline_ns", "candidate_ns", "verdict",
    "likely", "reason", "changes", "repeats",
}  # fmt: skip
FINDING_KEYS = {
    "rule", "severity", "message", "estimated_speedup", "evidence", "lines", "detail", "assumed",
    "advice", "launches", "to_floor", "next_limit",
}  # fmt: skip
CHANGE_KEYS = {"metric", "label", "unit", "baseline", "candidate", "delta", "verdict", "role"}


def printed(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a reader gets; refuses NaN, everything that is no JSON, and what is not as the schema says."""
    back: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    assert back == value
    return held(back)


def test_diff_keeps_its_contract(tmp_path: Path) -> None:
    slow, fast = saved(tmp_path, "v1_a", 2e5, {INSTRUCTIONS: 3e6}), saved(tmp_path, "v2_b", 1e5, {INSTRUCTIONS: 9e6})
    found = printed(diff_json(diff_runs(slow, fast)))
    assert set(found) >= DIFF_KEYS
    assert (found["schema"], found["verdict"], found["source"]) == ("ncu-assist.diff/1", "faster", "live")
    assert found["speedup"] == pytest.approx(2, rel=0.01)
    assert found["interval"]["low"] < found["speedup"] < found["interval"]["high"]
    assert found["likely"] is None
    assert found["bottleneck"] == {"baseline": "DRAM", "candidate": "DRAM"}
    (one,) = found["launches"]
    assert set(one) == LAUNCH_KEYS
    assert (one["kernel"], one["pairing"], one["candidate_ns"]) == ("add_one_kernel", "nvtx", 100_000.0)
    assert (one["confidence"], one["range"]) == ("nvtx", ["small"])
    shape = {"grid": [8, 1, 1], "block": [128, 1, 1]}
    named = {"launch": 0, "kernel": "add_one_kernel", **shape, "duration_ns": 100_000.0}
    assert one["baseline"] == one["candidate"] == [named]
    assert found["unpaired"] == {"baseline": [], "candidate": []}
    assert found["changes"] == one["changes"]
    changes = {change["metric"]: change for change in one["changes"]}
    assert all(set(change) >= CHANGE_KEYS for change in changes.values())
    assert changes["instructions"]["delta"] == 2.0
    assert changes["instructions"]["role"] == "side-effect"
    assert found["flags"][0]["metric"] == "instructions"
    assert found["candidate"]["device"]["name"] == "NVIDIA H200"
    assert "uuid_sha256" not in found["candidate"]["device"]


def test_an_unclear_diff_has_nulls_and_a_next_command(tmp_path: Path) -> None:
    slow = saved(tmp_path, "v1_a", None, launches=(launch(duration_ns=178.0),))
    fast = saved(tmp_path, "v2_b", None, launches=(launch(duration_ns=100.0),))
    found = printed(diff_json(diff_runs(slow, fast)))
    assert (found["verdict"], found["likely"], found["reason"]) == ("unclear", "faster", "one-sample")
    assert found["interval"] is None
    assert found["next"] == "ncu-assist bench add_one v1 v2 --workload small"
    assert found["baseline"]["timing"] is None


def test_show_keeps_its_contract(tmp_path: Path) -> None:
    stored = chain(tmp_path)
    found = printed(show_json(gather(stored)))
    assert (found["schema"], found["source"], found["workload"]) == ("ncu-assist.show/1", "live", "small")
    assert found["device"]["sm_count"] == 132
    first = found["launches"][0]
    assert (first["kernel"], first["duration_ns"], first["bound_by"]) == (EVIL, 30_000.0, "DRAM")
    finding = first["findings"][
        0
    ]  # one of the first three launches that share the work: its bytes are not theirs alone
    assert set(finding) == FINDING_KEYS
    assert finding["severity"] == "info"
    assert all(set(one) == {"metric", "value", "unit"} for one in finding["evidence"])
    assert found["diagnosis"]["findings"][0]["rule"] == "redundant-traffic"  # together they have the workload's bytes
    assert all(one["missing"] for one in first["unanswered"])
    assert (found["diagnosis"]["kernel"], found["diagnosis"]["launches"]) == (None, [0, 1, 2])
    assert (found["launches_not_judged"], [one["judged"] for one in found["launches"]]) == (1, [True] * 3 + [False])
    every = printed(show_json(gather(stored, every=True)))
    assert every["launches_not_judged"] == 0
    assert all(one["findings"] for one in every["launches"])
    assert found["launches"][2]["duration_ns"] is None
    small, odd = found["workloads"]
    assert small["timing"]["median_ns"] == pytest.approx(5e4, rel=0.01)
    assert (small["bytes_per_second"], small["in_l2"]) == (None, "all")  # 8 kB
    assert small["share_of_copy"] == pytest.approx(50.0 / small["timing"]["median_ns"])
    assert odd["flops_per_second"] is None
    assert odd["check"]["passed"] is False
    assert found["metrics"]["registers"] == {
        "label": "Registers Per Thread", "unit": "register/thread", "value": None, "note": "n/a (per launch)",
        "coverage": None, "per_launch": {"0": 32.0, "1": 32.0, "2": 32.0},
    }  # fmt: skip
    assert found["stalls"] == {}
    assert found["stalls_per_launch"]["1"]["long_scoreboard"] == pytest.approx(100 * 20 / 23)
    alone = printed(show_json(gather(stored, "odd")))
    assert (alone["metrics"]["registers"]["value"], alone["metrics"]["registers"]["per_launch"]) == (32.0, None)
    assert alone["stalls"]["long_scoreboard"] == pytest.approx(100 * 20 / 23)


def test_profile_lists_every_version(tmp_path: Path) -> None:
    found = printed(outcome_json(outcome(tmp_path), "profile"))
    assert (found["schema"], found["exit_code"], found["workloads"]) == ("ncu-assist.profile/1", 5, ["small"])
    v0, v1, broken, new = found["versions"]
    assert v0["workloads"][0]["speedup_over_v0"] == 1.0
    assert v1["workloads"][0]["speedup_over_v0"] == pytest.approx(2.5, rel=0.01)
    assert v1["workloads"][0]["dram_percent"] == 83.0
    assert (broken["status"], new["status"]) == ("failed", "not measured")
    assert broken["failure"].startswith("error: expected")
    assert outcome_json(outcome(tmp_path / "again"), "bench")["schema"] == "ncu-assist.bench/1"


def test_list_and_verify(tmp_path: Path) -> None:
    versions = (VersionOutcome("v1_a", saved(tmp_path, "v1_a")), VersionOutcome("v2_b", None))
    found = printed(list_json([KernelListing("add_one", "", ("small",), "small", versions)]))
    assert found["schema"] == "ncu-assist.list/1"
    first, second = found["kernels"][0]["versions"]
    assert (first["status"], second["status"]) == ("measured", "not measured")
    assert first["median_ns"] == pytest.approx(1e5, rel=0.01)
    assert found["kernels"][0]["summary"] is None
    found = printed(verify_json([Damage("k/v/r", "is missing")], 2))
    damaged = [{"path": "k/v/r", "problem": "is missing", "is_newer": False, "folder": "reports"}]
    assert found == {"schema": "ncu-assist.verify/1", "runs": 2, "drafts": 0, "damaged": damaged}


def test_numbers_that_json_lacks_become_null() -> None:
    assert clean({"a": (float("nan"), [float("inf")], 1.5), 2: -0.0}) == {"a": [None, [None], 1.5], "2": -0.0}
