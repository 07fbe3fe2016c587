"""``ncu-assist diff``: which of two versions is faster, by how much, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_json


@click.command("diff")
@click.argument("baseline", default="@baseline")
@click.argument("candidate", default="@last")
@options.one_workload
@options.kernel_name
@click.option("--all", "every", is_flag=True, help="Every metric that a side has, not only those always looked at.")
@click.option("--force", is_flag=True, help="Compare in spite of what forbids it; the answer says so.")
@click.option("--explain", is_flag=True, help="Spell out the reason of the verdict, and by which rule it was found.")
@options.text_format
@options.as_json
def command(**given: Any) -> int:
    """Say which of two versions is faster, by how much and how sure that is; then why; then what changed.

    BASELINE and CANDIDATE are references as `show` takes them; without any, the last run against the baseline. The
    verdict comes from time alone: counters explain it.
    """
    from ncu_assist.diff import DiffOptions
    from ncu_assist.pipeline.reading import compare

    asked = Asked(**given)
    options.check_format(asked.as_json, asked.text_format)
    wish = DiffOptions(asked.workload, None, asked.force, asked.every)
    result = compare(options.current_project(), (asked.baseline, asked.candidate), asked.kernel, wish)
    if asked.as_json:
        from ncu_assist.render.json import diff_json

        write_json(diff_json(result))
    elif asked.text_format == "markdown":
        from ncu_assist.render.markdown import diff_markdown

        write(diff_markdown(result))
    else:
        from ncu_assist.render.terminal import diff_text

        write(diff_text(result, explain=asked.explain))
    return 0


@dataclass(frozen=True)
class Asked:
    """The command's options, as click parsed them."""

    baseline: str
    candidate: str
    workload: str | None
    kernel: str | None
    every: bool
    force: bool
    explain: bool
    text_format: Literal["text", "markdown"]
    as_json: bool
