"""Making a draft the next version of its kernel: a new file in the kernel's folder, and never over one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ncu_assist.drafts.archive import DraftArchive, source_name
from ncu_assist.drafts.header import with_header
from ncu_assist.drafts.stored import StoredDraft
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.spec import VERSION_FILE
from ncu_assist.store.writing import HINTS, write_file

SLUG = re.compile(r"[a-z0-9_]{1,40}")
SUFFIXES = (".cu", ".py")


def accept(archive: DraftArchive, stored: StoredDraft, folder: Path) -> tuple[Path, StoredDraft]:
    """Write a draft as ``v<N+1>_<slug>.<ext>`` into its kernel's ``folder``; return the file and the draft, updated.

    N is the highest number there. The comment at its top is ours, see ``with_header``. Raises UsageProblem for a draft
    without a source or one that is a version already, DamagedData for one whose source was changed, EnvironmentProblem
    when the disk refuses; no file is left behind then.
    """
    draft = stored.draft
    if draft.version:
        raise UsageProblem(f"{stored.reference} is {draft.version} already", f"ncu-assist list {draft.kernel}")
    if draft.claim is None or draft.suffix not in SUFFIXES or source_name(draft.suffix) not in stored.files:
        raise UsageProblem(f"{stored.reference} has no source: {draft.reason}", f"ncu-assist ledger {draft.kernel}")
    slug = draft.claim.slug if SLUG.fullmatch(draft.claim.slug) else "draft"
    path = folder / f"v{_highest(folder) + 1}_{slug}{draft.suffix}"
    _create(path, with_header(stored.read(source_name(draft.suffix)), draft))
    try:
        return path, archive.update(stored, replace(draft, version=path.stem))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _highest(folder: Path) -> int:
    """Return the highest number of a version in a folder, -1 where there is none."""
    found = (VERSION_FILE.fullmatch(path.name) for path in folder.iterdir())
    return max((int(match[1]) for match in found if match), default=-1)


def _create(path: Path, source: bytes) -> None:
    try:
        write_file(path, source)  # which opens for exclusive creation
    except FileExistsError as error:
        raise UsageProblem(f"{path.name} appeared in between; nothing was written over it", "try it again") from error
    except OSError as error:
        path.unlink(missing_ok=True)
        hint = HINTS.get(error.errno or 0, "see that the kernel's folder may be written to")
        raise EnvironmentProblem(f"{path.name} could not be written: {error.strerror or error}", hint) from error
