"""``ncu-assist gate``: fail a build where a version got worse than limits allow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import check_output, write, write_bytes, write_json
from ncu_assist.errors import NcuAssistError, UsageProblem


@click.command("gate")
@click.argument("candidate", metavar="[KERNEL]", required=False, shell_complete=completing.references)
@click.option(
    "--against",
    metavar="REFERENCE",
    default="@baseline",
    show_default=True,
    help="What to hold it against; v7@last:10 are the last ten runs of v7, @last:10 those of the version itself.",
)
@click.option("--since", metavar="COMMIT", help="Instead of KERNEL: each version that has changed since then.")
@click.option("--window", type=click.IntRange(3), metavar="N", help="With --since: each also against its last N runs.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="METRIC:LIMIT",
    help="How much worse a metric may get; may be given several times.  [default: time:2%]",
)
@click.option(
    "--workload",
    metavar="NAME|all",
    shell_complete=completing.workloads,
    help="One workload; all that both runs have unless given.",
)
@options.kernel_name
@click.option("--require-live", is_flag=True, help="Only runs measured on this machine count, none that is recorded.")
@click.option(
    "--unclear",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="pass: a time that shows nothing beyond its limit keeps it, also where that is not settled.",
)
@click.option("--force", is_flag=True, help="Compare in spite of what forbids it; the answer says so.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit's XML there.")
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
    """Hold the newest version of KERNEL against its baseline, and fail where it got worse than limits allow.

    Without KERNEL it is that of the folder you stand in. KERNEL may also be a reference, as `show` takes them: the run
    to look at. Exit code 0: every limit is kept on every workload; 3: one is broken, a regression; 4: none is, and one
    cannot be told or the runs cannot be compared, or one of the two versions is not measured: it has no run of its
    source as it is now. No other version or run stands in.

    With --since an edited version is held against its run of before, a new one against the baseline that COMMIT has. A
    version that nothing is there to hold against is named and fails nothing. Against several runs, as @last:10, a time
    is held against the lowest level that they stood at, so that small steps which add up are found.

    \b
    LIMIT is [+|-|=]NUMBER[%|pt]:
      time:2%                        at most 2 % slower, by the bench's samples
      time:0%                        not slower
      cycles:2%                      at most 2 % more SM cycles, by the bench's
                                     samples where both have one: no other
                                     clock explains them away
      dram_bytes:5%                  at most 5 % worse than the baseline's value
      sm_throughput:3pt              at most 3 points worse; 3% of a percentage
                                     could be points or a part of it: refused
      registers:+0, registers:-0     may not rise; may not fall
      registers:+8                   may rise by 8 of its unit (ns, byte) at most
      local_spilling_requests:=0     may be 0 at most, whatever the baseline has

    A sign says which way, for any metric; without one it is the way that is worse, which some metrics lack. METRIC is
    `time`, a key that `ncu-assist metrics` lists, a name of ncu, or stall_REASON. Less than 0.5 % of time is told apart
    by no bench, so a limit on time is 0 or at least that. A counter that repeats exactly is held to its limit exactly,
    any other gets the noise of such counters on top.
    """
    from ncu_assist.analysis.gate import Gate, GateSet, NotMeasured
    from ncu_assist.pipeline.gating import GateRequest, gate, kernel_here

    options.check_format(as_json, text_format)
    project = options.current_project()
    if since is None:
        candidate = candidate or kernel_here(project)
    _check_named(candidate, since, window)
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
        said = "a KERNEL and --since are two questions" if candidate else neither
        raise UsageProblem(said, "ncu-assist gate KERNEL, or ncu-assist gate --since COMMIT")
    if window is not None and since is None:
        raise UsageProblem("--window is for --since", f"--against @last:{window}")
