"""Commands over the recorded archive keep to their processor time, in that of programs that are not ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KEPT = BENCHMARKS / "results" / "command_budget.json"


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import command_budget

    return command_budget


@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_no_command_has_grown_by_more_than_a_fifth(budget: Any) -> None:
    """Other work on the machine only lengthens a run: what is above its limit is measured again."""
    kept = json.loads(KEPT.read_text())["user_s"]
    grown = dict.fromkeys([*budget.COMMANDS, *budget.LARGE], 0.0)
    for times in (2, 4, 8):
        found = budget.growth(budget.measured([*grown], times)["user_s"], kept, [*grown])
        grown = {name: by for name, by in found.items() if by > budget.GROWN}
        if not grown:
            return
    assert grown == {}


def test_every_command_has_a_limit_and_kept_seconds(budget: Any) -> None:
    assert budget.COMMANDS.keys() == budget.AT_MOST.keys()
    assert json.loads(KEPT.read_text())["user_s"].keys() == {*budget.UNITS, *budget.COMMANDS, *budget.LARGE}


def test_what_a_machine_is_slower_at_has_not_grown(budget: Any) -> None:
    kept = {"import pandas": 1.0, "NVIDIA's reader": 4.0, "list": 2.0, "large show": 8.0}
    slow_reader = kept | {"NVIDIA's reader": 8.0}
    assert budget.growth(slow_reader, kept, ["list", "large show"]) == {"list": 1.0, "large show": 0.5}
    grown = kept | {"list": 3.0, "large show": 12.0}
    assert budget.growth(grown, kept, ["list", "large show"]) == {"list": 1.5, "large show": 1.5}


def test_a_ratio_is_of_the_least_of_both(budget: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    took = iter([2.0, 9.0, 6.0, 1.0, 8.0, 7.0])  # the import, list, verify; twice
    monkeypatch.setattr(budget, "used", lambda _argv, _folder: (next(took), 1.0, 1.0))
    monkeypatch.setattr(budget.compileall, "compile_dir", lambda *_args, **_named: True)
    runs = len(list((BENCHMARKS.parent / "reports").glob("*/*/*/run.json")))
    found = budget.measured(["list", "verify"], 2)
    assert found["user_s"] == {"import pandas": 1.0, "list": 8.0, "verify": round(6.0 * 100 / runs, 4)}
    assert found["ratios"] == {"list": 4.5, "verify": round(7.0 / 2 * 100 / runs, 3)}


def test_a_command_that_fails_is_no_measurement(budget: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"(?s)ended with 2.*there is no command 'lisst'"):
        budget.used([sys.executable, "-m", "ncu_assist", "lisst"], tmp_path)
    user, system, megabytes = budget.used([sys.executable, "-c", "import json"], tmp_path)
    assert user + system > 0
    assert megabytes > 0
