"""Walls itself in and then runs a program: started inside fresh namespaces with ``python -I``, by every runner.

It is told by one JSON argument what to do, and stands alone: only the standard library, nothing of the package.
"""

# pathlib would be a good part of the start-up time
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH123, PTH211

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import platform
import resource
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

FAILED = 125  # exit code when the walls cannot be built or the program cannot be started, as of env(1) and timeout(1)
MARK = "sandbox: "
NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE, DETACH = 2, 4, 8, 0x1000, 0x4000, 1 << 18, 2  # mount(2), umount2(2)
RDONLY_ATTR, NOSUID_ATTR, NODEV_ATTR, RECURSIVE = 1, 2, 4, 0x8000  # mount_setattr(2)
MOUNT_SETATTR = 442  # on every architecture; Linux 5.12
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
KEYCTL = {"x86_64": 250, "aarch64": 219}
JOIN_SESSION_KEYRING = 1
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41  # netdevice(7)
DEATHSIG, KEEPCAPS, BOUNDING_READ, BOUNDING_DROP = 1, 8, 23, 24  # prctl(2)
SECCOMP, SECCOMP_FILTER, NO_NEW_PRIVS, AMBIENT, AMBIENT_RAISE = 22, 2, 38, 47, 2
CAPSET_VERSION = 0x20080522
ATTRIBUTES = {"ro": RDONLY_ATTR | NOSUID_ATTR | NODEV_ATTR, "rw": NOSUID_ATTR | NODEV_ATTR, "device": NOSUID_ATTR}
INODE_BYTES = 4096  # a tmpfs may hold one file for so many of its bytes: empty files fill memory, too
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    order = json.loads(sys.argv[1])
    try:
        if order["mounts"]:
            loopback_up()
            build(order["mounts"])
        limit(order["limits"])
        child = os.fork()
        if child == 0:
            start(order, sys.argv[2:])
        attend(child)
    except (OSError, KeyError) as error:
        sys.stderr.write(f"{MARK}{error}\n")
        os._exit(FAILED)


def checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    words = (source.encode(), target.encode(), kind.encode() or None)
    checked(LIBC.mount(*words, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}")


def restrict(target: str, attributes: int, recursive: bool = True) -> None:
    wanted = struct.pack("QQQQ", attributes, 0, 0, 0)
    how = (-100, target.encode(), RECURSIVE if recursive else 0, wanted, ctypes.c_size_t(len(wanted)))
    checked(LIBC.syscall(MOUNT_SETATTR, *how), f"mount_setattr {target}")


def pivot_root(new: str, old: str) -> None:
    checked(LIBC.syscall(PIVOT_ROOT[platform.machine()], new.encode(), old.encode()), "pivot_root")


def build(mounts: list[dict[str, Any]]) -> None:
    """Make a new file system of the mounts and move into it; nothing of the old one stays below or beside it."""
    mount("none", "/", flags=REC | PRIVATE)
    mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "mode=0755")
    os.umask(0o022)
    for name in ("/tmp/new", "/tmp/old"):
        os.mkdir(name, 0o755)
    mount("/tmp/new", "/tmp/new", flags=BIND)
    pivot_root("/tmp", "/tmp/old")
    os.chdir("/")
    for entry in mounts:
        place(entry)
    for target in ["", *(entry["target"] for entry in mounts if entry["sealed"])]:
        restrict("/new" + target, RDONLY_ATTR, recursive=False)
    checked(LIBC.umount2(b"/old", DETACH), "umount")
    os.chdir("/new")
    pivot_root(".", ".")
    checked(LIBC.umount2(b".", DETACH), "umount")
    os.chdir("/")


def place(entry: dict[str, Any]) -> None:
    """Carry out one mount, with the old file system at /old and the new one at /new."""
    kind, target, source = entry["kind"], "/new" + entry["target"], entry["source"]
    if kind == "symlink":
        os.symlink(source, target)
    elif kind in ATTRIBUTES:
        mount_point(target, os.path.isdir("/old" + source))
        mount("/old" + source, target, flags=BIND | REC)
        restrict(target, ATTRIBUTES[kind])
    else:
        mount_point(target, True)
        fill(kind, target, entry)


def fill(kind: str, target: str, entry: dict[str, Any]) -> None:
    if kind == "folder":
        os.chmod(target, entry["mode"])
    elif kind == "tmpfs":
        size = entry["size_bytes"]
        data = f"size={size},nr_inodes={max(1024, size // INODE_BYTES)},mode={entry['mode']:o}"
        mount("tmpfs", target, "tmpfs", NOSUID | NODEV, data)
    elif kind == "proc":
        mount("proc", target, "proc", NOSUID | NODEV | NOEXEC)


def mount_point(target: str, is_folder: bool) -> None:
    if is_folder:
        os.makedirs(target, 0o755, exist_ok=True)
    elif not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, SET_FLAGS, struct.pack("16sH14s", b"lo", UP_AND_RUNNING, b""))


def limit(limits: dict[str, int]) -> None:
    """Set the limits, leave our user's keys behind, and be the first to go when memory runs out."""
    LIBC.syscall(KEYCTL[platform.machine()], JOIN_SESSION_KEYRING, None)  # a kernel may lack keyrings altogether
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (least, least))


def become(uid: int | None, capabilities: list[int]) -> None:
    """Take the user id, drop every capability but these, also from what a later program could regain."""
    number = 0
    while LIBC.prctl(BOUNDING_READ, number, 0, 0, 0) >= 0:  # which fails past the last one
        if number not in capabilities:
            LIBC.prctl(BOUNDING_DROP, number, 0, 0, 0)  # may fail where the right to it is gone already
        number += 1
    if uid is not None:
        checked(LIBC.prctl(KEEPCAPS, 1, 0, 0, 0), "keepcaps")
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    mask = sum(1 << kept for kept in capabilities)
    sets = struct.pack("IIIIII", *(mask & 0xFFFFFFFF,) * 3, *(mask >> 32,) * 3)
    checked(LIBC.capset(struct.pack("Ii", CAPSET_VERSION, 0), sets), "capset")
    for kept in capabilities:
        checked(LIBC.prctl(AMBIENT, AMBIENT_RAISE, kept, 0, 0), "ambient capability")
    checked(LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def attend(child: int) -> NoReturn:
    """Be init for the program and all that it leaves behind; end with its exit code, or 128 + its signal.

    It keeps the runner's user id, without its rights: else the kernel would not let the runner's death end it.
    """
    become(None, [])
    checked(LIBC.prctl(DEATHSIG, signal.SIGKILL, 0, 0, 0), "deathsig")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program decides what to keep
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))  # and everything ends with init
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def filter_calls(steps: bytes) -> None:
    program = struct.pack("HxxxxxxQ", len(steps) // 8, ctypes.addressof(kept := ctypes.create_string_buffer(steps)))
    checked(LIBC.prctl(SECCOMP, SECCOMP_FILTER, program, 0, 0), f"seccomp of {len(kept)} bytes")


def start(order: dict[str, Any], argv: list[str]) -> NoReturn:
    become(order["uid"], order["capabilities"])
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # ignored so far, by the runner or by Python
    os.chdir(order["cwd"])
    filter_calls(bytes.fromhex(order["filter"]))
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        raise OSError(error.errno, f"cannot start {argv[0]}: {error.strerror}") from error


if __name__ == "__main__":
    main()
