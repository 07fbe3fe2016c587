"""Each way of cheating that needs no GPU, in an exam: what a draft does is named, and an honest one is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from cheats_on_cpu import (
    ASKS_BY_PATH,
    ASKS_THE_REFERENCE,
    CHEATS,
    PATCHES,
    REWRITES,
    RIGHT,
    UNDER_THE_PROFILER,
)

pytest.importorskip("torch")

from made_exams import LARGER, in_processes, in_this_process, plan_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_named(name: str, tmp_path: Path) -> None:
    id, source = CHEATS[name]
    examined = in_this_process(plan_of(tmp_path, source), tmp_path)
    assert {s.id for s in examined.suspicions} == {id}
    assert {s.version for s in examined.suspicions} == {"v1_draft"}
    assert not all(check.passed for check in examined.measured.checks["v1_draft"])


def test_an_honest_draft_is_right_timed_and_not_suspected(tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, RIGHT, toml=LARGER), tmp_path)
    assert examined.suspicions == ()
    assert examined.measured.failures == {}
    checks = examined.measured.checks["v1_draft"]
    assert [(c.workload, c.passed, c.reason) for c in checks] == [
        ("small", True, ""),
        ("n7", True, ""),
        ("odd", True, ""),
    ]
    assert all(c.norm_error is not None and 0 < c.norm_error < 1e-6 for c in checks)
    samples = examined.measured.samples
    assert samples is not None
    assert samples.groupby("version").size().to_dict() == dict.fromkeys(
        ("v0_right", "v1_draft", "(empty)", "(copy)"), 8
    )


def test_functions_that_measure_are_watched_and_replacing_them_changes_no_time(tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, PATCHES), tmp_path)
    assert [s.id for s in examined.suspicions] == ["patched"]
    assert examined.suspicions[0].words == "it replaced time.perf_counter_ns, torch.cuda.Event.elapsed_time"
    samples = examined.measured.samples
    assert samples is not None
    assert (samples[samples.version == "v1_draft"].time_ns > 0).all()  # the clock that was replaced stands still


def test_rewritten_code_of_ours_is_noticed(tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, REWRITES), tmp_path)
    assert [(s.id, s.words) for s in examined.suspicions] == [
        ("patched", "it replaced ncu_assist.harness.stopwatch.HostStopwatch.time")
    ]


@pytest.mark.parametrize("source", [ASKS_THE_REFERENCE, ASKS_BY_PATH])
def test_whoever_asks_the_reference_trips(source: str, tmp_path: Path) -> None:
    examined = in_processes(plan_of(tmp_path, source), tmp_path, ("check",))
    assert [s.id for s in examined.suspicions] == ["reference"]
    assert all(check.passed for check in examined.measured.checks["v1_draft"])  # it got nothing from it


def test_other_behaviour_under_the_profiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(tmp_path, UNDER_THE_PROFILER)
    assert in_this_process(plan, tmp_path).suspicions == ()
    monkeypatch.setenv("UNDER_NCU", "1")
    examined = in_this_process(plan, tmp_path, ("profile",))
    (suspicion,) = examined.suspicions
    assert suspicion.id == "profiler"
    assert "in the profiled call: output 'y': 1014 of 1024 elements were never written" in suspicion.words
    assert [c.passed for c in examined.measured.checks["v1_draft"]] == [False]


def test_work_that_is_left_to_a_thread_comes_too_late(tmp_path: Path) -> None:
    source = (
        "import threading\n\n\ndef add_one(x, y):\n    threading.Timer(0.2, torch.add, (x, 1.0), {'out': y}).start()\n"
    )
    examined = in_this_process(plan_of(tmp_path, source), tmp_path, ("check",))
    checks = examined.measured.checks["v1_draft"]
    assert checks
    for check in checks:
        assert "were never written (or were read before they were written), first at [0]" in check.reason
