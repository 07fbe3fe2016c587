"""How the parent reads a child's progress and its end, with a child that is only told of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kernel_folder import write_kernel

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.harness import client, results
from ncu_assist.harness.events import Event, emit, parse
from ncu_assist.harness.request import HarnessRequest, HarnessSettings, new_request, read_request
from ncu_assist.process import Completed
from ncu_assist.record import Check, Toolchain
from ncu_assist.spec_file import read_kernel


class RuleResults:
    """An executor whose children say the lines given and end as given, one after the other."""

    name = "told"

    def __init__(self, *children: tuple[list[str], Completed]) -> None:
        self.children = list(children)

    def run(self, argv: Any, *, on_line: Callable[[str], None], **how: Any) -> Completed:
        lines, completed = self.children.pop(0)
        for line in lines:
            on_line(line)
        return completed


def _ended(exit_code: int, stderr: str = "", timed_out: bool = False) -> Completed:
    return Completed(("python",), exit_code, "", stderr, 1.0, timed_out)


def _line(event: str, version: str = "", **fields: Any) -> str:
    import msgspec

    return msgspec.json.encode(Event(event, "check", version, "small", **fields)).decode()  # type: ignore[arg-type]


@pytest.fixture
def request_(tmp_path: Path) -> HarnessRequest:
    kernel = read_kernel(write_kernel(tmp_path, {"v0_a.py": "", "v1_b.py": ""}))
    outcomes = {v.name: BuildOutcome(v.name, v.path, "", True, 0.0) for v in kernel.versions}
    outcomes["v1_b"] = replace(outcomes["v1_b"], artifact=kernel.versions[1].path)
    settings = HarnessSettings(stages=("check",), device="cpu")
    return new_request(kernel, outcomes, kernel.workloads, settings, tmp_path / "work")


def _measure(request: HarnessRequest, *children: tuple[list[str], Completed]) -> tuple[client.Measured, RuleResults]:
    told = RuleResults(*children)
    return client.measure(request, told, lambda event: None, 5.0), told


def test_a_request_survives_its_file(request_: HarnessRequest) -> None:
    assert read_request(request_.path, HarnessRequest) == request_
    assert len(set(request_.seeds)) == 3
    assert request_.versions == ("v0_a", "v1_b")


def test_a_version_that_did_not_build_is_not_asked_for(tmp_path: Path) -> None:
    kernel = read_kernel(write_kernel(tmp_path, {"v0_a.py": "", "v1_b.py": "("}))
    outcomes = {"v0_a": BuildOutcome("v0_a", kernel.versions[0].path, "", True, 0.0)}
    outcomes["v1_b"] = BuildOutcome("v1_b", None, "error", False, 1.0)
    settings = HarnessSettings(stages=("check",), device="cpu")
    assert new_request(kernel, outcomes, kernel.workloads, settings, tmp_path / "work").versions == ("v0_a",)


def test_the_version_named_last_is_to_blame(request_: HarnessRequest) -> None:
    lines = [_line("ready"), _line("begin", "v0_a"), _line("end", "v0_a"), _line("begin", "v1_b")]
    measured, told = _measure(request_, (lines, _ended(-6)), ([], _ended(0)))
    assert measured.failures == {"v1_b": "check small: crashed with signal 6 (SIGABRT)"}
    assert measured.checks["v1_b"][0].reason == "crashed with signal 6 (SIGABRT)"
    assert told.children == []


def test_a_lost_context_is_told_by_the_child(request_: HarnessRequest) -> None:
    fatal = _line("fatal", "v0_a", text="CUDA error: an illegal memory access was encountered")
    measured, _ = _measure(request_, ([_line("begin", "v0_a"), fatal], _ended(5)), ([], _ended(0)))
    assert measured.failures == {"v0_a": "check small: CUDA error: an illegal memory access was encountered"}


def test_no_child_is_started_when_no_version_is_left(request_: HarnessRequest) -> None:
    children = [([_line("begin", v)], _ended(-11)) for v in ("v0_a", "v1_b")]
    measured, told = _measure(request_, *children)
    assert set(measured.failures) == {"v0_a", "v1_b"}
    assert told.children == []


def test_a_child_that_dies_between_versions_is_nobodys_fault(request_: HarnessRequest) -> None:
    lines = [_line("begin", "v0_a"), _line("end", "v0_a")]
    with pytest.raises(StageFailed, match="ended with exit code 1: KeyError: 'x'") as caught:
        _measure(request_, (lines, _ended(1, "Traceback\nKeyError: 'x'\n")))
    assert "Traceback" in caught.value.message


def test_a_problem_of_the_environment_is_raised_as_such(request_: HarnessRequest) -> None:
    problem = _line("problem", text="torch cannot use a GPU", hint="ncu-assist doctor", exit_code=6)
    with pytest.raises(EnvironmentProblem, match="torch cannot use a GPU") as caught:
        _measure(request_, ([problem], _ended(6)))
    assert caught.value.hint == "ncu-assist doctor"


def test_a_silent_child_is_stuck_only_after_its_start(request_: HarnessRequest) -> None:
    watch = client.Watch(lambda event: None, version_timeout_s=-1.0)
    assert not watch.is_stuck()  # torch may take its time
    watch.line(_line("ready"))
    assert watch.is_stuck()


@pytest.mark.parametrize(
    ("completed", "words"),
    [
        (_ended(-9), "crashed with signal 9 (SIGKILL): the machine was out of memory, or somebody killed it"),
        (_ended(-2, timed_out=True), "gave no sign of life for 5 s and was ended"),
        (_ended(3), "ended with exit code 3"),
        (_ended(3, "warning\nlast words\n"), "ended with exit code 3: last words"),
    ],
)
def test_what_happened(completed: Completed, words: str) -> None:
    assert client.what_happened(completed, 5.0) == words


def test_events_are_found_in_a_noisy_stdout() -> None:
    event = Event("begin", "bench", "v0_a", "small", 1, 3)
    line = '{"event":"begin","stage":"bench","version":"v0_a","workload":"small","index":1,"total":3}'
    assert parse(line) == parse("printed by a kernel" + line) == event
    assert parse('{"event": broken' + line) == event
    assert parse('{"event": broken') is None
    assert parse('{"event":"unheard of"}') is None
    assert parse("") is None


def test_facts_of_several_children_add_up(tmp_path: Path) -> None:
    facts = results.MeasurementFacts(Toolchain(), None, (40.0, 50.0), ("software power cap",), None, 650.0, 700.0)
    results.write_facts(tmp_path, facts)
    later = replace(facts, temperature_c=(51.0, 60.0), throttle_reasons=("hardware slowdown",), power_w=400.0)
    results.write_facts(tmp_path, later)
    assert results.read_facts(tmp_path) == replace(
        facts, temperature_c=(40.0, 60.0), throttle_reasons=("hardware slowdown", "software power cap")
    )


def test_what_is_finished_can_be_collected_at_any_time(request_: HarnessRequest) -> None:
    out = Path(request_.out)
    check = Check("small", True, "", (1,), 0.0, 0.0)
    results.append_check(out, "v0_a", check)
    measured = client.collect(request_)
    assert measured.checks == {"v0_a": (check,)}
    assert measured.samples is None
    assert measured.bench is None


def test_a_part_of_a_request_has_a_folder_of_its_own(request_: HarnessRequest) -> None:
    part = client.only(request_, ("v1_b",))
    assert part.versions == ("v1_b",)
    assert read_request(part.path, HarnessRequest) == part
    assert part.out != request_.out


def test_the_folder_of_many_versions_has_a_name_that_a_file_system_takes(request_: HarnessRequest) -> None:
    many = tuple(f"v{number}_idea" for number in range(100))
    folders = [Path(client.only(request_, names).out) for names in (many, many[:99], many)]
    assert folders[0] == folders[2] != folders[1]
    assert all(len(folder.name) < 255 for folder in folders)


def test_the_command_for_ncu(request_: HarnessRequest, tmp_path: Path) -> None:
    assert client.profile_command(request_.path)[1:] == ["-P", "-m", "ncu_assist.harness", str(request_.path)]
    assert client.child_folder(request_) == tmp_path


def test_samples_of_a_version_are_announced_once() -> None:
    seen: list[Event] = []
    watch = client.Watch(seen.append, 5.0)
    for version in ("v0_a", "v1_b", "v0_a", "v1_b"):
        watch.line(_line("begin", version).replace('"check"', '"bench"'))
    assert [e.version for e in seen] == ["v0_a", "v1_b"]
    assert watch.current is not None
    assert watch.current.version == "v1_b"


def test_an_event_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("a kernel printed this without an end of line")
    emit(Event("ready"))
    assert [e.event for e in map(parse, capsys.readouterr().out.splitlines()) if e] == ["ready"]


def test_facts_of_the_bench_survive_the_end_of_the_child(tmp_path: Path) -> None:
    from ncu_assist.harness.results import MeasurementFacts, read_facts, write_facts
    from ncu_assist.record import Toolchain

    write_facts(tmp_path, MeasurementFacts(Toolchain(), None, (40.0, 50.0), ("software power cap",)))
    write_facts(tmp_path, MeasurementFacts(Toolchain(), None, (51.0, 55.0), ("sync boost",)))
    write_facts(tmp_path, MeasurementFacts(Toolchain()))
    kept = read_facts(tmp_path)
    assert kept is not None
    assert kept.temperature_c == (40.0, 55.0)
    assert kept.throttle_reasons == ("software power cap", "sync boost")


def test_what_only_looks_like_an_event_is_none() -> None:
    """A kernel prints what it likes; nesting without end must not break whoever reads along."""
    from ncu_assist.harness.events import LINE_LIMIT, Event, parse

    assert parse('x{"event":"begin","version":"v1"}') == Event("begin", version="v1")
    assert parse('{"event":"begin","x":' + "[" * 200_000) is None
    assert parse('{"event":"begin","x":' + "[" * 100_000 + "]" * 100_000 + "}") is None
    assert parse(f'{{"event":"begin","version":"{"v" * LINE_LIMIT}"}}') is None
