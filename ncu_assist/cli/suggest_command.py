"""``ncu-assist suggest``: let a language model draft the next version, and prove or reject the draft by measurement."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write, write_json
from ncu_assist.errors import UsageProblem
from ncu_assist.render.escape import plain

if TYPE_CHECKING:
    from ncu_assist.analysis.archive import Suggested
    from ncu_assist.project import Project
    from ncu_assist.suggest.acting import ReplyOptions
    from ncu_assist.suggest.request import SuggestRequest

BEST = "@best"
VERBS = ("accept", "prove")


@click.command("suggest")
@click.argument("words", nargs=-1, metavar="[KERNEL | REFERENCE | prove ID | accept ID]")
@click.option("--model", metavar="NAME", envvar="NCU_ASSIST_MODEL", help="The model; else $NCU_ASSIST_MODEL.")
@click.option("--base-url", metavar="URL", envvar="NCU_ASSIST_BASE_URL", help="Any endpoint that speaks OpenAI's API.")
@click.option("--key-file", type=click.Path(path_type=Path), help="Holds the key, mode 0600; else $OPENAI_API_KEY.")
@click.option("--reply", metavar="FILE|-", help="Take a reply that was saved from a chat window; call nothing.")
@click.option("--prompt", metavar="ID", help="The prompt that --reply answers, where the reply does not name it.")
@click.option("--dry-run", is_flag=True, help="Print the prompt and its size; send nothing, keep it for its reply.")
@click.option("--candidates", type=click.IntRange(1, 16), default=1, show_default=True, help="Drafts of each prompt.")
@click.option(
    "--rounds", type=click.IntRange(1, 32), default=1, show_default=True, help="Go on from the best kept one."
)
@click.option(
    "--max-prompt-tokens", type=click.IntRange(1), metavar="N", help="Characters over four; 8,000 unless given."
)
@click.option("--budget-tokens", type=click.IntRange(1), metavar="N", help="Ask for no further draft beyond these.")
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True), metavar="S", help="The same, in seconds.")
@click.option("--prove/--no-prove", default=None, help="Build, check, time, profile drafts; asked for unless given.")
@click.option("--no-sandbox", is_flag=True, help="Run drafts with all your rights. Read them first.")
@click.option("--allow-libraries", is_flag=True, help="A draft may let a library such as cuBLAS do the work.")
@options.one_workload
@options.kernel_name
@options.as_json
def command(**given: Any) -> int:
    """Draft the next version of a kernel with a language model, and keep it only if measuring proves it.

    The prompt is made of stored runs: source with what the profiler says at each hot line, diagnosis, evidence, the
    versions before. The reply is one change. Proving builds it in a sandbox, checks it on inputs that it cannot know,
    times it against its parent, profiles both, and keeps it as the next version where it is right, faster, and the
    counter that it was to move has moved. KERNEL or REFERENCE is what to start from, @best unless given.

    A prompt has an id and is kept: a saved reply is held against the evidence of the prompt that it names, whatever was
    measured since; where it names none, against that of the last prompt.

    Exit code 3 when every draft was rejected, 4 when none was kept and one stays unproven, 8 when no reply came.
    """
    asked = Asked(**given)
    if asked.words and asked.words[0] in VERBS:
        return _with_draft(asked)
    if len(asked.words) > 1:
        raise UsageProblem(
            f"one kernel or run at a time, not {len(asked.words)}", f"ncu-assist suggest {asked.words[0]}"
        )
    if asked.dry_run and asked.reply is not None:
        raise UsageProblem("--dry-run prints the prompt, and --reply answers one: one of the two", "--reply FILE alone")
    if asked.dry_run:
        return _dry_run(asked)
    return _suggest(asked)


@dataclass(frozen=True)
class Asked:
    """The command's options, as click parsed them."""

    words: tuple[str, ...]
    model: str | None
    base_url: str | None
    key_file: Path | None
    reply: str | None
    prompt: str | None
    dry_run: bool
    candidates: int
    rounds: int
    max_prompt_tokens: int | None
    budget_tokens: int | None
    budget_seconds: float | None
    prove: bool | None
    no_sandbox: bool
    allow_libraries: bool
    workload: str | None
    kernel: str | None
    as_json: bool


