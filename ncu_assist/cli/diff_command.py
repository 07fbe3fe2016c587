"""``ncu-assist diff``: which of two versions is faster, and what changed."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_json


@click.command("diff")
@click.argument("baseline", default="@baseline")
@click.argument("candidate", default="@last")
@options.one_workload
@options.kernel_name
@options.as_json
def command(baseline: str, candidate: str, workload: str | None, kernel: str | None, as_json: bool) -> int:
    """Say which of two versions is faster, by how much and how sure that is; then what changed and what got worse.

    BASELINE and CANDIDATE are references as `show` takes them. The verdict comes from time alone.
    """
    from ncu_assist.pipeline.reading import compare
    from ncu_assist.render.json import diff_json
    from ncu_assist.render.terminal import diff_text

    result = compare(options.current_project(), (baseline, candidate), workload, kernel)
    if as_json:
        write_json(diff_json(result))
    else:
        write(diff_text(result))
    return 0
