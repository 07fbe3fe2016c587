"""``ncu-assist check``: compare versions with the reference."""

from __future__ import annotations

from dataclasses import replace

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write_outcomes
from ncu_assist.errors import UsageProblem, did_you_mean

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")


@click.command("check")
@click.argument("kernel", shell_complete=completing.kernels)
@click.argument("versions", nargs=-1, shell_complete=completing.versions)
@options.workload
@click.option(
    "--sanitize",
    metavar="TOOL[,TOOL…]",
    is_flag=False,
    flag_value=",".join(SANITIZERS),
    help="Also run compute-sanitizer: memcheck, racecheck, initcheck, synccheck. Without a value, all four.",
)
@options.gpus
@options.cluster
@options.allow_open
@options.as_json
def command(
    kernel: str,
    versions: tuple[str, ...],
    workload: str | None,
    sanitize: str | None,
    gpus: str | None,
    cluster: str | None,
    allow_open: bool,
    as_json: bool,
) -> int:
    """Compare versions of KERNEL (default: all) with its reference, on fresh inputs from several seeds.

    With --sanitize, each version also runs under compute-sanitizer, on the named workloads, else on up to three small
    ones. The tools find accesses out of bounds, races on shared memory, reads of uninitialized memory, and barriers
    that not all threads reach. A finding names the line, kernel and thread.

    Exit code 5 if a version is wrong, crashes or does not build, or if a tool finds something.
    """
    from ncu_assist.pipeline.planning import MeasureRequest, check_all

    options.check_place(gpus, cluster, allow_open)
    tools = tuple(dict.fromkeys(sanitize.split(","))) if sanitize is not None else ()
    for tool in tools:
        if tool not in SANITIZERS:
            raise UsageProblem(f"compute-sanitizer has no tool '{tool}'; {did_you_mean(tool, SANITIZERS)}")
    request = MeasureRequest(kernel, versions, workload, sanitize=tools, gpus=gpus)
    request = replace(request, cluster=cluster, allow_open=allow_open)
    with progress() as reporter:
        outcomes = check_all(options.current_project(), request, reporter)
    return write_outcomes(outcomes, "check", as_json)