def _suggest(asked: Asked) -> int:
    from ncu_assist.suggest.acting import suggest

    _check(asked)
    project, wish = options.current_project(), _wish(asked, _proves(asked))
    with progress() as reporter:
        found = suggest(project, wish, _voice(asked), reporter)
    return _tell(asked, project, found)


def _tell(asked: Asked, project: Project, found: Suggested) -> int:
    """Write what came of drafts and, of those that became versions, the pages; return the exit code."""
    from ncu_assist.cli.pages import write_pages
    from ncu_assist.render.json.suggest import suggest_json
    from ncu_assist.render.terminal.suggest import suggest_text
    from ncu_assist.suggest.acting import runs_of

    if asked.as_json:
        write_json(suggest_json(found))
    else:
        write(suggest_text(found))
    write_pages(project, runs_of(project, found))
    return found.exit_code


def _check(asked: Asked) -> None:
    """Raise UsageProblem where nobody is to answer. With --reply, --model is the one that the reply is from."""
    if asked.prompt is not None and asked.reply is None:
        raise UsageProblem("--prompt says which prompt a saved reply answers", "--reply FILE")
    if asked.reply is None and asked.model is None:
        raise UsageProblem("no model was named to draft with", "--model NAME, or --reply FILE with a saved reply")


def _dry_run(asked: Asked) -> int:
    from ncu_assist.render.json.suggest import prompt_json
    from ncu_assist.render.terminal.suggest import prompt_note
    from ncu_assist.suggest.acting import prompt_of

    prompt = prompt_of(options.current_project(), _wish(asked, False), _voice(asked))
    if asked.as_json:
        write_json(prompt_json(prompt.text, prompt.tokens, prompt.dropped, prompt.id))
    else:
        click.echo(prompt_note(prompt.tokens, prompt.dropped, prompt.id), err=True)
        write(prompt.text)
    return 0


def _with_draft(asked: Asked) -> int:
    """Prove or accept a draft of the archive."""
    from ncu_assist.suggest.acting import accept_draft, prove_draft

    verb, *ids = asked.words
    if len(ids) != 1 or not ids[0]:
        raise UsageProblem(f"{verb} takes the id of one draft", "ncu-assist ledger")
    if asked.dry_run or asked.reply is not None:
        option = "--dry-run" if asked.dry_run else "--reply"
        raise UsageProblem(f"{verb} takes a draft that is there: no {option}", f"ncu-assist suggest {verb} {ids[0]}")
    project, wish = options.current_project(), _wish(asked, True)
    with progress() as reporter:
        done = accept_draft if verb == "accept" else prove_draft
        found = done(project, wish, ids[0], reporter)
    return _tell(asked, project, found)


def _proves(asked: Asked) -> bool:
    """Return whether drafts are to be run; asked of who sits there, where no option says so."""
    if asked.prove is not None:
        return asked.prove
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm("Build, check, time and profile the drafts in a sandbox here?", default=True, err=True)


def _voice(asked: Asked) -> ReplyOptions:
    from ncu_assist.suggest.acting import ReplyOptions

    return ReplyOptions(
        asked.model or "", asked.base_url, asked.key_file, asked.reply, asked.dry_run, _live, asked.prompt
    )


def _live(text: str) -> None:
    """Show a piece of a reply as it comes, where somebody looks."""
    if sys.stderr.isatty():
        click.echo(plain(text), err=True, nl=False)


def _wish(asked: Asked, proves: bool) -> SuggestRequest:
    from ncu_assist.spec_file import kernel_names
    from ncu_assist.suggest.prompting import MAX_TOKENS
    from ncu_assist.suggest.request import Budget, ProofOptions, SuggestRequest

    word = asked.words[0] if asked.words and asked.words[0] not in VERBS else BEST
    is_kernel = word in kernel_names(options.current_project())
    return SuggestRequest(
        reference=BEST if is_kernel else word,
        kernel=word if is_kernel else asked.kernel,
        workload=asked.workload,
        candidates=asked.candidates,
        rounds=asked.rounds,
        prompt_tokens=asked.max_prompt_tokens or MAX_TOKENS,
        budget=Budget(asked.budget_tokens, asked.budget_seconds),
        libraries=asked.allow_libraries,
        proving=ProofOptions(not asked.no_sandbox) if proves else None,
    )
