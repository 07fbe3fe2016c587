"""Prompts that were written or sent, kept with their evidence: a reply is held against what it was given."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ncu_assist import schema
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.store.folders import DRAFTS, is_folder_name
from ncu_assist.store.writing import environment_problem
from ncu_assist.suggest.evidence.records import Evidence

SCHEMA = "ncu-assist.prompt/1"
ID = re.compile(r"\bprompt-[0-9a-f]{12}\b")
DIGITS = 12  # of the hash, as git shows of a commit in a large repository
ASK_AGAIN = "ncu-assist suggest {kernel} --dry-run"


@dataclass(frozen=True)
class Prompt:
    """A question. ``tokens`` are characters over four, ``dropped`` is what did not fit, ``evidence`` what is shown.

    A reply may cite the items of ``evidence`` and no others. ``id`` stands in the text, for a reply to repeat.
    """

    id: str
    created: str  # when it was kept: ISO 8601, UTC; empty before
    text: str = field(repr=False)
    tokens: int
    dropped: tuple[str, ...]
    evidence: Evidence = field(repr=False)
    sha256: str
    schema: str = SCHEMA


READERS: schema.Readers[Prompt] = {1: msgspec.json.Decoder(Prompt).decode}


class _AsWritten(msgspec.Struct):
    """The evidence of a kept prompt, byte for byte: a later version, whose evidence has more fields, reads it too."""

    evidence: msgspec.Raw


def id_of(evidence: Evidence) -> str:
    """Return the id of a prompt: a hash of its evidence, so the same for the same runs."""
    return _id_of(msgspec.json.encode(evidence))


def _id_of(written: bytes | msgspec.Raw) -> str:
    return f"prompt-{hashlib.sha256(written).hexdigest()[:DIGITS]}"


def ids_in(reply: str) -> tuple[str, ...]:
    """Return the ids of prompts that a reply names, each once."""
    return tuple(dict.fromkeys(ID.findall(reply)))


@dataclass(frozen=True)
class PromptArchive:
    """The files beside the drafts of each kernel, ``reports/<kernel>/suggest/prompt-<hash>.json``."""

    reports: Path

    def keep(self, prompt: Prompt) -> None:
        """Write a prompt for replies that come later; the same one is written anew, as the last.

        Raises EnvironmentProblem where that fails.
        """
        created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # several may be written in a second
        path = self._folder(prompt.evidence.kernel) / f"{prompt.id}.json"
        temporary = path.with_name(f".{path.name}-{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(msgspec.json.encode(replace(prompt, created=created)) + b"\n")
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise environment_problem(error, "prompt") from error

    def find(self, id: str, kernel: str | None = None) -> Prompt:
        """Return the prompt with this id. Raises UsageProblem where none is kept, DamagedData for one that changed."""
        if ID.fullmatch(id):
            for path in sorted(self.reports.glob(f"{kernel or '*'}/{DRAFTS}/{id}.json")):
                return _read(path)
        message = f"no prompt {id} is kept here: it was written elsewhere, or its file was removed"
        raise UsageProblem(message, ASK_AGAIN.format(kernel=kernel or "KERNEL"))

    def last(self, kernel: str, version: str | None = None) -> Prompt | None:
        """Return the prompt of a kernel that was written last, of a version where one is named; None without any."""
        found = (one for one in self._all(kernel) if version in (None, one.evidence.version))
        return max(found, key=lambda one: (one.created, one.id), default=None)

    def _all(self, kernel: str) -> Iterator[Prompt]:
        for path in sorted(self._folder(kernel).glob("prompt-*.json")) if is_folder_name(kernel) else ():
            try:
                yield _read(path)
            except DamagedData:
                continue

    def _folder(self, kernel: str) -> Path:
        return self.reports / kernel / DRAFTS


def _read(path: Path) -> Prompt:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedData(f"{path.name} cannot be read ({error.strerror})") from error
    found = schema.read(data, SCHEMA, READERS, path.name)
    if found.id != path.stem or found.id != _id_of(msgspec.json.decode(data, type=_AsWritten).evidence):
        raise DamagedData(f"{path.name} was changed after it was written")
    return found
