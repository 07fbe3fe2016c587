"""One stored draft: its record, sealed by a digest, and its files, each held against the hash it was written with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from ncu_assist import schema
from ncu_assist.drafts.records import SCHEMA, Draft
from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.record import FileFact, content_digest
from ncu_assist.store.folders import foreign_files, unreadable
from ncu_assist.store.naming import DRAFTS
from ncu_assist.store.reading import file_problem, record_of

DRAFT_JSON = "draft.json"
HINT = "ncu-assist verify"


@dataclass(frozen=True)
class Record:
    """What ``draft.json`` holds; ``digest`` is over all of it, itself left empty."""

    draft: Draft
    files: dict[str, FileFact] = field(default_factory=dict)
    digest: str = ""


@dataclass(frozen=True)
class StoredDraft:
    """A draft in the archive."""

    draft: Draft
    folder: Path
    files: dict[str, FileFact]

    @property
    def reference(self) -> str:
        """``kernel/suggest/id``, where it lies below reports/."""
        return f"{self.draft.kernel}/{DRAFTS}/{self.draft.id}"

    def read(self, name: str) -> bytes:
        """Return one file of the draft; raises DamagedData for one that it has not, or that was changed."""
        if name not in self.files:
            raise DamagedData(f"{self.reference} has no file {name}", HINT)
        problem = file_problem(self.folder, name, self.files[name]) or self._changed(name)
        if problem:
            raise DamagedData(f"{self.reference}: {name} {problem}", HINT)
        return (self.folder / name).read_bytes()

    def _changed(self, name: str) -> str:
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            return unreadable(error)
        same = hashlib.sha256(data).hexdigest() == self.files[name].sha256
        return "" if same else "was changed after it was written (its hash differs)"


def encode_record(draft: Draft, files: dict[str, FileFact]) -> bytes:
    """Return ``draft.json``, its digest filled in. Raises ValueError for a draft that would not read back."""
    record = Record(draft, files)
    sealed = replace(record, digest=content_digest(msgspec.json.encode(record)))
    data = msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n"
    try:
        _decoded(data)
    except DamagedData as error:
        raise ValueError(f"this draft would not read back: {error.message}") from error
    return data


def open_draft(folder: Path) -> StoredDraft:
    """Return the draft in ``folder``; raises DamagedData for a record that is missing, changed or of another place.

    Sizes of its files are compared, hashes only when a file is read.
    """
    record = _decoded(record_of(folder, DRAFT_JSON))
    if (record.draft.kernel, DRAFTS, record.draft.id) != folder.parts[-3:]:
        raise DamagedData(f"{DRAFT_JSON} belongs to {record.draft.kernel}/{DRAFTS}/{record.draft.id}", HINT)
    for name, fact in record.files.items():
        if problem := file_problem(folder, name, fact):
            raise DamagedData(f"{name} {problem}", HINT)
    return StoredDraft(record.draft, folder, record.files)


def problems_of(folder: Path, deep: bool) -> Iterator[tuple[str, bool]]:
    """Yield what is wrong with the draft in ``folder``, and whether that is only that a newer version wrote it."""
    try:
        stored = open_draft(folder)
        known = {DRAFT_JSON, *stored.files}
        yield from ((problem, False) for problem in foreign_files(folder, known, "draft"))
        for name in stored.files if deep else ():
            stored.read(name)
    except DamagedData as error:
        yield error.message.partition(f"{folder.name}: ")[2] or error.message, isinstance(error, NewerData)


@dataclass(frozen=True)
class _Named:
    schema: str


@dataclass(frozen=True)
class _Head:
    draft: _Named


READERS: schema.Readers[Record] = {1: msgspec.json.Decoder(Record).decode}


def _decoded(data: bytes) -> Record:
    try:
        said = msgspec.json.decode(data, type=_Head).draft.schema
        record = schema.reader_of(said, SCHEMA, READERS, DRAFT_JSON, HINT)(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedData(f"{DRAFT_JSON} cannot be read: {error}", HINT) from error
    if record.digest != content_digest(data):
        raise DamagedData(f"{DRAFT_JSON} was changed after it was written", HINT)
    return record
