"""Write the pages that this repository ships: the ladder of every kernel, of the main story some runs and a diff too.

usage: python benchmarks/shipped_pages.py [FOLDER]      (from the project's root; docs/pages by default)

The pages of a run and of a diff weigh half a megabyte each, 135 MB all of them. A page leads only to pages that are
there, so a ladder with all its runs beside it has other bytes than one without: what `ncu-assist report` writes into
reports/ is not what is shipped, and git ignores it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from record_archive import Speak

from ncu_assist.pipeline.pages.index import kernel_ladder
from ncu_assist.pipeline.pages.writing import Pages, diff_path
from ncu_assist.project import Project, find_project
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store
from ncu_assist.store.choosing import recorded_runs_matching

STORY = "lightning_decode"
RUNS = ("v0", "v6", "v7")  # a chain of torch launches, what binds on the way, what came of it
STEP = ("v6", "v7")  # the versions of the diff


def main(folder: Path) -> None:
    """Replace the pages in ``folder``; they are made of a copy of the recorded runs, where no other page lies."""
    project = find_project(Path.cwd())
    measured = {one.folder for one in Store(project.reports).runs() if one.run.source != "recorded"}
    with tempfile.TemporaryDirectory() as temporary:
        copy = Project(Path(temporary))
        shutil.copytree(project.kernels, copy.kernels)
        shutil.copytree(project.reports, copy.reports, ignore=lambda at, names: _left_out(Path(at), names, measured))
        write(copy)
        for page in folder.rglob("*.html"):
            page.unlink()
        for page in copy.reports.rglob("*.html"):
            target = folder / page.relative_to(copy.reports)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)


def _left_out(at: Path, names: list[str], folders: set[Path]) -> set[str]:
    return {name for name in names if name.endswith(".html") or at / name in folders}


def write(project: Project) -> None:
    """Write them into the archive of a project, which has none."""
    recorded = {stored.run.kernel for stored in Store(project.reports).runs()}
    pages = Pages(project, Speak())
    kernel = load_kernel(project, STORY)
    runs = recorded_runs_matching(pages.store, kernel)
    before, after = (runs[kernel.version(version).name] for version in STEP)
    pages.planned.add(diff_path((before, after)))
    for version in RUNS:
        pages.run(runs[kernel.version(version).name])
    pages.diff((before, after), None)
    for name in sorted(recorded & set(kernel_names(project))):
        pages.ladder(kernel_ladder(project, name), of=set())
    pages.index()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path("docs/pages"))
