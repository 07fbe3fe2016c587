"""What a program in the sandbox sees of the file system, as data that every runner carries out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ncu_assist.errors import UsageProblem
from ncu_assist.executors.sandbox.identity import Identity
from ncu_assist.executors.sandbox.limits import Limits
from ncu_assist.executors.sandbox.places import PLAIN_DEVICES, SYSTEM, Places, devices

Kind = Literal["ro", "rw", "device", "tmpfs", "proc", "symlink", "folder"]
HOME = Path("/tmp/home")
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
# What is written there acts on the whole machine, and root of a user namespace made by root owns it. bubblewrap covers
# it by itself only where access(2) says that these folders can be written to, which it does not say then.
OF_PROC = tuple(Path("/proc") / name for name in ("sys", "sysrq-trigger", "irq", "bus"))
SMALL = 1 << 20  # bytes of a file system that only holds mount points


@dataclass(frozen=True)
class Mount:
    """One thing in the new file system. ``source`` is a path of the old one, or the text of a symbolic link.

    ``mode`` and ``size_bytes`` are for folders and tmpfs; a ``sealed`` tmpfs becomes read-only when all is in place.
    """

    kind: Kind
    target: str
    source: str = ""
    size_bytes: int = SMALL
    mode: int = 0o755
    sealed: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything that a runner needs: mounts with parents before children, folder to start in, identity, limits."""

    mounts: tuple[Mount, ...]
    cwd: Path
    identity: Identity
    limits: Limits


def mounts(places: Places, software: Iterable[Path], cwd: Path, limits: Limits) -> tuple[Mount, ...]:
    """Return the mounts, parents before children. Of two at one path, writable goes before readable before hidden.

    Raises UsageProblem for a writable folder that is none, a link, or holds the system or a hidden folder.
    """
    hidden = tuple(path for path in places.hidden if not _holds(path, SYSTEM))
    for folder in places.writable:
        _check_writable(folder, (*SYSTEM, *hidden))
    quiet = tuple(p for p in software if not _holds(p, hidden) and not _is_below(p, places.writable))
    shown = (*SYSTEM, *places.readable, *quiet)
    table = {mount.target: mount for mount in (*_system(), *_own(limits))}
    table.update((str(p), Mount("tmpfs", str(p), sealed=True)) for p in hidden if _is_below(p, shown))
    for path in (*quiet, *places.readable):
        others = {*shown} - {path}
        table.update((m.target, m) for m in _bound("ro", path) if not _is_shown(Path(m.target), others, hidden))
    table.update((m.target, m) for path in places.writable for m in _bound("rw", path))
    return _with_parents(table, cwd)


def _with_parents(table: dict[str, Mount], cwd: Path) -> tuple[Mount, ...]:
    """Return mounts sorted, with the folders that lead to them and to ``cwd`` where no other mount holds these."""
    bound = {Path(target) for target, mount in table.items() if mount.kind not in ("tmpfs", "folder")}
    empty = {Path(target) for target, mount in table.items() if mount.kind == "tmpfs"}
    wanted = {cwd, *(parent for target in (str(cwd), *table) for parent in Path(target).parents)}
    for path in wanted - {Path("/")}:
        if not _is_shown(path, bound, empty):
            table.setdefault(str(path), Mount("folder", str(path)))
    return tuple(sorted(table.values(), key=lambda mount: len(Path(mount.target).parts)))


def _system() -> Iterator[Mount]:
    for path in SYSTEM:
        if path.is_symlink():
            yield Mount("symlink", str(path), str(path.readlink()))
        elif path.is_dir():
            yield Mount("ro", str(path), str(path))
    yield Mount("ro", "/sys", "/sys")
    yield Mount("proc", "/proc")
    for path in OF_PROC:
        if path.exists():
            yield Mount("ro", str(path), str(path))


def _own(limits: Limits) -> Iterator[Mount]:
    yield Mount("tmpfs", "/tmp", size_bytes=limits.tmp_bytes, mode=0o1777)
    yield Mount("folder", str(HOME), mode=0o777)
    yield Mount("tmpfs", "/run", sealed=True)
    yield Mount("tmpfs", "/var/tmp", size_bytes=limits.tmp_bytes, mode=0o1777)
    yield Mount("tmpfs", "/dev", sealed=True)
    yield Mount("tmpfs", "/dev/shm", size_bytes=limits.shm_bytes, mode=0o1777)
    for name, text in LINKS.items():
        yield Mount("symlink", f"/dev/{name}", text)
    for device in (*PLAIN_DEVICES, *devices()):
        yield Mount("device", str(device), str(device))


def _bound(kind: Kind, path: Path) -> Iterator[Mount]:
    """Yield a path as a mount at its real place, and at the place that it names where links lead from there."""
    for target in {path.resolve(), path}:
        yield Mount(kind, str(target), str(path.resolve()))


def _is_shown(path: Path, shown: Iterable[Path], hidden: Iterable[Path]) -> bool:
    """Tell whether a path can be seen: whether the nearest folder around it that counts is a shown one."""

    def nearest(folders: Iterable[Path]) -> int:
        return max((len(folder.parts) for folder in folders if path.is_relative_to(folder)), default=0)

    return nearest(shown) > nearest(hidden)


def _check_writable(folder: Path, kept: tuple[Path, ...]) -> None:
    if not folder.is_absolute() or os.path.normpath(folder) != str(folder) or folder.is_symlink():
        raise UsageProblem(f"{folder} cannot be writable in the sandbox: it is not a plain absolute path")
    if not folder.is_dir():
        raise UsageProblem(f"{folder} cannot be writable in the sandbox: there is no such folder")
    if _holds(folder.resolve(), kept):
        raise UsageProblem(f"{folder} cannot be writable in the sandbox: it holds what is kept from it")


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _holds(path: Path, others: Iterable[Path]) -> bool:
    return any(other.is_relative_to(path) for other in others)
