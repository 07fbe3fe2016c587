"""The kernel folder that enters the sandbox: the sources of two versions, and a tripwire instead of the reference."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ncu_assist.spec import Kernel, Version, source_files
from ncu_assist.spec_file import FILE, read_kernel

TRIPPED = "reference"  # the stage of the event that the tripwire tells
TRIPWIRE = '''\
"""Not the reference: that stays outside. Whoever imports this file is told of."""

from ncu_assist.harness.events import Event, emit

emit(Event("failed", "reference", text="the reference was imported"))
raise ImportError("there is no reference here")
'''


def sealed_kernel(kernel: Kernel, versions: Sequence[Version], root: Path) -> Kernel:
    """Write ``root``/kernels/<name> with these versions and the files they include, and return it as a kernel.

    Paths below ``root`` are those of the project: builds are reused, and a profiler finds the sources.
    """
    folder = root / "kernels" / kernel.name
    folder.mkdir(parents=True)
    shutil.copyfile(kernel.folder / FILE, folder / FILE)
    (folder / kernel.reference.name).write_text(TRIPWIRE)
    for version in versions:
        for file in source_files(version.path):
            target = folder / file.relative_to(version.path.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    return read_kernel(folder)
