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
    cluster: str | None,
    allow_open: bool,
    spread: bool,
    as_json: bool,
) -> int:
    """Check versions of KERNEL (all unless named), then time them against each other, interleaved round by round.

    With several versions named, the verdict of each against the first comes before the table. Only what has changed
    since it was measured on this machine is timed, together with what it is compared with. Exit code 5 when a version
    could not be timed. With --cluster that is done on each model of GPU that there is. Runs are archived: `diff` and
    `history` have the verdicts. `profile` does the same, times what it has to count anew, and counts, for the why.
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
