"""``ncu-assist mcp``: the loop as tools for agents."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.errors import EnvironmentProblem


@click.command("mcp")
@click.option(
    "--allow",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Allow reading reports in this folder outside the project; repeatable.",
)
def command(allow: tuple[Path, ...]) -> int:
    """Serve the tools of this project to an agent, over the Model Context Protocol on stdin and stdout.

    The agent's client starts it: `claude mcp add ncu-assist -- ncu-assist mcp`. Tools that read use the archive and the
    reports in the project. Tools that measure wait for their turn on the GPU. A draft runs only in a sandbox, and
    becomes a version only with the user's consent.
    """
    try:
        from ncu_assist.agents.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise EnvironmentProblem("the Python package mcp is not installed", "pip install 'ncu-assist[mcp]'") from error
    if sys.stdin.isatty():
        click.echo("waiting for messages on stdin. Usually an agent starts this command; Ctrl-C stops it", err=True)
    serve(options.current_project(), allow)
    return 0
