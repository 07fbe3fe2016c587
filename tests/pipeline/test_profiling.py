"""What is made of the child's events and of ncu's log while a profile runs."""

from __future__ import annotations

import msgspec
import pytest
from measured import Notes

from ncu_assist.harness.events import Event
from ncu_assist.ncu.failures import ProfiledLaunch
from ncu_assist.pipeline.profiling import ExpectedLaunches, RangeWatch

ONCE = {"v0_a": ExpectedLaunches(), "v1_b": ExpectedLaunches()}


def say(watch: RangeWatch, *fields: str, text: str = "") -> None:
    watch.line(msgspec.json.encode(Event(*fields, text=text)).decode())  # type: ignore[arg-type]


def test_a_version_is_finished_when_all_its_workloads_are_not_when_it_is_loaded(notes: Notes) -> None:
    watch = RangeWatch({"v0_a": ExpectedLaunches(2), "v1_b": ExpectedLaunches(2)}, 20, notes)
    for version in ("v0_a", "v1_b"):
        say(watch, "begin", "load", version)
        say(watch, "end", "load", version)
    for version, workload in (("v0_a", "w0"), ("v1_b", "w0"), ("v0_a", "w1")):
        say(watch, "begin", "profile", version, workload)
        say(watch, "end", "profile", version, workload)
    assert watch.is_finished("v0_a")
    assert not watch.is_finished("v1_b")


def test_a_version_that_serves_one_workload_is_finished_with_it(notes: Notes) -> None:
    watch = RangeWatch({"v0_a": ExpectedLaunches(2), "v1_half": ExpectedLaunches(1)}, 20, notes)
    for version, workload in (("v0_a", "w0"), ("v1_half", "w0")):
        say(watch, "begin", "profile", version, workload)
        say(watch, "end", "profile", version, workload)
    assert watch.is_finished("v1_half")
    assert not watch.is_finished("v0_a")
    say(watch, "begin", "profile", "v0_a", "w1")
    assert notes.lines[-1].startswith("ncu: 3 of 3 · v0 w1")


def test_the_live_line_names_range_launch_and_time(notes: Notes) -> None:
    watch = RangeWatch(ONCE, 20, notes)
    say(watch, "begin", "load", "v1_b")
    say(watch, "begin", "profile", "v1_b", "w0")
    watch.launch(ProfiledLaunch("add", 0, 100, 38))
    assert "ncu: 1 of 2 · v1 w0 · add 100 %, 38 passes" in notes.lines[-1]


def test_the_launches_of_one_call_are_limited_not_those_of_all(notes: Notes) -> None:
    watch = RangeWatch(ONCE, 2, notes)
    answers = []
    for version in ("v0_a", "v1_b"):
        say(watch, "begin", "profile", version, "w0")
        answers += [watch.launch(ProfiledLaunch("add", i, 100, 38)) for i in range(2)]
    assert answers == [False, False, False, False]
    assert watch.launch(ProfiledLaunch("add", 2, 100, 38))


def test_what_a_version_failed_with_is_kept(notes: Notes) -> None:
    watch = RangeWatch({"v0_a": ExpectedLaunches()}, 20, notes)
    say(watch, "failed", "load", "v0_a", text="no entry point")
    assert watch.failures == {"v0_a": "profile: no entry point"}


def test_the_estimate_counts_launches_not_versions(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("ncu_assist.pipeline.profiling.time.monotonic", lambda: now[0])
    watch = RangeWatch({"v0_chain": ExpectedLaunches(1, 10), "v1_b": ExpectedLaunches()}, 20, notes)
    say(watch, "begin", "profile", "v0_chain", "w0")
    for i in range(10):
        now[0] += 2.0
        watch.launch(ProfiledLaunch("add", i, 100, 38))
    assert notes.lines[-1].endswith("20 of about 22 s")
    say(watch, "end", "profile", "v0_chain", "w0")
    say(watch, "begin", "profile", "v1_b", "w0")
    assert notes.lines[-1].endswith("20 of about 22 s")


def test_the_start_is_not_counted_for_each_launch_and_a_launch_by_its_parts(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As softmax went on an H200: 11 s before the first call, then 3.9 launches in 10 s and 7.2 in 20 s, of 14."""
    now = [0.0]
    monkeypatch.setattr("ncu_assist.pipeline.profiling.time.monotonic", lambda: now[0])
    rest = {f"v{i}_b": ExpectedLaunches() for i in range(1, 10)}
    watch = RangeWatch({"v0_chain": ExpectedLaunches(1, 5), **rest}, 20, notes)
    now[0] = 11.0
    say(watch, "begin", "profile", "v0_chain", "c4k")
    for i in range(3):
        watch.launch(ProfiledLaunch("reduce", i, 100, 38))
    now[0] = 21.0
    watch.launch(ProfiledLaunch("reduce", 3, 90, None))
    assert notes.lines[-1].endswith("21 of about 47 s")
    for i in (3, 4):
        watch.launch(ProfiledLaunch("reduce", i, 100, 38))
    say(watch, "end", "profile", "v0_chain", "c4k")
    for version in ("v1_b", "v2_b"):
        say(watch, "begin", "profile", version, "c4k")
        watch.launch(ProfiledLaunch("softmax", 0, 100, 38))
        say(watch, "end", "profile", version, "c4k")
    say(watch, "begin", "profile", "v3_b", "c4k")
    now[0] = 31.0
    watch.launch(ProfiledLaunch("softmax_three_pass", 0, 20, None))
    assert notes.lines[-1].endswith("31 of about 50 s")
