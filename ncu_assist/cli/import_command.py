"""``ncu-assist import``: archive a report from anywhere."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write, write_json


@click.command("import")
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="NAME", help="Kernel to archive it under.  [default: imported]")
@click.option("--version", metavar="V", help="Version to archive it as.  [default: the file's name]")
@options.as_json
def command(report: Path, kernel: str | None, version: str | None, as_json: bool) -> int:
    """Add REPORT to the archive, so that show and diff can read it.

    REPORT is a .ncu-rep, a .ncu-repz, or a page that ncu printed (CSV or the text of a log), plain or compressed with
    zstd, xz or gzip.

    The file's original bytes are not known. A cut file is refused, but a flipped value cannot be detected, so the run
    is marked 'unverified' everywhere. Exit code 7 if the file is damaged.
    """
    from ncu_assist.pipeline.importing import default_names, import_report, imported_before
    from ncu_assist.pipeline.showing import gather
    from ncu_assist.render.json.run import show_json
    from ncu_assist.render.terminal.run import show_text
    from ncu_assist.render.words.values import shown_path
    from ncu_assist.store import Store

    project = options.current_project()
    store = Store(project.reports)
    with progress() as reporter:
        stored = import_report(project, report, default_names(report, kernel, version), reporter.status)
        reporter.note(f"stored as {stored.reference} in {shown_path(stored.folder, Path.cwd())}")
        if before := imported_before(store, stored):
            reporter.note(f"the same file is stored as {before.reference} too; both are kept")
    shown = gather(stored, store=store, every=as_json)
    if as_json:
        write_json(show_json(shown, command="import"))
    else:
        write(show_text(shown))
    return 0
