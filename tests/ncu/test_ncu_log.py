"""What is read out of ncu's log, whole and while it grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.fake_ncu import MESSAGES

from ncu_assist.ncu.failures import LogFollower, ProfiledLaunch, read_log


def test_a_real_log(full_log: str) -> None:
    facts = read_log(full_log)
    assert [(launch.name, launch.index, launch.passes) for launch in facts.profiled] == [
        ("transpose_naive", 0, 38),
        ("transpose_shared", 1, 38),
        ("transpose_naive", 2, 38),
    ]
    assert facts.unfinished == ()
    assert facts.errors == ()
    assert facts.warnings[0].startswith("Note: Running with unmodified GPU clocks")
    assert facts.warnings[1].startswith("Unable to access the following 6 metrics")


def test_a_launch_counts_only_when_it_is_finished() -> None:
    text = '==PROF== Profiling "a "b" c" - 0 (1/20): 0%....50%....100% - 1 pass\n==PROF== Profiling "d" - 1: 0%..'
    facts = read_log(text)
    assert facts.profiled == (ProfiledLaunch('a "b" c', 0, 100, 1),)
    assert facts.unfinished == (ProfiledLaunch("d", 1, 20, None),)


def test_a_warning_in_the_middle_of_a_launch(slow_launch_log: str) -> None:
    facts = read_log(slow_launch_log)
    assert [(one.index, one.percent, one.passes) for one in facts.profiled] == [(i, 100, 38) for i in range(38)]
    assert facts.unfinished == ()
    (slow,) = (one for one in facts.warnings if one.startswith("Launching the workload is taking more time"))
    assert slow.endswith("for more details.")


@pytest.mark.parametrize("before", ["0%", "0%..", "0%....", "0%....50%", "0%....50%...", "0%....50%....100%"])
def test_a_warning_anywhere_in_the_bar(before: str) -> None:
    rest = "0%....50%....100% - 38 passes".removeprefix(before)
    facts = read_log(f'==PROF== Profiling "a" - 0: {before}==WARNING== It takes long.\n{rest}\n')
    assert facts.profiled == (ProfiledLaunch("a", 0, 100, 38),)
    assert facts.warnings == ("It takes long.",)


def test_several_warnings_in_the_middle_of_a_launch() -> None:
    """Others than the recorded one: users show ones on lines of their own, and ncu may say more than one thing."""
    warning = "==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n"
    facts = read_log(f'==PROF== Profiling "a" - 0: 0%....10%\n{warning}{warning}....50%....100% - 39 passes\n')
    assert facts.profiled == (ProfiledLaunch("a", 0, 100, 39),)
    assert len(facts.warnings) == 2


def test_errors_keep_their_further_lines_and_available_kernels_are_listed_apart() -> None:
    facts = read_log("==ERROR== Failed to access the temporary directory.\nEnsure it is writable.\n==ERROR== Second.\n")
    assert facts.errors == ("Failed to access the temporary directory.\nEnsure it is writable.", "Second.")
    facts = read_log(MESSAGES["no-kernels"][1])
    assert facts.kernels_seen == ("transpose_naive", "transpose_shared")
    assert facts.warnings == ("No kernels were profiled.",)


@pytest.mark.slow
def test_following_a_log_with_a_warning_in_the_middle(tmp_path: Path, slow_launch_log: str) -> None:
    path, events = tmp_path / "ncu.log", []
    follower = LogFollower(path)
    for end in range(len(slow_launch_log) + 1):
        path.write_text(slow_launch_log[:end])
        events += follower.poll()
    assert [one for one in events if one.passes] == list(read_log(slow_launch_log).profiled)


def test_following_a_log_that_grows_byte_by_byte(tmp_path: Path, full_log: str) -> None:
    path = tmp_path / "ncu.log"
    follower = LogFollower(path)
    assert follower.poll() == ()
    events: list[ProfiledLaunch] = []
    data = full_log.encode()
    for end in range(len(data)):
        path.write_bytes(data[:end])
        events += follower.poll()
    path.write_bytes(data)
    events += follower.poll()
    assert follower.poll() == ()
    assert [e for e in events if e.passes == 38] == list(read_log(full_log).profiled)
    first = [e.percent for e in events if e.index == 0]
    assert first == sorted(first)
    assert {0, 10, 50, 90, 100} <= set(first)


def test_launches_that_ended_between_two_polls_are_all_reported(tmp_path: Path, full_log: str) -> None:
    path = tmp_path / "ncu.log"
    path.write_text(full_log)
    assert LogFollower(path).poll() == read_log(full_log).profiled


def test_a_log_of_kernels_filtered_by_name_has_no_numbers() -> None:
    line = '==PROF== Profiling "vectorized_elementwise_kernel": 0%....50%....100% - 10 passes\n'
    assert [(one.index, one.passes) for one in read_log(2 * line).profiled] == [(0, 10), (1, 10)]
