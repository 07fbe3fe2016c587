"""``ncu-assist init``: make a folder a project."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write_new


@click.command("init")
@click.option(
    "--vscode", is_flag=True, help="Also write a VS Code task that shows findings; works in an existing project too."
)
@options.as_json
def command(vscode: bool, as_json: bool) -> int:
    """Make the current folder a project.

    Creates kernels/ for kernel folders, and keeps build products out of git. Reading reports and profiling programs
    need no project.
    """
    from ncu_assist.pipeline.new_kernel import init, write_vscode_tasks

    project, made = options.current_project(), []
    if not (vscode and project.kernels.is_dir()):
        made.append(init(project, Path.cwd()))
        project = options.current_project()
    if vscode:
        made.append(write_vscode_tasks(project))
    files, left = (tuple(chain.from_iterable(own)) for own in zip(*made, strict=True))
    write_new((files, left), "init", as_json)
    return 0
