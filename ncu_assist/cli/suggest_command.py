"""``ncu-assist suggest``: let a language model draft the next version, and prove or reject the draft by measurement."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, write, write_json, write_result
from ncu_assist.errors import UsageProblem
from ncu_assist.render.escape import plain

if TYPE_CHECKING:
    from ncu_assist.analysis.archive import Suggested
    from ncu_assist.project import Project
    from ncu_assist.suggest.model import ToolBox
    from ncu_assist.suggest.session import ReplyOptions, SuggestRequest

BEST = "@best"

no_sandbox = click.option("--no-sandbox", is_flag=True, help="Run drafts with all your rights. Read them first.")
allow_libraries = click.option(
    "--allow-libraries", is_flag=True, help="A draft may let a library such as cuBLAS do the work."
)


class CommandWithSubcommands(click.Group):
    """A command of its own, unless the first word names a subcommand: ``suggest v6``, but ``suggest prove ID``."""

    allow_interspersed_args = True
    allow_extra_args = False

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    parse_args = click.Command.parse_args
    invoke = click.Command.invoke
    collect_usage_pieces = click.Command.collect_usage_pieces


@click.group("suggest", cls=CommandWithSubcommands, invoke_without_command=True)
@click.argument("reference", default=BEST, metavar="[KERNEL | REFERENCE]", shell_complete=completing.references)
@click.option("--model", metavar="NAME", envvar="NCU_ASSIST_MODEL", help="The model; else $NCU_ASSIST_MODEL.")
@click.option("--base-url", metavar="URL", envvar="NCU_ASSIST_BASE_URL", help="Any endpoint that speaks OpenAI's API.")
@click.option("--key-file", type=click.Path(path_type=Path), help="Holds the key, mode 0600; else $OPENAI_API_KEY.")
@click.option("--reply", metavar="FILE|-", help="Take a reply that was saved from a chat window; call nothing.")
@click.option("--prompt", metavar="ID", help="The prompt that --reply answers, where the reply does not name it.")
@click.option("--dry-run", is_flag=True, help="Print the prompt and its size; send nothing, keep it for its reply.")
@click.option("--for-tool", is_flag=True, help="With --dry-run: ask for arguments of the tool `propose`, not for text.")
@click.option("--candidates", type=click.IntRange(1, 16), default=1, show_default=True, help="Drafts of each prompt.")
@click.option(
    "--rounds", type=click.IntRange(1, 32), default=1, show_default=True, help="Go on from the best kept one."
)
@click.option(
    "--max-prompt-tokens", type=click.IntRange(1), metavar="N", help="Characters over four; 8,000 unless given."
)
@click.option("--budget-tokens", type=click.IntRange(1), metavar="N", help="Ask for no further draft beyond these.")
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True), metavar="S", help="The same, in seconds.")
@click.option("--tools/--no-tools", default=True, help="Let the model call tools before it replies, where it can.")
@click.option(
    "--max-tool-calls", type=click.IntRange(1, 100), default=12, show_default=True, help="For one draft, with repairs."
)
@click.option("--prove/--no-prove", default=None, help="Build, check, time, profile drafts; asked for unless given.")
@click.option("--build/--no-build", default=False, help="Compile drafts that are not proved, in the sandbox.")
@options.gpus
@click.option("--force", is_flag=True, help="Ask also where the version is at its floor, and nothing is left to win.")
@no_sandbox
@allow_libraries
@options.one_workload
@options.kernel_name
@options.as_json
def command(
    reference: str,
    model: str | None,
    base_url: str | None,
    key_file: Path | None,
    reply: str | None,
    prompt: str | None,
    dry_run: bool,
    for_tool: bool,
    candidates: int,
    rounds: int,
    max_prompt_tokens: int | None,
    budget_tokens: int | None,
    budget_seconds: float | None,
    tools: bool,
    max_tool_calls: int,
    prove: bool | None,
    build: bool,
    gpus: str | None,
    force: bool,
    no_sandbox: bool,
    allow_libraries: bool,
    workload: str | None,
    kernel: str | None,
    as_json: bool,
) -> int:
    """Draft the next version of a kernel with a language model, and keep it only if measuring proves it.

    The prompt is made of stored runs: source with what the profiler says at each hot line, diagnosis, evidence, the
    versions before. The reply is one change. Proving builds it in a sandbox, checks it on inputs that it cannot know,
    times it against its parent, profiles both, and keeps it as the next version where it is right, faster, and the
    counter that it was to move has moved. KERNEL or REFERENCE is what to start from, @best unless given.

    Where the endpoint takes tools, the model may ask for lines, instructions, metrics, a what-if or a build of its own
    change before it replies, as agents do of `ncu-assist mcp`; others are asked without.

    A prompt has an id and is kept: a saved reply is held against the evidence of the prompt that it names, whatever was
    measured since; where it names none, against that of the last prompt.

    With --gpus drafts are proved on several GPUs at once, each beside its parent on one, while others are asked for.

    Exit code 3 when every draft was rejected, 4 when none was kept and one stays unproven, 8 when no reply came.
    """
    from ncu_assist.spec_file import kernel_names
    from ncu_assist.suggest.prompting import MAX_TOKENS
    from ncu_assist.suggest.proof.prover import ProofOptions
    from ncu_assist.suggest.session import ReplyOptions, SuggestRequest

    if dry_run and reply is not None:
        raise UsageProblem("--dry-run prints the prompt, and --reply answers one: one of the two", "--reply FILE alone")
    if for_tool and not dry_run:
        raise UsageProblem("--for-tool words a prompt that is printed", "--dry-run --for-tool")
    if not dry_run:
        _check_author(model, reply, prompt)
    project = options.current_project()
    is_kernel = reference in kernel_names(project)
    proves = not dry_run and (_asked_to_prove() if prove is None else prove)
    request = SuggestRequest(
        reference=BEST if is_kernel else reference,
        kernel=reference if is_kernel else kernel,
        workload=workload,
        candidates=candidates,
        rounds=rounds,
        prompt_tokens=max_prompt_tokens or MAX_TOKENS,
        budget_tokens=budget_tokens,
        budget_s=budget_seconds,
        libraries=allow_libraries,
        proving=ProofOptions(not no_sandbox) if proves else None,
        compiled=build and not dry_run,
        force=force,
        gpus=gpus,
    )
    offered = _tools(project, max_tool_calls) if tools and reply is None and not dry_run else None
    answering = ReplyOptions(model or "", base_url, key_file, reply, dry_run, _show_piece, prompt, offered, for_tool)
    return (_dry_run if dry_run else _suggest)(project, request, answering, as_json)


@command.command("prove")
@click.argument("id")
@click.option("--keep/--no-keep", default=True, help="Make it the next version if it is better; else `accept` does.")
@no_sandbox
@allow_libraries
@options.one_workload
@options.kernel_name
@options.as_json
def prove(
    id: str,
    keep: bool,
    no_sandbox: bool,
    allow_libraries: bool,
    workload: str | None,
    kernel: str | None,
    as_json: bool,
) -> int:
    """Prove a draft that lies in the archive, and keep it if it is better.

    ID is the id of a draft or its beginning; `ncu-assist ledger` lists them. Exit code 3 when it was rejected, 4 when
    it stays unproven.
    """
    from ncu_assist.suggest.proof.prover import ProofOptions
    from ncu_assist.suggest.session import SuggestRequest, prove_draft

    project = options.current_project()
    proving = ProofOptions(not no_sandbox)
    request = SuggestRequest(kernel=kernel, workload=workload, libraries=allow_libraries, proving=proving)
    with progress() as reporter:
        found = prove_draft(project, request, id, reporter, keep)
    return _write_result(project, found, as_json)


@command.command("build")
@click.argument("reference", metavar="REFERENCE", shell_complete=completing.references)
@click.option("--reply", metavar="FILE|-", required=True, help="A reply, or a source file of the version's language.")
@options.kernel_name
@options.as_json
def build_alone(reference: str, reply: str, kernel: str | None, as_json: bool) -> int:
    """Compile what a reply makes of a version, in the sandbox: nothing is kept and nothing is run.

    Prints the compiler's words, and what ptxas counts of each kernel: registers, spills, shared memory. Exit code 3
    where it does not compile.
    """
    from ncu_assist.suggest.session import SuggestRequest, compile_reply

    project = options.current_project()
    found = compile_reply(project, SuggestRequest(reference=reference, kernel=kernel), reply)
    return _write_result(project, found, as_json)


@command.command("accept")
@click.argument("id")
@options.kernel_name
@options.as_json
def accept(id: str, kernel: str | None, as_json: bool) -> int:
    """Make a draft the next version, whatever came of it.

    ID is the id of a draft or its beginning; `ncu-assist ledger` lists them. From now on it runs with all your rights:
    read it first.
    """
    from ncu_assist.suggest.session import accept_draft

    project = options.current_project()
    with progress() as reporter:
        found = accept_draft(project, kernel, id, reporter)
    return _write_result(project, found, as_json)


def _check_author(model: str | None, reply: str | None, prompt: str | None) -> None:
    """Raise UsageProblem where nobody is to answer. With --reply, --model is the one that the reply is from."""
    if prompt is not None and reply is None:
        raise UsageProblem("--prompt says which prompt a saved reply answers", "--reply FILE")
    if reply is None and model is None:
        raise UsageProblem("no model was named to draft with", "--model NAME, or --reply FILE with a saved reply")


def _tools(project: Project, calls: int) -> Callable[[str], AbstractContextManager[ToolBox]] | None:
    """Return what opens the tools of a kernel; None where the package that serves them is not installed."""
    if find_spec("mcp") is None:
        return None
    from ncu_assist.agents.model_tools import served_tools
    from ncu_assist.suggest.model import ToolLimits

    return lambda kernel: served_tools(project, kernel, ToolLimits(calls))


def _asked_to_prove() -> bool:
    """Return whether drafts are to be run, as who sits there says; nobody does without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm("Build, check, time and profile the drafts in a sandbox here?", default=True, err=True)


