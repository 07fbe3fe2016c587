"""What a child process makes of its work's end."""

from __future__ import annotations

import signal

import pytest

from ncu_assist.errors import StageFailed
from ncu_assist.harness.events import CONTEXT_LOST, exit_code_of, parse


def failing() -> int:
    raise StageFailed("nothing is left", "free space")


def test_a_problem_is_told_and_its_exit_code_returned(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(failing) == StageFailed("", "").exit_code
    told = parse(capsys.readouterr().out.strip())
    assert told is not None
    assert (told.event, told.text, told.hint, told.exit_code) == ("problem", "nothing is left", "free space", 5)


def test_the_work_has_an_exit_code_of_its_own_and_can_be_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(lambda: CONTEXT_LOST) == CONTEXT_LOST
    assert capsys.readouterr().out == ""
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
