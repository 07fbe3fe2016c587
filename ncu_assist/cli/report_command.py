"""``ncu-assist report``: pages of runs, diffs, ladders and the archive, each one file that opens anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import check_output, progress, write, write_bytes, write_json
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from ncu_assist.pipeline.pages.writing import PageRequest

STDOUT = Path("-")


@click.command("report")
@click.argument(
    "wanted",
    metavar="[REFERENCE | FILE.ncu-rep | KERNEL]",
    required=False,
    shell_complete=completing.references,
)
@options.launches
@options.launch_filters
@options.kernel_name
@click.option("--all", "every", is_flag=True, help="Every page of the archive: all runs, diffs, ladders, the index.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write only the page asked for, to this file; - is stdout."
)
@click.option("--bundle", is_flag=True, help="Of a KERNEL one file: the ladder, with its runs and diffs inside.")
@click.option("--force", is_flag=True, help="Replace a file that is no page of ncu-assist.")
@click.option("--redact/--no-redact", default=True, show_default=True, help="Take out who, where and on what host.")
@click.option("--open", "opens", is_flag=True, help="Show the page in a browser.")
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
    """Write the page of a run, of a kernel's ladder, or of all of the archive, and what leads to it.

    A REFERENCE as `show` takes it, the last run unless given: report.html beside the run, the ladder of its kernel
    and the index. A KERNEL: the pages of all its versions, diffs of neighbours, the ladder; with --bundle all of them
    as one file KERNEL.html in the current folder, without the tables of all metrics. A report that is in no
    archive: FILE.html in the current folder. --launch and --filter choose launches of a report, or of a run whose page
    goes to --output.

    Each page is one file without a network: mail it, archive it. Redacted are host and user names, addresses, absolute
    paths (a file's own name stays) and the environment, as `export` does; source code stays. Exit code 7 when a page
    could not be made of a damaged run.
    """
    from ncu_assist.launch_selection import selection_of
    from ncu_assist.pipeline.pages.writing import PageRequest, report

    request = PageRequest(wanted, kernel, every, output, force, redact, selection_of(launch, filters), bundle)
    if output == STDOUT:
        if as_json or opens:
            raise UsageProblem("--output - leaves the page on stdout alone", "drop --json and --open, or name a file")
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
    write_bytes([text.encode("utf-8", "replace")], None)
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
