"""``ncu-assist completion``: what a shell has to read so that it completes kernels, versions, metrics and the rest."""

from __future__ import annotations

from typing import Literal

import click

from ncu_assist.cli.completing import VARIABLE
from ncu_assist.cli.console import write


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print the shell code for Tab completion of commands, kernels, versions, metrics and more.

    bash: add eval "$(ncu-assist completion bash)" to ~/.bashrc. zsh: add the same with zsh to ~/.zshrc, after compinit.
    fish: run ncu-assist completion fish > ~/.config/fish/completions/ncu-assist.fish
    """
    from click.shell_completion import get_completion_class

    from ncu_assist.cli import cli

    write(get_completion_class(shell)(cli, {}, "ncu-assist", VARIABLE).source())
    return 0
