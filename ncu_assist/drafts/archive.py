"""The drafts of an archive, ``reports/<kernel>/suggest/<id>/``: saved whole, updated once proved, listed, verified."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ncu_assist.drafts.records import Draft
from ncu_assist.drafts.stored import DRAFT_JSON, StoredDraft, encode_record, open_draft, problems_of
from ncu_assist.errors import DamagedData, NewerData, UsageProblem, did_you_mean
from ncu_assist.store import Damage, new_run_id
from ncu_assist.store.folders import run_folders
from ncu_assist.store.naming import DRAFTS, is_folder_name
from ncu_assist.store.writing import Place, check_names, environment_problem, sync_folder, write_file, write_whole

PROMPT, BUILD_LOG = "prompt.md", "build.log"
REFUSAL = "refusal.txt"  # what to tell the author of a reply that cannot be used: the nearest lines of an edit
RUNS = "runs"  # what proving a draft measured: an archive of its own below its folder


def new_draft_id(told_by: str, now: datetime | None = None) -> str:
    """Return an id that sorts by time; ``told_by`` is any text that tells drafts of one moment apart."""
    return new_run_id(now or datetime.now(UTC), told_by)


def reply_name(number: int) -> str:
    """Return the name of the file of a raw reply, counted from 1: repairs come after."""
    return f"reply-{number}.txt"


def source_name(suffix: str) -> str:
    """Return the name of the file that is the draft itself; ``suffix`` as ``Draft.suffix``."""
    return f"draft{suffix}"


def runs_below(archive: Path) -> dict[str, bytes | Path]:
    """Return the files of an archive of runs by the names that they have in the folder of a draft."""
    found = (path for path in sorted(archive.rglob("*")) if path.is_file())
    return {f"{RUNS}/{path.relative_to(archive).as_posix()}": path for path in found}


@dataclass(frozen=True)
class DraftArchive:
    """The folder ``reports/`` of a project, as far as it holds drafts; it need not exist before the first save."""

    reports: Path

    def save(self, draft: Draft, files: Mapping[str, bytes | Path]) -> StoredDraft:
        """Write a draft with its files and return it as it reads back.

        Raises EnvironmentProblem when the disk refuses (nothing is left behind), UsageProblem for an id that exists.
        """
        check_names({"kernel": draft.kernel, "draft": draft.id}, files)
        if DRAFT_JSON in files:
            raise UsageProblem(f"'{DRAFT_JSON}' cannot be the name of a file of a draft")
        folder = self.reports / draft.kernel / DRAFTS / draft.id
        place = Place(self.reports, folder, DRAFT_JSON, "draft", f"{draft.kernel}/{DRAFTS}/{draft.id}")
        write_whole(place, files, lambda facts: encode_record(draft, facts))
        return open_draft(folder)

    def update(self, stored: StoredDraft, draft: Draft, files: Mapping[str, bytes | Path] = {}) -> StoredDraft:
        """Replace the record of a draft, as its fate after the proof, and add ``files``; none may be there already.

        The record is written whole and renamed last: before that it is the old one. Raises EnvironmentProblem when the
        disk refuses, UsageProblem for another draft's record or a file that is there already.
        """
        check_names({"draft": draft.id}, files)
        if (draft.kernel, draft.id) != (stored.draft.kernel, stored.draft.id):
            raise UsageProblem(f"{stored.reference} is another draft than {draft.kernel}/{DRAFTS}/{draft.id}")
        taken = next((name for name in files if (stored.folder / name).exists() or name == DRAFT_JSON), None)
        if taken:
            raise UsageProblem(f"{stored.reference} has a file {taken} already; it is never overwritten")
        try:
            _replace(stored, draft, files)
        except OSError as error:
            raise environment_problem(error, "draft") from error
        return open_draft(stored.folder)

    def find(self, kernel: str | None, id: str) -> StoredDraft:
        """Return the draft that an id, or the beginning of one, names, of all kernels where ``kernel`` is None.

        Raises UsageProblem where none or several are meant, DamagedData for one that cannot be read.
        """
        folders = list(self._folders(kernel))
        meant = [folder for folder in folders if id and folder.name.startswith(id)]
        if len(meant) == 1:
            return open_draft(meant[0])
        whose = f" of {kernel}" if kernel else ""
        said = f"'{id}' begins {len(meant)} drafts{whose}" if meant else f"there is no draft '{id}'{whose}"
        known = did_you_mean(id, [folder.name for folder in meant or folders])
        raise UsageProblem(f"{said}; {known}", f"ncu-assist ledger {kernel or ''}".rstrip())

    def everything(self, kernel: str | None = None) -> tuple[list[StoredDraft], list[Damage]]:
        """Return the drafts that can be read, oldest first, and those that cannot, each with why."""
        found, damaged = [], []
        for folder in self._places(kernel):
            if isinstance(folder, Damage):
                damaged.append(folder)
                continue
            try:
                found.append(open_draft(folder))
            except DamagedData as error:
                damaged.append(Damage(_path(folder), error.message, isinstance(error, NewerData)))
        return sorted(found, key=lambda one: (one.draft.created, one.draft.id)), damaged

    def drafts(self, kernel: str | None = None) -> list[StoredDraft]:
        """Return the drafts that can be read, oldest first. Damaged ones are left out."""
        return self.everything(kernel)[0]

    def verify(self, deep: bool = True) -> list[Damage]:
        """Return every draft that is not as it was written; ``deep`` reads every file.

        Folders that cannot be looked into are among them, also where they may hold runs.
        """
        found = []
        for folder in self._places(None):
            if isinstance(folder, Damage):
                found.append(folder)
            else:
                found += [Damage(_path(folder), said, is_newer) for said, is_newer in problems_of(folder, deep)]
        return found

    def _folders(self, kernel: str | None) -> Iterator[Path]:
        return (folder for folder in self._places(kernel) if isinstance(folder, Path))

    def _places(self, kernel: str | None) -> Iterator[Path | Damage]:
        """Yield the folders of drafts, and what of the archive cannot be looked into."""
        if kernel is None or is_folder_name(kernel):
            yield from run_folders(self.reports, kernel, DRAFTS)


def _replace(stored: StoredDraft, draft: Draft, files: Mapping[str, bytes | Path]) -> None:
    facts = dict(stored.files)
    temporary = stored.folder / f".{DRAFT_JSON}-{os.getpid()}"
    written: list[Path] = []
    try:
        for name, content in files.items():
            path = stored.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(path)
            facts[name] = write_file(path, content)
        write_file(temporary, encode_record(draft, facts))
        temporary.replace(stored.folder / DRAFT_JSON)
    except BaseException:
        for path in (*written, temporary):
            path.unlink(missing_ok=True)
        raise
    sync_folder(stored.folder)


def _path(folder: Path) -> str:
    return "/".join(folder.parts[-3:])
