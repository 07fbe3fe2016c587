"""Writing a run so that it is there as a whole or not at all, also when the disk fills up or the power fails."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.record import FileFact, Run, encode
from ncu_assist.store.naming import RUN_JSON, TEMPORARY_PREFIX, is_file_name, is_folder_name

CHUNK = 1 << 20
HINTS = {
    errno.ENOSPC: "free disk space, then run the command again; df -h shows what is full",
    errno.EDQUOT: "your quota is used up: free space, then run the command again",
    errno.EROFS: "reports/ is on a read-only file system; run in a folder you may write to",
    errno.EACCES: "reports/ may not be written to; chmod u+w it, or run in a folder of yours",
    errno.EPERM: "reports/ may not be written to; chmod u+w it, or run in a folder of yours",
}
EXISTS = (errno.EEXIST, errno.ENOTEMPTY)


def write_run(reports: Path, run: Run, files: Mapping[str, bytes | Path]) -> Path:
    """Write a run below ``reports`` and return its folder; ``files`` holds contents, or paths to copy, by name.

    All files and folders are flushed to disk before the folder gets its final name, run.json last. Raises UsageProblem
    for a run that exists already or a name that cannot be a folder or file, EnvironmentProblem when writing fails;
    nothing is left behind then.
    """
    _check_names(run, files)
    parent = reports / run.kernel / run.version
    folder, temporary = parent / run.run_id, parent / f"{TEMPORARY_PREFIX}{run.run_id}-{os.getpid()}"
    if folder.exists():
        raise _exists(run)
    with _nothing_left(temporary, reports):
        try:
            _fill(temporary, run, files)
            _rename(temporary, folder, run)
            _sync_folder(parent)
        except OSError as error:
            raise _environment_problem(error) from error
    return folder


def _check_names(run: Run, files: Mapping[str, bytes | Path]) -> None:
    for what, name in (("kernel", run.kernel), ("version", run.version), ("run", run.run_id)):
        if not is_folder_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a {what}", "use letters, digits, _ . + and -")
    for name in files:
        if not is_file_name(name):
            raise UsageProblem(f"'{name}' cannot be the name of a file of a run")


def _fill(temporary: Path, run: Run, files: Mapping[str, bytes | Path]) -> None:
    temporary.mkdir(parents=True)
    facts = {}
    for name, content in files.items():
        path = temporary / name
        path.parent.mkdir(parents=True, exist_ok=True)
        facts[name] = write_file(path, content)
    write_file(temporary / RUN_JSON, encode(replace(run, files=facts)))
    for folder in {temporary, *((temporary / name).parent for name in files)}:
        _sync_folder(folder)


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


def _rename(temporary: Path, folder: Path, run: Run) -> None:
    try:
        temporary.rename(folder)
    except OSError as error:
        if error.errno in EXISTS:  # taken in between by another process: rename replaces no folder that holds files
            raise _exists(run) from error
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
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


def _exists(run: Run) -> UsageProblem:
    return UsageProblem(f"{run.kernel}/{run.version}@{run.run_id} exists already; a run is never overwritten")


def _environment_problem(error: OSError) -> EnvironmentProblem:
    hint = HINTS.get(error.errno or 0, "see that reports/ exists and may be written to")
    return EnvironmentProblem(f"the run could not be stored: {error.strerror or error}; nothing was kept of it", hint)
