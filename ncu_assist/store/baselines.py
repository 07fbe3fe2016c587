"""The baseline that a user has set for a kernel: one small file beside its runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ncu_assist import schema
from ncu_assist.atomic import atomic_write
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.store.archive import Store
from ncu_assist.store.folders import Damage, is_folder_name, kernel_folders, unreadable
from ncu_assist.store.reading import StoredRun
from ncu_assist.store.writing import write_hint

FILE = "baseline.json"
SCHEMA = "ncu-assist.baseline/1"


@dataclass(frozen=True)
class Baseline:
    """The version, and where one run of it was meant, that run, that ``@baseline`` stands for.

    ``since`` is when it was set, ISO 8601 in UTC; None where that was not noted.
    """

    version: str
    run_id: str | None
    schema: str = SCHEMA
    since: str | None = None


READERS: schema.Readers[Baseline] = {1: msgspec.json.Decoder(Baseline).decode}


def set_baseline(store: Store, stored: StoredRun) -> None:
    """Make exactly this run the baseline of its kernel, whatever is measured or edited later.

    Raises EnvironmentProblem when reports/ cannot be written.
    """
    since = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    write_baseline(store, stored.run.kernel, Baseline(stored.run.version, stored.run.run_id, since=since))


def write_baseline(store: Store, kernel: str, baseline: Baseline) -> None:
    """Make it the baseline of a kernel. Raises as ``set_baseline`` does."""
    try:
        with atomic_write(_path(store, kernel)) as file:
            file.write(msgspec.json.encode(baseline) + b"\n")
    except OSError as error:
        hint = write_hint(error, "reports/", "make reports/ writable")
        raise EnvironmentProblem(f"the baseline could not be stored: {error.strerror}", hint) from error


def get_baseline(store: Store, kernel: str) -> Baseline | None:
    """Return the baseline that was set; None when none was. Raises DamagedData for a file that is not one."""
    path = _path(store, kernel)
    hint = f"ncu-assist baseline clear {kernel}"
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    baseline = schema.read(data, SCHEMA, READERS, f"{kernel}/{FILE}", hint)
    if not is_folder_name(baseline.version):
        raise DamagedData(f"{kernel}/{FILE} names no version", hint)
    return baseline


def _unreadable(path: Path, error: OSError) -> DamagedData:
    """Return the error for a baseline, set or not, that the system does not show: of its folder where that is why."""
    try:
        path.lstat()
        place, mode = f"{path.parent.name}/{FILE}", "u+r"
    except OSError:
        place, mode = path.parent.name, "u+rx"
    hint = f"chmod {mode} reports/{place}" if isinstance(error, PermissionError) else "ncu-assist verify"
    return DamagedData(f"{place} {unreadable(error)}", hint)


def baseline_damages(store: Store) -> list[Damage]:
    """Return the baselines that were set and cannot be read."""
    found = []
    for folder in kernel_folders(store.reports):
        if isinstance(folder, Path):
            try:
                get_baseline(store, folder.name)
            except DamagedData as error:
                place, _, problem = error.message.partition(" ")
                found.append(Damage(place, problem))
    return found


def clear_baseline(store: Store, kernel: str) -> bool:
    """Forget the baseline that was set, readable or not, and tell whether one was.

    Raises EnvironmentProblem when reports/ cannot be written.
    """
    try:
        _path(store, kernel).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EnvironmentProblem(f"the baseline could not be removed: {error.strerror}") from error
    return True


def _path(store: Store, kernel: str) -> Path:
    return store.reports / kernel / FILE
