"""The man page, made of what click knows of every command; `hatch_build.py` puts it into the wheel."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

import click

from ncu_assist import __version__

EXIT_CODES = {  # as docs/reference/exit_codes.md says them
    0: "done",
    1: "a bug; bug-report has the traceback",
    2: "usage: a wrong name, option or kernel.toml",
    3: "a regression, in gate; every draft was rejected, in suggest",
    4: "unclear or not comparable, in gate",
    5: "build, check or profiling failed, for at least one version",
    6: "environment: no GPU, no ncu, no permission, no disk space",
    7: "damaged data",
    8: "model or network",
    130: "interrupted; finished work is kept",
}
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "The GPU to use: the first one listed, an index of nvidia-smi or a UUID.",
    "CUDA_HOME": "Where to look for ncu, nsys and nvcc, after PATH.",
    "NCU_ASSIST_MODEL, NCU_ASSIST_BASE_URL": "The model for suggest, and its URL.",
    "NCU_ASSIST_API_KEY, OPENAI_API_KEY": "The API key of the model, if no file has it.",
    "NCU_ASSIST_PAGER, PAGER": "The pager for long results on a terminal; empty or cat for none.",
    "NO_COLOR": "No colours.",
}
FILES = {
    "kernels/": "A folder per kernel: kernel.toml, reference.py, a file per version.",
    "reports/": "The archive of runs, and their pages.",
    "pyproject.toml": "Settings in [tool.ncu-assist].",
    ".ncu-assist/": "A cache that may be deleted: builds, traces.",
    "~/.config/ncu-assist/key": "The API key of the model, mode 0600.",
}


def man_page() -> str:
    """Return the page in the language of man(7): every command with its options."""
    from ncu_assist.cli import COMMANDS, EXAMPLES, cli

    lines = [
        f'.TH NCU\\-ASSIST 1 "" "ncu\\-assist {_roff(__version__)}" "User Commands"',
        ".SH NAME",
        f"ncu\\-assist \\- {_roff(cli.help or '').rstrip('.')}",
        ".SH SYNOPSIS",
        ".B ncu\\-assist",
        "COMMAND [OPTION]... [ARGUMENT]...",
        ".SH DESCRIPTION",
        _roff(
            "ncu-assist builds, checks, times and profiles versions of a GPU kernel, or any program, under Nsight "
            "Compute. It says which is faster, why, and on which line. Only measuring needs a GPU. Every other "
            "command reads the archive, a report or a trace."
        ),
        ".SH COMMANDS",
    ]
    context = click.Context(cli, info_name="ncu-assist")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        lines += _command(command, name, context)
        for below, one in sorted(getattr(command, "commands", {}).items()):
            lines += _command(one, f"{name} {below}", context)
    lines += [".SH EXAMPLES", *_list(EXAMPLES[""].items())]
    for title, table in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines += [f".SH {title}", *_list(table.items())]
    lines += [".SH EXIT STATUS", *_list((str(code), what) for code, what in EXIT_CODES.items())]
    lines += [".SH SEE ALSO", ".BR ncu (1),", ".BR nsys (1)"]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    from ncu_assist.cli import EXAMPLES

    context = click.Context(command, info_name=name.split()[-1], parent=parent)
    yield f".SS {_roff(' '.join([name, *command.collect_usage_pieces(context)[1:]]))}"
    for place, paragraph in enumerate(textwrap.dedent(command.help or "").strip().split("\n\n")):
        yield from ([".PP"] if place else [])
        yield _roff(" ".join(paragraph.replace("\b", "").split()))
    options = [found for one in command.get_params(context) if (found := one.get_help_record(context))]
    yield from _list((names, what) for names, what in options)
    if examples := EXAMPLES.get(name):
        yield from (".PP", "Examples:")
        yield from _list(examples.items())


def _list(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, what in rows:
        yield ".TP"
        yield f".B {_roff(term)}"
        yield _roff(what)


def _roff(text: str) -> str:
    """Return a text as man(7) wants it: nothing in it is taken for a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
