"""Names in the archive: run ids that sort by time, and which names may become folders and files."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import PurePosixPath

FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")  # no leading dot or dash, no separator
RUN_JSON = "run.json"
DRAFTS = "suggest"  # the folder of a kernel that holds its drafts and no version's runs
TEMPORARY_PREFIX = ".writing-"  # a folder that a save has not finished; the leading dot keeps it out of every listing


def new_run_id(now: datetime, source: str | None = None) -> str:
    """Return a run id that sorts by time, like ``20261121T074500Z-1a2b3c``.

    The last part hashes the moment (with microseconds) and ``source``, any text that tells runs of one second apart,
    such as the version's name and source hash.
    """
    moment = now.astimezone(UTC)
    tail = hashlib.sha256(f"{moment.isoformat()}|{source}".encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{moment:%Y%m%dT%H%M%SZ}-{tail}"


def is_folder_name(name: str) -> bool:
    """Return whether ``name`` may be a kernel, version or run folder."""
    return FOLDER_NAME.fullmatch(name) is not None


def is_file_name(name: str) -> bool:
    """Return whether ``name`` may be a file of a run: relative, below the run's folder, in plain segments."""
    parts = PurePosixPath(name).parts
    return bool(parts) and "/".join(parts) == name and name != RUN_JSON and all(is_folder_name(p) for p in parts)
