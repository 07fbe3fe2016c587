"""``ncu-assist profile``: build, check, time and profile versions of a kernel, or profile any other program."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, say, write, write_json, write_outcomes, write_pages, write_result
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ncu_assist.analysis.ladder import KernelOutcome
    from ncu_assist.harness.request import Flush
    from ncu_assist.ncu.command import ProfileOptions
    from ncu_assist.pipeline.planning import MeasureRequest
    from ncu_assist.project import Project
    from ncu_assist.store import StoredRun

KERNEL, PROGRAM, CHANGED, SINCE = "a kernel", "a program", "--changed", "--since"
MODES = {  # of each option that is not for all of them
    "since": (SINCE,),
    "again": (KERNEL,),
    "gpus": (KERNEL, CHANGED),
    "cluster": (KERNEL,),
    "allow_open": (KERNEL,),
    **dict.fromkeys(("workload", "rounds", "flush", "adaptive"), (KERNEL, CHANGED, SINCE)),
    "dry_run": (KERNEL, PROGRAM),
    **dict.fromkeys(("kernel", "version", "kernel_filter", "max_launches", "skip_launches", "nvcc_flags"), (PROGRAM,)),
}
MOST_REPEATS = 50  # a launch takes 1.8 s under --set full (docs/sources.md, Cost)
LAUNCHES = 20  # of a foreign program unless asked for more: autotuning can launch hundreds, each taking a second


class ProfileCommand(click.Command):
    """Leaves to a program what stands behind its name: options of ours come before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell asks what could stand here
            return super().parse_args(ctx, args)
        own, rest = options.before_words(self, ctx, args)
        if rest and own[-1:] == ["--"]:
            ctx.obj = BEHIND_DASHES
        elif rest and not rest[0].startswith("-") and _is_program(rest[0]):
            ctx.obj = NAMED
            args = [*own, "--", *rest]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            if rest and not rest[0].startswith("-"):
                _check_kernel(tuple(rest))  # an option of a program that is not there is not what is wrong
            raise


BEHIND_DASHES, NAMED = "behind --", "named"  # how a program was told from a kernel


def _is_program(word: str) -> bool:
    from ncu_assist.pipeline.programs import names_program

    return names_program(options.current_project(), word)


