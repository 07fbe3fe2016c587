"""What a program in the sandbox sees of the file system, which user it is and how much it may take, as data."""

from __future__ import annotations

import os
import shutil
import site
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ncu_assist.errors import StageFailed, UsageProblem

GIB = 1 << 30
PROCESSES_PER_CORE = 16  # torch's two thread pools, nvcc's and ninja's children each grow with the number of cores
PROCESSES = 512  # CUDA, ncu and the interpreter on any machine


def _processes() -> int:
    return PROCESSES + PROCESSES_PER_CORE * (os.cpu_count() or 1)


class LimitExceeded(StageFailed):
    """A program in the sandbox took more of disk or memory than it may, and was ended for that."""


@dataclass(frozen=True)
class SandboxLimits:
    """What one program may use, all its children together unless said otherwise.

    ``processes`` counts threads too. ``file_bytes`` and ``open_files`` are for each file and process.
    ``folder_bytes`` and ``folder_files`` are for all writable folders together, beyond what was there; they are
    watched from outside a few times a second, the others are kept by the kernel. ``free_bytes`` stay free on the disk
    of those folders, which also holds for deleted files that are still open; ``free_memory_bytes`` stay free of the
    machine's memory, watched likewise. ``tmp_bytes`` and ``shm_bytes`` are memory.
    """

    seconds: float = 600.0
    processes: int = field(default_factory=_processes)
    file_bytes: int = 1 * GIB  # a full report of some hundred launches has tens of MiB
    folder_bytes: int = 4 * GIB
    folder_files: int = 50_000
    free_bytes: int = 1 * GIB
    free_memory_bytes: int = 2 * GIB
    tmp_bytes: int = 1 * GIB
    shm_bytes: int = 1 * GIB
    open_files: int = 4096


SANDBOX_UID = (
    2_000_000_000  # outside every range that distributions, containers and systemd hand out (systemd, UIDS-GIDS)
)
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38  # linux/capability.h; enough for the driver to open its counters, and no right on files
WHOLE_MAP = "0 0 4294967295"  # user_namespaces(7): the map of the first user namespace
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
ADMIN_ONLY = "RmProfilingAdminOnly: 1"


@dataclass(frozen=True)
class SandboxUser:
    """The user id to become (None: stay, in a user namespace of its own) and the capabilities that remain."""

    uid: int | None
    capabilities: tuple[int, ...] = ()


def sandbox_user() -> SandboxUser:
    """Return whom the sandbox runs programs as.

    Real root becomes a user that owns nothing: the kernel counts no processes of root, and root's own files would be
    open to it. It needs no user namespace then, in which the driver would refuse counters that are kept for admins.
    """
    if not is_real_root():
        return SandboxUser(None)
    return SandboxUser(SANDBOX_UID, (CAP_PERFMON,) if counters_are_restricted() else ())


def is_real_root() -> bool:
    """Tell whether this process is root of the machine, and not only of a user namespace or a bare container."""
    if os.geteuid() != 0:
        return False
    whole = " ".join(Path("/proc/self/uid_map").read_text().split()) == WHOLE_MAP
    effective = next(
        int(line.split()[1], 16)
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("CapEff:")
    )
    return whole and bool(effective >> CAP_SYS_ADMIN & 1)


def counters_are_restricted(parameters: Path = DRIVER_PARAMETERS) -> bool:
    """Tell whether the driver keeps hardware counters for administrators (NVIDIA's ERR_NVGPUCTRPERM page)."""
    try:
        return ADMIN_ONLY in parameters.read_text()
    except OSError:
        return False


PACKAGE = Path(__file__).resolve().parents[2]
SYSTEM = tuple(Path("/") / n for n in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix"))
HOMES = (Path("/root"), Path("/home"))
PLAIN_DEVICES = tuple(Path("/dev") / name for name in ("null", "zero", "full", "random", "urandom"))
OF_PREFIX = ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg")  # a virtual environment may be the project root
WITH_FOLDERS = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
TOOLS = ("nvcc", "ncu")


@dataclass(frozen=True)
class FolderAccess:
    """Folders to write to, to read, and to keep out of sight where a readable one would show them."""

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()


def homes() -> tuple[Path, ...]:
    """Return the folders where people keep their own files."""
    own = (Path(os.environ.get("HOME", "/")), _home())
    return tuple(dict.fromkeys(path for path in (*own, *HOMES) if path.is_absolute() and path != Path("/")))


def software(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files and folders with this package, Python, CUDA and ncu, wherever they were installed."""
    return tuple(dict.fromkeys(path for path in _software(env) if path.is_absolute() and path.exists()))


def devices(root: Path = Path("/dev")) -> tuple[Path, ...]:
    """Return the device files of NVIDIA's driver that are there."""
    found = [*root.glob("nvidia*"), *root.glob("nvidia-caps*/*")]
    return tuple(sorted(path for path in found if stat.S_ISCHR(path.lstat().st_mode)))


def _software(env: Mapping[str, str]) -> Iterator[Path]:
    yield PACKAGE
    yield Path(sys.executable).resolve().parent
    for prefix in {sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent)}:
        yield from (Path(prefix) / part for part in OF_PREFIX)
    yield from (Path(folder) for folder in (*site.getsitepackages(), site.getusersitepackages()))
    for name in WITH_FOLDERS:
        yield from (Path(folder) for folder in env.get(name, "").split(os.pathsep))
    for tool in TOOLS:
        found = shutil.which(tool, path=env.get("PATH"))
        if found:
            folder = Path(found).resolve().parent
            yield folder.parent if folder.name == "bin" else folder


def _home() -> Path:
    """Return the home that the system knows; / for an id without a name, as containers have, and without such ids."""
    try:
        import pwd
    except ModuleNotFoundError:  # Windows, where no sandbox is
        return Path("/")
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")


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
class SandboxPlan:
    """Everything that a runner needs: mounts with parents before children, folder to start in, identity, limits."""

    mounts: tuple[Mount, ...]
    cwd: Path
    identity: SandboxUser
    limits: SandboxLimits


def mounts(places: FolderAccess, software: Iterable[Path], cwd: Path, limits: SandboxLimits) -> tuple[Mount, ...]:
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


def _own(limits: SandboxLimits) -> Iterator[Mount]:
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
