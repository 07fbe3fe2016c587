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
    help="A folder outside the project whose reports may be read; repeatable.",
)
def command(allow: tuple[Path, ...]) -> int:
    """Serve the tools of this project to an agent, over the Model Context Protocol on stdin and stdout.

    An agent's client starts it: `claude mcp add ncu-assist -- ncu-assist mcp`. Tools that read answer from the archive
    and from reports in the project; those that measure wait in line for the GPU. A draft is run in a sandbox only, and
    becomes a version only when the person consents.
    """
    try:
        from ncu_assist.agents.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise EnvironmentProblem("the Python package mcp is not installed", "pip install 'ncu-assist[mcp]'") from error
    if sys.stdin.isatty():
        click.echo("waiting for a client's messages on stdin: an agent starts this; Ctrl-C ends it", err=True)
    serve(options.current_project(), allow)
    return 0
