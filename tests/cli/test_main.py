"""The command line as a whole: help, speed, unknown commands, and how each kind of error ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Run

from ncu_assist.cli import COMMANDS, ON_ONE_THREAD, THREADS
from ncu_assist.store import Store

HEAVY = ("torch", "pandas", "openai", "pyarrow", "numpy", "rich", "jinja2", "ncu_report")


def test_help_names_every_command(run: Run) -> None:
    for flag in ("--help", "-h"):
        answer = run(flag)
        assert answer.code == 0
        assert all(f"\n  {name} " in answer.out for name in COMMANDS)


WITHOUT_JSON = ("mcp", "skill", "completion", "worker")  # JSON-RPC, texts, and one that serves until it is ended


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits_a_terminal(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = run(name, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: ncu-assist {name}")
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "--json" in answer.out or "Commands:" in answer.out or name in WITHOUT_JSON


@pytest.mark.parametrize("name", ["set", "show", "clear"])
def test_a_command_of_a_group_has_help_that_fits_a_terminal(run: Run, name: str) -> None:
    answer = run("baseline", name, "--help")
    assert (answer.code, max(map(len, answer.out.splitlines())) <= 80) == (0, True)
    assert "--json" in answer.out


@pytest.mark.parametrize("name", ["archive", "baseline", "suggest"])
def test_a_group_lists_its_commands_in_whole_sentences(run: Run, name: str) -> None:
    listed = run(name, "--help").out.partition("Commands:\n")[2]
    assert len(listed.splitlines()) >= 3
    assert all(line.endswith(".") and not line.endswith("...") for line in listed.rstrip().splitlines())


def test_help_loads_nothing_heavy(repository: Path) -> None:
    code = (
        "import sys\nfrom ncu_assist.cli import main\nsys.argv = ['ncu-assist', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"sys.stderr.write(' '.join(m for m in {HEAVY} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repository, check=True)
    assert "Usage: ncu-assist" in done.stdout
    assert done.stderr == ""


MEASURE = (
    "check",
    "bench",
    "profile",
    "suggest",
    "ceilings",
    "bisect",
    "mcp",
)  # their children may compute on all cores


def test_only_what_reads_keeps_numpy_on_one_thread(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(ON_ONE_THREAD) <= COMMANDS.keys() - set(MEASURE)
    monkeypatch.delenv(THREADS, raising=False)
    for name in COMMANDS:
        run(name, "--help")
        assert os.environ.pop(THREADS, None) == ("1" if name in ON_ONE_THREAD else None)
    monkeypatch.setenv(THREADS, "3")
    run("list", "--help")
    assert os.environ[THREADS] == "3"


def test_the_version(run: Run) -> None:
    from ncu_assist import __version__

    assert re.fullmatch(rf"ncu-assist, version {re.escape(__version__)}( \([0-9a-f]{{12,}}\))?\n", run("--version").out)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("prfile", "did you mean 'profile'?"), ("zzz", "known: archive, baseline, bench"), ("Diff", "'diff'")],
)
def test_no_such_command(run: Run, word: str, hint: str) -> None:
    answer = run(word)
    assert (answer.code, answer.out) == (2, "")
    assert f"there is no command '{word}'" in answer.err
    assert hint in answer.err


def test_no_command_shows_the_help(run: Run) -> None:
    answer = run()
    assert answer.code == 2
    assert "Measure:" in answer.err


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(_: Store) -> None:
        raise ZeroDivisionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Store, "verify", broken)
    monkeypatch.setattr(sys, "argv", ["ncu-assist", "verify"])
    from ncu_assist.cli import main

    with pytest.raises(ZeroDivisionError):  # the interpreter shows it and ends with 1
        main()


def test_ctrl_c_ends_with_130(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(_: Store) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Store, "verify", interrupted)
    answer = run("verify")
    assert (answer.code, answer.out) == (130, "")
    assert "finished work is kept" in answer.err


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["--help"], ["show", "lightning_decode/v7", "--json"]])
def test_a_reader_that_went_away_is_no_error(repository: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        argv = [sys.executable, "-m", "ncu_assist", *words]
        done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, cwd=repository, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_steers_a_terminal_is_spelled_out_in_errors(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run("show", "v1\x1b[31m")
    assert answer.code == 2
    assert "\x1b" not in answer.err
    assert "\\x1b[31m" in answer.err


def test_a_folder_that_was_removed(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    answer = run("list")
    assert answer.code == 2
    assert "no longer exists" in answer.err


def test_a_wrong_setting_of_the_project(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ncu-assist]\nround = 3\n")
    monkeypatch.chdir(tmp_path)
    answer = run("list")
    assert answer.code == 2
    assert "did you mean 'rounds'?" in answer.err


@pytest.mark.parametrize(
    "words", [["bench"], ["check"], ["profile"], ["import"], ["bench", "k", "--rounds", "0"], ["list", "--jsn"]]
)
def test_wrong_usage(run: Run, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err
