"""Recorded reports for the tests of ncu/, and a fake ncu on PATH."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.fake_ncu import install
from patience import CEILING_S

from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.report import Report, read_report

DATA = Path(__file__).parent.parent / "data"
SHARED = Path(__file__).parent.parent.parent.parent / "shared" / "reports"  # beside the repository, not part of it


@dataclass(frozen=True)
class Broken:
    """What stands in for the child's program, how long it may read, and what is said of it."""

    program: str
    words: str
    limit_s: float = CEILING_S


BROKEN_READERS = (
    Broken("import os; os.abort()", "exit code -6"),
    Broken("raise TypeError('no such action')", "no such action"),
    Broken("import sys; sys.exit(3)", "exit code 3"),
    Broken("import signal; signal.pause()", "could not be read within 0.5 s", 0.5),
)


@pytest.fixture(params=BROKEN_READERS, ids=lambda broken: broken.words)
def broken_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Broken:
    """A child that dies or hangs whatever it is to read."""
    broken: Broken = request.param
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{broken.program}"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return broken


@pytest.fixture
def full_path() -> Path:
    """Three launches, --set full, -lineinfo, one cubin."""
    return DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"


@pytest.fixture
def full(full_path: Path) -> bytes:
    return read_plain(full_path)


@pytest.fixture
def full_log() -> str:
    return (DATA / "transpose_full_h200_2025.3.1.log").read_text()


@pytest.fixture
def slow_launch_log() -> str:
    """A log with a warning in the middle of a launch's line."""
    return (DATA / "slow_launch_full_h200_2025.3.1.log").read_text()


@pytest.fixture
def basic_path() -> Path:
    """The same three launches, --set basic."""
    return DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst"


@pytest.fixture
def plain(basic_path: Path) -> bytes:
    return read_plain(basic_path)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], Report]:
    """Read the bytes of a report, as a file of its own."""

    def read(data: bytes) -> Report:
        path = tmp_path / f"form{len(list(tmp_path.iterdir()))}.ncu-rep"
        path.write_bytes(data)
        return read_report(path)

    return read


@pytest.fixture
def torch_path() -> Path:
    """Two launches of a PyTorch program, --set full, two cubins."""
    return DATA / "torch_full_h200_2025.3.1.ncu-rep.zst"


@pytest.fixture(params=["vector_add_rtx3070_2022.3.ncu-rep", "nvtx_rtx3070_2022.3.ncu-rep"])
def old_report(request: pytest.FixtureRequest) -> Path:
    """A public report of ncu 2022.3, which is not in this repository."""
    path = SHARED / str(request.param)
    if not path.is_file():
        pytest.skip("the public report of ncu 2022.3 is in a shared folder that is not here")
    return path


@pytest.fixture
def fake_ncu(tmp_path: Path) -> Path:
    return install(tmp_path / "bin")
