"""What was worked out of stored runs and takes longer to work out than to look up: a cache, which may be deleted.

``answers-<kernel>.json`` and ``diffs-<kernel>.json`` in ``.ncu-assist/index/`` beside ``reports/``. An answer counts
only while the runs that it is of have the same digests, their files the same sizes and times of change, and the modules
that work it out the same too. A damaged cache is worked out anew. The file is replaced as a whole.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from ncu_assist.store.index import cache_folder
from ncu_assist.store.reading import StoredRun

PACKAGE = Path(__file__).parents[1]
# Whose modules decide what the rules say, which of two is faster and why, and what their source lines cost.
DECIDING = (
    *("analysis/diff", "ceilings", "ceilings/data", "frame", "ncu", "ncu/catalogue", "ncu/source"),
    *("pipeline", "rules", "rules/model", "store", "verdict"),
)
MOST = 4000  # answers of a kernel, of some 500 bytes; the oldest go first
T = TypeVar("T")


class Answers:
    """The answers about the runs of one kernel; ``save`` once all are asked for."""

    def __init__(self, reports: Path, kernel: str, most: int = MOST, name: str = "answers") -> None:
        self._path = cache_folder(reports) / f"{name}-{kernel[:100]}.json"
        self._most = most
        self._known = _read(self._path)
        self._files: dict[Path, str | None] = {}
        self._is_changed = False

    def of(
        self,
        what: str,
        runs: Sequence[StoredRun],
        more: Sequence[str],
        kind: type[T],
        make: Callable[[], T],
        may_keep: Callable[[T], bool] = lambda _made: True,
    ) -> T:
        """Return what was made of some runs, else make it. ``more`` is what else it depends on. Raises as ``make``."""
        key = self._key(what, runs, more)
        if key in self._known:
            with contextlib.suppress(msgspec.DecodeError):
                return msgspec.json.decode(self._known[key], type=kind)
        made = make()
        if key and may_keep(made):
            with contextlib.suppress(TypeError, msgspec.DecodeError):  # what JSON has not
                kept = msgspec.json.encode(made)
                back = msgspec.json.decode(kept, type=kind)  # what is no number is absent then, and 1 may be 1.0
                if back == made and msgspec.json.encode(back) == kept:
                    self._known[key] = msgspec.Raw(kept)
                    self._is_changed = True
        return made

    def _key(self, what: str, runs: Sequence[StoredRun], more: Sequence[str]) -> str:
        """Return what tells an answer from others; empty for runs in a pack: these are checked as they are read."""
        facts = [what, deciding_code(), *more]
        for stored in runs:
            if stored.folder not in self._files:
                self._files[stored.folder] = _files(stored)
            said = self._files[stored.folder]
            if said is None:
                return ""
            facts.append(f"{stored.reference}{stored.run.digest}{said}")
        return hashlib.sha256("\0".join(facts).encode("utf-8", "replace")).hexdigest()

    def save(self) -> None:
        """Write what is new; nothing where that may not be written."""
        if not self._is_changed:
            return
        kept = dict(list(self._known.items())[-self._most :])
        temporary = self._path.with_name(f".{self._path.name}-{secrets.token_hex(6)}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(msgspec.json.encode(kept))
            temporary.replace(self._path)
        except OSError:
            return
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _files(stored: StoredRun) -> str | None:
    """Return sizes and times of change of the files of a run; None where one of them does not lie in its folder."""
    facts = []
    try:
        for name in stored.run.files:
            fact = os.stat(stored.folder / name)  # noqa: PTH116  many files: pathlib's takes twice as long
            facts.append(f"{fact.st_size} {fact.st_mtime_ns}")
    except OSError:
        return None
    return " ".join(facts)


def signs(paths: Iterable[Path]) -> Iterator[str]:
    """Yield name, size and time of change of files that an answer depends on."""
    for path in paths:
        with contextlib.suppress(OSError):
            fact = path.stat()
            yield f"{path.name} {fact.st_size} {fact.st_mtime_ns}"


@functools.cache
def deciding_code() -> str:
    """Return what changes with the modules that answers are worked out by."""
    found = []
    for folder in DECIDING:
        with os.scandir(PACKAGE / folder) as entries:
            found += [
                f"{folder}/{one.name} {(fact := one.stat()).st_size} {fact.st_mtime_ns}"
                for one in entries
                if one.name.endswith((".py", ".json"))
            ]
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()
