"""``ncu-assist report``: pages of runs, diffs, ladders and the archive, each one file that opens anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import STDOUT, check_output, progress, write, write_json, write_page
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from ncu_assist.pipeline.pages.writing import PageRequest


@click.command("report")
@click.argument(
    "wanted", metavar="[REFERENCE | FILE.ncu-rep | KERNEL]", required=False, shell_complete=completing.references
)
@options.launches
@options.launch_filters
@options.kernel_name
@click.option(
    "--all", "every", is_flag=True, help="Write every page of the archive: all runs, diffs, ladders, the index."
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write only the requested page, to this file; - is stdout."
)
@click.option("--bundle", is_flag=True, help="Write one file for a KERNEL: the ladder, with its runs and diffs inside.")
@options.replace_page
@options.redact
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@options.as_json
def command(
    wanted: str | None,
    launch: str | None,
    filters: tuple[str, ...],
    kernel: str | None,
    every: bool,
    output: Path | None,
    bundle: bool,
    force: bool,
    redact: bool,
    opens: bool,
    as_json: bool,
) -> int:
    """Write the page of a run, of a kernel's ladder, or of the whole archive, with the pages that lead to it.

    For a REFERENCE as for `show` (default: the last run): report.html next to the run, the ladder of its kernel, and
    the index. For a KERNEL: the pages of all its versions, the diffs of neighbours, and the ladder. With --bundle,
    these are one file KERNEL.html in the current folder, without the tables of all metrics. For a report outside the
    archive: FILE.html in the current folder. --launch and --filter select launches of a report, or of a run if its page
    goes to --output.

    Each page is one file that needs no network, so you can mail or archive it. As in `export`, host and user names,
    addresses, absolute paths (but not a file's own name) and the environment are redacted, and source code is not. Exit
    code 7 if a damaged run has no page.
    """
    from ncu_assist.launch_selection import selection_of
    from ncu_assist.pipeline.pages.writing import PageRequest, report

    request = PageRequest(wanted, kernel, every, output, force, redact, selection_of(launch, filters), bundle)
    if output == STDOUT:
        if as_json or opens:
            raise UsageProblem("--output - writes only the page to stdout", "drop --json and --open, or name a file")
        return _to_stdout(request)
    with progress() as reporter:
        found = report(options.current_project(), request, reporter)
        for problem in found.problems:
            reporter.note(f"no page: {problem}")
    if as_json:
        from ncu_assist.render.json.archive import report_json

        write_json(report_json(found, Path.cwd()))
    else:
        from ncu_assist.render.terminal.archive import report_text

        write(report_text(found, Path.cwd()))
    if opens:
        _open(found.asked.path)
    return found.exit_code


def _to_stdout(request: PageRequest) -> int:
    from ncu_assist.pipeline.pages.writing import page_text

    check_output(None, False, binary=True)
    with progress() as reporter:
        text = page_text(options.current_project(), request, reporter)
    write_page(text, None, force=False)
    return 0


def _open(path: Path) -> None:
    """Show a page in the user's browser; where there is none, that is said and no failure."""
    import webbrowser

    try:
        started = webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        started = False
    if not started:
        click.echo(f"no browser could be started; open {path}", err=True)
