"""``ncu-assist show``: a run in the archive, or a report file."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_json


@click.command("show")
@click.argument("reference", default="@last")
@options.one_workload
@options.kernel_name
@click.option("--lines", is_flag=True, help="Add source lines, of each finding and the hottest, and NVIDIA's findings.")
@options.as_json
def command(reference: str, workload: str | None, kernel: str | None, lines: bool, as_json: bool) -> int:
    """Show the run that REFERENCE names: times, counters, launches, stalls.

    REFERENCE is [KERNEL/]VERSION[@RUN], @last, @best, @baseline, or the path of a report:
    .ncu-rep, .ncu-repz, or an export of `ncu --csv --page raw`, compressed or not.

    --lines reads the archived report again, which takes a second, or ten for 2 GB: it adds the source
    lines where the diagnosis happens, the three with most samples, and the three findings of NVIDIA's with the
    largest estimated speed-up.
    """
    from ncu_assist.pipeline.reading import named
    from ncu_assist.render.json import show_json
    from ncu_assist.render.terminal import show_text

    (stored,) = named(options.current_project(), (reference,), kernel)
    spots = code = None
    if lines:
        from ncu_assist.pipeline.close_look import look_closer

        spots, code = look_closer(stored, workload)
    if as_json:
        write_json(show_json(stored, workload, spots, code=code))
    else:
        write(show_text(stored, workload, spots=spots, code=code))
    return 0
