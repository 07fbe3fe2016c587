"""What a person at a terminal gets: one screen of `show`, a pager for what is longer, and silence when asked for."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import REPORT, Run
from recorded_family import ROOT, copy_family

from ncu_assist.cli import console

FAMILIES = sorted(path.name for path in (ROOT / "reports").iterdir() if (ROOT / "kernels" / path.name).is_dir())
SCREEN = 40  # lines of a window as people have it; a table of launches and its sentences take their share


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stdout is a terminal of 30 lines; what goes to the pager is kept."""
    paged: list[str] = []
    monkeypatch.setattr("ncu_assist.cli.show_command.on_terminal", lambda: True)  # the module first: it keeps the other
    monkeypatch.setattr(console, "on_terminal", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((80, 30)))
    monkeypatch.setattr("click.echo_via_pager", paged.append)
    monkeypatch.delenv("NCU_ASSIST_PAGER", raising=False)
    monkeypatch.setenv("PAGER", "sh -c true")
    return paged


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    copy_family(tmp_path, "softmax")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("kernel", FAMILIES)
def test_every_recorded_run_fits_a_screen(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None, kernel: str
) -> None:
    copy_family(tmp_path, kernel)
    monkeypatch.chdir(tmp_path)
    names = {path.stem.split("_")[0] for path in (tmp_path / "kernels" / kernel).glob("v[0-9]*_*.*")}
    for name in sorted(names, key=lambda one: int(one[1:]))[-3:]:
        lines = run("show", f"{kernel}/{name}", "--brief").out.splitlines()
        assert len(lines) <= SCREEN, (name, len(lines))
        assert max(map(len, lines)) <= 80


def test_a_terminal_gets_one_screen_and_is_told_what_more_there_is(run: Run, here: Path, terminal: list[str]) -> None:
    brief = run("show", "softmax/v6").out
    assert "v6 is 1.20x faster than v4" in brief
    assert "next: stop here, or move fewer bytes" in brief
    assert "bound by DRAM, at 73 % of its peak" in brief
    assert "more: --full (units, warp states, counters, 2 notes), --lines, --ncu-rules" in brief
    assert "page: ncu-assist report softmax/v6_row_in_registers" in brief
    assert "Speed of light" not in brief
    assert terminal == []


def test_elsewhere_and_when_asked_it_is_all(run: Run, here: Path, terminal: list[str]) -> None:
    assert run("show", "softmax/v6", "--full").out == ""
    (whole,) = terminal
    assert "Speed of light of c4k" in whole
    assert run("show", "softmax/v6", "--json").json["kernel"] == "softmax"


def test_a_program_that_reads_gets_all(run: Run, here: Path) -> None:
    assert "Speed of light of c4k" in run("show", "softmax/v6").out
    assert "Speed of light" not in run("show", "softmax/v6", "--brief").out


def test_what_is_longer_than_the_screen_goes_to_the_pager(run: Run, here: Path, terminal: list[str]) -> None:
    assert run("history", "softmax").out == ""
    assert "v6_row_in_registers" in terminal[0]
    assert run("list", "nothere").code == 2
    assert len(terminal) == 1


