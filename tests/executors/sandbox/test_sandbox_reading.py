"""Results are read from regular files of a limited size, and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ncu_assist.errors import DamagedData
from ncu_assist.executors.sandbox import open_regular, read_result


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    assert read_result(tmp_path, "a/x", 5) == b"12345"
    with pytest.raises(DamagedData, match="5 bytes"):
        read_result(tmp_path, "a/x", 4)


def test_nothing_leads_the_reader_away(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret")
    job = tmp_path / "job"
    job.mkdir()
    (job / "link").symlink_to(outside / "x")
    (job / "folder").symlink_to(outside)
    (job / "nowhere").symlink_to("nothing")
    os.mkfifo(job / "fifo")
    for name in ("link", "folder/x", "folder", "nowhere", "fifo", "missing", "fifo/x"):
        with pytest.raises(DamagedData, match="a result of a program in the sandbox"):
            read_result(job, name, 100)
    for name in ("", "../outside/x", "a/../../outside/x", str(outside / "x")):
        with pytest.raises(ValueError, match="not a name below"):
            read_result(job, name, 100)


def test_what_is_being_written_is_opened_only_if_it_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("line")
    (tmp_path / "link").symlink_to("log")
    os.mkfifo(tmp_path / "pipe")
    with open_regular(tmp_path / "log") as file:
        assert file.read() == b"line"
    for name in ("link", "pipe", "missing", "."):
        with pytest.raises(OSError, match=r"\["):
            open_regular(tmp_path / name)


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    (tmp_path / "d").mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_result(tmp_path, "x", 10)
    for name in ("d", "d/y", "x/y"):
        with pytest.raises(DamagedData):
            read_result(tmp_path, name, 10)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
