"""A kernel's files on their way to another machine, under one hash, and what is built of a kernel on one machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ncu_assist.backends import build_versions
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.record import Toolchain
from ncu_assist.sources import source_files
from ncu_assist.spec import Kernel, Version, why_skipped
from ncu_assist.spec_file import read_kernel

LARGEST = 64_000_000  # bytes of a kernel's files: they go with each unit


@dataclass(frozen=True)
class Bundle:
    """A kernel folder as it was when work on it began: its files by their paths in the project, and the hash of all.

    What its versions include from elsewhere in the project is among them. ``folder`` is the path of the kernel's own.
    """

    folder: str
    files: Mapping[str, bytes]
    sha256: str


def bundle_of(kernel: Kernel) -> Bundle:
    """Return a kernel's files as they are now. Raises UsageProblem where they are too large to be sent."""
    folder = kernel.folder.absolute()
    root = folder.parents[1]
    own = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    included = [
        Path(os.path.normpath(file.absolute())) for version in kernel.versions for file in source_files(version.path)
    ]
    paths = {path for path in (*own, *included) if path.is_relative_to(root)}
    sizes = {path: path.stat().st_size for path in paths}
    if sum(sizes.values()) > LARGEST:
        largest = max(sizes, key=lambda path: sizes[path])
        said = f"the files of {kernel.name} are more than {LARGEST // 1_000_000} MB, the most of it {largest.name}"
        raise UsageProblem(said, "keep data out of the kernel's folder: reference.py can make it")
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(paths)}
    return Bundle(folder.relative_to(root).as_posix(), files, _hash_of(files))


def _hash_of(files: Mapping[str, bytes]) -> str:
    lines = [f"{hashlib.sha256(data).hexdigest()} {name}\n" for name, data in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def unpacked(bundle: Bundle, below: Path) -> Kernel:
    """Return the kernel of a bundle as it lies below a folder, in one of its own that is named by its hash.

    It is written where it is not there, or no longer as it was. Raises DamagedData for a bundle that is not what was
    sent.
    """
    names = (bundle.folder, *bundle.files)
    if _hash_of(bundle.files) != bundle.sha256 or any(Path(n).is_absolute() or ".." in Path(n).parts for n in names):
        raise DamagedData(f"the files of {Path(bundle.folder).name} are not those that were sent", "try again")
    root = below / bundle.sha256[:32]
    if not _holds(root, bundle):
        shutil.rmtree(root, ignore_errors=True)
        unfinished = below / f"{root.name}.{secrets.token_hex(4)}"
        try:
            for name, data in bundle.files.items():
                (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / name).write_bytes(data)
            with contextlib.suppress(OSError):  # another worker of this machine was first
                unfinished.rename(root)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return read_kernel(root / bundle.folder)


def _holds(root: Path, bundle: Bundle) -> bool:
    try:
        return all((root / name).read_bytes() == data for name, data in bundle.files.items())
    except OSError:
        return False


@dataclass(frozen=True)
class Built:
    """Versions as one machine built them: outcomes, why others were skipped, and, where it is another machine, with
    which tools, and its hash.
    """

    outcomes: dict[str, BuildOutcome] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    toolchains: dict[str, Toolchain] = field(default_factory=dict)
    machine: str | None = None

    def with_those_of(self, other: Built) -> Built:
        """Return both; of what both have, ours."""
        return Built(
            other.outcomes | self.outcomes,
            other.skipped | self.skipped,
            other.toolchains | self.toolchains,
            self.machine or other.machine,
        )


def build_here(kernel: Kernel, versions: Sequence[Version], work: Path) -> Built:
    """Build those versions whose packages are installed. Raises EnvironmentProblem if there are none."""
    skipped = {version.name: why for version in versions if (why := why_skipped(version))}
    if len(skipped) == len(versions):
        said = "; ".join(f"{name} is skipped: {why}" for name, why in skipped.items())
        raise EnvironmentProblem(said, "install it for the Python that runs ncu-assist")
    return Built(build_versions(kernel, [one for one in versions if one.name not in skipped], work), skipped)
