"""What a child reports is raised in its parent as it was there."""

from __future__ import annotations

import pytest

from ncu_assist.errors import EnvironmentProblem, NcuAssistError, NoTorch, StageFailed, UsageProblem
from ncu_assist.harness.events import error_of, exit_code_of, parse


@pytest.mark.parametrize("kind", [NoTorch, EnvironmentProblem, StageFailed, UsageProblem, NcuAssistError])
def test_an_error_is_of_its_class_with_its_words(
    kind: type[NcuAssistError], capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> int:
        raise kind("it is not there", "look again")

    assert exit_code_of(fails) == kind.exit_code
    event = parse(capsys.readouterr().out)
    assert event is not None
    error = error_of(event)
    assert (type(error), error.message, error.hint) == (kind, "it is not there", "look again")


def test_a_kind_that_is_not_known_goes_by_its_exit_code() -> None:
    event = parse('{"event": "problem", "text": "a", "exit_code": 5, "kind": "from-later"}')
    assert event is not None
    assert type(error_of(event)) is StageFailed
