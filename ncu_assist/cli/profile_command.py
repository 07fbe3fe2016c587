"""``ncu-assist profile``: build, check, time and profile versions of a kernel, or profile any other program."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write, write_json, write_pages, write_result
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from ncu_assist.harness.request import Flush
    from ncu_assist.ncu.command import ProfileOptions
    from ncu_assist.pipeline.foreign_run import RunNames
    from ncu_assist.pipeline.planning import MeasureRequest

MOST_REPEATS = 50  # a launch takes 1.8 s under --set full (docs/sources.md, Cost)
LAUNCHES = 20  # of a foreign program unless asked for more: autotuning can launch hundreds, each taking a second


@click.command("profile")
@click.argument("words", nargs=-1, metavar="KERNEL [VERSION]... | -- PROGRAM [ARGUMENT]...")
@click.option("--since", metavar="COMMIT", help="Instead of KERNEL: versions that have changed, and what to compare.")
@options.workload
@click.option("--set", "section_set", metavar="NAME", help="ncu section set; full unless given.")
@click.option("--quick", is_flag=True, help="The small section set: a quarter of the time, fewer answers.")
@click.option(
    "--repeats",
    type=click.IntRange(1, MOST_REPEATS),
    default=1,
    show_default=True,
    metavar="N",
    help="Profile each call N times: how far its counters stray is then known of this very kernel.",
)
@click.option("--dry-run", is_flag=True, help="Print the exact ncu command and environment; run nothing.")
@options.rounds
@options.flush
@click.option("--kernel", metavar="NAME", help="Archive a program's run under this kernel.")
@click.option("--version", metavar="V", help="Archive a program's run as this version.")
@click.option("--filter", "kernel_filter", metavar="NAME|regex:…", help="Of a program, profile these kernels only.")
@click.option("--max-launches", type=click.IntRange(1), default=LAUNCHES, show_default=True, help="Of a program.")
@options.as_json
def command(
    words: tuple[str, ...],
    since: str | None,
    workload: str | None,
    section_set: str | None,
    quick: bool,
    repeats: int,
    dry_run: bool,
    rounds: int | None,
    flush: Flush,
    kernel: str | None,
    version: str | None,
    kernel_filter: str | None,
    max_launches: int,
    as_json: bool,
) -> int:
    """Build, check, time and profile versions of KERNEL (all unless named), and archive a run of each.

    Where there is no GPU or no ncu, recorded runs answer, and say so. With --kernel, --version and a program after
    --, profile that program instead. Exit code 5 when something failed, 6 when a version could neither be measured
    nor shown from a run of its source as it is; the others are shown.
    """
    from ncu_assist.ncu.command import ProfileOptions
    from ncu_assist.pipeline.foreign_run import RunNames
    from ncu_assist.pipeline.planning import MeasureRequest

    if quick and section_set:
        raise UsageProblem("--quick and --set exclude each other", "drop one of them")
    if since is not None:
        if words or kernel or version or dry_run:
            raise UsageProblem("--since names what to profile itself", "leave out KERNEL, --kernel and --dry-run")
        request = MeasureRequest("", (), workload, rounds, flush, repeats)
        return _since(since, request, ProfileOptions(section_set or ("basic" if quick else "full")), as_json)
    if not words:
        raise UsageProblem("nothing to profile was named", "ncu-assist list")
    chosen_set = section_set or ("basic" if quick else "full")
    if kernel is None and version is None:
        _refuse_program(words, kernel_filter)
        request = MeasureRequest(words[0], words[1:], workload, rounds, flush, repeats)
        return _kernel(request, ProfileOptions(chosen_set), dry_run, as_json)
    if kernel is None or version is None:
        raise UsageProblem("a program's run needs both --kernel and --version", "add --kernel NAME --version V")
    if repeats > 1:
        raise UsageProblem("--repeats is for a kernel; a program repeats its own launches", "drop --repeats")
    ncu = ProfileOptions(chosen_set, nvtx_include=None, kernel_filter=kernel_filter, max_launches=max_launches)
    return _program(words, RunNames(kernel, version), ncu, dry_run, as_json)


def _refuse_program(words: tuple[str, ...], kernel_filter: str | None) -> None:
    """Raise UsageProblem for a program without the names to archive it under; the first word is a kernel otherwise."""
    from ncu_assist.spec_file import kernel_names

    word = words[0]
    if word not in kernel_names(options.current_project()) and shutil.which(word):
        command = f"ncu-assist profile --kernel {Path(word).name} --version v0 -- {shlex.join(words)}"
        raise UsageProblem(f"'{word}' is a program, not a kernel of this project", command)
    if kernel_filter is not None:
        raise UsageProblem("--filter is for a program; of a kernel, name versions and --workload", "drop --filter")


def _kernel(request: MeasureRequest, ncu: ProfileOptions, is_dry: bool, as_json: bool) -> int:
    from ncu_assist.pipeline.planning import dry_run, profile
    from ncu_assist.render.json import outcome_json
    from ncu_assist.render.terminal import outcome_text

    project = options.current_project()
    if is_dry:
        with progress() as reporter:
            text = dry_run(project, request, ncu, reporter)
        write(text)
        return 0
    with progress() as reporter:
        outcome = profile(project, request, ncu, reporter)
    if as_json:
        write_json(outcome_json(outcome, "profile"))
    else:
        write(outcome_text(outcome))
    if outcome.source == "live":
        write_pages(project, [one.run for one in outcome.versions if one.run is not None])
    return outcome.exit_code


def _since(since: str, request: MeasureRequest, ncu: ProfileOptions, as_json: bool) -> int:
    from ncu_assist.pipeline.changed import profile_since
    from ncu_assist.render.json.versions import outcomes_json
    from ncu_assist.render.terminal import outcome_text

    project = options.current_project()
    with progress() as reporter:
        outcomes = profile_since(project, since, request, ncu, reporter)
    if as_json:
        write_json(outcomes_json(outcomes, since))
    else:
        write("\n".join(map(outcome_text, outcomes)) or f"no version has changed since {since}")
    write_pages(project, [one.run for outcome in outcomes for one in outcome.versions if one.run is not None])
    return max((outcome.exit_code for outcome in outcomes), default=0)


def _program(words: tuple[str, ...], names: RunNames, ncu: ProfileOptions, is_dry: bool, as_json: bool) -> int:
    from ncu_assist.pipeline.importing import dry_run, profile_program
    from ncu_assist.pipeline.showing import gather
    from ncu_assist.render.json import show_json
    from ncu_assist.render.terminal import show_text
    from ncu_assist.store import Store

    project = options.current_project()
    if is_dry:
        write(dry_run(project, words, ncu))
        return 0
    with progress() as reporter:
        stored = profile_program(project, names, words, ncu, reporter)
    shown = gather(stored, store=Store(project.reports))
    write_result(shown, as_json, show_json, show_text)
    write_pages(project, [stored])
    return 0
