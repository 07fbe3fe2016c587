"""A gate against a window of runs: small steps that add up are found, what runs of one code differ by is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from gated import NO_CONFLICTS, Archive, judged, outcomes
from kernel_folder import PYTHON_VERSION, write_kernel
from trended import creep, history, made_on, steps

from ncu_assist.analysis.gate import NotMeasured
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.archiving import workload_facts
from ncu_assist.pipeline.gating import GateRequest, gate
from ncu_assist.render.json.diff import gate_json
from ncu_assist.render.junit import junit
from ncu_assist.render.terminal.diff import gate_text
from ncu_assist.sources import source_sha256
from ncu_assist.spec_file import read_kernel

WINDOW = {"against": "@last:10"}
CONFLICTS_KEPT = "shared_wavefronts_excessive:+0"


def words(root: Path, shape: list[float], *fail_on: str) -> str:
    return judged(history(root, {"v1_torch": shape}), "v1", *fail_on, **WINDOW).outcome


def test_steps_below_the_limit_add_up(tmp_path: Path) -> None:
    result = judged(history(tmp_path, {"v1_torch": [1.015**n for n in range(11)]}), "v1", **WINDOW)
    assert result.outcome == "regression"
    assert len(result.window) == 10
    assert result.checks[0].delta == pytest.approx(1.015**10 - 1, abs=0.02)


def test_creep_is_found_and_the_same_code_is_not(tmp_path: Path) -> None:
    assert words(tmp_path / "creep", creep(16, 5, 0.005)) == "regression"
    assert words(tmp_path / "same", [1.0] * 12) == "pass"
    assert words(tmp_path / "step", steps(12, 11, 0.04)) == "regression"


def test_what_the_noise_between_runs_does_not_settle_is_unclear(tmp_path: Path) -> None:
    result = judged(history(tmp_path, {"v1_torch": steps(12, 11, 0.02)}), "v1", **WINDOW)
    assert result.outcome == "unclear"
    assert result.checks[0].next == "ncu-assist bench add_one v1 --workload small --again"


def test_another_run_of_the_same_commit_makes_it_surer(tmp_path: Path) -> None:
    archive = history(tmp_path, {"v1_torch": [1.0] * 12})
    newest = archive.store.runs()[0].run
    alone = judged(archive, "v1", **WINDOW).checks[0]
    again = {"commit": newest.commit, "device": newest.device, "workloads": newest.workloads}
    archive.save("v1_torch", {"small": 1e5}, bench_id="again", run_id="20261101T000000Z-ffffff",
                 created="2026-11-01T00:00:00Z", **again)  # fmt: skip
    both = judged(archive, "v1", **WINDOW)
    assert both.checks[0].high - both.checks[0].low < 0.85 * (alone.high - alone.low)  # type: ignore[operator]
    assert newest.run_id not in {stored.run.run_id for stored in both.window}


def test_fewer_runs_than_a_level_needs_are_unclear(tmp_path: Path) -> None:
    result = judged(history(tmp_path, {"v1_torch": [1.0] * 3}), "v1", **WINDOW)
    assert result.exit_code == 4
    assert "3 earlier runs" in " ".join(gate_text(result).split())
    alone = gate_text(judged(history(tmp_path / "alone", {"v1_torch": [1.0]}), "v1", **WINDOW))
    assert "add_one/v1 against no earlier run" in alone
    with pytest.raises(UsageProblem, match="at least 3 runs"):
        judged(Archive(tmp_path / "other"), "v1", against="@last:2")


@pytest.mark.parametrize(
    "limits", [(CONFLICTS_KEPT,), ("time:2%", CONFLICTS_KEPT), (CONFLICTS_KEPT, "local_spilling_requests:=0")]
)
def test_with_too_few_runs_each_limit_is_unclear_and_says_why(tmp_path: Path, limits: tuple[str, ...]) -> None:
    archive = Archive(tmp_path)
    archive.save("v1_torch", {"small": 1e5}, {"derived__local_spilling_requests": 0.0})
    result = judged(archive, "v1", *limits, **WINDOW)
    keys = {limit.partition(":")[0] for limit in limits}
    assert {check.limit.metric.key for check in result.checks} == keys
    assert outcomes(result) == {
        ("small", key): "pass" if key == "local_spilling_requests" else "unclear" for key in keys
    }
    assert result.exit_code == 4
    text = " ".join(gate_text(result).split())
    assert "shared_wavefronts_excessive, limit +0): 3 earlier runs that measured the same" in text
    asked = " ".join(f"--fail-on {limit}" for limit in limits)
    assert f"try: ncu-assist gate add_one/v1 --against @baseline --workload small {asked}" in text


def test_counters_are_held_against_the_newest_run_at_the_lowest_level(tmp_path: Path) -> None:
    archive = history(tmp_path, {"v1_torch": [1.0] * 5})
    for stored in archive.store.runs()[:1]:
        kept = stored.run
    archive.save("v1_torch", {"small": 1e5}, {}, run_id="20261101T000000Z-aaaaaa", created="2026-11-01T00:00:00Z",
                 bench_id="p1", device=kept.device)  # fmt: skip
    worse = {"derived__memory_l1_wavefronts_shared_excessive": 5000.0}
    archive.save("v1_torch", {"small": 1e5}, worse, run_id="20261102T000000Z-bbbbbb", created="2026-11-02T00:00:00Z",
                 bench_id="p2", device=kept.device)  # fmt: skip
    assert outcomes(judged(archive, "v1", NO_CONFLICTS, **WINDOW)) == {
        ("small", "shared_wavefronts_excessive"): "regression"
    }


def test_it_is_said_what_it_was_held_against(tmp_path: Path) -> None:
    result = judged(history(tmp_path, {"v1_torch": [1.0] * 8, "v2_new": [0.9] * 9}), "v2", against="v1@last:5")
    assert "add_one/v2 against the last 5 runs of v1" in gate_text(result)
    answer = gate_json(result)
    assert len(answer["window"]) == 5
    assert all("/v1_torch@" in one for one in answer["window"])
    assert result.outcome == "pass"


def test_a_version_that_is_not_measured_is_said_to_be(tmp_path: Path) -> None:
    archive = history(tmp_path, {"v1_torch": [1.0] * 5})
    write_kernel(tmp_path, {"v1_torch.py": "edited = True\n"})
    found = gate(archive.project, GateRequest("add_one/v1", against="@last:10", fail_on=("time:2%",)))
    assert isinstance(found, NotMeasured)
    assert found.exit_code == 4
    text = gate_text(found)
    assert text.startswith("add_one/v1 against @last:10\n")
    assert text.count("NOT MEASURED") == 1
    assert "not measured: v1, so nothing was judged" in text
    assert junit(found).count("<testcase") == 1
    assert len(gate_json(found)["not_measured"]) == 1


def test_the_newest_run_that_was_timed_is_judged(tmp_path: Path) -> None:
    """Also where only older runs were profiled: their counters are judged all the same."""
    archive, none = Archive(tmp_path), {"derived__memory_l1_wavefronts_shared_excessive": 0.0}
    source = write_kernel(tmp_path, {"v1_torch.py": PYTHON_VERSION}) / "v1_torch.py"
    facts = workload_facts(read_kernel(source.parent), read_kernel(source.parent).default_workload)
    own = {"source": "recorded", "source_sha256": source_sha256(source), "workloads": (facts,)}
    for day in range(12):
        metrics = none if day < 4 else None
        archive.save("v1_torch", {"small": 1e5 * 1.01**day}, metrics, **{**made_on(day), **own})
    newest = archive.store.runs()[0]
    result = judged(archive, "v1", "time:2%", NO_CONFLICTS, **WINDOW)
    assert result.candidate.reference == newest.reference
    assert len(result.window) == 10
    assert outcomes(result) == {("small", "time"): "regression", ("small", "shared_wavefronts_excessive"): "pass"}
    (profiled,) = [one for one in result.notes if one.startswith("from other runs of the same sources")]
    assert "@20261004T" in profiled
    exact = judged(archive, "v1@20261004T", "time:2%", **WINDOW)
    assert len(exact.window) == 3
