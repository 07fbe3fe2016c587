"""``ncu-assist list``: kernels, versions, and what has been measured."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import note_damages, note_misnamed, say, write, write_json
from ncu_assist.project import Project

WAYS = (
    ("look at recorded runs, without a GPU", "demo"),
    ("a report of yours", "show REPORT"),
    ("a program of your own", "profile PROGRAM"),
    ("where the time of a program goes", "triage PROGRAM"),
    ("a kernel with versions", "new KERNEL --from FILE.cu"),
)


@click.command("list")
@click.argument("kernel", required=False, shell_complete=completing.kernels)
@options.limit
@options.page
@options.as_json
def command(kernel: str | None, limit: int | None, page: int | None, as_json: bool) -> int:
    """List the kernels, or the versions and workloads of KERNEL, with what has been measured."""
    from ncu_assist.pipeline.listing import listed, listed_kernels
    from ncu_assist.sources import reference_problem

    project = options.current_project()
    names = [kernel] if kernel else listed_kernels(project)
    shown = names[options.page_of(len(names), limit, page, "kernels")]
    if len(shown) < len(names):
        say(f"page {page or 1}: {len(shown)} of {len(names)} kernels")
    kernels, damages = listed(project, kernel, shown)
    note_misnamed(project, *(one.kernel for one in kernels))
    if kernel and (folder := project.kernels / kernel).is_dir() and (problem := reference_problem(folder)):
        say(f"note: {problem}")
    note_damages(damages)
    if as_json:
        from ncu_assist.render.json.archive import list_json

        write_json(list_json(kernels, damages))
    else:
        from ncu_assist.render.terminal.archive import list_text

        write(list_text(kernels), paged=True)
    if not kernels:
        _say_where(project)
    return 0


def _say_where(project: Project) -> None:
    """Say where nothing was found, and what one can do there."""
    above = "" if project.kernels.is_dir() else "; neither this folder nor one above has kernels/ or [tool.ncu-assist]"
    say(f"looked in {project.root}{above}")
    for what, words in WAYS:
        say(f"  {what}: ncu-assist {words}")
