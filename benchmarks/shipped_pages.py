"""Write the pages that this repository ships: the ladder of every kernel, of the main story some runs and a diff too.

usage: python benchmarks/shipped_pages.py      (from the project's root)

The pages of a run and of a diff weigh half a megabyte each; `ncu-assist report KERNEL` writes those that are missing.
"""

from __future__ import annotations

from pathlib import Path

from record_archive import Speak

from ncu_assist.pipeline.pages.ladder import kernel_ladder
from ncu_assist.pipeline.pages.writing import Pages, diff_path
from ncu_assist.project import Project, find_project
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store
from ncu_assist.store.matching import recorded_runs_matching

STORY = "lightning_decode"
RUNS = ("v0", "v6", "v7")  # a chain of torch launches, what binds on the way, what came of it
STEP = ("v6", "v7")  # the versions of the diff


def write(project: Project) -> None:
    """Write them, in place of those that are there."""
    recorded = {stored.run.kernel for stored in Store(project.reports).runs()}
    for path in (page for name in recorded for page in (project.reports / name).glob("*/**/*.html")):
        path.unlink()
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
    write(find_project(Path.cwd()))
