"""``ncu-assist bench``: check versions and time them against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write_outcomes, write_result
from ncu_assist.errors import StageFailed, UsageProblem

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
@options.cluster
@options.allow_open
@click.option(
    "--spread", is_flag=True, help="Time the versions on each GPU separately, and show how much the GPUs differ."
)
@options.as_json
def command(
    kernel: str,
    versions: tuple[str, ...],
    workload: str | None,
    rounds: int | None,
    flush: Flush,
    again: bool,
    gpus: str | None,
    cluster: str | None,
    allow_open: bool,
    spread: bool,
    as_json: bool,
) -> int:
    """Check versions of KERNEL (default: all), then time them against each other, interleaved round by round.

    If several versions are named, the verdict of each against the first comes before the table. Only versions that
    changed since they were measured on this machine are timed, together with the versions they are compared with. With
    --cluster, this is done on each GPU model there. Exit code 5 if a version could not be timed.

    Runs are archived; `diff` and `history` show the verdicts. `profile` also does all of this, and collects counters
    that explain the times. It times again each version that it profiles.
    """
    from ncu_assist.pipeline.planning import MeasureRequest, bench_all

    options.check_place(gpus, cluster, allow_open)
    request = MeasureRequest(kernel, versions, workload, rounds, flush, again=again, gpus=gpus)
    if spread and cluster:
        raise UsageProblem("--spread compares the GPUs of this machine", "drop --cluster")
    if spread:
        return _spread(request, as_json)
    request = replace(request, cluster=cluster, allow_open=allow_open)
    with progress() as reporter:
        outcomes = bench_all(options.current_project(), request, reporter)
    return write_outcomes(outcomes, "bench", as_json)


def _spread(request: MeasureRequest, as_json: bool) -> int:
    from ncu_assist.pipeline.planning import spread
    from ncu_assist.render.json.versions import spread_json
    from ncu_assist.render.terminal.versions import spread_text

    with progress() as reporter:
        found = spread(options.current_project(), request, reporter)
    write_result(found, as_json, spread_json, spread_text)
    return StageFailed.exit_code if found.failures else 0
