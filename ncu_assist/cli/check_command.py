"""``ncu-assist check``: compare versions with the reference."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write, write_json


@click.command("check")
@click.argument("kernel", shell_complete=completing.kernels)
@click.argument("versions", nargs=-1, shell_complete=completing.versions)
@options.workload
@options.as_json
def command(kernel: str, versions: tuple[str, ...], workload: str | None, as_json: bool) -> int:
    """Compare versions of KERNEL (all unless named) with its reference, on fresh inputs from several seeds.

    Exit code 5 when a version is wrong, crashes or does not build.
    """
    from ncu_assist.pipeline.planning import MeasureRequest, check
    from ncu_assist.render.json import outcome_json
    from ncu_assist.render.terminal import outcome_text

    with progress() as reporter:
        outcome = check(options.current_project(), MeasureRequest(kernel, versions, workload), reporter)
    if as_json:
        write_json(outcome_json(outcome, "check"))
    else:
        write(outcome_text(outcome))
    return outcome.exit_code
