"""``ncu-assist diff``: which of two versions is faster, by how much, and why."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import (
    check_text_output,
    form_of,
    note_damages,
    note_meant,
    note_misnamed,
    page_target,
    say,
    write,
    write_json,
    write_markdown,
    write_page,
)
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import DiffOptions
    from ncu_assist.analysis.diff.records import DiffSide
    from ncu_assist.analysis.diff.timing import Pair
    from ncu_assist.project import Project
    from ncu_assist.record import Run

Format = Literal["text", "markdown", "html", "csv"]
LAST = "@last"


@click.command("diff")
@click.argument("baseline", required=False, shell_complete=completing.references)
@click.argument("candidate", default=LAST, shell_complete=completing.references)
@options.one_workload
@click.option(
    "--launch",
    "launch",
    multiple=True,
    metavar="N|A-B",
    shell_complete=completing.launches,
    help="Select launches by the numbers that `show` lists, from 0. Give it twice for one side each.",
)
@options.launch_filters
@options.kernel_name
@click.option("--all", "every", is_flag=True, help="Show every metric of either side, not only the usual ones.")
@options.metrics("Add a metric to the usual ones, by key or ncu's name")
@click.option("--lines", is_flag=True, help="Show every source line of both sides, ordered by how much it explains.")
@click.option(
    "--force",
    is_flag=True,
    help="Compare runs that are not comparable, and say so. Also replace a file that is not a page of ncu-assist.",
)
@click.option("--explain", is_flag=True, help="Explain the verdict, and name the rule behind it.")
@click.option(
    "--format",
    "chosen_format",
    type=click.Choice(["text", "markdown", "html", "csv"]),
    help="Output format; Markdown suits a pull request comment, html is a page, csv the table of --lines.  "
    "[default: by the ending of --output, else text]",
)
@options.page_or_markdown
@click.option(
    "--redact/--no-redact", default=True, show_default=True, help="Remove user, host and path names from a page."
)
@options.as_json
def command(
    baseline: str | None,
    candidate: str,
    workload: str | None,
    launch: tuple[str, ...],
    filters: tuple[str, ...],
    kernel: str | None,
    every: bool,
    metrics: tuple[str, ...],
    lines: bool,
    force: bool,
    explain: bool,
    chosen_format: Format | None,
    output: Path | None,
    redact: bool,
    as_json: bool,
) -> int:
    """Say which of two versions is faster, by how much and how sure that is, then why, then what changed.

    BASELINE and CANDIDATE are references as for `show`. Without them, the last run is compared with the baseline. If a
    kernel has neither a baseline nor a v0, its last two runs are compared.

    The verdict comes from time alone; counters explain it. With --launch or --filter, it comes from ncu's times, unless
    they select all launches of a call. Give --launch twice to compare two launches; without CANDIDATE, both are from
    BASELINE.
    """
    from ncu_assist.analysis.diff import DiffOptions
    from ncu_assist.launch_selection import selection_of
    from ncu_assist.pipeline.reading import compare, two_named

    if len(launch) > 2:
        raise UsageProblem("a diff has two sides, and --launch was given more than twice", "--launch A --launch B")
    first, other = (launch[0], launch[-1]) if launch else (None, None)
    selection = selection_of(first, filters), selection_of(other, filters)
    if len(launch) == 2 and baseline is not None and candidate == LAST:
        candidate = baseline
    form = chosen_format or ("text" if as_json else form_of(output))
    options.check_format(as_json, form)
    if form == "csv" and (output is not None or not lines):
        raise UsageProblem("--format csv is the table of --lines, on stdout", "--lines --format csv > lines.csv")
    asked = DiffOptions(workload, None, force, every, metrics, lines)
    if form == "html":
        output = page_target(output, force)
        project = options.current_project()
        references = _references(project, baseline, candidate, kernel)
        runs, informed = two_named(project, references, kernel, asked, selection)
        _note_beside(project, references, [one.run for one in runs])
        return _write_page(project, runs, informed, output, force, redact)
    check_text_output(output, form, force)
    project = options.current_project()
    references = _references(project, baseline, candidate, kernel)
    result = compare(project, references, kernel, asked, selection)
    _note_beside(project, references, (result.baseline, result.candidate))
    note_misnamed(project, *(side.kernel for side in (result.baseline, result.candidate) if side.run_id))
    if baseline is not None and result.baseline.run_id and "/" not in (candidate or ""):
        note_meant(project, kernel, {baseline: result.baseline.kernel})
    if as_json:
        from ncu_assist.render.json.diff import diff_json

        write_json(diff_json(result))
    elif form == "csv":
        from ncu_assist.render.export.columns import changed_lines

        write(changed_lines(result).to_csv(index=False).rstrip("\n"))
    elif form == "markdown":
        from ncu_assist.render.markdown import diff_markdown

        write_markdown(diff_markdown(result), output)
    else:
        from ncu_assist.render.terminal.diff import diff_text

        write(diff_text(result, explain=explain, with_lines=lines), paged=True)
    return 0


def _references(project: Project, baseline: str | None, candidate: str, kernel: str | None) -> tuple[str, str]:
    """Return the two references; of a diff without any what is compared, which is said where it is not obvious."""
    from ncu_assist.pipeline.reading import unnamed_pair

    if baseline is not None:
        return baseline, candidate
    references, note = unnamed_pair(project, kernel)
    if note:
        say(f"note: {note}")
    return references


def _note_beside(project: Project, references: Sequence[str], sides: Sequence[Run | DiffSide]) -> None:
    from ncu_assist.pipeline.listing import beside

    found = (beside(project, reference, side) for reference, side in zip(references, sides, strict=True))
    note_damages(dict.fromkeys(chain.from_iterable(found)))


def _write_page(
    project: Project, runs: Pair, asked: DiffOptions, output: Path | None, force: bool, redact: bool
) -> int:
    from ncu_assist.pipeline.pages.diff import diff_page
    from ncu_assist.store import Store

    write_page(diff_page(runs, Store(project.reports), asked, redact=redact), output, force)
    return 0
