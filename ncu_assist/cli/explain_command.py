"""``ncu-assist explain``: what one metric, warp stall reason, rule of ours or of ncu means."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import write, write_json


@click.command("explain")
@click.argument("words", metavar="NAME", nargs=-1, required=True, shell_complete=completing.explained)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a command or file, such as show or run.json.")
@options.as_json
def command(words: tuple[str, ...], schema: bool, as_json: bool) -> int:
    """Explain a metric, a stall reason, a diagnosis, a term, or a key of JSON answers.

    NAME is a metric by key, by ncu's name with or without rollup, or by label; a warp stall reason; a diagnosis, such
    as shared-bank-conflict; a rule of ncu, such as SOLBottleneck; a term, such as wavefront; or a key of JSON answers,
    such as next_limit.

    Exit code 2 if nothing has this name. The error then gives the command for the nearest name.
    """
    from ncu_assist.pipeline.explaining import explain_any

    name = " ".join(words)
    if schema:
        from ncu_assist.render.json.schemas import named_schema

        write_json(named_schema(name))
        return 0
    subjects = explain_any(name)
    if as_json:
        from ncu_assist.render.json.metrics import explain_json

        write_json(explain_json(subjects))
    else:
        from ncu_assist.render.terminal.metrics import explain_text

        write(explain_text(subjects), paged=True)
    return 0
