"""What worked with each endpoint, in the user's cache folder; it may be deleted or damaged without harm."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ncu_assist.suggest.model.address import shown
from ncu_assist.suggest.model.dialect import TOKENS_FIELDS, Dialect
from ncu_assist.suggest.model.records import RUNGS

FILE = "endpoints.json"
KEPT_S = 30 * 24 * 3600.0  # servers are updated and learn the stricter forms
LARGEST_BYTES = 1_000_000
MOST_ENTRIES = 200


def cache_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file, in the folder that this user's environment names for caches."""
    folder = environment.get("XDG_CACHE_HOME", "")
    return (Path(folder) if Path(folder).is_absolute() else Path.home() / ".cache") / "ncu-assist" / FILE


def remembered(address: str, model: str) -> Dialect | None:
    """Return what worked last with ``model`` at ``address``, None where nothing is known or it is long ago."""
    entry = _entries().get(_name(address, model))
    if not isinstance(entry, dict) or not _fresh(entry):
        return None
    form = Dialect(**{f.name: entry.get(f.name, f.default) for f in fields(Dialect)})
    sound = form.rung in RUNGS and form.tokens in TOKENS_FIELDS
    return form if sound and isinstance(form.usage, bool) and isinstance(form.temperature, bool) else None


def remember(address: str, model: str, form: Dialect) -> None:
    """Keep what worked. A folder that cannot be written is no error: it is found out again next time."""
    if remembered(address, model) == form:
        return
    entries = {**_entries(), _name(address, model): {**asdict(form), "at": time.time()}}
    newest = dict(sorted(entries.items(), key=lambda entry: _at(entry[1]))[-MOST_ENTRIES:])
    with suppress(OSError):
        _write(cache_file(), json.dumps(newest, indent=1))


def _entries() -> dict[str, Any]:
    try:
        with cache_file().open("rb") as stream:
            found = json.loads(stream.read(LARGEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _fresh(entry: dict[str, Any]) -> bool:
    return 0 <= time.time() - _at(entry) < KEPT_S


def _at(entry: Any) -> float:
    at = entry.get("at") if isinstance(entry, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _name(address: str, model: str) -> str:
    return f"{shown(address)} {model}"
