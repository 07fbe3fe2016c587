"""Folders that somebody else could write to are walked through safely and cleared of what is no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ncu_assist.executors.sandbox import LimitExceeded
from ncu_assist.executors.sandbox.folders import MOST_DEPTH, everything, remove, sweep


def test_links_are_seen_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert {entry.name for entry in everything((tmp_path / "a",))} == {"b", "up"}
    assert list(everything((tmp_path / "missing",))) == []


def test_too_deep_is_an_overflow_and_no_crash(tmp_path: Path) -> None:
    here = tmp_path
    for _ in range(MOST_DEPTH + 2):
        here = here / "d"
        here.mkdir()
    with pytest.raises(LimitExceeded, match="deeper"):
        list(everything((tmp_path,)))


def test_only_files_and_folders_stay(tmp_path: Path) -> None:
    for name in ("job", "job/given"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        (tmp_path / name / "link").symlink_to("file")
        os.mkfifo(tmp_path / name / "pipe")
    sweep((tmp_path / "job",), (tmp_path / "job" / "given",))
    assert {path.name for path in (tmp_path / "job").iterdir()} == {"file", "given"}
    assert {path.name for path in (tmp_path / "job" / "given").iterdir()} == {"file", "link", "pipe"}


@pytest.mark.slow
def test_what_is_nested_deeper_than_a_path_can_say_is_removed(tmp_path: Path) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    root.mkdir()
    secret.write_text("stays")
    here = os.open(root, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=here)
        os.symlink(secret, "link", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (root / "closed").mkdir()
    (root / "closed" / "file").touch()
    (root / "closed").chmod(0)
    remove(root)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    remove(root)  # which is gone
    (tmp_path / "link").symlink_to(tmp_path)
    remove(tmp_path / "link")
    assert secret.read_text() == "stays"
