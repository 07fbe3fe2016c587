"""``ncu-assist show``: a run in the archive, or a report file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import (
    is_named,
    note_damages,
    note_meant,
    note_misnamed,
    on_terminal,
    say,
    write,
    write_json,
)

OF_SHOW = ("ncu_assist.pipeline.listing", "ncu_assist.pipeline.showing")  # imported while a report is read


@click.command("show")
@click.argument("reference", default="@last", shell_complete=completing.references)
@options.one_workload
@options.launches
@options.launch_filters
@options.kernel_name
@click.option("--lines", is_flag=True, help="Add the source lines of each finding, and the hottest lines.")
@click.option("--ncu-rules", is_flag=True, help="Add the findings of Nsight Compute's own rules.")
@click.option(
    "--format",
    "chosen_format",
    type=click.Choice(["text", "lines"]),
    default="text",
    show_default=True,
    help="lines: file:line: severity: finding (share), for editors.",
)
@click.option(
    "--brief/--full",
    default=None,
    help="Show one screen, or everything.  [default: brief on a terminal without --lines and --ncu-rules]",
)
@options.as_json
def command(
    reference: str,
    workload: str | None,
    launch: str | None,
    filters: tuple[str, ...],
    kernel: str | None,
    lines: bool,
    ncu_rules: bool,
    chosen_format: Literal["text", "lines"],
    brief: bool | None,
    as_json: bool,
) -> int:
    """Show the run that REFERENCE names: verdict, launches, what binds it, diagnosis, warp states, counters.

    REFERENCE is [KERNEL/]VERSION[@RUN], [KERNEL]@last, @best, @baseline, a KERNEL (its best run, else its last), or the
    path of a report: .ncu-rep, .ncu-repz, or a page that ncu printed (CSV or the text of a log), compressed or not.

    For a report with several launches, the table of launches comes first. One launch follows: the one that --launch or
    --filter selects, or the one with the most time to win.

    The verdict compares the run with its parent. The floor is the least time at measured rates. --lines and --ncu-rules
    read the archived report again, which takes seconds, or ten for 2 GB.
    """
    from ncu_assist.launch_selection import selection_of
    from ncu_assist.pipeline.opened_reports import named

    options.check_format(as_json, chosen_format)
    as_problems = chosen_format == "lines"
    lines = lines or as_problems
    selection = selection_of(launch, filters)
    project = options.current_project()
    format_of_it = f"ncu_assist.render.{'json' if as_json else 'terminal'}.run"
    meanwhile = (*(("pandas",) if lines else ()), *OF_SHOW, format_of_it)
    (stored,) = named(project, (reference,), kernel, meanwhile, lines, [selection])

    from ncu_assist.pipeline.listing import beside
    from ncu_assist.pipeline.showing import files_of_kernel, gather
    from ncu_assist.store import Store

    if stored.run.run_id:
        note_misnamed(project, stored.run.kernel)
        note_meant(project, kernel, {reference: stored.run.kernel})
    store = Store(project.reports)
    if workload is not None and not is_named("reference"):
        meant = f"{stored.run.kernel}/{stored.run.version}"
        say(f"note: no REFERENCE was named; this is the run profiled last: {meant}")
    shown = gather(stored, workload, store, lines=lines, ncu_rules=ncu_rules, every=as_json)
    note_damages(dict.fromkeys((*beside(project, reference, stored.run), *shown.left_out)))
    if as_problems:
        from ncu_assist.render.terminal.diagnosis import problem_lines

        problems = problem_lines(shown, files_of_kernel(project, stored.run.kernel, Path.cwd()))
        if problems:
            write("\n".join(problems))
        else:
            say("note: no finding has a source line; was the kernel built with -lineinfo?")
        return 0
    if as_json:
        from ncu_assist.render.json.run import show_json

        write_json(show_json(shown))
    else:
        from ncu_assist.render.terminal.run import brief_text, show_text

        is_brief = brief if brief is not None else on_terminal() and not (lines or ncu_rules)
        write(brief_text(shown) if is_brief else show_text(shown), paged=True)
    return 0
