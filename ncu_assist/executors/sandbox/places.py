"""Which folders of this machine a program in the sandbox needs to see, and which devices."""

from __future__ import annotations

import os
import shutil
import site
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
SYSTEM = tuple(Path("/") / n for n in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix"))
HOMES = (Path("/root"), Path("/home"))
PLAIN_DEVICES = tuple(Path("/dev") / name for name in ("null", "zero", "full", "random", "urandom"))
OF_PREFIX = ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg")  # a virtual environment may be the project root
WITH_FOLDERS = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
TOOLS = ("nvcc", "ncu")


@dataclass(frozen=True)
class Places:
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
