"""``ncu-assist tune``: race combinations of a version's values, and say whether one beats the file's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write_result

if TYPE_CHECKING:
    from ncu_assist.harness.request import Flush


@click.command("tune")
@click.argument("kernel", shell_complete=completing.kernels)
@click.argument("version", shell_complete=completing.versions)
@click.option(
    "--values",
    multiple=True,
    metavar='"BM=64,128 STAGES=3,4"',
    help="Values to try, in quotes.  [default: the line `tune:` of the first comment]",
)
@click.option("--keep", is_flag=True, help="Write the fastest values into the file, if they are faster.")
@options.one_workload
@options.rounds
@options.flush
@options.as_json
def command(
    kernel: str,
    version: str,
    values: tuple[str, ...],
    keep: bool,
    workload: str | None,
    rounds: int | None,
    flush: Flush,
    as_json: bool,
) -> int:
    """Try every combination of values for constants of VERSION, and say whether one is faster than the file's values.

    The first comment of the version lists the values: `// tune: BM=64,128 STAGES=3,4`. Each name is a constant of the
    source (constexpr, #define, or a number in Python). Combinations are built in parallel, checked, and timed in one
    bench; those that cannot be the fastest are dropped early. The fastest and the file's own values are then timed once
    more, for the verdict.

    Exit code 5 if no combination could be timed.
    """
    from ncu_assist.pipeline.planning import MeasureRequest
    from ncu_assist.pipeline.tuning import tune
    from ncu_assist.render.json.versions import tune_json
    from ncu_assist.render.terminal.versions import tune_text

    request = MeasureRequest(kernel, (version,), workload, rounds, flush)
    with progress() as reporter:
        outcome = tune(options.current_project(), request, " ".join(values), keep, reporter)
    write_result(outcome, as_json, tune_json, tune_text)
    return 0 if outcome.ranked else 5
