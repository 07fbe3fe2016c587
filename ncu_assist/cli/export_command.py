"""``ncu-assist export``: one table of a run or a report as CSV, Parquet or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import STDOUT, check_output, progress, write_bytes
from ncu_assist.errors import UsageProblem
from ncu_assist.render.export import FORMATS

TABLES = ("launches", "metrics", "rules", "session", "instances", "lines", "sass", "timeline")


@click.command("export")
@click.argument("reference", default="@last", shell_complete=completing.references)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(list(FORMATS)),
    help="Output format.  [default: by the ending of --output, else csv]",
)
@click.option("--table", type=click.Choice(TABLES), default="launches", show_default=True, help="Table to write.")
@click.option(
    "--metrics",
    multiple=True,
    metavar="NAMES",
    shell_complete=completing.metrics,
    help="Export only these: names, patterns or keys, comma-separated; repeatable.",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write.  [default: stdout]")
@click.option("--force", is_flag=True, help="Replace --output if it exists.")
@options.redact
@click.option(
    "--workload",
    metavar="NAME",
    shell_complete=completing.workloads,
    help="Export only launches of this workload.  [default: all]",
)
@options.launches
@options.launch_filters
@options.kernel_name
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def command(
    reference: str,
    file_format: str | None,
    table: str,
    metrics: tuple[str, ...],
    output: Path | None,
    force: bool,
    redact: bool,
    workload: str | None,
    launch: str | None,
    filters: tuple[str, ...],
    kernel: str | None,
    as_json: bool,
) -> int:
    """Write one table of the run or report that REFERENCE names.

    launches: a row per launch, a column per metric. metrics: a row per metric of a launch, with its unit. instances:
    values by address, opcode or time. rules: NVIDIA's findings. session: GPU, driver, ncu. lines and sass: counters by
    source line and by instruction. timeline: samples over time, if ncu took some. Values are in base units (ns, byte,
    hz, %). Absent values are empty or null.

    Host and user names, addresses, absolute paths (but not a file's own name) and the environment are redacted. Source
    code is not: share the table lines only where the code may go.
    """
    from ncu_assist.launch_selection import selection_of
    from ncu_assist.pipeline.exporting import export

    output = None if output == STDOUT else output
    writer = FORMATS[_chosen_format(file_format, output, as_json)]
    check_output(output, force, writer.BINARY)
    names, selection = _names(metrics), selection_of(launch, filters)
    with progress() as reporter:
        reporter.status("reading")
        found = export(
            options.current_project(),
            reference,
            table,
            names,
            kernel=kernel,
            selection=selection,
            workload=workload,
            redact=redact,
        )
        for note in found.notes:
            reporter.note(f"note: {note}")
    write_bytes(writer.chunks(found), output)
    return 0


def _chosen_format(file_format: str | None, output: Path | None, as_json: bool) -> str:
    """Return the format; raises UsageProblem for two of them, and for a file that says neither."""
    if as_json and file_format not in (None, "json"):
        raise UsageProblem(f"--json and --format {file_format} exclude each other", "drop one of them")
    if as_json or file_format:
        return file_format or "json"
    ending = output.suffix.removeprefix(".").lower() if output else ""
    if ending and ending not in FORMATS:
        raise UsageProblem(f"the format of a .{ending} file is not known", f"--format {' or '.join(FORMATS)}")
    return ending or "csv"


def _names(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the metrics asked for, one by one; raises UsageProblem where that is none, as of an unset variable."""
    names = tuple(name.strip() for given in metrics for name in given.split(",") if name.strip())
    if metrics and not names:
        raise UsageProblem("--metrics names no metric", "leave it out to export all")
    return names
