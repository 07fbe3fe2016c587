from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from patience import CEILING_S

from ncu_assist.atomic import atomic_write, open_output


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)  # the longest name that there is
    with atomic_write(path, sync=True) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.writelines([b"torn", None])  # type: ignore[list-item]
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"new", [path])


def test_nothing_is_left_where_the_disk_refuses(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"), atomic_write(tmp_path / "folder") as file:
        file.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "nothere" / "file"):
        pass


def test_who_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for mode in (0o600, 0o666):
            with atomic_write(tmp_path / oct(mode), mode=mode):
                pass
    finally:
        os.umask(before)
    found = [stat.S_IMODE((tmp_path / oct(mode)).stat().st_mode) for mode in (0o600, 0o666)]
    assert found == [0o600, 0o644]


def test_a_fifo_and_a_device_are_written_to(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with open_output(fifo, sync=True) as file:
            file.write(b"text")
        assert os.read(reader, 99) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    with pytest.raises(OSError, match="No space"), open_output(Path("/dev/full")) as file:
        file.write(b"text")


def test_a_redirected_stdout_goes_on_where_it_is(tmp_path: Path) -> None:
    lines = "from pathlib import Path\nfrom ncu_assist.atomic import open_output\nprint('first', flush=True)\n"
    lines += "with open_output(Path('/dev/stdout')) as file:\n    file.write(b'second\\n')\nprint('third')\n"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", lines], stdout=out, check=True, timeout=CEILING_S)
    assert (tmp_path / "out").read_text().split() == ["first", "second", "third"]