@click.command("profile", cls=ProfileCommand)
@click.argument(
    "words",
    nargs=-1,
    metavar="KERNEL [VERSION]... | KERNEL... | PROGRAM [ARGUMENT]...",
    shell_complete=completing.profiled,
)
@click.option(
    "--changed", is_flag=True, help="Profile what changed in any kernel since it was measured; takes no KERNEL."
)
@click.option(
    "--since",
    metavar="COMMIT",
    help="Profile the versions that changed since COMMIT, and those to compare with; takes no KERNEL.",
)
@options.again
@options.gpus
@options.cluster
@options.allow_open
@options.workload
@click.option("--set", "section_set", metavar="NAME", help="ncu section set.  [default: full]")
@click.option("--quick", is_flag=True, help="Use the small section set: a quarter of the time, fewer answers.")
@click.option("--adaptive", is_flag=True, help="Collect only the sections that matter for what binds a kernel.")
@click.option(
    "--repeats",
    type=click.IntRange(1, MOST_REPEATS),
    default=1,
    show_default=True,
    metavar="N",
    help="Profile each call, or the whole program, N times, to see how much times and counters vary.",
)
@click.option("--dry-run", is_flag=True, help="Print the exact ncu command and environment, and run nothing.")
@options.rounds
@options.flush
@click.option("--kernel", metavar="NAME", help="Archive a program's run under this kernel.  [default: its name]")
@click.option("--version", metavar="V", help="Archive a program's run as this version.  [default: the next vN]")
@click.option(
    "--filter",
    "kernel_filter",
    metavar="NAME|regex:…|nvtx:…",
    help="Profile only these kernels of a program, or the launches of one NVTX range.",
)
@click.option(
    "--max-launches",
    type=click.IntRange(1),
    default=LAUNCHES,
    show_default=True,
    metavar="N",
    help="Profile at most N launches of a program.",
)
@click.option(
    "--skip-launches", type=click.IntRange(0), default=0, metavar="N", help="Skip the first N launches, as warm-up."
)
@options.nvcc_flags
@options.as_json
@click.pass_obj
def command(
    told: str | None,
    words: tuple[str, ...],
    changed: bool,
    since: str | None,
    again: bool,
    gpus: str | None,
    cluster: str | None,
    allow_open: bool,
    workload: str | None,
    section_set: str | None,
    quick: bool,
    adaptive: bool,
    repeats: int,
    dry_run: bool,
    rounds: int | None,
    flush: Flush,
    kernel: str | None,
    version: str | None,
    kernel_filter: str | None,
    max_launches: int,
    skip_launches: int,
    nvcc_flags: str,
    as_json: bool,
) -> int:
    """Build, check, time and profile versions of KERNEL (default: all), and archive a run of each.

    With several kernels, all versions of each are profiled. With --gpus, the work is shared among the GPUs; versions
    whose times are compared stay together.

    A version is measured again only if its source, kernel.toml, reference.py, a tool, the GPU or the settings have
    changed since it was measured on this machine; --again measures all. A changed version is timed together with its
    parent, the versions that build on it, and the fastest versions, because a verdict needs both sides in one bench.
    With --cluster, this is done on each GPU model there. A run of that model is up to date if a worker has the same
    driver, compiler and libraries.

    Without a GPU or ncu, the answers come from recorded runs, and the output says so. Exit code 5 if something failed.
    Exit code 6 if a version could not be measured, and no run of its current source exists. The other versions are
    shown.

    PROGRAM is a .cu file with a main, which is built first, an executable, a Python script, MODULE:FUNCTION, or any
    command after --. Put its options after it, and the options of profile before it. The run is archived under the
    program's name, as the next version. Then `diff` without arguments compares the last two.
    """
    from ncu_assist.launch_selection import selection_of
    from ncu_assist.ncu.command import ADAPTIVE, ProfileOptions
    from ncu_assist.pipeline.planning import MeasureRequest

    if bool(section_set) + quick + adaptive > 1:
        raise UsageProblem("--quick, --adaptive and --set exclude each other", "keep one of them")
    options.check_place(gpus, cluster, allow_open)
    mode = CHANGED if changed else SINCE if since is not None else PROGRAM if told else KERNEL
    if mode in (CHANGED, SINCE) and words:
        raise UsageProblem(f"{mode} chooses what to profile", "drop KERNEL")
    if mode == KERNEL:
        _check_kernel(words)
    options.check_options(MODES, mode)
    if cluster and dry_run:
        raise UsageProblem("--cluster cannot do a dry run", "drop --dry-run")
    chosen_set = section_set or ("basic" if quick else ADAPTIVE if adaptive else "full")
    if mode != PROGRAM:
        request = MeasureRequest("", (), workload, rounds, flush, repeats, again=again, gpus=gpus)
        if since is not None or changed:
            return _changed(since, request, ProfileOptions(chosen_set), as_json)
        request = replace(request, kernel=words[0], versions=words[1:], cluster=cluster, allow_open=allow_open)
        if len(words) > 1 and _are_kernels(words) and not dry_run:
            return _kernels(words, replace(request, versions=()), ProfileOptions(chosen_set), as_json)
        return _kernel(request, ProfileOptions(chosen_set), dry_run, as_json)
    meant = selection_of(None, () if kernel_filter is None else (kernel_filter,))
    ncu = ProfileOptions(
        chosen_set,
        nvtx_include=next((f"{one.rstrip('/')}/" for one in meant.ranges), None),
        kernel_filter=next(iter(meant.kernels), None),
        max_launches=max_launches,
        skip_launches=skip_launches,
    )
    if told == NAMED:
        _note_arguments(words)
    return _program(words, kernel, version, ncu, shlex.split(nvcc_flags), repeats, dry_run, as_json)


def _check_kernel(words: tuple[str, ...]) -> None:
    """Raise UsageProblem where no kernel was named; of a word that is none it says what that is."""
    from ncu_assist.pipeline.planning import no_kernel
    from ncu_assist.spec_file import kernel_names

    if not words:
        raise UsageProblem("nothing to profile was named", "ncu-assist list")
    project = options.current_project()
    if words[0] not in kernel_names(project):
        raise no_kernel(project, words[0], Path.cwd())


def _note_arguments(words: tuple[str, ...]) -> None:
    """Say which words behind a program look like options of ours, or like another program: they go to the program."""
    from ncu_assist.pipeline.importing import profiled_as_next

    own = {name for option in command.params for name in option.opts}
    meant = [word for word in words[1:] if word.partition("=")[0] in own]
    if meant:
        say(f"note: {' '.join(meant)} goes to {words[0]}; options of profile come before the program")
    for word in words[1:]:
        if word.endswith(".cu") and words[0].endswith(".cu") and Path(word).is_file():
            as_next = profiled_as_next(word, words[0])
            say(f"note: {word} goes to {words[0]} as an argument; to profile it as the next version: {as_next}")


