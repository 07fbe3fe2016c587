"""``ncu-assist history``: the ladder of a kernel, each version against the one before it, over all workloads."""

from __future__ import annotations

from functools import partial

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import note_damages, note_misnamed, say, write, write_json


@click.command("history")
@click.argument("kernel", required=False, shell_complete=completing.kernels)
@click.option(
    "--workload",
    metavar="NAME|all",
    shell_complete=completing.workloads,
    help="Show only this workload.  [default: all that were measured]",
)
@options.gpu
@options.limit
@options.page
@options.text_format
@options.as_json
def command(
    kernel: str | None,
    workload: str | None,
    gpu: str | None,
    limit: int | None,
    page: int | None,
    text_format: str,
    as_json: bool,
) -> int:
    """Show how KERNEL got faster, version by version, and where a version made a workload slower.

    Each version is compared with its parent, by samples, which are paired if both were timed in one bench. The first
    table is for the default workload: median of the bench, verdict, the time of a device copy of the same bytes over
    the median, and what binds the version under ncu. The second is for all workloads: the geometric mean of the
    speed-ups, the worst speed-up, and the number of workloads on which the version is slower. The third checks the
    tool's own predictions: which faults disappeared from one version to the next, the gain that the earlier run
    promised for them, and the measured gain.

    Default KERNEL: that of the current folder, else the only kernel with runs, else the one profiled last.
    """
    from ncu_assist.pipeline.history import history

    options.check_format(as_json, text_format)
    project = options.current_project()
    paged = partial(options.page_of, limit=limit, page=page, what="versions")
    found = history(project, kernel, workload, gpu, page=paged)
    if len(found.rows) < len(found.all_rows):
        say(f"page {page or 1}: {len(found.rows)} of {len(found.all_rows)} versions")
    note_damages(found.left_out)
    note_misnamed(project, found.kernel)
    if as_json:
        from ncu_assist.render.json.history import history_json

        write_json(history_json(found))
    elif text_format == "markdown":
        from ncu_assist.render.markdown.history import history_markdown

        write(history_markdown(found))
    else:
        from ncu_assist.render.terminal.history import history_text

        write(history_text(found), paged=True)
    return 0
