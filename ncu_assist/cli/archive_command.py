"""``ncu-assist archive``: keep an archive of many runs in order: pack, prune, merge."""

from __future__ import annotations

from pathlib import Path

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write_result

kernels = click.argument("kernels", metavar="[KERNEL]…", nargs=-1, shell_complete=completing.kernels)


@click.group("archive")
def command() -> None:
    """Maintain an archive of many runs: pack their files, prune runs that nothing needs, merge another archive."""


@command.command("pack")
@kernels
@options.as_json
def pack(kernels: tuple[str, ...], as_json: bool) -> int:
    """Pack the runs of each KERNEL (default: all) into few Parquet files.

    Every command reads packed runs as before, byte for byte. A pack, reports/KERNEL/packed/ID.parquet, holds up to
    2,000 runs. It is read back before it gets its name, and only then are the folders of its runs removed. Pages stay.
    Damaged runs stay as they are and are named, and the exit code is 7. Run it again after more runs: small packs
    become larger ones.
    """
    from ncu_assist.pipeline.upkeep import pack
    from ncu_assist.render.json.archive import packed_json
    from ncu_assist.render.terminal.archive import packed_text

    with progress() as reporter:
        done = pack(options.current_project(), kernels, reporter)
    write_result(done, as_json, packed_json, packed_text)
    return max((one.exit_code for one in done.left), default=0)


@command.command("prune", short_help="List the runs that nothing needs; --yes removes them.")
@kernels
@click.option(
    "--keep",
    default="best,baseline,last:3",
    show_default=True,
    metavar="RULES",
    help="Runs to keep in addition to those needed: best, baseline, last:N of each version on each GPU.",
)
@click.option("--yes", is_flag=True, help="Remove the listed runs.")
@options.as_json
def prune(kernels: tuple[str, ...], keep: str, yes: bool, as_json: bool) -> int:
    """List the runs of each KERNEL (default: all) that nothing needs; with --yes, remove them.

    These runs are never removed: those that a ladder shows or compares with, the newest run of each version, a baseline
    that was set, and runs whose id a worklog, a source, a draft or a document names.
    """
    from ncu_assist.pipeline.upkeep import KeepRules, plan_prune
    from ncu_assist.pipeline.upkeep import prune as removed
    from ncu_assist.render.json.archive import pruned_json
    from ncu_assist.render.terminal.archive import pruned_text

    project, rules = options.current_project(), KeepRules.of(keep)
    with progress() as reporter:
        reporter.status("reading the archive")
        plan = plan_prune(project, kernels, rules)
        if yes:
            plan = removed(project, kernels, rules, plan, reporter)
    write_result((plan, yes), as_json, pruned_json, pruned_text, paged=not yes)
    return 0


@command.command("merge", short_help="Add what another archive has and this one lacks.")
@click.argument("other", type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.as_json
def merge(other: Path, as_json: bool) -> int:
    """Add the runs, baselines and drafts of OTHER, a project or its reports/, that are missing here.

    A run that is the same in both stays one run. If both have a different run, draft or baseline of the same name, the
    local one is kept and reported, and the exit code is 5. It is 7 if something in OTHER is damaged and was left out.
    """
    from ncu_assist.pipeline.upkeep import merge
    from ncu_assist.render.json.archive import merged_json
    from ncu_assist.render.terminal.archive import merged_text

    with progress() as reporter:
        done = merge(options.current_project(), other, reporter)
    write_result(done, as_json, merged_json, merged_text)
    return max((one.exit_code for one in done.damaged), default=5 if done.conflicts else 0)
