"""How a program is shut in, without starting it: what it sees of the file system, which user it is, how much it may
take, which system calls are refused, what is left of the environment; the command lines for bubblewrap and for unshare
with our own jail in it, and which of the two works here.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import platform
import re
import shutil
import site
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed, UsageProblem

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


def sandbox_user() -> tuple[int | None, tuple[int, ...]]:
    """Return the user id to become (None: stay, in a user namespace of its own) and the capabilities that remain.

    Real root becomes a user that owns nothing: the kernel counts no processes of root, and root's own files would be
    open to it. It needs no user namespace then, in which the driver would refuse counters that are kept for admins.
    """
    if not is_real_root():
        return None, ()
    return SANDBOX_UID, (CAP_PERFMON,) if counters_are_restricted() else ()


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
TOOLS = ("nvcc", "ncu", "compute-sanitizer")


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
    """Everything that a runner needs: mounts, parents before children, folder to start in, ``sandbox_user``, limits."""

    mounts: tuple[Mount, ...]
    cwd: Path
    uid: int | None
    capabilities: tuple[int, ...]
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


def _is_below(path: Path | str, folders: Iterable[Path]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def _holds(path: Path, others: Iterable[Path]) -> bool:
    return any(other.is_relative_to(path) for other in others)


ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # seccomp(2): SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/filter.h
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
X32 = 0x40000000  # numbers of another convention, which a list of numbers would miss
NEW_USER = 0x10000000  # clone(2)
FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink: the ones that a network namespace holds; vsock is not
# Mounts, namespaces, keys, and parts of the kernel known for their holes that no kernel of ours needs.
REFUSED = {
    "x86_64": (
        *(155, 161, 165, 166, 272, 308, 428, 429, 430, 432, 442),  # pivot_root … mount_setattr
        *(175, 246, 248, 249, 250, 304, 313, 321, 323, 425, 426, 427),  # init_module … io_uring_register
    ),
    "aarch64": (
        *(41, 51, 40, 39, 97, 268, 428, 429, 430, 432, 442),
        *(105, 104, 217, 218, 219, 265, 273, 280, 282, 425, 426, 427),
    ),
}
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE, CLONE3, SOCKET = {"x86_64": 56, "aarch64": 220}, 435, {"x86_64": 41, "aarch64": 198}


def call_filter(machine: str = platform.machine()) -> bytes:
    """Return the filter for this processor; raises KeyError for one whose numbers are not known here."""
    return b"".join(struct.pack("HBBI", *step) for step in _steps(machine))


def _steps(machine: str) -> Iterator[tuple[int, int, int, int]]:
    yield (LOAD, 0, 0, ARCHITECTURE)
    yield (EQUAL, 1, 0, AUDIT[machine])
    yield _refuse(errno.ENOSYS)
    yield (LOAD, 0, 0, NUMBER)
    yield (AT_LEAST, 0, 1, X32)
    yield _refuse(errno.ENOSYS)
    for number in REFUSED[machine]:
        yield (EQUAL, 0, 1, number)
        yield _refuse(errno.EPERM)
    yield (EQUAL, 0, 1, CLONE3)  # its flags are in memory, where no filter looks; every library falls back to clone
    yield _refuse(errno.ENOSYS)
    yield (EQUAL, 0, 4, CLONE[machine])
    yield (LOAD, 0, 0, FIRST_ARGUMENT)
    yield (ANY_BIT, 0, 1, NEW_USER)
    yield _refuse(errno.EPERM)
    yield (RETURN, 0, 0, ALLOW)
    yield (EQUAL, 0, 2 + 2 * len(FAMILIES), SOCKET[machine])
    yield (LOAD, 0, 0, FIRST_ARGUMENT)
    for family in FAMILIES:
        yield (EQUAL, 0, 1, family)
        yield (RETURN, 0, 0, ALLOW)
    yield _refuse(errno.EAFNOSUPPORT)
    yield (RETURN, 0, 0, ALLOW)


def _refuse(number: int) -> tuple[int, int, int, int]:
    return (RETURN, 0, 0, REFUSE | number)


FAILED, MARK = 125, "sandbox: "  # as in jail.py, which is not imported: only its process needs ctypes
JAIL = Path(__file__).resolve().with_name("jail.py")


def jail_argv(plan: SandboxPlan, mounts: tuple[Mount, ...], argv: Sequence[str]) -> list[str]:
    """Return the command that confines itself and runs ``argv``; it makes ``mounts`` first, where there are any."""
    limits = plan.limits
    order = {
        "mounts": [asdict(mount) for mount in mounts],
        "cwd": str(plan.cwd),
        "uid": plan.uid,
        "capabilities": plan.capabilities,
        "filter": call_filter().hex(),
        "limits": {
            "NPROC": limits.processes,
            "FSIZE": limits.file_bytes,
            "NOFILE": limits.open_files,
            "CORE": 0,
        },
    }
    return [str(Path(sys.executable).resolve()), "-I", "-S", str(JAIL), json.dumps(order), *argv]


BWRAP = "bwrap"
BWRAP_FLAGS = {"ro": "--ro-bind", "rw": "--bind", "device": "--dev-bind", "symlink": "--symlink"}
# --as-pid-1: the jail is init, so that bwrap returns only when nothing is left
BWRAP_NAMESPACES = (
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--as-pid-1",
    "--die-with-parent",
)
CAPABILITY_NAMES = {CAP_PERFMON: "PERFMON"}
FOR_THE_JAIL = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # to give up its rights; it drops these, too


def bwrap_argv(plan: SandboxPlan, command: Sequence[str], program: str = BWRAP) -> list[str]:
    """Return the command line that runs ``command`` as planned."""
    names = (*FOR_THE_JAIL, *(f"CAP_{CAPABILITY_NAMES[number]}" for number in plan.capabilities))
    rights = [word for name in names for word in ("--cap-add", name)]
    who = ["--unshare-user"] if plan.uid is None else ["--cap-drop", "ALL", *rights]
    sealed = [word for mount in plan.mounts if mount.sealed for word in ("--remount-ro", mount.target)]
    seen = [word for mount in plan.mounts for word in _words(mount)]
    return [program, *BWRAP_NAMESPACES, *who, *seen, *sealed, "--remount-ro", "/", "--", *jail_argv(plan, (), command)]


def _words(mount: Mount) -> Iterator[str]:
    if mount.kind in BWRAP_FLAGS:
        yield from (BWRAP_FLAGS[mount.kind], mount.source, mount.target)
    elif mount.kind == "proc":
        yield from ("--proc", mount.target)  # which covers what acts on the machine
    elif mount.kind == "folder":
        yield from ("--perms", f"{mount.mode:o}", "--dir", mount.target)
    else:
        yield from ("--perms", f"{mount.mode:o}", "--size", str(mount.size_bytes), "--tmpfs", mount.target)


UNSHARE = "unshare"
UNSHARE_NAMESPACES = ("--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL")
AS_USER = ("--user", "--map-root-user")  # root of the namespace alone, until jail.py gives that up
WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")  # of the same package: what bwrap's --die-with-parent does


def unshare_argv(plan: SandboxPlan, command: Sequence[str], program: str = UNSHARE) -> list[str]:
    """Return the command line that runs ``command`` as planned."""
    who = AS_USER if plan.uid is None else ()
    return [*WITH_PARENT, program, *who, *UNSHARE_NAMESPACES, "--", *jail_argv(plan, plan.mounts, command)]


KEPT = frozenset({"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "NCU_ASSIST_ARCH", "MAX_JOBS"})
KEPT_PREFIXES = (
    *("LC_", "CUDA_", "NVIDIA_", "NVCC_", "NCCL_", "TRITON_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_"),
    *("PYTHON", "OMP_", "MKL_"),
)
SECRET = re.compile("KEY|TOKEN|SECRET|PASS(?!ES)|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)
CACHES = (  # only of use where they can be written; else each program falls back to HOME
    *("TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_DUMP_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR"),
    *("CUDA_CACHE_PATH", "TORCH_HOME", "PYTHONPYCACHEPREFIX"),
)
USER = "sandbox"  # the user id inside has no name that getpass could find


def scrubbed(env: Mapping[str, str], writable: tuple[Path, ...], also: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what is kept of an environment, with a home and a temporary folder that exist inside.

    TMPDIR stays where it lies in a writable folder. ``also`` names further variables to keep.
    """
    kept = {name: value for name, value in env.items() if name in also or _is_kept(name)}
    for name in CACHES:
        if name in kept and not _is_below(kept[name], writable):
            del kept[name]
    temporary = env.get("TMPDIR", "")
    own = temporary if _is_below(temporary, writable) else "/tmp"
    return {**kept, "HOME": str(HOME), "TMPDIR": own, "USER": USER, "LOGNAME": USER}