def _kernel(request: MeasureRequest, ncu: ProfileOptions, is_dry: bool, as_json: bool) -> int:
    from ncu_assist.pipeline.pages.beside import pages_follow
    from ncu_assist.pipeline.planning import dry_run, profile_all

    project = options.current_project()
    if is_dry:
        with progress() as reporter:
            text = dry_run(project, request, ncu, reporter)
        write(text)
        return 0
    with pages_follow():
        with progress() as reporter:
            outcomes = profile_all(project, [request], ncu, reporter)
        exit_code = write_outcomes(outcomes, "profile", as_json)
        if outcomes[0].source == "live":
            write_pages(project, _new_runs(outcomes))
    return exit_code


def _are_kernels(words: tuple[str, ...]) -> bool:
    from ncu_assist.spec_file import kernel_names

    return set(words) <= set(kernel_names(options.current_project()))


def _kernels(names: tuple[str, ...], request: MeasureRequest, ncu: ProfileOptions, as_json: bool) -> int:
    from ncu_assist.pipeline.planning import profile_all

    project = options.current_project()
    requests = [replace(request, kernel=name) for name in dict.fromkeys(names)]
    with progress() as reporter:
        outcomes = profile_all(project, requests, ncu, reporter)
    return _write_outcomes(project, outcomes, None, "", as_json)


def _new_runs(outcomes: Sequence[KernelOutcome]) -> list[StoredRun]:
    return [one.run for outcome in outcomes for one in outcome.versions if one.run is not None and not one.kept]


def _changed(since: str | None, request: MeasureRequest, ncu: ProfileOptions, as_json: bool) -> int:
    from ncu_assist.pipeline.changed import profile_changed, profile_since

    project = options.current_project()
    with progress() as reporter:
        if since is None:
            outcomes = profile_changed(project, request, ncu, reporter)
            nothing = "nothing has changed since it was measured here"
        else:
            outcomes = profile_since(project, since, request, ncu, reporter)
            nothing = f"no version has changed since {since}"
    return _write_outcomes(project, outcomes, since, nothing, as_json)


def _write_outcomes(
    project: Project, outcomes: Sequence[KernelOutcome], since: str | None, nothing: str, as_json: bool
) -> int:
    from ncu_assist.render.json.versions import outcomes_json
    from ncu_assist.render.terminal.versions import outcomes_text

    if as_json:
        write_json(outcomes_json(outcomes, since))
    else:
        write(outcomes_text(outcomes) or nothing)
    write_pages(project, _new_runs(outcomes))
    return max((outcome.exit_code for outcome in outcomes), default=0)


def _program(
    words: tuple[str, ...],
    kernel: str | None,
    version: str | None,
    ncu: ProfileOptions,
    flags: list[str],
    repeats: int,
    is_dry: bool,
    as_json: bool,
) -> int:
    from ncu_assist.pipeline.programs import build, call_of, dry_run, full_command, names_for, profile_program
    from ncu_assist.pipeline.showing import gather
    from ncu_assist.render.json.run import show_json
    from ncu_assist.render.terminal.run import show_text
    from ncu_assist.store import Store

    project = options.current_project()
    call = call_of(project, words, flags)
    names = names_for(project, call, kernel, version)
    with progress() as reporter:
        if kernel is None or version is None:
            reporter.note(f"{names.kernel}/{names.version}: {full_command(names, ncu, call)}")
            if project.root != Path.cwd():
                reporter.note(f"the run goes to the archive of the project {os.path.relpath(project.root)}")
        if is_dry:
            built = f"{shlex.join(call.compiles)}\n" if call.compiles else ""
            write(built + dry_run(project, call.command, ncu))
            return 0
        made = partial(build, project, call, reporter)
        with options.own_options_behind(words):
            stored = profile_program(project, names, call.command, ncu, reporter, made, repeats)
    shown = gather(stored, store=Store(project.reports))
    write_result(shown, as_json, show_json, show_text)
    write_pages(project, [stored])
    if not as_json:
        is_new = names.version == "v1" and Path(words[0]).is_file()
        edited = f"edit {words[0]}, profile it again, then " if is_new else ""
        say(f"next: {edited}ncu-assist diff")
    return 0
