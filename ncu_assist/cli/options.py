"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ncu_assist.cli import completing
from ncu_assist.errors import UsageProblem
from ncu_assist.project import Project, find_project

F = TypeVar("F", bound=Callable[..., Any])
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
workload = click.option(
    "--workload",
    metavar="NAME|all",
    shell_complete=completing.workloads,
    help="Workload; the kernel's default one unless given.",
)
one_workload = click.option(
    "--workload",
    metavar="NAME",
    shell_complete=completing.workloads,
    help="Workload; the kernel's default one unless given.",
)
gpu = click.option(
    "--gpu",
    metavar="MODEL",
    shell_complete=completing.gpu_models,
    help="Runs of this GPU model alone, or of the one that has this in its name, as H100.",
)
rounds = click.option(
    "--rounds",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Bench rounds a version; unless given, what the project says, else 100.",
)


def metrics(what: str) -> Callable[[F], F]:
    """Return the option that names metrics; ``what`` says what they are for."""
    return click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="KEY",
        shell_complete=completing.metrics,
        help=f"{what}; may be given several times.",
    )


gpus = click.option(
    "--gpus",
    metavar="all|N|0,1",
    help="On several GPUs at once: all, so many, or these; each verdict is of one GPU.",
)
cluster = click.option(
    "--cluster",
    metavar="tcp://…|FILE",
    help="On the workers of a Dask scheduler, which it names or whose file it is; on each model of GPU there.",
)
allow_open = click.option(
    "--allow-open-scheduler",
    "allow_open",
    is_flag=True,
    help="Also a scheduler without TLS that others can reach, and so run programs on its workers.",
)
again = click.option("--again", is_flag=True, help="Measure also what has not changed since it was measured here.")
flush = click.option(
    "--flush",
    type=click.Choice(["read", "memset", "none"]),
    default="read",
    show_default=True,
    help="How L2 is made cold before each sample.",
)
text_format = click.option(
    "--format",
    "text_format",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="Markdown fits the comment of a pull request.",
)
kernel_name = click.option(
    "--kernel",
    metavar="NAME",
    shell_complete=completing.kernels,
    help="Kernel that a bare version such as v2 belongs to. Refused where only reports are named: --filter chooses.",
)


launches = click.option(
    "--launch",
    "launch",
    metavar="N|A-B",
    shell_complete=completing.launches,
    help="Only these launches, by the numbers that `show` lists, from 0.",
)
launch_filters = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME|regex:…|nvtx:…",
    shell_complete=completing.functions,
    help="Only launches of this kernel, or within this NVTX range, as with ncu; repeatable.",
)


limit = click.option("--limit", type=click.IntRange(1), metavar="N", help="N at once, where there are many.")
page = click.option("--page", type=click.IntRange(1), metavar="P", help="The P-th N of them; the first unless given.")


def page_of(count: int, limit: int | None, page: int | None, what: str) -> slice:
    """Return which of so many are on a page. Raises UsageProblem for one that there is not."""
    if limit is None:
        if page is not None:
            raise UsageProblem("--page counts pages of --limit N", "--limit N --page P")
        return slice(None)
    pages = max(1, -(-count // limit))
    if (page or 1) > pages:
        raise UsageProblem(f"{count} {what} are {pages} pages of {limit}", f"--page {pages}")
    first = ((page or 1) - 1) * limit
    return slice(first, first + limit)


def check_place(gpus: str | None, cluster: str | None, allow_open: bool) -> None:
    """Raise UsageProblem where it is not clear where to measure."""
    if gpus and cluster:
        raise UsageProblem("--gpus names GPUs of this machine, --cluster others", "leave one of them out")
    if allow_open and not cluster:
        raise UsageProblem("--allow-open-scheduler is for --cluster", "name the scheduler")


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


def check_format(as_json: bool, text_format: str) -> None:
    """Raise UsageProblem where two forms of one answer were asked for."""
    if as_json and text_format != "text":
        raise UsageProblem(f"--json and --format {text_format} are two answers", "leave one of them out")


def current_project() -> Project:
    """Return the project of the current folder. Raises UsageProblem where that folder was removed."""
    try:
        return find_project(Path.cwd())
    except FileNotFoundError as error:
        raise UsageProblem("the folder you stand in does not exist any more", "cd") from error
