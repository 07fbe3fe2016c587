"""Tries to change each file that it is told, after trying to make the walls writable in three ways."""

# ruff: noqa: T201, PTH103, PTH120, PTH123

import ctypes
import os
import subprocess
import sys
from pathlib import Path

MS_REMOUNT, MS_BIND = 32, 4096
libc = ctypes.CDLL(None, use_errno=True)


def tear_down():
    for place in ("/", "/usr", "/etc", "/sys", "/proc/sys", os.path.dirname(sys.argv[1])):
        for flags in (MS_REMOUNT | MS_BIND, MS_REMOUNT):
            libc.mount(None, place.encode(), None, ctypes.c_ulong(flags), None)
        libc.umount2(place.encode(), 2)


def write_all():
    for name in sys.argv[1:]:
        try:
            os.makedirs(os.path.dirname(name), exist_ok=True)
            same = Path(name).read_text() if name.startswith("/proc") else "0"  # should it succeed, let it be harmless
            with open(name, "w") as file:
                file.write(same)
            print("wrote", name)
        except OSError as error:
            print("failed", name, error.strerror)


tear_down()
write_all()
sys.stdout.flush()
if os.fork() == 0:  # once more as root of a namespace of its own
    libc.unshare(0x10000000 | 0x00020000)
    tear_down()
    write_all()
    sys.stdout.flush()
    os._exit(0)
os.wait()
subprocess.run(["mount", "-o", "remount,rw", "/"], stderr=subprocess.DEVNULL)
print("tried", flush=True)