@pytest.mark.parametrize(("name", "value"), [("NCU_ASSIST_PAGER", ""), ("NCU_ASSIST_PAGER", "cat"), ("PAGER", "")])
def test_without_a_pager(
    run: Run, here: Path, terminal: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert "v6_row_in_registers" in run("history", "softmax").out
    assert terminal == []


def test_quiet_leaves_results_and_errors(run: Run, here: Path) -> None:
    words = ("import", str(REPORT), "--kernel", "theirs", "--version")
    loud, silent = run(*words, "v1"), run(*words, "v2", "--quiet")
    assert "stored as theirs/v1@" in loud.err
    assert (silent.code, silent.err) == (0, "")
    assert "transpose_naive" in silent.out
    wrong = run("show", "theirs/v9", "-q")
    assert (wrong.code, wrong.err.startswith("error: ")) == (2, True)


@pytest.mark.slow
def test_what_takes_a_while_says_how_far_it_is(tmp_path: Path) -> None:
    """On a real terminal; nothing of it is left there."""
    for name in ("kernels", "reports"):
        (tmp_path / name).symlink_to(ROOT / name)
    verified = on_terminal_of(tmp_path, "verify")
    assert re.search(r"verifying runs [1-9]\d? %, \d+ of \d+: reading the archive", verified)
    large = tmp_path / "large.ncu-rep"
    subprocess.run([sys.executable, ROOT / "benchmarks" / "large_report.py", REPORT, "300", large], check=True)
    shown = on_terminal_of(tmp_path, "show", str(large))
    assert re.search(r"\rjudging launches \d+ %, \d+ of 2\d\d\x1b\[K", shown)
    assert shown.rfind("\r\x1b[K") > shown.rfind("judging launches")


BESIDE_A_LIVE_LINE = f"""
import time
from ncu_assist.cli.console import progress, say, say_piece
with progress() as reporter:
    reporter.status("working")
    time.sleep(0.3)
    reporter.note("written: [red]{"long/" * 30}page.html")
    time.sleep(0.3)
    say("note: of something else")
    for piece in ("a rep", "ly in", " pieces [/x]\\nits l", "ast line"):
        say_piece(piece)
        time.sleep(0.2)
"""


def test_what_is_said_beside_a_live_line_has_rows_of_its_own(tmp_path: Path) -> None:
    """The live line is drawn again ten times a second, over whatever stands in its row."""
    assert screen(shown_by(BESIDE_A_LIVE_LINE, tmp_path)) == [
        f"written: [red]{'long/' * 30}page.html",
        "note: of something else",
        "a reply in pieces [/x]",
        "its last line",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("words", ["explain l2-bound", "metrics --json bank", "list", "export softmax/v6"])
def test_a_full_disk_behind_stdout_is_no_bug_of_ours(here: Path, words: str) -> None:
    called = [sys.executable, "-m", "ncu_assist", *words.split()]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(called, stdout=full, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert ran.returncode == 6
    told = ran.stderr.decode()
    assert told.endswith("error: stdout cannot be written: No space left on device\n  try: send it to another file\n")


def screen(written: str) -> list[str]:
    """Return the rows of a wide terminal after a text: what of it was not written over."""
    rows, row, column = [""], 0, 0
    for number, command, sign in re.findall(r"\x1b\[([\d;?]*)([A-Za-z])|([\s\S])", written):
        if command == "A":
            row -= int(number or 1)
        elif (command, number) == ("K", "2"):
            rows[row] = ""
        elif sign == "\r":
            column = 0
        elif sign == "\n":
            row += 1
            rows += [""] * (row == len(rows))
        elif sign:
            rows[row] = rows[row].ljust(column)[:column] + sign + rows[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in rows if line.strip()]


def on_terminal_of(folder: Path, *words: str) -> str:
    """Return what a command writes to a terminal, where a step of it is told however quick it is."""
    code = "import sys, ncu_assist.cli.console as c; c.QUICK_S = 0.0; from ncu_assist.cli import main; sys.exit(main())"
    return shown_by(code, folder, *words)


def shown_by(code: str, folder: Path, *words: str) -> str:
    """Return what a program in Python writes to a terminal."""
    here, there = pty.openpty()
    kept = {**os.environ, "PYTHONPATH": str(ROOT), "PAGER": "", "TERM": "xterm"}
    child = subprocess.Popen([sys.executable, "-c", code, *words], cwd=folder, env=kept, stderr=there, stdout=there)
    os.close(there)
    found = b""
    with contextlib.suppress(OSError):  # what reading raises once the other end is closed
        while data := os.read(here, 65536):
            found += data
    os.close(here)
    assert child.wait() == 0, found
    return found.decode(errors="replace")
