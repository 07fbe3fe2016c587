"""``ncu-assist query``: SQL over the runs of the archive."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import note_damages, progress, say, write, write_bytes, write_json


@click.command("query")
@click.argument("sql")
@click.option(
    "--format",
    "text_format",
    type=click.Choice(["text", "csv", "markdown"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Print at most N rows.  [default: 1000 as text, else all]"
)
@options.as_json
def command(sql: str, text_format: str, limit: int | None, as_json: bool) -> int:
    """Run a SELECT over the archive with DuckDB: tables runs, timings, samples, metrics, findings.

    In each table, reference names the run, with kernel and version. `describe metrics` lists the columns of a table.
    Times are in ns, sizes in bytes. timings has a row per run and workload, samples a row per sample of its bench,
    metrics a row per metric of a launch, findings a row per finding, rank 0 first.

    The query changes nothing and reads no other file. The first query over new runs builds their tables, which are kept
    in .ncu-assist/index/. Needs DuckDB: pip install 'ncu-assist[query]'.
    """
    from ncu_assist.pipeline.querying import query
    from ncu_assist.store import Store

    options.check_format(as_json, text_format)
    store = Store(options.current_project().reports)
    is_text = not as_json and text_format == "text"
    with progress() as reporter:
        reporter.status("reading the archive")
        found = query(store, sql, limit or (1000 if is_text else None))
    note_damages(found.left_out)
    if as_json:
        from ncu_assist.render.json.archive import query_json

        write_json(query_json(found))
    elif text_format == "csv":
        from ncu_assist.render.terminal.archive import query_csv

        write_bytes([query_csv(found).encode()], None)
    elif text_format == "markdown":
        from ncu_assist.render.markdown import query_markdown

        write(query_markdown(found))
    else:
        from ncu_assist.render.terminal.archive import query_text

        write(query_text(found), paged=True)
    if found.more:
        say("there are more rows; --limit N shows more")
    return 0
