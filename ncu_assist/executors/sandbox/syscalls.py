"""A filter of system calls, as bytes for the kernel: what no namespace holds back, and what builds or breaks walls."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator

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
