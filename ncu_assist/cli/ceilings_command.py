"""``ncu-assist ceilings``: measure what this GPU can reach."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write, write_json
from ncu_assist.errors import EnvironmentProblem, StageFailed


@click.command("ceilings")
@click.option("--show", is_flag=True, help="Show what is stored; measure nothing.")
@click.option("--quick", is_flag=True, help="Fewer sizes and repeats.")
@options.as_json
def command(show: bool, quick: bool, as_json: bool) -> int:
    """Measure what this GPU can reach, once, and store it under reports/ceilings.

    DRAM by read:write mix and size, under ncu with the flags of `profile` and by events with the flush of `bench`; L2,
    shared memory, host link, instruction pipes, tensor cores. Takes about a minute and a half. Where there is no GPU,
    what is stored or came with the tool is shown. Exit code 5 when a part failed; the others are stored.
    """
    from ncu_assist.executors import EXECUTORS
    from ncu_assist.pipeline.ceilings import known, measure_ceilings, why_no_gpu
    from ncu_assist.render.json import ceilings_json
    from ncu_assist.render.terminal import ceilings_text

    project = options.current_project()
    why = None if show else why_no_gpu()
    with progress() as reporter:
        if show or why is not None:
            answers = known(project)
            if why is not None and not answers:
                raise EnvironmentProblem(f"{why.message}; and no ceilings are stored here", why.hint)
            if why is not None:
                reporter.note(
                    f"Nothing was measured here: {why.message}. Shown is what is stored or came with the tool."
                )
        else:
            answers = (measure_ceilings(project, EXECUTORS["local"], quick, reporter),)
    found = [(answer.ceilings, answer.path) for answer in answers]
    if as_json:
        write_json(ceilings_json(found))
    else:
        write(ceilings_text(found))
    failed = not show and why is None and any(stage.problem for one, _ in found for stage in one.stages)
    return StageFailed.exit_code if failed else 0
