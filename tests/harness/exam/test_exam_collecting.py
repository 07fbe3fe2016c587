"""Files that a sandbox left: only regular ones of the right size are read, and nothing is followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("torch")

from ncu_assist.errors import DamagedData
from ncu_assist.harness.exam.client import take
from ncu_assist.harness.exam.tensor_files import read_exactly


def test_a_regular_file_of_the_right_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"12345678")
    assert read_exactly(tmp_path, "a.bin", 8) == b"12345678"
    (tmp_path / "empty.bin").touch()
    assert read_exactly(tmp_path, "empty.bin", 0) == b""


@pytest.mark.parametrize("size", [7, 9, 0])
def test_another_size_is_refused(size: int, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"12345678")
    with pytest.raises(DamagedData, match="has 8 bytes"):
        read_exactly(tmp_path, "a.bin", size)


def test_links_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"12345678")
    out = tmp_path / "out"
    out.mkdir()
    (out / "link").symlink_to(secret)
    os.mkfifo(out / "pipe")
    (out / "folder").mkdir()
    for name in ("link", "pipe", "folder", "missing"):
        with pytest.raises(DamagedData):
            read_exactly(out, name, 8)


def test_taking_over_copies_what_it_may_and_says_what_it_may_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "small").write_bytes(b"1234")
    (out / "large").write_bytes(b"12345678901")
    (out / "link").symlink_to("small")
    faults = take(out, dict.fromkeys(("small", "large", "link", "missing"), 10), tmp_path / "taken")
    assert [file.name for file in (tmp_path / "taken").iterdir()] == ["small"]
    assert faults == (
        "large, a result of a program in the sandbox, has 11 bytes: too large",
        "link, a result of a program in the sandbox, cannot be read: Too many levels of symbolic links",
    )
