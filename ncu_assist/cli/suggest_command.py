"""``ncu-assist suggest``: let a language model draft the next version, and prove or reject the draft by measurement."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import progress, say, say_piece, write, write_json, write_result
from ncu_assist.errors import UsageProblem

if TYPE_CHECKING:
    from ncu_assist.analysis.archive import Suggested
    from ncu_assist.project import Project
    from ncu_assist.suggest.model import ToolBox
    from ncu_assist.suggest.session import ReplyOptions, SuggestRequest

no_sandbox = click.option("--no-sandbox", is_flag=True, help="Run drafts with all your rights; read them first.")
allow_libraries = click.option(
    "--allow-libraries", is_flag=True, help="Allow a draft to use a library such as cuBLAS for the work."
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
@click.argument("reference", default="", metavar="[KERNEL | REFERENCE]", shell_complete=completing.references)
@click.option("--model", metavar="NAME", envvar="NCU_ASSIST_MODEL", help="Model to ask; else $NCU_ASSIST_MODEL.")
@click.option("--base-url", metavar="URL", envvar="NCU_ASSIST_BASE_URL", help="URL of an endpoint with OpenAI's API.")
@click.option(
    "--key-file", type=click.Path(path_type=Path), help="File with the API key, mode 0600; else $OPENAI_API_KEY."
)
@click.option("--reply", metavar="FILE|-", help="Use a reply saved from a chat window, and call no model.")
@click.option("--prompt", metavar="ID", help="Prompt that --reply answers, if the reply does not name it.")
@click.option("--dry-run", is_flag=True, help="Print the prompt and its size, and keep it; send nothing.")
@click.option("--for-tool", is_flag=True, help="With --dry-run: ask for arguments of the tool `propose`, not for text.")
@click.option(
    "--candidates", type=click.IntRange(1, 16), default=1, show_default=True, metavar="N", help="Drafts per prompt."
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 32),
    default=1,
    show_default=True,
    metavar="N",
    help="Rounds; each goes on from the best kept draft.",
)
@click.option(
    "--max-prompt-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Limit of the prompt; a token counts as four characters.  [default: 8,000, or what the source needs]",
)
@click.option("--budget-tokens", type=click.IntRange(1), metavar="N", help="Ask for no further draft after N tokens.")
@click.option(
    "--budget-seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Ask for no further draft after S seconds.",
)
@click.option("--tools/--no-tools", default=True, help="Let the model call tools before it replies, if it can.")
@click.option(
    "--max-tool-calls",
    type=click.IntRange(1, 100),
    default=12,
    show_default=True,
    metavar="N",
    help="Allow N tool calls per draft, including repairs.",
)
@click.option("--prove/--no-prove", default=None, help="Build, check, time and profile drafts.  [default: ask]")
@click.option("--build/--no-build", default=False, help="Compile drafts that are not proved, in the sandbox.")
@options.gpus
@click.option("--force", is_flag=True, help="Ask even if the version is at its floor, with nothing left to win.")
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
    """Draft the next version of a kernel with a language model, and keep it only if measurements prove it.

    The prompt is made from stored runs: the source with the profiler's counters at each hot line, the diagnosis, the
    evidence, and the earlier versions. The reply is one change. To prove a draft, it is built in a sandbox, checked on
    inputs that it cannot know, timed against its parent, and both are profiled. The draft becomes the next version if
    it is right and faster, and if the counter that it was to move has moved. REFERENCE is the version to start from.
    For a KERNEL, or without either, it is the fastest version that is not a library's.

    If the endpoint supports tools, the model may ask for lines, instructions, metrics, a what-if or a build of its own
    change before it replies, with the tools of `ncu-assist mcp`.

    A prompt has an id and is stored. A saved reply is checked against the evidence of the prompt that it names,
    whatever was measured since. If it names none, the last prompt is used.

    With --gpus, drafts are proved on several GPUs at once, each next to its parent on one GPU, while more drafts are
    requested.

    Exit code 3 if every draft was rejected, 4 if none was kept and one stays unproven, 8 if no reply came.
    """
    from ncu_assist.spec_file import kernel_names
    from ncu_assist.suggest.model import Endpoint
    from ncu_assist.suggest.proof.prover import ProofOptions
    from ncu_assist.suggest.session import ReplyOptions, SuggestRequest, parent_of

    if dry_run and reply is not None:
        raise UsageProblem("--dry-run and --reply exclude each other", "--reply FILE alone")
    if for_tool and not dry_run:
        raise UsageProblem("--for-tool needs --dry-run", "--dry-run --for-tool")
    project = options.current_project()
    is_kernel = reference in kernel_names(project)
    parent = SuggestRequest(None if is_kernel else reference or None, reference if is_kernel else kernel)
    if not dry_run:
        try:
            _check_author(model, reply, prompt)
        except UsageProblem:  # the version comes first: without one, a model is of no use
            parent_of(project, parent)
            raise
    proves = not dry_run and (_asked_to_prove() if prove is None else prove)
    request = replace(
        parent,
        workload=workload,
        candidates=candidates,
        rounds=rounds,
        prompt_tokens=max_prompt_tokens,
        budget_tokens=budget_tokens,
        budget_s=budget_seconds,
        libraries=allow_libraries,
        proving=ProofOptions(not no_sandbox) if proves else None,
        compiled=build and not dry_run,
        force=force,
        gpus=gpus,
    )
    offered = _tools(project, max_tool_calls) if tools and reply is None and not dry_run else None
    endpoint = Endpoint(model or "", base_url, key_file)
    answering = ReplyOptions(endpoint, reply, dry_run, say_piece, prompt, offered, for_tool)
    return (_dry_run if dry_run else _suggest)(project, request, answering, as_json)


@command.command("prove")
@click.argument("id")
@click.option(
    "--keep/--no-keep", default=True, help="Make it the next version if it is better. After --no-keep, `accept` does."
)
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
    """Prove an archived draft, and keep it if it is better.

    ID is the id of a draft or its beginning; `ncu-assist ledger` lists them. Exit code 3 if the draft was rejected, 4
    if it stays unproven.
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
@click.option("--reply", metavar="FILE|-", required=True, help="Reply, or source file in the version's language.")
@options.kernel_name
@options.as_json
def build_alone(reference: str, reply: str, kernel: str | None, as_json: bool) -> int:
    """Compile a reply's change in the sandbox.

    Nothing is kept and nothing is run. Prints the compiler's messages, and what ptxas reports for each kernel:
    registers, spills, shared memory. Exit code 3 if the change does not compile.
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
    """Make a draft the next version, whatever its result.

    ID is the id of a draft or its beginning; `ncu-assist ledger` lists them. From now on the draft runs with all your
    rights, so read it first.
    """
    from ncu_assist.suggest.session import accept_draft

    project = options.current_project()
    with progress() as reporter:
        found = accept_draft(project, kernel, id, reporter)
    return _write_result(project, found, as_json)


def _check_author(model: str | None, reply: str | None, prompt: str | None) -> None:
    """Raise UsageProblem where nobody is to answer. With --reply, --model is the one that the reply is from."""
    if prompt is not None and reply is None:
        raise UsageProblem("--prompt needs --reply", "--reply FILE")
    if reply is None and model is None:
        raise UsageProblem("no model was named", "--model NAME, or --reply FILE with a saved reply")


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


def _dry_run(project: Project, request: SuggestRequest, answering: ReplyOptions, as_json: bool) -> int:
    from ncu_assist.render.json.drafts import prompt_json
    from ncu_assist.render.terminal.drafts import prompt_note
    from ncu_assist.suggest.session import prompt_of

    prompt = prompt_of(project, request, answering, say)
    if as_json:
        write_json(prompt_json(prompt.text, prompt.tokens, prompt.dropped, prompt.id))
    else:
        click.echo(prompt_note(prompt.tokens, prompt.dropped, prompt.id, request.prompt_tokens), err=True)
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
