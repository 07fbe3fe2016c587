"""The whole command line in this process: words in; exit code, stdout and stderr out."""

from __future__ import annotations

import errno
import functools
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_ncu import install
from in_this_process import Here
from kernel_folder import write_kernel
from pipeline.measured import VERSIONS, WORKLOADS
from recorded_family import copy_family
from requirements import require
from schemas import held

from ncu_assist.cli import main
from ncu_assist.executors import EXECUTORS
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.ncu import command
from ncu_assist.store import Store, machine_hash

DATA = Path(__file__).parent.parent / "data"
REPORT = DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"
SMALL_REPORT = DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst"


@dataclass(frozen=True)
class Answer:
    """What one command came to."""

    code: int | str | None
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The answer, which is as its schema says."""
        return held(json.loads(self.out))


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call ``ncu-assist`` with these words."""

    def call(*words: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["ncu-assist", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return Answer(ended.value.code, shown.out, shown.err)

    return call


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU for this test, also on a machine that has one."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of softmax and its runs, to be changed; the current folder."""
    copy_family(tmp_path, "softmax")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    """A copy of lightning_decode and its runs, without pages and without a GPU; the current folder."""
    copy_family(tmp_path)
    for stored in Store(tmp_path / "reports").runs():
        if stored.run.machine == machine_hash():  # measured here, not shipped
            shutil.rmtree(stored.folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def live_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that the tests of one module share, with all that they measured."""
    root = tmp_path_factory.mktemp("live")
    write_kernel(root, VERSIONS, WORKLOADS)
    return root


@pytest.fixture
def live_project(live_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose kernel is measured on the CPU, its counters being those that the fake ncu replays."""
    require("torch")
    measure_here(monkeypatch, live_root)
    return live_root


def measure_here(patch: pytest.MonkeyPatch, root: Path, rounds: int = 12) -> None:
    """Make ``root`` the current folder, the fake ncu the one on PATH, and the CPU the device."""
    (root / "pyproject.toml").write_text(f"[tool.ncu-assist]\nrounds = {rounds}\ncheck-trials = 1\n")
    patch.chdir(root)
    patch.setenv("PATH", f"{install(root / 'bin').parent}:{os.environ['PATH']}")
    patch.setattr("ncu_assist.pipeline.planning.HarnessSettings", functools.partial(HarnessSettings, device="cpu"))
    patch.setattr("ncu_assist.pipeline.planning.why_not_measurable", lambda: None)
    patch.setitem(EXECUTORS, "local", Here())


def without_ncu(patch: pytest.MonkeyPatch, empty: Path) -> None:
    """Hide every ncu of this machine."""
    folders = os.environ["PATH"].split(":")
    patch.setenv("PATH", ":".join(f for f in folders if not (Path(f) / "ncu").exists()))
    patch.delenv("CUDA_HOME", raising=False)
    patch.setattr(command.find_ncu, "__defaults__", (os.environ, empty, empty))


def deny(patch: pytest.MonkeyPatch, folder: Path, number: int = errno.EACCES) -> None:
    """Make the system refuse to list a folder and to look at what is in it, which chmod does not do to root."""

    def denied(call: Callable[..., Any], is_listing: bool) -> Callable[..., Any]:
        def refusing(path: Any = ".", *rest: Any, **named: Any) -> Any:
            own = Path(os.path.abspath(path)) if isinstance(path, str | os.PathLike) else Path()  # noqa: PTH100
            if folder in own.parents or (is_listing and own == folder):
                raise OSError(number, os.strerror(number), str(path))
            return call(path, *rest, **named)

        return refusing

    for name in ("scandir", "listdir", "stat", "lstat"):
        patch.setattr(os, name, denied(getattr(os, name), name in ("scandir", "listdir")))


def deny_reading(patch: pytest.MonkeyPatch, denied: Path) -> None:
    """Make the system refuse to open a file, which chmod does not do to root."""
    opened = io.open

    def refusing(path: Any, *rest: Any, **named: Any) -> Any:
        if not isinstance(path, int) and Path(path) == denied:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *rest, **named)

    patch.setattr(io, "open", refusing)


def plain_report(folder: Path, name: str = "mine.ncu-rep") -> Path:
    """Write the recorded report uncompressed, as ncu does, and return its path."""
    import zstandard

    path = folder / name
    path.write_bytes(zstandard.ZstdDecompressor().decompress(REPORT.read_bytes()))
    return path


def change(root: Path, version: str, name: str = "samples.parquet", cut: int = 0) -> str:
    """Change a file of a version's only run, of the same size or ``cut`` bytes smaller; return where the run lies."""
    (path,) = root.glob(f"reports/*/{version}_*/*/{name}")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data[: len(data) - cut])
    return path.relative_to(root).as_posix().removesuffix(f"/{name}")


def damaged_newest(root: Path, version: str) -> str:
    """Save the only run of softmax/``version`` again, as a newer one that is damaged; return where that lies."""
    store = Store(root / "reports")
    (stored,) = store.runs("softmax", version)
    newer = replace(stored.run, run_id="20990101T000000Z-aaaaaa", created="2099-01-01T00:00:00Z")
    place = store.save(newer, {name: stored.read(name) for name in stored.run.files}).folder
    (place / "samples.parquet").unlink()
    return place.relative_to(root).as_posix()


def files(folder: Path) -> set[str]:
    """Return all files below a folder but the index, a cache that any reading command may write."""
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {path for path in paths if not path.startswith(".ncu-assist/index/")}