def _show_piece(text: str) -> None:
    """Show a piece of a reply as it comes, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(plain(text), err=True, nl=False)


def _dry_run(project: Project, request: SuggestRequest, answering: ReplyOptions, as_json: bool) -> int:
    from ncu_assist.render.json.drafts import prompt_json
    from ncu_assist.render.terminal.drafts import prompt_note
    from ncu_assist.suggest.session import prompt_of

    prompt = prompt_of(project, request, answering)
    if as_json:
        write_json(prompt_json(prompt.text, prompt.tokens, prompt.dropped, prompt.id))
    else:
        click.echo(prompt_note(prompt.tokens, prompt.dropped, prompt.id), err=True)
        write(prompt.text)
    return 0


def _suggest(project: Project, request: SuggestRequest, answering: ReplyOptions, as_json: bool) -> int:
    from ncu_assist.suggest.session import suggest

    with progress() as reporter:
        found = suggest(project, request, answering, reporter)
    return _write_result(project, found, as_json)


def _write_result(project: Project, found: Suggested, as_json: bool) -> int:
    """Write what came of drafts and, of those that became versions, the pages; return the exit code."""
    from ncu_assist.cli.console import write_pages
    from ncu_assist.render.json.drafts import suggest_json
    from ncu_assist.render.terminal.drafts import suggest_text
    from ncu_assist.suggest.session import runs_of

    write_result(found, as_json, suggest_json, suggest_text)
    write_pages(project, runs_of(project, found))
    return found.exit_code
