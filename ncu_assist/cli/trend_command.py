"""``ncu-assist trend``: how the time of a kernel moved over its runs, where it changed, and what changed there."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import (
    check_text_output,
    form_of,
    note_damages,
    page_target,
    write,
    write_json,
    write_markdown,
    write_page,
)


@click.command("trend")
@click.argument("named", metavar="[KERNEL[/VERSION]]", required=False, shell_complete=completing.references)
@options.workload
@options.gpu
@click.option(
    "--by",
    type=click.Choice(["version", "commit"]),
    default="version",
    show_default=True,
    help="Show a line for each version, or one line of the fastest version at each commit.",
)
@options.metrics("Follow this counter")
@click.option(
    "--format",
    "chosen_format",
    type=click.Choice(["text", "markdown", "html"]),
    help="Output format; Markdown suits a pull request comment, html is a page.  "
    "[default: by the ending of --output, else text]",
)
@options.page_or_markdown
@options.replace_page
@options.as_json
def command(
    named: str | None,
    workload: str | None,
    gpu: str | None,
    by: Literal["version", "commit"],
    metrics: tuple[str, ...],
    chosen_format: Literal["text", "markdown", "html"] | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Show how the time of KERNEL changed over its runs: steps, and slow drifts that no single run shows.

    Uses all correct runs in the archive, of any day, commit, driver and toolkit. Each GPU model has its own line. A
    change is reported from six runs on, three before it and three after it, with its size and what differs between the
    runs on the two sides: source, commit, tools, driver, GPU, SM clock. On one GPU, a step of 1 % is found within five
    runs if there are ten before it and the kernel takes 20 µs or more.

    Default KERNEL: that of the current folder, else the only kernel with runs, else the one profiled last.
    """
    from ncu_assist.pipeline.trend import trend

    form = chosen_format or ("text" if as_json else form_of(output))
    options.check_format(as_json, form)
    if form != "html":
        check_text_output(output, form, force)
    else:
        output = page_target(output, force)
    project = options.current_project()
    found = trend(project, named, workload, by, metrics, gpu)
    note_damages(found.left_out)
    if as_json:
        from ncu_assist.render.json.history import trend_json

        write_json(trend_json(found))
    elif form == "html":
        from ncu_assist.render.html.trend import trend_html

        write_page(trend_html(found), output, force)
    elif form == "markdown":
        from ncu_assist.render.markdown.history import trend_markdown

        write_markdown(trend_markdown(found), output)
    else:
        from ncu_assist.render.terminal.history import trend_text

        write(trend_text(found), paged=True)
    return 0
