"""``ncu-assist gate``: fail a build where a version got worse than limits allow."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_json


@click.command("gate")
@click.argument("candidate", metavar="KERNEL")
@click.option("--against", metavar="REFERENCE", default="@baseline", show_default=True, help="What to hold it against.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="METRIC:LIMIT",
    help="How much worse a metric may get; may be given several times.  [default: time:2%]",
)
@click.option("--workload", metavar="NAME|all", help="One workload; all that both runs have unless given.")
@options.kernel_name
@click.option("--require-live", is_flag=True, help="Only runs measured on this machine count, none that is recorded.")
@click.option("--force", is_flag=True, help="Compare in spite of what forbids it; the answer says so.")
@options.text_format
@options.as_json
def command(
    candidate: str,
    against: str,
    fail_on: tuple[str, ...],
    workload: str | None,
    kernel: str | None,
    require_live: bool,
    force: bool,
    text_format: str,
    as_json: bool,
) -> int:
    """Hold the newest version of KERNEL against its baseline, and fail where it got worse than limits allow.

    KERNEL may also be a reference, as `show` takes them: the run to look at. Exit code 0: every limit is kept on every
    workload; 3: one is broken, a regression; 4: none is, and one cannot be told or the runs cannot be compared, or one
    of the two versions is not measured: it has no run of its source as it is now. No other version or run stands in.

    \b
    LIMIT is [+|-]NUMBER[%|pt]:
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

    A sign says which way, for any metric; without one it is the way that is worse, which some metrics lack. METRIC is
    `time`, a key that `ncu-assist metrics` lists, a name of ncu, or stall_REASON. Less than 0.5 % of time is told apart
    by no bench, so no limit on time is stricter. A counter that repeats exactly is held to its limit exactly, any other
    gets the noise of such counters on top.
    """
    from ncu_assist.pipeline.gating import GateRequest, gate

    options.check_format(as_json, text_format)
    request = GateRequest(candidate, against, kernel, workload, fail_on, force, require_live)
    result = gate(options.current_project(), request)
    if as_json:
        from ncu_assist.render.json.gate import gate_json

        write_json(gate_json(result))
    elif text_format == "markdown":
        from ncu_assist.render.markdown.gate import gate_markdown

        write(gate_markdown(result))
    else:
        from ncu_assist.render.terminal.gate import gate_text

        write(gate_text(result))
    return result.exit_code
