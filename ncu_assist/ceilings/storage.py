"""Ceilings on disk: one JSON file a GPU in the archive, one a product in this package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from ncu_assist import schema
from ncu_assist.ceilings.records import SCHEMA, Ceilings
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.record import Device, content_digest

FOLDER, FILE = "ceilings", "ceilings.json"
SHIPPED = Path(__file__).parent / "data"
HASH_DIGITS = 12  # of the GPU's hashed UUID in a folder's name
REPAIR = "ncu-assist ceilings"


READERS: schema.Readers[Ceilings] = {1: msgspec.json.Decoder(Ceilings).decode}


def encode(ceilings: Ceilings) -> bytes:
    """Return ceilings as JSON, the digest filled in."""
    sealed = replace(ceilings, digest=content_digest(msgspec.json.encode(ceilings)))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n"


def decode(data: bytes, name: str = FILE, hint: str = REPAIR) -> Ceilings:
    """Return the ceilings that ``encode`` wrote; raises DamagedData for anything that is not exactly that."""
    ceilings = schema.read(data, SCHEMA, READERS, name, hint)
    if ceilings.digest != content_digest(data):
        raise DamagedData(f"{name} was changed after it was written", hint)
    return ceilings


def path_of(reports: Path, device: Device) -> Path:
    """Return where the ceilings of a GPU lie in an archive."""
    return reports / FOLDER / f"{product(device.name)}-{device.uuid_sha256[:HASH_DIGITS] or 'unknown'}" / FILE


def product(name: str) -> str:
    """Return a GPU's name as part of a file's name: 'NVIDIA H200' is 'nvidia-h200'."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def save(reports: Path, ceilings: Ceilings) -> Path:
    """Write ceilings, replacing older ones of this GPU, and return the file; it is there whole or not at all.

    Raises EnvironmentProblem where the disk refuses.
    """
    path = path_of(reports, ceilings.device)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(encode(ceilings))
        unfinished.replace(path)
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}", "free space there") from error
    return path


def stored(reports: Path) -> Iterator[Ceilings]:
    """Yield the ceilings in an archive, by folder; raises DamagedData at one that cannot be read."""
    for path in sorted((reports / FOLDER).glob(f"*/{FILE}")):
        yield decode(_bytes(path), f"{path.parent.name}/{path.name}")


def shipped(folder: Path = SHIPPED) -> Iterator[Ceilings]:
    """Yield the ceilings of known GPUs that come with the tool: recorded ones."""
    for path in sorted(folder.glob("*.json")):
        yield replace(decode(_bytes(path), path.name), origin="recorded")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedData(f"{path.name} cannot be read: {error.strerror}", REPAIR) from error
