"""``ncu-assist gate``: fail a build where a version got worse than limits allow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import STDOUT, check_output, write, write_bytes, write_json
from ncu_assist.errors import NcuAssistError, UsageProblem


@click.command("gate")
@click.argument("candidate", metavar="[KERNEL]", required=False, shell_complete=completing.references)
@click.option(
    "--against",
    metavar="REFERENCE",
    default="@baseline",
    show_default=True,
    help="Reference to compare with; v7@last:10 is the last ten runs of v7, @last:10 those of the version itself.",
)
@click.option("--since", metavar="COMMIT", help="Judge each version that has changed since COMMIT; takes no KERNEL.")
@click.option("--window", type=click.IntRange(3), metavar="N", help="With --since: also compare with the last N runs.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="METRIC:LIMIT",
    help="How much worse a metric may get; repeatable.  [default: time:2%]",
)
@click.option(
    "--workload",
    metavar="NAME|all",
    shell_complete=completing.workloads,
    help="Use only this workload.  [default: all that both runs have]",
)
@options.kernel_name
@click.option("--require-live", is_flag=True, help="Use only runs measured on this machine, not recorded ones.")
@click.option(
    "--unclear",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="pass: an unclear time is accepted if nothing shows that it is beyond its limit.",
)
@click.option("--force", is_flag=True, help="Compare runs that are not comparable, and say so.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML to this file.")
@options.text_format
@options.as_json
def command(
    candidate: str | None,
    against: str,
    since: str | None,
    window: int | None,
    fail_on: tuple[str, ...],
    workload: str | None,
    kernel: str | None,
    require_live: bool,
    unclear: Literal["fail", "pass"],
    force: bool,
    junit: Path | None,
    text_format: str,
    as_json: bool,
) -> int:
    """Compare the newest version of KERNEL with its baseline, and fail if it got worse than the limits allow.

    Default KERNEL: that of the current folder. KERNEL may also be a reference, as for `show`: the run to judge.

    Exit code 0: every limit is kept on every workload. 3: a limit is broken, which is a regression. 4: no limit is
    broken, but one is unclear, the runs cannot be compared, or one of the versions has no run of its current source.
    No other version or run is used instead.

    With --since, an edited version is compared with its earlier run, and a new version with the baseline at COMMIT. A
    version with nothing to compare with is named and does not fail. Against several runs, such as @last:10, a time is
    compared with the lowest level that they had, so that small steps that add up are found.

    \b
    LIMIT is [+|-|=]NUMBER[%|pt]:
      time:2%                        at most 2 % slower, by the bench's samples
      time:0%                        not slower
      cycles:2%                      at most 2 % more SM cycles, by the bench's
                                     samples if both have them: a different
                                     clock does not explain them
      dram_bytes:5%                  at most 5 % worse than the baseline's value
      sm_throughput:3pt              at most 3 points worse; 3% is refused: it
                                     could mean points or a share
      registers:+0, registers:-0     may not rise; may not fall
      registers:+8                   may rise by at most 8 of its unit (ns, byte)
      local_spilling_requests:=0     may be at most 0, whatever the baseline has

    A sign gives the direction, for any metric. Without a sign, the direction is the worse one, which some metrics do
    not have. METRIC is `time`, a key that `ncu-assist metrics` lists, a name of ncu, or stall_REASON. No bench can
    resolve less than 0.5 % of time, so a limit on time is 0 or at least 0.5 %. A counter that repeats exactly must keep
    its limit exactly. For any other counter, the noise of such counters is added to the limit.
    """
    from ncu_assist.analysis.gate import Gate, GateSet, NotMeasured
    from ncu_assist.pipeline.gating import GateRequest, gate, kernel_here

    options.check_format(as_json, text_format)
    project = options.current_project()
    if since is None:
        candidate = candidate or kernel_here(project)
    _check_named(candidate, since, window)
    if junit == STDOUT:
        raise UsageProblem("--junit writes to a file, because stdout has the result", "--junit FILE, or /dev/stdout")
    if junit is not None:
        check_output(junit, True, binary=False)
    request = GateRequest(candidate or "", against, kernel, workload, fail_on, force, require_live, unclear == "pass")
    result: Gate | GateSet | NotMeasured
    try:
        if since is None:
            result = gate(project, request)
        else:
            from ncu_assist.pipeline.changed import gate_since

            result = gate_since(project, request, since, window)
    except NcuAssistError as error:
        if junit is not None:
            from ncu_assist.render.junit import junit_of_error

            write_bytes([junit_of_error(error).encode()], junit)
        raise
    if junit is not None:
        from ncu_assist.render.junit import junit as junit_xml

        write_bytes([junit_xml(result).encode()], junit)
    if as_json:
        from ncu_assist.render.json.diff import gate_json, gates_json

        write_json(gates_json(result) if isinstance(result, GateSet) else gate_json(result))
    elif text_format == "markdown":
        from ncu_assist.render.markdown import gate_markdown, gates_markdown

        write(gates_markdown(result) if isinstance(result, GateSet) else gate_markdown(result))
    else:
        from ncu_assist.render.terminal.diff import gate_text, gates_text

        write(gates_text(result) if isinstance(result, GateSet) else gate_text(result))
    return result.exit_code


def _check_named(candidate: str | None, since: str | None, window: int | None) -> None:
    """Raise UsageProblem unless either a kernel or a commit says what to judge."""
    if (candidate is None) == (since is None):
        neither = "nothing to judge was named: a KERNEL, for its newest version, or --since, for what has changed"
        said = "KERNEL and --since exclude each other" if candidate else neither
        raise UsageProblem(said, "ncu-assist gate KERNEL, or ncu-assist gate --since COMMIT")
    if window is not None and since is None:
        raise UsageProblem("--window needs --since", f"--against @last:{window}")
