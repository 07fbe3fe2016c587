"""``ncu-assist bench``: check versions and time them against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write, write_json, write_result
from ncu_assist.errors import StageFailed

if TYPE_CHECKING:
    from ncu_assist.harness.request import Flush
    from ncu_assist.pipeline.planning import MeasureRequest


@click.command("bench")
@click.argument("kernel", shell_complete=completing.kernels)
@click.argument("versions", nargs=-1, shell_complete=completing.versions)
@options.workload
@options.rounds
@options.flush
@options.again
@options.gpus
@click.option("--spread", is_flag=True, help="Time the versions on each GPU by itself, and say how far GPUs differ.")
@options.as_json
def command(
    kernel: str,
    versions: tuple[str, ...],
    workload: str | None,
    rounds: int | None,
    flush: Flush,
    again: bool,
    gpus: str | None,
    spread: bool,
    as_json: bool,
) -> int:
    """Check versions of KERNEL (all unless named), then time them against each other, interleaved round by round.

    With several versions named, the verdict of each against the first comes before the table. Only what has changed
    since it was measured on this machine is timed, together with what it is compared with. Exit code 5 when a version
    could not be timed.
    """
    from ncu_assist.pipeline.planning import MeasureRequest, bench
    from ncu_assist.render.json import outcome_json
    from ncu_assist.render.terminal import outcome_text

    request = MeasureRequest(kernel, versions, workload, rounds, flush, again=again, gpus=gpus)
    if spread:
        return _spread(request, as_json)
    with progress() as reporter:
        outcome = bench(options.current_project(), request, reporter)
    if as_json:
        write_json(outcome_json(outcome, "bench"))
    else:
        write(outcome_text(outcome))
    return outcome.exit_code


def _spread(request: MeasureRequest, as_json: bool) -> int:
    from ncu_assist.pipeline.planning import spread
    from ncu_assist.render.json.versions import spread_json
    from ncu_assist.render.terminal.versions import spread_text

    with progress() as reporter:
        found = spread(options.current_project(), request, reporter)
    write_result(found, as_json, spread_json, spread_text)
    return StageFailed.exit_code if found.failures else 0
