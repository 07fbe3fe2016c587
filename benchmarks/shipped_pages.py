"""Write the pages that this repository ships: all of the main story, of the other kernels the ladder, and the index.

usage: python benchmarks/shipped_pages.py      (from the project's root)

The pages of a run and of a diff weigh half a megabyte each; `ncu-assist report --all` writes those of every kernel.
"""

from __future__ import annotations

from pathlib import Path

from record_archive import Speak

from ncu_assist.pipeline.pages.asked import Wish, report
from ncu_assist.pipeline.pages.ladder import kernel_ladder
from ncu_assist.pipeline.pages.writing import Pages
from ncu_assist.project import find_project
from ncu_assist.spec_file import kernel_names
from ncu_assist.store import Store

STORY = "lightning_decode"


def main() -> None:
    """Write them, without what `report` wrote of the other kernels before."""
    project = find_project(Path.cwd())
    recorded = {stored.run.kernel for stored in Store(project.reports).runs()}
    others = [name for name in kernel_names(project) if name != STORY and name in recorded]
    for path in (page for name in others for page in (project.reports / name).glob("*/**/*.html")):
        path.unlink()
    for name in others:
        Pages(project, Speak()).ladder(kernel_ladder(project, name), of=set())
    report(project, Wish(STORY), Speak())


if __name__ == "__main__":
    main()
