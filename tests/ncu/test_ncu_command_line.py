"""How counters were taken, from ncu's command line as reports keep it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ncu_assist.ncu.command import ProfileOptions, options_in, profile_argv


@pytest.mark.parametrize("options", [ProfileOptions(), ProfileOptions("basic", "base", "none", "application")])
def test_our_own_command_line_is_read_back(options: ProfileOptions) -> None:
    argv = profile_argv(Path("/opt/nsight compute/ncu"), options, Path("r"), Path("l"), ["./app", "--set", "other"])
    found = options_in(shlex.join(argv))
    assert found is not None
    kept = (found.section_set, found.clock_control, found.cache_control, found.replay_mode)
    assert kept == (options.section_set, options.clock_control, options.cache_control, options.replay_mode)


def test_what_is_not_said_is_ncus_default() -> None:
    found = options_in("ncu --set=full -o r ./app")
    assert found is not None
    assert (found.section_set, found.clock_control, found.cache_control, found.replay_mode) == (
        "full",
        "base",
        "all",
        "kernel",
    )
    last = options_in("nv-nsight-cu-cli --clock-control none --clock-control base ./app")
    assert last is not None
    assert last.clock_control == "base"


@pytest.mark.parametrize("option", ["--section", "--metrics", "--section=SpeedOfLight"])
def test_sections_by_name_are_no_set(option: str) -> None:
    found = options_in(f"ncu {option} X ./app")
    assert found is not None
    assert found.section_set == "unknown"


@pytest.mark.parametrize("command", [None, "", "xxxxx xxx", "python app.py", "ncu 'unclosed"])
def test_other_texts_say_nothing(command: str | None) -> None:
    assert options_in(command) is None
