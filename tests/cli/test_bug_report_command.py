"""``ncu-assist bug-report``: what a maintainer needs, and nobody's name."""

from __future__ import annotations

import getpass
import socket
import sys
from pathlib import Path

import pytest
from commandline import Run

from ncu_assist import process
from ncu_assist.pipeline import bug_report as module


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    """No error of another test is the last one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(getpass, "getuser", lambda: "grace")
    monkeypatch.setattr(socket, "gethostname", lambda: "gpu17.lab.example")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_without_an_error(run: Run) -> None:
    answer = run("bug-report", "--json")
    assert answer.code == 0
    assert answer.json["last_error"] is None
    assert {"click", "pandas"} <= set(answer.json["packages"])
    assert "driver" in {one["name"] for one in answer.json["conditions"]}
    assert "none is known" in run("bug-report").out


def test_the_last_error_is_in_it_without_names(run: Run) -> None:
    run("show", "/home/grace/secret/their.ncu-rep", "--workload", "x")
    run("list", "--jsn")
    run("show", "/home/grace/secret/their.ncu-rep")
    answer = run("bug-report", "--json")
    last = answer.json["last_error"]
    assert (last["exit_code"], last["command"]) == (2, "ncu-assist show <path>/their.ncu-rep")
    assert "their.ncu-rep" in last["message"]
    text = run("bug-report").out
    assert "$ ncu-assist show <path>/their.ncu-rep" in text
    assert [word for word in ("grace", "gpu17", "secret") if word in text + answer.out] == []


def test_a_child_keeps_its_error_where_its_user_keeps_state(
    run: Run, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = own_folder / "locks"
    monkeypatch.setattr(module, "lock_folder", lambda: locks)
    process.run([sys.executable, "-m", "ncu_assist", "list", "--jsn"])
    assert "No such option '--jsn'" in run("bug-report", "--json").json["last_error"]["message"]
    assert not locks.exists()
    monkeypatch.delenv("XDG_STATE_HOME")
    assert run("bug-report", "--json").json["last_error"] is None
    run("list", "--jsom")
    assert (locks / module.FILE).is_file()


def test_errors_of_click_and_bugs_are_remembered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("list", "--jsn")
    assert "No such option '--jsn'" in run("bug-report", "--json").json["last_error"]["message"]
    monkeypatch.setattr("ncu_assist.pipeline.listing.listing", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        run("list")
    last = run("bug-report", "--json").json["last_error"]
    assert last["message"] == "ZeroDivisionError: integer division or modulo by zero"
    assert "Traceback" in last["traceback"]


def test_a_file(run: Run, own_folder: Path) -> None:
    answer = run("bug-report", "-o", "bug.md")
    assert (answer.code, answer.out) == (0, "")
    assert (own_folder / "bug.md").read_text().startswith("## What happened")
    assert run("bug-report", "-o", "bug.md").code == 2
    assert run("bug-report", "-o", "bug.md", "--force").code == 0
    assert run("bug-report", "-o", "-").out.startswith("## What happened")


def test_a_folder_that_is_not_ours_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "ncu-assist").symlink_to(tmp_path / "other")
    assert run("list", "--jsn").code == 2
    assert list((tmp_path / "other").iterdir()) == []


def test_an_error_cannot_end_the_block_that_shows_it(run: Run, tmp_path: Path) -> None:
    module.remember(["show", "a"], 2, "before\n```\n## not a heading")
    text = run("bug-report").out
    assert "````\n$ ncu-assist show a" in text
