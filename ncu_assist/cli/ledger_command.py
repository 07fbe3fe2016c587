"""``ncu-assist ledger``: what came of every draft, and how often the models were right."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import write, write_json


@click.command("ledger")
@click.argument("kernel", required=False, shell_complete=completing.kernels)
@options.as_json
def command(kernel: str | None, as_json: bool) -> int:
    """Show what came of the drafts of KERNEL, of all kernels unless given.

    By model and by diagnosis: how many drafts were kept, how many predictions of metrics came true, the speed-up that
    was expected beside the one that was measured, tokens and seconds. By round: the best draft that was kept. Then why
    drafts were rejected, and each draft with its fate.

    A prediction came true where the metric moved in the direction said by more than its noise and, where a factor was
    named, by half to twice of that on a log scale. Exit code 7 when a draft is damaged; it is named and counts nowhere.
    """
    from ncu_assist.pipeline.listing import ledger

    found = ledger(options.current_project(), kernel)
    if as_json:
        from ncu_assist.render.json.drafts import ledger_json

        write_json(ledger_json(found))
    else:
        from ncu_assist.render.terminal.drafts import ledger_text

        write(ledger_text(found), paged=True)
    return max((damage.exit_code for damage in found.damaged), default=0)
