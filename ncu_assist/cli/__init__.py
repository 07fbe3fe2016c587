"""The command line: parse, one call, render, exit code. The only importer of click and the only writer of stdout."""

from __future__ import annotations

import gc
import importlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from traceback import format_exception

import click

from ncu_assist.cli.console import QUIET, showing_steps, take_every_text
from ncu_assist.errors import NcuAssistError, ReaderBug, UsageProblem, did_you_mean, for_this_python
from ncu_assist.render.escape import plain

GROUPS = {  # heading -> name -> what it does; the module <name>_command is imported when the command is run
    "Begin": {
        "demo": "Show what the tool does, using recorded runs.",
        "doctor": "Check what measuring needs on this machine, and how to fix it.",
        "init": "Make the current folder a project.",
        "new": "Create a kernel folder from a .cu file or another kernel.",
        "list": "List kernels, their versions, and what has been measured.",
    },
    "Measure": {
        "check": "Compare versions with the reference.",
        "bench": "Check versions and time them against each other.",
        "profile": "Build, check, time and profile versions, or profile a program.",
        "watch": "After each save of a file, say whether it is faster.",
        "tune": "Try combinations of a version's constants.",
        "triage": "Show where the time of a program goes, kernel by kernel.",
        "ceilings": "Measure what this GPU can reach, or show what is stored.",
        "worker": "Lend the GPUs of this machine to a cluster.",
    },
    "Understand": {
        "show": "Show a run or a .ncu-rep: what binds it, and what to try.",
        "diff": "Say which of two versions is faster, and what changed.",
        "history": "Show each version of a kernel against its parent.",
        "trend": "Show how times changed over runs, and what changed with them.",
        "report": "Write HTML pages of runs, diffs and ladders, one file each.",
        "explain": "Explain a metric, a stall reason, a diagnosis or a term.",
        "metrics": "List the metrics that the tool knows, with ncu's names.",
    },
    "Improve": {
        "suggest": "Draft the next version with a language model, and prove it.",
        "ledger": "Show the results of drafts: what was kept, and its speed-up.",
        "mcp": "Serve the tools of this project to an agent.",
        "skill": "Teach an agent to use this tool.",
    },
    "Guard": {
        "gate": "Fail if a version got worse than the limits allow.",
        "baseline": "Set, show or clear the run that @baseline names.",
        "bisect": "Find the first commit at which a version is slower or wrong.",
    },
    "Archive": {
        "import": "Add a report to the archive.",
        "export": "Write a table of a run or a report as CSV, Parquet or JSON.",
        "query": "Run SQL over runs, timings, metrics and findings.",
        "verify": "Check the archive for damage.",
        "archive": "Maintain an archive of many runs: pack, prune, merge.",
    },
    "The tool itself": {
        "completion": "Print the shell code for Tab completion.",
        "bug-report": "Collect what a bug report needs, without personal names.",
    },
}
COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}
EXAMPLES = {  # command, or none -> what one may type, and what for
    "": {
        "ncu-assist demo": "see it work, without a GPU",
        "ncu-assist show their.ncu-rep": "a report from anywhere",
        "ncu-assist profile vector_add.cu": "a program of your own",
        "ncu-assist new vector_add --from vector_add.cu": "a kernel with versions",
    },
    "new": {
        "ncu-assist new add --from add.cu": "then fill in reference.py",
        "ncu-assist new add --from faster.cu --next": "a second version",
        "ncu-assist check add": "compare both with the reference",
        "ncu-assist profile add": "time and profile both",
        "ncu-assist diff add/v0 v1": "which is faster, and why",
    },
    "bench": {
        "ncu-assist bench softmax": "all versions",
        "ncu-assist bench softmax v3 v4": "only these two",
    },
    "profile": {
        "ncu-assist profile softmax v4": "a version of a kernel",
        "ncu-assist profile vector_add.cu": "a program; an edit is v2",
        "ncu-assist profile --kernel vector_add faster.cu": "another file as v2",
        "ncu-assist profile --repeats 10 vector_add.cu": "more samples for diff",
        "ncu-assist profile -- python train.py": "any command",
    },
    "show": {
        "ncu-assist show": "the last run",
        "ncu-assist show their.ncu-rep --lines": "a report, with its hot lines",
        "ncu-assist show softmax/v4": "the last run of a version",
    },
    "diff": {
        "ncu-assist diff": "last run against baseline",
        "ncu-assist diff softmax/v3 v4": "two versions of a kernel",
        "ncu-assist diff a.ncu-rep b.ncu-rep": "two reports",
        "ncu-assist diff a.ncu-rep --launch 0 --launch 3": "two launches",
        "ncu-assist diff softmax/v3 v4 -o diff.html": "a page to send",
    },
    "report": {
        "ncu-assist report softmax/v4 -o page.html": "the page of a run, to send",
        "ncu-assist report softmax --bundle": "all versions in one file",
        "ncu-assist diff softmax/v3 v4 -o diff.html": "the page of a diff",
    },
}
MEANT_BY = {  # what other tools call it
    **dict.fromkeys(("compare", "cmp"), "diff"),
    **dict.fromkeys(("run", "record", "measure"), "profile"),
    **dict.fromkeys(("time", "benchmark"), "bench"),
    **dict.fromkeys(("test", "validate", "sanitize"), "check"),
    **dict.fromkeys(("view", "open", "analyze", "analyse", "diagnose"), "show"),
    **dict.fromkeys(("ls", "status"), "list"),
    **dict.fromkeys(("create", "add"), "new"),
    **dict.fromkeys(("log", "ladder"), "history"),
    **dict.fromkeys(("roofline", "occupancy", "stalls", "source", "sass", "lines", "details", "summary"), "show"),
    **dict.fromkeys(("ncu", "build", "compile"), "profile"),
    **dict.fromkeys(("nsys", "hotspots", "trace"), "triage"),
    **dict.fromkeys(("html", "page"), "report"),
    **dict.fromkeys(("optimize", "optimise", "improve"), "suggest"),
    **dict.fromkeys(("pack", "prune", "merge"), "archive"),
    **dict.fromkeys(("csv", "dump"), "export"),
    "sql": "query",
}
OPTIONS_MEANT_BY = {  # what ncu and other tools call an option, without its dashes
    **dict.fromkeys(("kernel-name", "k", "kernel-regex", "regex"), "--filter"),
    **dict.fromkeys(("launch-skip", "launch-skip-before-match", "s"), "--skip-launches"),
    **dict.fromkeys(("launch-count", "c"), "--max-launches"),
    **dict.fromkeys(("baseline", "base", "reference", "compare"), "--against"),
    **dict.fromkeys(("export", "out", "file"), "--output"),
    **dict.fromkeys(("threshold", "limit", "tolerance"), "--fail-on"),
}
FORMATS = ("csv", "markdown", "parquet")  # options of other tools, values of --format here
LIKE = 0.7  # of the letters behind the dashes: what is less alike is another word
# These run no kernel, nor anything else that computes on many cores: numpy need not start a thread a core for them.
ON_ONE_THREAD = (
    *("list", "show", "diff", "history", "trend", "report", "gate", "export", "metrics", "explain", "verify"),
    *("archive", "query"),
)
THREADS = "OPENBLAS_NUM_THREADS"  # numpy reads it as it is imported
MANY_OBJECTS = 50_000  # made before cycles are looked for: nearly all live until the command ends
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is run, so that --help stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ON_ONE_THREAD:
            os.environ.setdefault(THREADS, "1")
        module = importlib.import_module(f"ncu_assist.cli.{cmd_name.replace('-', '_')}_command")
        command: click.Command = module.command
        if not any(param.name == "quiet" for param in command.params):
            command.params.append(_quiet_option())
        command.epilog = command.epilog or _examples(cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from ncu_assist.store.report_names import REPORT_ENDINGS

            if args[0].endswith(REPORT_ENDINGS):
                several = [one for one in args[1:2] if one.endswith(REPORT_ENDINGS)]
                raise UsageProblem(
                    f"{args[0]} is a report, not a command", _line(["diff" if several else "show", *args])
                )
            if args[0] in ("help", "version"):
                asked = "--version" if args[0] == "version" else " ".join([*args[1:2], "--help"])
                raise UsageProblem(f"there is no command '{args[0]}', but an option", f"ncu-assist {asked}")
            meant = MEANT_BY.get(args[0], "")
            if meant == "profile" and any(one.endswith(REPORT_ENDINGS) for one in args[1:]):
                meant = "show"  # it was profiled
            meant = f"did you mean '{meant}'?" if meant else did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"there is no command '{args[0]}'; {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), what) for name, what in commands.items()])


def _examples(name: str) -> str:
    """Return the examples of a command, or of none, as click leaves them alone: a line each."""
    rows = EXAMPLES.get(name, {})
    widest = max(map(len, rows), default=0)
    lines = [f"  {typed.ljust(widest)}  {what}" for typed, what in rows.items()]
    return "\n".join(["\b", "Examples:", *lines]) if rows else ""


def _quiet_option() -> click.Option:
    """Return the option that every command has."""

    def keep(ctx: click.Context, _option: click.Parameter, is_given: bool) -> None:
        if is_given:
            ctx.meta[QUIET] = True

    words = "Print results and errors only: no progress, no notes."
    return click.Option(["--quiet", "-q"], is_flag=True, expose_value=False, callback=keep, help=words)


def _say_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        from ncu_assist.cli.version import version_text  # git is asked: --help does without

        click.echo(f"ncu-assist, version {version_text()}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"{_examples('')}\n\nFull manual: man ncu-assist. Help for one command: ncu-assist COMMAND --help",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_say_version,
    help="Show the version and the commit.",
)
def cli() -> None:
    """Which version of my GPU kernel is faster, and why."""


def main() -> None:
    """Run the command line; every error a user can act on ends here, in words and with its exit code."""
    take_every_text()
    gc.set_threshold(MANY_OBJECTS)
    try:
        with showing_steps():
            status = cli.main(prog_name="ncu-assist", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:  # the help is the answer
        error.show()
        status = error.exit_code
    except click.ClickException as error:
        status = _tell(*refused(error, sys.argv[1:]), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; finished work is kept", err=True)
        status = INTERRUPTED
    except NcuAssistError as error:
        traceback = error.traceback if isinstance(error, ReaderBug) else ""
        status = _tell(error.message, typed_again(error.message, error.hint, sys.argv[1:]), error.exit_code, traceback)
    except SystemExit:  # click's only one: the reader of our stdout is gone, and nothing is left to say
        status = 0
    except Exception as error:
        _remember(1, f"{type(error).__name__}: {error}", traceback="".join(format_exception(error)))
        click.echo("this is a bug in ncu-assist; try: ncu-assist bug-report", err=True)
        raise
    sys.exit(status if isinstance(status, int) else 0)


def _tell(message: str, hint: str, exit_code: int, traceback: str = "") -> int:
    """Write what was wrong and what to try to stderr, and keep it; return the exit code."""
    click.echo(f"error: {plain(message)}", err=True)
    if hint:
        click.echo(f"  try: {plain(for_this_python(hint))}", err=True)
    _remember(exit_code, message, hint, traceback)
    return exit_code


def _remember(exit_code: int, message: str, hint: str = "", traceback: str = "") -> None:
    """Keep an error for ``bug-report``."""
    from ncu_assist.pipeline.bug_report import remember

    remember(sys.argv[1:], exit_code, message, hint, traceback)


MEANT = re.compile(  # in a message, at its end
    r"'(?P<wrong>[^']+)'(?:(?!').)*(?:did you mean '(?P<right>[^']+)'\?| may mean several: (?P<first>[^,;]+))"
)
OPTION = re.compile(r"(?P<name>--[a-z][a-z-]*) (?P<value>[^\s'…]+|'[^']*')")  # as a whole hint
WITH_PROGRAMS = ("profile", "triage")  # the words behind a program are its own
VALUE = re.compile(r"'(?P<wrong>[^']*)' is not |: (?P<number>\S+) is not in the range")  # in a message of click
EXTRA = re.compile(r"unexpected extra arguments? \((?P<words>.*)\)")
NO_COMMAND = re.compile(r"No such command '(?P<word>[^']*)'")
PLAIN = re.compile(r"[\w@%+:/.,=…-]+")  # what no shell takes for more than itself
OF_REFERENCES = ("show", "diff", "report", "export", "gate", "trend", "set", "suggest")  # KERNEL/VERSION is one word
VERSION, KERNEL = re.compile(r"v\d"), re.compile(r"(?!v\d)[\w-]+")
WANTS = {"new": ("--from", "FILE.cu")}  # what a command cannot do without, though no argument says so


def typed_again(message: str, hint: str, typed: Sequence[str]) -> str:
    """Return the command as it was typed with the name that a message means in the place of the wrong one.

    It is the hint of the error where the message names nothing that was meant, or where that was not typed; a hint that
    is an option stands in that command.
    """
    found = [(one["wrong"], one["right"] or one["first"]) for one in MEANT.finditer(message)]
    found = [(wrong, right) for wrong, right in found if wrong != right]
    return (_with(typed, *found[-1]) if found else "") or _with_option(typed, hint)


def _with_option(typed: Sequence[str], hint: str) -> str:
    """Return the line with the option that a hint is, in the place of the same one; any other hint as it is."""
    option = OPTION.fullmatch(hint)
    if option is None or not typed or typed[0] in WITH_PROGRAMS:  # whose options are not ours
        return hint
    name, value = option["name"], shlex.split(option["value"])[0]
    given = [place for place, word in enumerate(typed) if word.partition("=")[0] == name]
    if len(given) > 1:
        return hint
    at = given[0] if given else len(typed)
    behind = at + (1 if "=" in "".join(typed[at : at + 1]) else 2)
    return _line([*typed[:at], name, value, *typed[behind:]])


def refused(error: click.ClickException, typed: Sequence[str]) -> tuple[str, str]:
    """Return what click refuses of the words that were typed, and the command to type instead."""
    said = " ".join(error.format_message().split()).rstrip(".")  # click names choices on a line each
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return said, _help_of(typed[0] if typed else "")
    if MEANT.search(said):
        return said, typed_again(said, "", typed)
    asked = context.command_path
    if isinstance(error, click.NoSuchOption):
        return _no_option(error, asked, typed)
    if found := NO_COMMAND.search(said):
        assert isinstance(context.command, click.Group)
        message = f"{asked} has no command '{found['word']}'; {did_you_mean(found['word'], context.command.commands)}"
        return message, typed_again(message, f"{asked} --help", typed)
    if found := EXTRA.search(said):
        return _too_many(said, found["words"], context, typed)
    if isinstance(error, click.MissingParameter):
        lacking = _as_typed(error.param) if error.param is not None else []
        return f"{said}; usage: {_takes(context)}", f"{_line([*typed, *lacking])}, or {asked} --help"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _bad_value(said, error.param, asked, typed)
    return said, f"{asked} --help"


def _no_option(error: click.NoSuchOption, asked: str, typed: Sequence[str]) -> tuple[str, str]:
    message = f"No such option '{error.option_name}' of {asked}"
    for place, word in enumerate(typed):
        if word.startswith(error.option_name) and Path(word).is_file():
            return f"{message}; {word} is a file", _line([*typed[:place], f"./{word}", *typed[place + 1 :]])
    near = _option_meant(error)
    if not near:
        return message, f"{asked} --help"
    return f"{message}; did you mean '{near}'?", _with(typed, error.option_name, near) or f"{asked} --help"


def _option_meant(error: click.NoSuchOption) -> str:
    """Return the option of a command that an unknown one stands for, with its value; empty where none is near."""
    from difflib import get_close_matches

    wrong = error.option_name.lstrip("-")
    options = [one for one in (error.ctx.command.params if error.ctx else ()) if isinstance(one, click.Option)]
    known = {name: one for one in options for name in one.opts}
    if (meant := OPTIONS_MEANT_BY.get(wrong)) in known:
        return meant
    form = known.get("--format")
    if wrong in FORMATS and form is not None and isinstance(form.type, click.Choice):
        return f"--format={wrong}" if wrong in form.type.choices else ""
    if wrong in OPTIONS_MEANT_BY:
        return ""  # another tool's, and none of this command's, however it is spelled
    bare = {name.lstrip("-"): name for name in error.possibilities or ()}
    near = get_close_matches(wrong, bare, n=1, cutoff=LIKE)
    near = near or [one for one in bare if one.startswith(wrong)][:1]
    return bare[near[0]] if near else ""


def _too_many(said: str, words: str, context: click.Context, typed: Sequence[str]) -> tuple[str, str]:
    extra, name = words.split(" "), context.info_name or ""
    arguments = [one.name or "" for one in context.command.params if isinstance(one, click.Argument)]
    first, second = [*(str(context.params.get(one)) for one in arguments), *extra, ""][:2]
    if name in OF_REFERENCES and VERSION.match(second) and KERNEL.fullmatch(first):
        at = typed.index(first, 1)  # KERNEL VERSION, as `bench` takes them
        rest = list(typed[at + 1 :])
        rest.remove(second)
        typed, extra = [*typed[:at], f"{first}/{second}", *rest], extra[1:]
    left = list(typed)
    for word in extra:
        if word in left:
            del left[len(left) - 1 - left[::-1].index(word)]
    if name == "show" and len(extra) == 1:
        return f"{said}; diff shows two runs beside one another", _line(["diff", *typed[1:]])
    if name == "import":
        one_each = "; ".join(_line([*(word for word in left if word != first), word]) for word in (first, *extra))
        return f"{said}; import takes one report at a time", one_each
    if name == "report" and len(extra) == 1 and "--bundle" in typed:
        return f"{said}; --output names the file", _line([*left, "-o", extra[0]])
    if name == "report" and len(extra) == 1:
        page = [] if {"-o", "--output"} & {*typed} else ["-o", "diff.html"]
        return f"{said}; diff writes the page of two runs", _line(["diff", *typed[1:], *page])
    if name == "tune" and "--values" in typed:
        return f"{said}; quote the values as one word", _line([*left, "--values", " ".join(extra)])
    option, value = WANTS.get(name, ("", ""))
    if option and option not in left:
        left += [option, extra[0] if extra[0].endswith(".cu") else value]
    return f"{said}; usage: {_takes(context)}", _line(left)


def _bad_value(said: str, param: click.Parameter, asked: str, typed: Sequence[str]) -> tuple[str, str]:
    found, kind = VALUE.search(said), param.type
    wrong = (found["wrong"] or found["number"] or "") if found else ""
    if isinstance(kind, click.Choice):
        known = [str(one) for one in kind.choices]
        from difflib import get_close_matches

        near = get_close_matches(wrong, known, n=1, cutoff=0.6)
        meant = f"; did you mean '{near[0]}'?" if near else ""
        return f"{said}{meant}", _with(typed, wrong, near[0] if near else known[0]) or f"{asked} --help"
    said = said.replace("integer range", "whole number").replace("integer", "whole number")
    lowest = getattr(kind, "min", None)
    fitting = param.default if isinstance(param.default, int | float) else lowest
    names = param.opts if isinstance(param, click.Option) else []
    at = next((place for place, word in enumerate(typed[:-1]) if word in names and typed[place + 1] == wrong), None)
    if at is None or fitting is None:
        return said, f"{asked} --help"
    return said, _line([*typed[: at + 1], f"{fitting:g}", *typed[at + 2 :]])


def _as_typed(param: click.Parameter) -> list[str]:
    if isinstance(param, click.Argument) and isinstance(param.type, click.Choice):
        return [str(param.type.choices[0])]
    name = param.human_readable_name if isinstance(param, click.Argument) else (param.metavar or param.name or "")
    return [name] if isinstance(param, click.Argument) else [max(param.opts, key=len), name.upper().partition("|")[0]]


def _takes(context: click.Context) -> str:
    pieces = context.command.collect_usage_pieces(context)
    return " ".join([context.command_path, *pieces])


def _with(typed: Sequence[str], wrong: str, right: str) -> str:
    """Return the line with ``right`` for the last ``wrong``, else for it as a part of words; empty without any."""
    part = re.compile(rf"(?<![\w.-]){re.escape(wrong)}(?![\w.-])")
    whole = [place for place, word in enumerate(typed) if word == wrong]
    places = whole or [place for place, word in enumerate(typed) if part.search(word)]
    if places and not whole:  # the kernel of both sides of a diff
        return _line([part.sub(lambda _: right, word, count=1) for word in typed])
    if places:
        return _line([*typed[: places[-1]], right, *typed[places[-1] + 1 :]])
    if len(words := wrong.split()) > 1 and list(typed[-len(words) :]) == words:  # as `explain` joins them
        return _line([*typed[: -len(words)], right])
    return ""


def _line(words: Sequence[str]) -> str:
    return " ".join(["ncu-assist", *(word if PLAIN.fullmatch(word) else shlex.quote(word) for word in words)])


def _help_of(name: str) -> str:
    return f"ncu-assist {name} --help" if name in COMMANDS else "ncu-assist --help"
