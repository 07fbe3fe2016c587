"""``ncu-assist list``: kernels, versions, and what has been measured."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_json


@click.command("list")
@click.argument("kernel", required=False)
@options.as_json
def command(kernel: str | None, as_json: bool) -> int:
    """List the kernels, or the versions and workloads of KERNEL, and what has been measured of them."""
    from ncu_assist.pipeline.reading import listing
    from ncu_assist.render.json import list_json
    from ncu_assist.render.terminal import list_text

    kernels = listing(options.current_project(), kernel)
    if as_json:
        write_json(list_json(kernels))
    else:
        write(list_text(kernels))
    return 0
