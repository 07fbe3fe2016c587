"""The ways to build a sandbox (bubblewrap, unshare), their command lines, and which of them works on this machine."""

from __future__ import annotations

import errno
import functools
import json
import os
import platform
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.executors.sandbox.plan import (
    CAP_PERFMON,
    HOME,
    FolderAccess,
    Mount,
    SandboxLimits,
    SandboxPlan,
    homes,
    mounts,
    sandbox_user,
    software,
)

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
        "uid": plan.identity.uid,
        "capabilities": plan.identity.capabilities,
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
    names = (*FOR_THE_JAIL, *(f"CAP_{CAPABILITY_NAMES[number]}" for number in plan.identity.capabilities))
    rights = [word for name in names for word in ("--cap-add", name)]
    who = ["--unshare-user"] if plan.identity.uid is None else ["--cap-drop", "ALL", *rights]
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
    who = AS_USER if plan.identity.uid is None else ()
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


def _is_below(path: str, folders: tuple[Path, ...]) -> bool:
    return bool(path) and any(Path(path).is_relative_to(folder) for folder in folders)


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
    raise EnvironmentProblem(f"untrusted code cannot be shut in here ({words})", INSTALL_HINT)


@functools.cache
def why_not(name: str) -> str:
    """Return why a runner does not work on this machine, found out once by using it; empty if it works."""
    if shutil.which(name) is None:
        return "not installed"
    folder = Path("/")
    try:
        seen = mounts(FolderAccess((), (), homes()), software(os.environ), folder, SandboxLimits())
        plan = SandboxPlan(seen, folder, sandbox_user(), SandboxLimits())
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
