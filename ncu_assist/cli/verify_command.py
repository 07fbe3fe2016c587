"""``ncu-assist verify``: check the archive for damage."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write, write_json
from ncu_assist.errors import DamagedData


@click.command("verify")
@options.as_json
def command(as_json: bool) -> int:
    """Read every file of the archive and hold it against the hashes, counts and schema of its run.

    Exit code 7 when anything is damaged; each damaged run is named.
    """
    from ncu_assist.render.json import verify_json
    from ncu_assist.render.terminal import verify_text
    from ncu_assist.store import Store

    store = Store(options.current_project().reports)
    with progress() as reporter:
        reporter.status("reading the archive")
        damages, runs = store.verify(), len(store.runs())
    if as_json:
        write_json(verify_json(damages, runs))
    else:
        write(verify_text(damages, runs))
    return DamagedData.exit_code if damages else 0
