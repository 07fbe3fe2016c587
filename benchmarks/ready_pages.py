"""What page makers save that got ready during a measurement: the pages of the newest runs of a kernel, fresh and ready.

usage: python benchmarks/ready_pages.py KERNEL VERSION …

In a project whose archive has them, of which a copy is written to; the least of five. On fewer cores than twice the
versions no maker gets ready.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from ncu_assist.ncu import child
from ncu_assist.pipeline.pages import beside
from ncu_assist.pipeline.pages.writing import pages_of, prepare_pages
from ncu_assist.project import Project, find_project
from ncu_assist.store import Store
from ncu_assist.versions import short_name

TIMES = 5
SILENT = SimpleNamespace(note=lambda _text: None, status=lambda _text: None)


def seconds(project: Project, kernel: str, versions: Sequence[str]) -> float:
    """Return how long the pages of the newest runs take, with those of their kernel and the index."""
    runs = [Store(project.reports).runs(kernel, one)[0] for one in versions]
    began = time.perf_counter()
    pages_of(project, runs, SILENT)
    return time.perf_counter() - began


def main(kernel: str, *names: str) -> None:
    """Measure and print."""
    here = find_project(Path.cwd())
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(here.reports, Path(folder) / "reports")
        shutil.copytree(here.root / "kernels", Path(folder) / "kernels")
        (Path(folder) / "pyproject.toml").write_text("[tool.ncu-assist]\n")
        project = find_project(Path(folder))
        known = {head.version for head in Store(project.reports).heads(kernel)}
        versions = [one for one in sorted(known) if short_name(one) in names]
        fresh, ready = [], []
        for _ in range(TIMES):
            prepare_pages(project, kernel, len(versions))
            fresh.append(seconds(project, kernel, versions))
            with beside.pages_follow():
                prepare_pages(project, kernel, len(versions))
                for one in child._READY.get(beside.__name__, []):
                    one.ready.wait()
                ready.append(seconds(project, kernel, versions))
    sys.stdout.write(f"{kernel} {' '.join(names)}: fresh {min(fresh):.2f} s, ready {min(ready):.2f} s\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
