"""Reports are read once a run of the suite: what a reader's child wrote is kept, by what it was given."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ncu_assist import process
from ncu_assist.ncu import child, report
from ncu_assist.ncu.source import reading

SOONEST_S = 5.0  # a test that allows less is about the limit
REAL_RUN, PYTHON = process.run, sys.executable
LARGE_BYTES = 64 << 20


@pytest.fixture(scope="session", autouse=True)
def reports_read_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put what children wrote before in the place of running them again; failures are had anew each time."""
    base = tmp_path_factory.getbasetemp()
    kept = (base.parent if base.name.startswith("popen-") else base) / "read-once"
    kept.mkdir(exist_ok=True)

    def run_child(argv: Sequence[str], timeout_s: float, **words: Any) -> None:
        is_watched = process.run is not REAL_RUN or sys.executable != PYTHON or timeout_s < SOONEST_S
        is_watched = is_watched or any(child._READY.values())
        if is_watched or any(_is_large(Path(word)) for word in argv):  # a test looks at the child itself
            child.run_child(argv, timeout_s, **words)
            return
        folder = next(Path(word) for word in argv if Path(word).is_dir())
        given = {path.name for path in folder.iterdir()}
        known = kept / _key(argv, folder)
        if not known.exists():
            child.run_child(argv, timeout_s, **words)
            made = known.with_suffix(f".{uuid4().hex}")
            shutil.copytree(folder, made, ignore=lambda *_: given)
            _put(made, known)
        else:
            shutil.copytree(known, folder, dirs_exist_ok=True)

    with pytest.MonkeyPatch.context() as patch:
        for module in (report, reading):
            patch.setattr(module, "run_child", run_child)
        yield


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > LARGE_BYTES


def _key(argv: Sequence[str], folder: Path) -> str:
    """A hash of the words that a child is given, with what is in its files in the place of where they are."""
    digest = hashlib.sha256()
    for word in argv:
        path = Path(word)
        if path == folder or path.is_file():
            for one in sorted(folder.iterdir()) if path == folder else [path]:
                digest.update(os.fsencode(one.name) + one.read_bytes())
        else:
            digest.update(os.fsencode(word))
        digest.update(b"\0")
    return digest.hexdigest()


def _put(made: Path, known: Path) -> None:
    try:
        made.rename(known)
    except OSError:  # another worker was sooner
        shutil.rmtree(made)
