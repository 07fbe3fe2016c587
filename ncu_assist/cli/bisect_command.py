"""``ncu-assist bisect``: find the first commit at which a version is slower, or wrong."""

from __future__ import annotations

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write_result


@click.command("bisect")
@click.argument("named", metavar="KERNEL[/VERSION]", shell_complete=completing.references)
@click.option("--good", required=True, metavar="COMMIT", help="Commit at which the version was still fast and right.")
@click.option("--bad", default="HEAD", show_default=True, metavar="COMMIT", help="Later commit at which it is not.")
@options.one_workload
@options.rounds
@options.as_json
def command(named: str, good: str, bad: str, workload: str | None, rounds: int | None, as_json: bool) -> int:
    """Find the first commit at which KERNEL/VERSION (default: the newest version) is slower or wrong.

    Both ends are checked and timed first. If results are wrong at --bad, commits are judged by their results. Otherwise
    a commit is bad if its time is nearer to that at --bad than to that at --good; a time in the middle third is
    measured again. git bisect walks the commits that touch the version's files. Each is checked out in a separate work
    tree, and yours is not changed. Commits that do not build or lack the version are skipped.

    Exit code 4 if several commits remain, because those between could not be measured.
    """
    from ncu_assist.pipeline.bisecting import bisect
    from ncu_assist.render.json.history import bisection_json
    from ncu_assist.render.terminal.history import bisection_text

    with progress() as reporter:
        found = bisect(options.current_project(), named, (good, bad), reporter, workload, rounds)
    write_result(found, as_json, bisection_json, bisection_text)
    return found.exit_code
