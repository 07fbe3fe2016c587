"""The folders of an archive, ``reports/<kernel>/<version>/<run>/``: their names, and what cannot be read of them."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from ncu_assist.atomic import TEMPORARY_PREFIX
from ncu_assist.errors import DamagedData, EnvironmentProblem, NewerData
from ncu_assist.project import Project
from ncu_assist.schema import UPGRADE
from ncu_assist.sources import HEADERS, VERSION_FILE
from ncu_assist.spec_file import FILE, kernel_names

FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")  # no leading dot or dash, no separator
RUN_JSON = "run.json"
DERIVED_FILES = ("report.html",)  # made from a run later on, and made again at will: no hash
DRAFTS = "suggest"  # the folder of a kernel that holds its drafts and no version's runs
REMOVING_PREFIX = ".removing-"  # a run's folder that is on its way out
PACKED = "packed"  # the folder of a kernel that holds packs of runs


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


@functools.lru_cache(maxsize=1024)  # every run has the same dozen
def is_file_name(name: str) -> bool:
    """Return whether ``name`` may be a file of a run: relative, below the run's folder, in plain segments."""
    parts = PurePosixPath(name).parts
    return bool(parts) and "/".join(parts) == name and name != RUN_JSON and all(is_folder_name(p) for p in parts)


ROOT = "."  # the place of reports/ itself
LINK = "is a link, which is not followed; its target is left out"
KERNELS = "kernels"


@dataclass(frozen=True)
class Damage:
    """Something in the archive that cannot be read: where, below ``reports/`` or another ``folder``, and why.

    It is not as it was written, or ``is_newer``: of a schema that a newer version wrote.
    """

    path: str
    problem: str
    is_newer: bool = False
    folder: str = "reports"

    @property
    def place(self) -> str:
        """Where it is, below the root of the project."""
        return self.folder if self.path == ROOT else f"{self.folder}/{self.path}"

    @property
    def exit_code(self) -> int:
        return NewerData.exit_code if self.is_newer else DamagedData.exit_code

    @property
    def error(self) -> DamagedData:
        """What ends a command that cannot do without it."""
        said = f"{self.path}: {self.problem}"
        return NewerData(said, UPGRADE) if self.is_newer else DamagedData(said, "ncu-assist verify")

    @property
    def note(self) -> str:
        """A line that says that it was left out, and how to look at all damage."""
        return f"left out: {self.place}: {self.problem}; try: ncu-assist verify"

    @property
    def words(self) -> str:
        return f"cannot be read: {self.problem}" if self.is_newer else f"is damaged: {self.problem}"

    def concerns(self, place: str) -> bool:
        """Tell whether it lies at or below a place such as ``add_one/v1_torch/``, or hides it as a folder above.

        A pack may hold runs of any version of its kernel.
        """
        kernel, _, below = self.path.partition("/")
        if below.partition("/")[0] == PACKED:
            return f"{kernel}/".startswith(place) or place.startswith(f"{kernel}/")
        return self.path == ROOT or f"{self.path}/".startswith(place) or place.startswith(f"{self.path}/")


def kernel_folders(reports: Path, kernel: str | None = None) -> Iterator[Path | Damage]:
    """Yield the folders of kernels, sorted, or that of ``kernel``; as Damage what could be one and cannot be read.

    Nothing for an archive that is not there. A link is damage: no reader follows it.
    """
    if reports.is_symlink() and not os.path.exists(reports):  # noqa: PTH110
        yield Damage(ROOT, "is a link to nothing")
    else:
        yield from _below(reports, ROOT, kernel)


def version_folders(reports: Path, kernel: str | None = None, version: str | None = None) -> Iterator[Path | Damage]:
    """Yield the folders of versions as ``kernel_folders`` does, those of drafts too."""
    for folder in kernel_folders(reports, kernel):
        yield from (folder,) if isinstance(folder, Damage) else _below(folder, folder.name, version)


