"""The archive as a whole: save a run, list what is there newest first, name what is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.record import Run
from ncu_assist.store.folders import Damage, leftovers, run_folders
from ncu_assist.store.naming import DRAFTS, is_folder_name
from ncu_assist.store.reading import StoredRun, open_run
from ncu_assist.store.verifying import problems_of
from ncu_assist.store.writing import write_run
from ncu_assist.versions import version_order


@dataclass(frozen=True)
class Store:
    """The folder ``reports/`` of a project; it need not exist before the first save."""

    reports: Path

    def save(self, run: Run, files: Mapping[str, bytes | Path]) -> StoredRun:
        """Write a run, its files' sizes and hashes filled in, and return it as it reads back.

        Raises EnvironmentProblem when the disk is full or may not be written to (nothing is left behind), UsageProblem
        for a run that exists already.
        """
        return open_run(write_run(self.reports, run, files))

    def kernels(self) -> tuple[str, ...]:
        """Return the kernels with at least one run folder, sorted."""
        return tuple(sorted({folder.parts[-3] for folder in self._folders(None, None)}))

    def versions(self, kernel: str) -> tuple[str, ...]:
        """Return the versions of a kernel with at least one run folder, v10 after v9."""
        return tuple(sorted({f.parts[-2] for f in self._folders(kernel, None)}, key=version_order))

    def runs(self, kernel: str | None = None, version: str | None = None) -> list[StoredRun]:
        """Return the runs that can be read, newest first; ``version`` is a full name. Damaged ones are left out."""
        found = [r for r in (_open(f) for f in self._folders(kernel, version)) if isinstance(r, StoredRun)]
        return sorted(found, key=_age, reverse=True)

    def everything(self) -> tuple[list[StoredRun], list[Damage]]:
        """Return what ``runs`` and ``damaged`` do, each folder opened once: many records take time."""
        opened = [one if isinstance(one, Damage) else _open(one) for one in run_folders(self.reports)]
        found = [one for one in opened if isinstance(one, StoredRun)]
        return sorted(found, key=_age, reverse=True), [one for one in opened if isinstance(one, Damage)]

    def damaged(self, kernel: str | None = None) -> list[Damage]:
        """Return the runs that ``runs`` leaves out, of all kernels or one, and why.

        A folder of a kernel or a version that cannot be read is one of them: nobody knows what it holds. Cheap: sizes
        are compared, not hashes.
        """
        opened = (one if isinstance(one, Damage) else _open(one) for one in run_folders(self.reports, kernel))
        return [one for one in opened if isinstance(one, Damage)]

    def unreadable(self) -> list[Damage]:
        """Return the folders that cannot be looked into, so that nobody knows which runs they hold. Opens no run."""
        return [one for one in run_folders(self.reports) if isinstance(one, Damage)]

    def verify(self, deep: bool = True) -> list[Damage]:
        """Return everything that is not as it was written, interrupted writes and foreign files included.

        ``deep`` reads every file: hashes, columns, and the number of launches against the record and ncu's log.
        """
        found = [Damage(_path(folder), "is the rest of an interrupted write") for folder in leftovers(self.reports)]
        for one in run_folders(self.reports):
            if isinstance(one, Damage):
                found.append(one)
            else:
                found += [Damage(_path(one), said, is_newer) for said, is_newer in problems_of(one, deep)]
        return found

    def _folders(self, kernel: str | None, version: str | None) -> Iterator[Path]:
        """Yield run folders and no drafts; a name that could not have been saved, such as ``..``, matches nothing."""
        if version == DRAFTS or any(name is not None and not is_folder_name(name) for name in (kernel, version)):
            return
        yield from (one for one in run_folders(self.reports, kernel, version) if isinstance(one, Path))


def _open(folder: Path) -> StoredRun | Damage:
    try:
        return open_run(folder)
    except DamagedData as error:
        return Damage(_path(folder), error.message, isinstance(error, NewerData))


def _path(folder: Path) -> str:
    return "/".join(folder.parts[-3:])


def _age(stored: StoredRun) -> tuple[str, tuple[int, str], int, str]:
    """When a run was made, to the second as its record says; of two within one by when they were written."""
    run = stored.run
    return run.created, version_order(run.version), stored.folder.stat().st_mtime_ns, run.run_id
