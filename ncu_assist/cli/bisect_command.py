"""``ncu-assist bisect``: find the first commit at which a version is slower, or wrong."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write_result


@click.command("bisect")
@click.argument("named", metavar="KERNEL[/VERSION]", shell_complete=completing.references)
@click.option("--good", required=True, metavar="COMMIT", help="A commit at which it was still fast, and right.")
@click.option("--bad", default="HEAD", show_default=True, metavar="COMMIT", help="A later one at which it is not.")
@options.one_workload
@options.rounds
@options.as_json
def command(named: str, good: str, bad: str, workload: str | None, rounds: int | None, as_json: bool) -> int:
    """Find the first commit between two at which KERNEL/VERSION, the newest unless given, is slower or wrong.

    Both ends are checked and timed first: what is looked for is that results are wrong where they are at --bad, else
    that the time is nearer to that of --bad than to that of --good. A time in the middle third between the two is
    measured again. Commits that touch what the version is made of go by git bisect, each checked out in a work tree
    of its own: yours stays as it is. What does not build or lacks the version is skipped.

    Exit code 4 where several commits are left, as those between could not be measured.
    """
    from ncu_assist.pipeline.bisecting import BisectRequest, bisect
    from ncu_assist.render.json.history import bisection_json
    from ncu_assist.render.terminal.history import bisection_text

    with progress() as reporter:
        found = bisect(options.current_project(), BisectRequest(named, good, bad, workload, rounds), reporter)
    write_result(found, as_json, bisection_json, bisection_text)
    return found.exit_code
