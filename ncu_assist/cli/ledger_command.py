"""``ncu-assist ledger``: what came of every draft, and how often the models were right."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import write, write_json


@click.command("ledger")
@click.argument("kernel", required=False, shell_complete=completing.kernels)
@options.as_json
def command(kernel: str | None, as_json: bool) -> int:
    """Show the results of the drafts of KERNEL (default: all kernels).

    By model and by diagnosis: how many drafts were kept, how many predictions of metrics came true, the expected and
    the measured speed-up, tokens and seconds. By round: the best kept draft. Then the reasons for rejection, and each
    draft with its result.

    A prediction came true if the metric moved in the predicted direction by more than its noise. If a factor was
    predicted, the metric must have moved by half to twice that factor on a log scale. Exit code 7 if a draft is
    damaged; it is named and not counted.
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
