"""Answers of all reading commands: the same again, silent about place and moment, and none of two checkouts mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def command_outputs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import command_outputs

    return command_outputs


def test_an_answer_holds_what_was_asked_exit_code_and_both_streams(command_outputs: Any) -> None:
    fine, refused = (command_outputs.answer(("explain", name)) for name in ("duration", "durationn"))
    assert fine.startswith("$ ncu-assist explain duration\nexit code 0\n--- stdout\nduration: Duration")
    assert "exit code 2\n" in refused
    assert "error: " in refused.split("--- stderr")[1]


def test_a_bug_in_a_command_is_an_answer(command_outputs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr(command_outputs, "command_line", broken)
    assert "exit code ZeroDivisionError: by hand\n" in command_outputs.answer(("list",))


@pytest.mark.slow
def test_two_folders_of_the_same_code_are_the_same(
    command_outputs: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command_outputs, "_of_nothing", lambda: iter([("verify", "--json"), ("list",)]))
    monkeypatch.setattr(command_outputs, "_of_reports", lambda: iter(()))
    monkeypatch.setattr(command_outputs, "_of_neighbours", lambda kernel: iter([("report", "add_relu", "-o", "-")]))
    made = []
    for name in ("before", "after"):
        command_outputs.main(tmp_path / name, ["add_relu"])
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert made[0] == made[1]
    assert len(made[0]) > 30
    assert not [name for name, text in made[0].items() if b"/tmp/" in text or b"\nexit code 0\n" not in text]
    with pytest.raises(SystemExit, match="not empty"):
        command_outputs.main(tmp_path / "before", ["add_relu"])
