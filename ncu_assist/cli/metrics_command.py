"""``ncu-assist metrics``: the metrics that the tool knows, and ncu's names on a chip."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import write, write_json


@click.command("metrics")
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1, shell_complete=completing.metrics)
@click.option(
    "--chip", metavar="NAME", help="Spellings on this chip, as gb202, RTX 4090 or sm_89, and its other names."
)
@options.as_json
def command(patterns: tuple[str, ...], chip: str | None, as_json: bool) -> int:
    """List the metrics that show, diff and gates use: key, unit, which way is better, ncu's name, meaning.

    PATTERN is a part of a key, a name or a label; with a * it stands for the whole. Where the catalogue has nothing,
    and with --chip, ncu's own lists are looked through. Exit code 2 with the nearest name where nothing matches.
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