def run_folders(reports: Path, kernel: str | None = None, version: str | None = None) -> Iterator[Path | Damage]:
    """Yield the folders of runs as ``kernel_folders`` does; those of drafts only where ``version`` is DRAFTS."""
    for folder in version_folders(reports, kernel, version):
        if isinstance(folder, Damage):
            if version == DRAFTS or folder.path.rpartition("/")[2] != DRAFTS:
                yield folder
        elif version == DRAFTS or folder.name != DRAFTS:
            yield from _below(folder, "/".join(folder.parts[-2:]), None)


def holds_runs(kernel: Path) -> bool:
    """Tell whether the folder of a kernel has one of a run; looks no further than the first."""
    for version in _below(kernel, kernel.name, None):
        if isinstance(version, Path) and version.name != DRAFTS:
            place = f"{kernel.name}/{version.name}"
            if any(isinstance(one, Path) for one in _below(version, place, None)):
                return True
    return False


def leftovers(reports: Path) -> Iterator[Path]:
    """Yield what interrupted writes left; a folder that cannot be read is named by the others."""
    for folder in version_folders(reports):
        if isinstance(folder, Path):
            try:
                names = sorted(os.listdir(folder))  # noqa: PTH208
            except OSError:
                continue
            yield from (folder / name for name in names if name.startswith((TEMPORARY_PREFIX, REMOVING_PREFIX)))


def foreign_files(folder: Path, known: set[str], of_what: str) -> list[str]:
    """Return what is wrong with what lies in a folder beside the files ``known``: files of nobody, folders unread."""
    errors: list[OSError] = []
    found = []
    for where, folders, files in os.walk(folder, onerror=errors.append):
        below = Path(where)
        for path in (
            *(below / name for name in files),
            *(one for name in folders if (one := below / name).is_symlink()),
        ):
            name = path.relative_to(folder).as_posix()
            if name not in known:
                found.append(f"{name} is not a file of this {of_what}")
    unread = (f"{Path(error.filename).relative_to(folder).as_posix()} {unreadable(error)}" for error in errors)
    return [*sorted(found), *sorted(one.removeprefix(f"{ROOT} ") for one in unread)]


def unreadable(error: OSError) -> str:
    """Return what an error of the file system says of a file or folder that is there."""
    return f"cannot be read ({error.strerror or error})"


def _below(folder: Path, place: str, wanted: str | None) -> Iterator[Path | Damage]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted((one for one in listed if wanted in (None, one.name)), key=lambda one: one.name)
    except FileNotFoundError:  # an archive that is not there yet, or a folder removed meanwhile
        return
    except OSError as error:
        yield Damage(place, unreadable(error))
        return
    for entry in entries:
        if is_folder_name(entry.name):
            yield from _told(entry, entry.name if place == ROOT else f"{place}/{entry.name}")


def _told(entry: os.DirEntry[str], place: str) -> Iterator[Path | Damage]:
    """Yield a folder, what is wrong with what stands in its place, or nothing for a page or another file beside."""
    try:
        if entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)
        elif entry.is_symlink() and not os.path.isfile(entry.path):  # noqa: PTH113
            yield Damage(place, LINK)
        elif not os.path.splitext(entry.name)[1]:  # noqa: PTH122  pages and baseline.json have an ending
            yield Damage(place, "is not a folder")
    except OSError as error:
        yield Damage(place, unreadable(error))


def unreadable_sources(project: Project) -> Iterator[Damage]:
    """Yield the folders of kernels that cannot be read, and the files that are data, reference, version or header."""
    try:
        names = kernel_names(project)
    except EnvironmentProblem as error:
        yield Damage(ROOT, error.message.removeprefix(f"{KERNELS}/ "), folder=KERNELS)
        return
    for name in names:
        try:
            paths = sorted((project.kernels / name).iterdir())
        except OSError as error:
            yield Damage(name, unreadable(error), folder=KERNELS)
            continue
        for path in paths:
            is_read = path.name in (FILE, "reference.py") or path.suffix in HEADERS or VERSION_FILE.fullmatch(path.name)
            try:
                if is_read and not path.is_fifo():
                    path.read_bytes()
            except OSError as error:
                yield Damage(f"{name}/{path.name}", unreadable(error), folder=KERNELS)
