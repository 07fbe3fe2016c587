"""``ncu-assist metrics``: the metrics that the tool knows, and ncu's names on a chip."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import write, write_json


@click.command("metrics")
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1, shell_complete=completing.metrics)
@click.option(
    "--chip", metavar="NAME", help="Show the names on this chip, such as gb202, RTX 4090 or sm_89, and its other names."
)
@options.as_json
def command(patterns: tuple[str, ...], chip: str | None, as_json: bool) -> int:
    """List the metrics that show, diff and gate use: key, unit, better direction, ncu's name, meaning.

    PATTERN is part of a key, a name or a label; with a * it must match the whole. If the catalogue has no match, and
    with --chip, ncu's own lists are searched. Exit code 2 if nothing matches. The error then gives the nearest name.
    """
    from ncu_assist.ncu.catalogue.lookup import search

    found = search(patterns, chip)
    if as_json:
        from ncu_assist.render.json.metrics import metrics_json

        write_json(metrics_json(found))
    else:
        from ncu_assist.render.terminal.metrics import metrics_text

        write(metrics_text(found), paged=True)
    return 0
