"""What below ``kernels/`` cannot be read, so that nobody knows whether runs are of the sources as they are now."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.misnamed import HEADERS
from ncu_assist.project import Project
from ncu_assist.spec import VERSION_FILE
from ncu_assist.spec_file import FILE, kernel_names
from ncu_assist.store.folders import ROOT, Damage, unreadable

KERNELS = "kernels"


def unreadable_sources(project: Project) -> Iterator[Damage]:
    """Yield the folders of kernels that cannot be read, and the files that are data, reference, version or header."""
    try:
        names = kernel_names(project)
    except EnvironmentProblem as error:
        yield Damage(ROOT, error.message.removeprefix(f"{KERNELS}/ "), folder=KERNELS)
        return
    for name in names:
        try:
            paths = sorted((project.kernels / name).iterdir())
        except OSError as error:
            yield Damage(name, unreadable(error), folder=KERNELS)
            continue
        for path in paths:
            is_read = path.name in (FILE, "reference.py") or path.suffix in HEADERS or VERSION_FILE.fullmatch(path.name)
            try:
                if is_read and not path.is_fifo():
                    path.read_bytes()
            except OSError as error:
                yield Damage(f"{name}/{path.name}", unreadable(error), folder=KERNELS)
