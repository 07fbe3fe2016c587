"""``ncu-assist import``, and what becomes of it where the archive cannot be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from commandline import SMALL_REPORT, Run, files, plain_report

from ncu_assist.store import Store, writing


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_report_from_anywhere(run: Run, folder: Path) -> None:
    plain_report(folder)
    answer = run("import", "mine.ncu-rep")
    assert answer.code == 0
    assert answer.out.startswith("imported/mine@")
    assert "unverified" in answer.out
    assert run("verify").code == 0
    assert "imported" in run("list").out
    shown = run("show", "mine", "--json").json
    assert (shown["source"], shown["verified"]) == ("imported", False)
    assert len(shown["launches"]) == 3


@pytest.mark.slow
def test_names_of_ones_own(run: Run, folder: Path) -> None:
    answer = run("import", str(SMALL_REPORT), "--kernel", "transpose", "--version", "v3_old", "--json").json
    assert answer["schema"] == "ncu-assist.import/1"
    assert (answer["kernel"], answer["version"]) == ("transpose", "v3_old")
    assert run("show", "transpose/v3", "--json").json["run_id"] == answer["run_id"]


def test_the_same_report_twice_is_two_runs_and_is_said(run: Run, folder: Path) -> None:
    first, again = (run("import", str(SMALL_REPORT), "--json") for _ in range(2))
    assert first.json["run_id"] != again.json["run_id"]
    assert "the same file" not in first.err
    assert f"the same file is stored as {first.json['reference']} too; both are kept" in again.err


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_truncated_report(run: Run, folder: Path, share: float) -> None:
    path = plain_report(folder)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    answer = run("import", path.name)
    assert (answer.code, answer.out) == (7, "")
    assert "damaged" in answer.err or "not an Nsight Compute report" in answer.err
    assert files(folder) == {"mine.ncu-rep"}


def test_what_is_no_report(run: Run, folder: Path) -> None:
    (folder / "notes.ncu-rep").write_text("just words")
    answer = run("import", "notes.ncu-rep")
    assert (answer.code, answer.out) == (7, "")
    assert "not an Nsight Compute report" in answer.err


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.ncu-rep", "there is no report missing.ncu-rep"), (".", ". is not a report: it is a folder")],
)
def test_a_file_that_is_not_there(run: Run, folder: Path, name: str, words: str) -> None:
    answer = run("import", name)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert "try: ncu-assist" in answer.err


@pytest.mark.parametrize("words", [["--kernel", "../out"], ["--version", "a b"], ["--kernel", ".hidden"]])
def test_names_that_cannot_be_folders(run: Run, folder: Path, words: list[str]) -> None:
    answer = run("import", str(SMALL_REPORT), *words)
    assert answer.code == 2
    assert "cannot be the name of a" in answer.err
    assert files(folder) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "hint"), [(errno.ENOSPC, "free disk space"), (errno.EROFS, "read-only"), (errno.EACCES, "chmod u+w")]
)
def test_an_archive_that_cannot_be_written(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writing.os, "fsync", refuse)
    answer = run("import", str(SMALL_REPORT))
    assert (answer.code, answer.out) == (6, "")
    assert "nothing was kept of it" in answer.err
    assert hint in answer.err
    assert files(folder) == set()


@pytest.mark.slow
def test_reports_is_a_file(run: Run, folder: Path) -> None:
    (folder / "reports").write_text("in the way")
    answer = run("import", str(SMALL_REPORT))
    assert answer.code == 6
    assert files(folder) == {"reports"}


def test_it_says_where_the_run_lies(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("import", str(SMALL_REPORT), "--kernel", "theirs", "--version", "v1")
    (stored,) = Store(tmp_path / "reports").runs()
    assert f"stored as {stored.reference} in reports/theirs/v1/{stored.run.run_id}" in answer.err
