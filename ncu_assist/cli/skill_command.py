"""``ncu-assist skill``: teach an agent how to work with this tool."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import write
from ncu_assist.errors import UsageProblem


@click.command("skill")
@click.option("--print", "prints", is_flag=True, help="Print the skill with its references.")
@click.option(
    "--install", "agent", type=click.Choice(["claude", "cursor", "codex"]), help="Write the skill for this agent."
)
@click.option("--force", is_flag=True, help="Replace a file of the skill that was changed.")
def command(prints: bool, agent: str | None, force: bool) -> int:
    """Teach an agent to use this tool: measure, read the answer, predict, change one thing, prove, write the worklog.

    --install writes into this project: .claude/skills/ncu-assist/ for claude, .cursor/rules/ncu-assist.mdc for cursor,
    a section of AGENTS.md for codex and other agents that read it. The rest of AGENTS.md is not changed.
    """
    from ncu_assist.agents.skill import install, whole_text
    from ncu_assist.render.escape import plain

    if prints == bool(agent):
        raise UsageProblem("exactly one of --print and --install is needed", "--print, or --install claude")
    if agent is None:
        write(whole_text())
        return 0
    root = options.current_project().root
    for path in install(agent, root, force):
        write(plain(str(path.relative_to(root))))
    return 0
