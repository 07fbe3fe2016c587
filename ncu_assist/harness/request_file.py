"""The file in which a parent leaves a request for its child, whatever it asks to be measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

FILE = "request.json"
T = TypeVar("T")


class Filed(Protocol):
    """A request that knows the file it belongs into, which is called ``FILE``."""

    @property
    def path(self) -> Path: ...


def write(request: Filed) -> Path:
    """Write a request into its folder and return the file."""
    request.path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = request.path.with_suffix(".tmp")
    # Not the json of msgspec: a path may hold bytes that are no UTF-8, as any beyond ASCII is in the C locale.
    unfinished.write_text(json.dumps(msgspec.to_builtins(request)), encoding="ascii")
    return unfinished.replace(request.path)  # whole for a child that waits for it


def read(path: Path, kind: type[T]) -> T:
    """Return the request in a file, of the kind that was written there."""
    return msgspec.convert(json.loads(path.read_bytes()), type=kind, strict=True)
