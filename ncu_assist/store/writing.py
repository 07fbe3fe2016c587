"""Writing a run so that it is there as a whole or not at all, also when the disk fills up or the power fails."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.atomic import TEMPORARY_PREFIX
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.record import FileFact, Run, encode
from ncu_assist.store.folders import (
    DERIVED_FILES,
    DRAFTS,
    PACKED,
    REMOVING_PREFIX,
    RUN_JSON,
    is_file_name,
    is_folder_name,
)

if TYPE_CHECKING:
    from ncu_assist.store.reading import StoredRun

CHUNK = 1 << 20
HINTS = {
    errno.ENOSPC: "free disk space, then run the command again; df -h shows what is full",
    errno.EDQUOT: "your quota is used up: free space, then run the command again",
    errno.EROFS: "{folder} is on a read-only file system; use a folder you may write to",
    errno.EACCES: "{folder} is not writable; chmod u+w it, or use a folder of your own",
    errno.EPERM: "{folder} is not writable; chmod u+w it, or use a folder of your own",
}
EXISTS = (errno.EEXIST, errno.ENOTEMPTY)


def write_hint(error: OSError, folder: Path | str, otherwise: str) -> str:
    """Return what to do about a file that cannot be written to a folder; ``otherwise`` if the reason is not known."""
    return HINTS.get(error.errno or 0, otherwise).format(folder=folder)


def write_run(reports: Path, run: Run, files: Mapping[str, bytes | Path]) -> Path:
    """Write a run below ``reports`` and return its folder; ``files`` holds contents, or paths to copy, by name.

    All files and folders are flushed to disk before the folder gets its final name, run.json last. Raises UsageProblem
    for a run that exists already or a name that cannot be a folder or file, EnvironmentProblem when writing fails;
    nothing is left behind then.
    """
    check_names({"kernel": run.kernel, "version": run.version, "run": run.run_id}, files)
    taken = {DRAFTS: "drafts", PACKED: "packed runs"}.get(run.version)
    if taken:
        raise UsageProblem(f"a version cannot be called '{run.version}': that folder is for {taken}", "another name")
    reference = f"{run.kernel}/{run.version}@{run.run_id}"
    place = ArchivePlace(reports, reports / run.kernel / run.version / run.run_id, RUN_JSON, "run", reference)
    write_whole(place, files, lambda facts: encode(replace(run, files=facts)))
    return place.folder


def copy_run(reports: Path, stored: StoredRun, record: bytes) -> Path:
    """Write a run of another archive below ``reports`` as it is there, its record to the byte. Raises as write_run."""
    run = stored.run
    folder = reports / run.kernel / run.version / run.run_id
    place = ArchivePlace(reports, folder, RUN_JSON, "run", stored.reference)
    write_whole(place, {name: stored.read(name) for name in run.files}, lambda _facts: record)
    return folder


def remove_run(folder: Path, with_page: bool = False) -> None:
    """Remove the folder of a run; it goes by one rename, so that nobody sees half of it. Its page stays unless said."""
    going = folder.with_name(f"{REMOVING_PREFIX}{folder.name}-{secrets.token_hex(4)}")
    try:
        folder.rename(going)
    except FileNotFoundError:  # another process was first
        return
    for name in () if with_page else DERIVED_FILES:
        if (going / name).is_file():
            folder.mkdir(exist_ok=True)
            (going / name).rename(folder / name)
    shutil.rmtree(going)  # the version's folder stays, if empty: another process may be about to write into it


@dataclass(frozen=True)
class ArchivePlace:
    """Where a folder of the archive goes; ``record`` is the file in it that is written last and lists the others."""

    reports: Path
    folder: Path
    record: str
    what: str  # as messages call it: run, draft
    reference: str


Facts = dict[str, FileFact]


def write_whole(place: ArchivePlace, files: Mapping[str, bytes | Path], record: Callable[[Facts], bytes]) -> None:
    """Write a folder that is there as a whole or not at all; ``record`` makes its record from sizes and hashes.

    Raises as ``write_run`` does.
    """
    parent = place.folder.parent
    temporary = parent / f"{TEMPORARY_PREFIX}{place.folder.name}-{secrets.token_hex(4)}"
    if place.folder.exists():
        raise _exists(place)
    with _nothing_left(temporary, place.reports):
        try:
            _fill(temporary, files, place.record, record)
            _rename(temporary, place)
            sync_folder(parent)
        except OSError as error:
            raise environment_problem(error, place.what) from error


def check_names(folders: Mapping[str, str], files: Mapping[str, bytes | Path]) -> None:
    """Raise UsageProblem for a name that cannot be a folder, by what it is, or a file."""
    for what, name in folders.items():
        if not is_folder_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a {what}", "use letters, digits, _ . + and -")
    for name in files:
        if not is_file_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a file of a {list(folders)[-1]}")


def _fill(
    temporary: Path, files: Mapping[str, bytes | Path], name_of_record: str, record: Callable[[Facts], bytes]
) -> None:
    temporary.mkdir(parents=True)
    facts = {}
    for name, content in files.items():
        path = temporary / name
        path.parent.mkdir(parents=True, exist_ok=True)
        facts[name] = write_file(path, content)
    write_file(temporary / name_of_record, record(facts))
    for folder in {temporary, *((temporary / name).parent for name in files)}:
        sync_folder(folder)


def write_file(path: Path, content: bytes | Path) -> FileFact:
    """Write bytes, or a copy of a file, flush them to disk and return their size and hash as written."""
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as target:
        for chunk in _chunks(content):
            target.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        target.flush()
        os.fsync(target.fileno())
    return FileFact(size, digest.hexdigest())


def _chunks(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as source:
        while chunk := source.read(CHUNK):
            yield chunk


def _rename(temporary: Path, place: ArchivePlace) -> None:
    try:
        temporary.rename(place.folder)
    except OSError as error:
        if error.errno in EXISTS:  # taken in between by another process: rename replaces no folder that holds files
            raise _exists(place) from error
        if error.errno == errno.ENOENT and not temporary.exists() and place.folder.is_dir():
            return  # a network file system sends a request again when its answer is late: the first has renamed it
        raise


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to disk; Windows opens no folder, and keeps that list by itself."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _nothing_left(temporary: Path, reports: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        for folder in (temporary.parent, temporary.parent.parent):
            with contextlib.suppress(OSError):  # only an empty folder goes
                if folder != reports:
                    folder.rmdir()
        raise


def _exists(place: ArchivePlace) -> UsageProblem:
    return UsageProblem(f"{place.reference} already exists; a {place.what} is never overwritten")


def environment_problem(error: OSError, what: str) -> EnvironmentProblem:
    """Return the error for a disk that refused, with what to do about it."""
    hint = write_hint(error, "reports/", "check that reports/ exists and is writable")
    why = error.strerror or error
    return EnvironmentProblem(f"the {what} could not be stored: {why}; nothing was kept of it", hint)
