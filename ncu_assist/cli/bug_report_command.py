"""``ncu-assist bug-report``: what a maintainer asks for first: versions, machine, the last error, without names."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import STDOUT, check_output, progress, say, write, write_bytes, write_json


@click.command("bug-report")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write.  [default: stdout]")
@click.option("--force", is_flag=True, help="Replace --output if it exists.")
@options.as_json
def command(output: Path | None, force: bool, as_json: bool) -> int:
    """Collect what a bug report needs, as Markdown: versions, the output of doctor, your last error.

    Names of users, hosts, folders and addresses are removed, and nothing is sent. Read the report before you publish
    it: words of your own program in an error message stay.
    """
    from ncu_assist.cli.version import version_text
    from ncu_assist.pipeline.bug_report import bug_report
    from ncu_assist.pipeline.doctor import examine
    from ncu_assist.render.json.machine import bug_report_json
    from ncu_assist.render.markdown import bug_report_markdown
    from ncu_assist.suggest.model.endpoint import endpoint_condition

    output = None if output == STDOUT else output
    if output is not None:
        check_output(output, force, binary=False)
    with progress() as reporter:
        reporter.status("checking this machine")
        found = bug_report(version_text(), examine({"model": endpoint_condition}))
    if as_json:
        write_json(bug_report_json(found))
    elif output is None:
        write(bug_report_markdown(found))
    else:
        write_bytes([bug_report_markdown(found).encode("utf-8", "replace")], output)
        say(f"written: {output.name}; read it before you publish it")
    return 0
