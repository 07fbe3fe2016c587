"""``ncu-assist triage``: where the time of a whole program goes, kernel by kernel, and what to profile."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import STDOUT, progress, say, write, write_json, write_pages
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from ncu_assist.analysis.triage import Triage
    from ncu_assist.pipeline.triaging import Recording
    from ncu_assist.store import StoredRun

PROGRAM, TRACE, BOTH = "a program", "a trace", "a trace and its program"
MODES = {"recording": (PROGRAM,), "seconds": (PROGRAM,), "nvcc_flags": (PROGRAM, BOTH)}
MOST_PROFILED = 20  # each starts the program once more


class TriageCommand(click.Command):
    """Leaves to a program what stands behind its name; behind a trace options of ours may stand, up to --."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from ncu_assist.trace import is_trace

        if ctx.resilient_parsing:  # a shell asks what could stand here
            return super().parse_args(ctx, args)
        own, rest = options.before_words(self, ctx, args)
        if own[-1:] != ["--"] and rest and not is_trace(rest[0]):
            args = [*own, "--", *rest]
        return super().parse_args(ctx, args)


@click.command("triage", cls=TriageCommand)
@click.argument("words", nargs=-1, metavar="PROGRAM [ARGUMENT]... | TRACE [-- PROGRAM...]")
@click.option(
    "--with",
    "recording",
    type=click.Choice(["auto", "torch", "nsys", "ncu"]),
    default="auto",
    show_default=True,
    help="Recorder; auto is torch.profiler in a Python with torch, else Nsight Systems, else ncu.",
)
@click.option("--seconds", type=click.FloatRange(0.1), metavar="S", help="Stop the program after S seconds.")
@click.option(
    "--profile-top",
    "top",
    type=click.IntRange(1, MOST_PROFILED),
    metavar="N",
    help="Then profile one launch of each of the top N kernels and shapes with ncu.",
)
@click.option("--set", "section_set", default="full", show_default=True, metavar="NAME", help="ncu section set.")
@options.nvcc_flags
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write a page with every kernel to this file.")
@options.replace_page
@options.as_json
def command(
    words: tuple[str, ...],
    recording: Recording,
    seconds: float | None,
    top: int | None,
    section_set: str,
    nvcc_flags: str,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Show where the time of a whole program goes, by kernel and shape, with gaps, copies, and what to profile.

    PROGRAM is what `profile` takes: a script, a .cu file with a main, an executable, MODULE:FUNCTION, or any command
    after --. It runs once, with little overhead. Put its options after it, and the options of triage before it. TRACE
    is a finished recording: an SQLite export of Nsight Systems, its .nsys-rep, or a trace of torch.profiler (JSON, also
    gzipped).

    With --profile-top N, the program runs N more times. Each run stops after one launch of a kernel, the one with the
    median time, and ncu profiles that launch. Its findings are given as shares of the program's time. Each profiled
    launch is archived under a printed name, made of program and function, for `show` and `diff`. To be certain that a
    change makes a kernel faster, create a kernel folder with `ncu-assist new` and use `bench`.
    """
    from ncu_assist.analysis.triage import triage
    from ncu_assist.pipeline.pages.writing import check_place
    from ncu_assist.pipeline.programs import call_of, program_name
    from ncu_assist.pipeline.triaging import name_of_file, profile_top, read_file, record
    from ncu_assist.trace import is_trace

    if not words:
        raise UsageProblem("no program or trace was named", "ncu-assist triage -- python train.py")
    if output == STDOUT:
        raise UsageProblem("the page goes to a file, because stdout has the table", "--output FILE.html")
    if output is not None:
        check_place(output, force)
    project = options.current_project()
    flags = shlex.split(nvcc_flags)
    path = Path(words[0]) if is_trace(words[0]) else None
    call = call_of(project, words if path is None else words[1:], flags) if path is None or words[1:] else None
    if top is not None and call is None:
        raise UsageProblem(
            "--profile-top runs the program, and a trace does not say how to start it",
            "ncu-assist triage TRACE --profile-top 2 -- python train.py",
        )
    options.check_options(MODES, PROGRAM if path is None else BOTH if call else TRACE)
    options.check_options({"section_set": ("--profile-top N",)}, "--profile-top N" if top else "a triage alone")
    if top is not None:  # before minutes of recording, not after
        from ncu_assist.ncu.command import check_set, find_ncu

        check_set(find_ncu(), section_set)
    runs: list[StoredRun] = []
    exit_code, kept, spent = 0, path, 0.0
    with progress() as reporter:
        if path is not None:
            trace = read_file(project, path, reporter)
        else:
            assert call is not None
            with options.own_options_behind(words):
                trace, kept, spent = record(project, call, recording, seconds, reporter)
        name = call.name if call else name_of_file(words[0])
        found = triage(trace, program_name(name), shlex.join(call.command) if call else "")
        if top is not None and call is not None:
            found, runs, exit_code = profile_top(project, found, call, top, section_set, reporter, spent)
        if kept is not None and path is None:
            reporter.note(f"the trace is kept; to read it again: ncu-assist triage {shlex.quote(_shown(kept))}")
    _write(found, kept, as_json)
    write_pages(project, runs)
    if output is not None:
        _write_page(found, output, force)
    return exit_code


def _write(found: Triage, kept: Path | None, as_json: bool) -> None:
    from ncu_assist.render.json.run import triage_json
    from ncu_assist.render.terminal.launches import triage_text

    if as_json:
        write_json(triage_json(found, _shown(kept) if kept else None))
    else:
        write(triage_text(found), paged=True)


def _write_page(found: Triage, output: Path, force: bool) -> None:
    """Write the page, whose links are relative to where it lies."""
    import os

    from ncu_assist.pipeline.pages.writing import write_page
    from ncu_assist.render.html.index import triage_html
    from ncu_assist.render.table import href_to

    linked = (
        replace(one, page=href_to(os.path.relpath(one.page, output.parent)) if one.page else "")
        for one in found.profiled
    )
    write_page(output, triage_html(replace(found, profiled=tuple(linked))), force)
    say(f"page: {_shown(output)}")


def _shown(path: Path) -> str:
    from ncu_assist.render.words.values import shown_path

    return shown_path(path, Path.cwd())
