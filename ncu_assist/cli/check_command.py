"""``ncu-assist check``: compare versions with the reference."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write, write_json
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
    help="Run versions under compute-sanitizer too: memcheck, racecheck, initcheck, synccheck; all unless named.",
)
@options.gpus
@options.as_json
def command(
    kernel: str,
    versions: tuple[str, ...],
    workload: str | None,
    sanitize: str | None,
    gpus: str | None,
    as_json: bool,
) -> int:
    """Compare versions of KERNEL (all unless named) with its reference, on fresh inputs from several seeds.

    With --sanitize each version also runs under the tools of compute-sanitizer, on the workloads named, else on up to
    three small ones: accesses out of bounds, races on shared memory, reads of memory that nobody wrote, barriers that
    not all threads reach. A finding says line, kernel and thread.

    Exit code 5 when a version is wrong, crashes, does not build, or a tool finds something in it.
    """
    from ncu_assist.pipeline.planning import MeasureRequest, check
    from ncu_assist.render.json import outcome_json
    from ncu_assist.render.terminal import outcome_text

    tools = tuple(dict.fromkeys(sanitize.split(","))) if sanitize is not None else ()
    for tool in tools:
        if tool not in SANITIZERS:
            raise UsageProblem(f"compute-sanitizer has no tool '{tool}' here; {did_you_mean(tool, SANITIZERS)}")
    request = MeasureRequest(kernel, versions, workload, sanitize=tools, gpus=gpus)
    with progress() as reporter:
        outcome = check(options.current_project(), request, reporter)
    if as_json:
        write_json(outcome_json(outcome, "check"))
    else:
        write(outcome_text(outcome))
    return outcome.exit_code
