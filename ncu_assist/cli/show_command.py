"""``ncu-assist show``: a run in the archive, or a report file."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_json


@click.command("show")
@click.argument("reference", default="@last")
@options.one_workload
@options.kernel_name
@options.as_json
def command(reference: str, workload: str | None, kernel: str | None, as_json: bool) -> int:
    """Show the run that REFERENCE names: times, counters, launches, stalls.

    REFERENCE is [KERNEL/]VERSION[@RUN], @last, @best, @baseline, or the path of a report:
    .ncu-rep, .ncu-repz, or an export of `ncu --csv --page raw`, compressed or not.
    """
    from ncu_assist.pipeline.reading import opened
    from ncu_assist.render.json import show_json
    from ncu_assist.render.terminal import show_text

    with opened(options.current_project(), reference, kernel) as stored:
        if as_json:
            write_json(show_json(stored, workload))
        else:
            write(show_text(stored, workload))
    return 0
