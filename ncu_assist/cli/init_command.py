"""``ncu-assist init``: make a folder a project."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write_new


@click.command("init")
@options.as_json
def command(as_json: bool) -> int:
    """Make the current folder a project: kernels/ for kernel folders, and what is built kept out of git.

    None is needed to read reports, nor to profile programs.
    """
    from ncu_assist.pipeline.new_kernel import init

    write_new(init(options.current_project(), Path.cwd()), "init", as_json)
    return 0
