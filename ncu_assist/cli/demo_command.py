"""``ncu-assist demo``: what the tool does, shown on recorded runs in a folder of their own."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write, write_new

PROMPT = "prompt.md"


@click.command("demo")
@click.argument("folder", type=click.Path(path_type=Path), default="ncu-assist-demo")
@click.option("--measure", is_flag=True, help="First measure the kernel on this machine's GPU, which takes minutes.")
@options.as_json
@click.pass_context
def command(ctx: click.Context, folder: Path, measure: bool, as_json: bool) -> int:
    """Show history, diff, a page and a prompt for a kernel with recorded runs, in a new FOLDER.

    No GPU is needed. Each command is printed before its answer, and can be typed again in FOLDER. With --json, the
    folder is written and the commands are listed, but none is run.
    """
    from ncu_assist.pipeline.new_kernel import DEMO_COMMANDS, DEMO_MEASURED, copy_demo

    copy_demo(folder)
    commands = (DEMO_MEASURED, *DEMO_COMMANDS) if measure else DEMO_COMMANDS
    if as_json:
        write_new(((folder,), tuple(map(_typed, commands))), "demo", True)
        return 0
    write(f"$ cd {shlex.quote(str(folder))}")
    with contextlib.chdir(folder):
        for words in commands:
            _answer(ctx, words)
    if not measure:
        write(f"\nAll of this was recorded. To measure on your own GPU, in that folder:\n  {_typed(DEMO_MEASURED)}")
    return 0


def _typed(words: tuple[str, ...]) -> str:
    return f"ncu-assist {shlex.join(words)}"


def _answer(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Run a command as if it was typed; a prompt, which is long, goes to a file."""
    group = ctx.find_root().command
    is_prompt = "--dry-run" in words
    write(f"\n$ {_typed(words)}{f' > {PROMPT}' if is_prompt else ''}")
    if not is_prompt:
        group.main(list(words), prog_name="ncu-assist", standalone_mode=False)
        return
    with Path(PROMPT).open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        group.main(list(words), prog_name="ncu-assist", standalone_mode=False)
