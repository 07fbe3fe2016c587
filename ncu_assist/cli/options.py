"""Options and arguments that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from ncu_assist.cli import completing
from ncu_assist.cli.console import is_named
from ncu_assist.errors import StageFailed, UsageProblem
from ncu_assist.project import Project, find_project

F = TypeVar("F", bound=Callable[..., Any])
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
workload = click.option(
    "--workload",
    metavar="NAME|all",
    shell_complete=completing.workloads,
    help="Use this workload, or all.  [default: the kernel's default]",
)
one_workload = click.option(
    "--workload",
    metavar="NAME",
    shell_complete=completing.workloads,
    help="Use this workload.  [default: the kernel's default]",
)
gpu = click.option(
    "--gpu",
    metavar="MODEL",
    shell_complete=completing.gpu_models,
    help="Use only runs of this GPU model; part of its name is enough, such as H100.",
)
rounds = click.option(
    "--rounds",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Bench rounds per version.  [default: the project's setting, else 100]",
)


def metrics(what: str) -> Callable[[F], F]:
    """Return the option that names metrics; ``what`` says what they are for."""
    return click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="KEY",
        shell_complete=completing.metrics,
        help=f"{what}; repeatable.",
    )


gpus = click.option(
    "--gpus",
    metavar="all|N|0,1",
    help="Use several GPUs at once: all, N of them, or these by index. Each verdict comes from one GPU.",
)
cluster = click.option(
    "--cluster",
    metavar="tcp://…|FILE",
    help="Use the workers of a Dask scheduler, given by address or scheduler file. Measures on each GPU model there.",
)
allow_open = click.option(
    "--allow-open-scheduler",
    "allow_open",
    is_flag=True,
    help="Accept a scheduler without TLS that others can reach. They could run programs on its workers.",
)
again = click.option("--again", is_flag=True, help="Also measure what has not changed since it was measured here.")
flush = click.option(
    "--flush",
    type=click.Choice(["read", "memset", "none"]),
    default="read",
    show_default=True,
    help="How to make L2 cold before each sample.",
)
text_format = click.option(
    "--format",
    "text_format",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="Output format; Markdown suits a pull request comment.",
)
page_or_markdown = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="File for the page or the Markdown; - is stdout.  [default: stdout]",
)
replace_page = click.option("--force", is_flag=True, help="Replace a file that is not a page of ncu-assist.")
redact = click.option("--redact/--no-redact", default=True, show_default=True, help="Remove user, host and path names.")
nvcc_flags = click.option(
    "--nvcc-flags", default="", metavar="FLAGS", help="Extra nvcc flags to build a .cu with, e.g. '-lcublas'."
)
kernel_name = click.option(
    "--kernel",
    metavar="NAME",
    shell_complete=completing.kernels,
    help="Kernel of a bare version such as v2; not for report files.",
)


launches = click.option(
    "--launch",
    "launch",
    metavar="N|A-B",
    shell_complete=completing.launches,
    help="Select launches by the numbers that `show` lists, from 0.",
)
launch_filters = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME|regex:…|nvtx:…",
    shell_complete=completing.functions,
    help="Select launches of this kernel or in this NVTX range, in ncu's syntax; repeatable.",
)


limit = click.option("--limit", type=click.IntRange(1), metavar="N", help="Show at most N rows per page.")
page = click.option("--page", type=click.IntRange(1), metavar="P", help="Show page P of --limit N.  [default: 1]")


def page_of(count: int, limit: int | None, page: int | None, what: str) -> slice:
    """Return which of so many are on a page. Raises UsageProblem for one that there is not."""
    if limit is None:
        if page is not None:
            raise UsageProblem("--page needs --limit N", "--limit N --page P")
        return slice(None)
    pages = max(1, -(-count // limit))
    if (page or 1) > pages:
        raise UsageProblem(f"there is no page {page} of {what}: the last page is {pages}", f"--page {pages}")
    first = ((page or 1) - 1) * limit
    return slice(first, first + limit)


def check_place(gpus: str | None, cluster: str | None, allow_open: bool) -> None:
    """Raise UsageProblem where it is not clear where to measure."""
    if gpus and cluster:
        raise UsageProblem("--gpus and --cluster exclude each other: --gpus is for this machine", "drop one of them")
    if allow_open and not cluster:
        raise UsageProblem("--allow-open-scheduler needs --cluster", "add --cluster with the scheduler")


def check_options(modes_of: Mapping[str, Sequence[str]], mode: str) -> None:
    """Raise UsageProblem for an option that was given and does nothing in a mode; it says what the option is for."""
    for option in click.get_current_context().command.params:
        modes = modes_of.get(option.name or "", (mode,))
        if mode not in modes and is_named(option.name or ""):
            name = option.opts[0]
            raise UsageProblem(f"{name} is for {' or '.join(modes)}, and this is {mode}", f"drop {name}")


def before_words(command: click.Command, ctx: click.Context, args: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the options of ours that stand first, and the words from the first one on: of a program, say."""
    parser = command.make_parser(ctx)
    parser.allow_interspersed_args = False
    try:
        found = parser.parse_args(args=list(args))[0].get("words")
    except click.UsageError:  # which is met again
        found = ()
    rest = found if isinstance(found, tuple) else ()
    return args[: len(args) - len(rest)], rest


@contextmanager
def own_options_behind(words: Sequence[str]) -> Iterator[None]:
    """Let a failure also say which options of ours are behind the name of a program, which got them."""
    try:
        yield
    except StageFailed as failed:
        command = click.get_current_context().command
        ours = {name: option for option in command.params for name in option.opts if name.startswith("--")}
        moved = list[str]()
        for place, word in enumerate(words):
            option = ours.get(word.partition("=")[0])
            if isinstance(option, click.Option):
                has_value = not option.is_flag and "=" not in word
                moved += words[place : place + 1 + has_value]
        if not moved:
            raise
        hint = f"put {shlex.join(moved)} before {words[0]}, if it is for {command.name}: the program got it"
        raise StageFailed(failed.message, "; otherwise ".join(filter(None, (hint, failed.hint)))) from failed


def check_format(as_json: bool, text_format: str) -> None:
    """Raise UsageProblem where two forms of one answer were asked for."""
    if as_json and text_format != "text":
        raise UsageProblem(f"--json and --format {text_format} exclude each other", "drop one of them")


def current_project() -> Project:
    """Return the project of the current folder. Raises UsageProblem where that folder was removed."""
    try:
        return find_project(Path.cwd())
    except FileNotFoundError as error:
        raise UsageProblem("the current folder no longer exists", "cd to another folder") from error