def _is_kept(name: str) -> bool:
    return (name in KEPT or name.startswith(KEPT_PREFIXES)) and not SECRET.search(name)


Runner = Callable[[SandboxPlan, Sequence[str]], list[str]]
RUNNERS: dict[str, Runner] = {"bwrap": bwrap_argv, "unshare": unshare_argv}  # the first that works is taken
INSTALL_HINT = "apt install bubblewrap (or your system's package of it); or, at your own risk, --no-sandbox"
PROBE_TIMEOUT_S = 20.0
# SIGINT is for the program, which may keep what is finished; its walls must outlast it
KEEP_STANDING = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")


def available() -> str:
    """Return the name of the runner that will be used, or why there is none."""
    try:
        return choose_runner()
    except EnvironmentProblem as problem:
        return problem.message


def choose_runner() -> str:
    """Return the name of the first runner that works here; raises EnvironmentProblem with the reasons if none does."""
    reasons = {}
    for name in RUNNERS:
        reasons[name] = why_not(name)
        if not reasons[name]:
            return name
    words = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise EnvironmentProblem(f"untrusted code cannot be sandboxed here ({words})", INSTALL_HINT)


@functools.cache
def why_not(name: str) -> str:
    """Return why a runner does not work on this machine, found out once by using it; empty if it works."""
    if shutil.which(name) is None:
        return "not installed"
    folder = Path("/")
    try:
        seen = mounts(FolderAccess((), (), homes()), software(os.environ), folder, SandboxLimits())
        plan = SandboxPlan(seen, folder, *sandbox_user(), SandboxLimits())
        done = process.run(
            command_line(name, plan, ["true"]), env=scrubbed(os.environ, ()), cwd=folder, timeout_s=PROBE_TIMEOUT_S
        )
    except (NcuAssistError, OSError) as error:
        return str(error)
    if done.exit_code == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"])[-1]


def command_line(name: str, plan: SandboxPlan, argv: Sequence[str]) -> list[str]:
    """Return the whole command line for a runner."""
    return [*KEEP_STANDING, *RUNNERS[name](plan, argv)]
