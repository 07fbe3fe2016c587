"""Every command and option that a text of the package names exists, and can be typed as it stands there.

All texts of the source are looked at, docstrings too, for `--help` and `explain` print them: values that are filled in
count as one word.
"""

from __future__ import annotations

import ast
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ncu_assist.cli import COMMANDS, cli

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[1] / "ncu_assist"
ROOT = PACKAGE.parent
WORD = "X"  # for a value that is filled in
OURS = re.compile(r"ncu-assist ([a-z]+(?:-[a-z]+)*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
FILE = re.compile(r"\b(?:docs|benchmarks)/\w[\w./]*\.\w+")
COMMAND_LINE = re.compile(r"^ncu-assist .*")
QUOTED_COMMAND = re.compile(r"`(ncu-assist [^`]+)`")
OF_NCU = re.compile(r"(?<![\w-])ncu(?![\w-])|\bof ncu\b")
# What follows the tool's name in prose, and is no command of it.
PROSE = frozenset({"as", "blanked", "builds", "has", "measures", "or", "that", "uses", "wrote"})
# Of `ncu --help`, release 2025.3: the options that the texts of the package name.
NCU_OPTIONS = frozenset(
    f"--{name}"
    for name in (
        *("cache-control", "check-exit-code", "clock-control", "config-file", "csv", "import", "import-source"),
        *("kernel-name", "kill", "launch-count", "list-sets", "log-file", "metrics", "nvtx", "nvtx-include", "page"),
        *(
            "print-details",
            "print-kernel-base",
            "print-metric-instances",
            "print-metric-name",
            "print-summary",
            "print-units",
            "query-metrics",
            "replay-mode",
            "section",
        ),
        *("section-folder", "set", "target-processes", "version"),
    )
)
# Modules that put together or read the command line of another program.
OTHER_PROGRAMS = (
    *(
        "executors/sandbox/",
        "harness/sanitizer.py",
        "backends/nvcc.py",
        "pipeline/ceilings.py",
        "commits.py",
        "pipeline/bisecting.py",
    ),
    *("ncu/command.py", "ncu/command_line.py", "ncu/report.py", "trace/__init__.py"),
    *("rules/model/diagnosis.py", "rules/model/warnings.py"),  # which sections ncu is to collect
)
# Of docker run, of dask scheduler, of dcgmi profile, of git, of nsys, of pip; of the child process, which nobody types.
OF_THEIRS = frozenset(
    {
        "--cap-add",
        "--pause",
        "--oneline",
        "--unshallow",
        "--type",
        "--trace",
        "--resume",
        "--scheduler-file",
        "--upgrade",
        "--warm",
        "--ready",
        "--force-reinstall",
        "--device-debug",
    }
)
ONE_KERNEL = ("bench", "check", "history", "ledger", "list", "profile")  # which take no kernel/version


def _texts() -> Iterator[tuple[str, str]]:
    """Yield the place and each text of the package, whatever is filled in being one word."""
    for path, tree in _trees().items():
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(_said(part) for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                text = re.sub(r"\{\w+\}", WORD, node.value)  # a template of str.format
            else:
                continue
            yield f"{path}:{node.lineno}", text


def _said(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else WORD


@functools.cache
def _trees() -> dict[str, ast.Module]:
    """Return the package's modules by their paths in it; read when the first test asks."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@functools.cache
def _every_text() -> list[tuple[str, str]]:
    return list(_texts())


@functools.cache
def _command_texts() -> list[tuple[str, str]]:
    """Return the texts that name a command or an option."""
    return [(place, text) for place, text in _every_text() if "ncu-assist" in text or OPTION.search(text)]


def _commands() -> dict[str, tuple[click.Command, ...]]:
    """Return each command with those below it."""
    context = click.Context(cli)
    found: dict[str, tuple[click.Command, ...]] = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        below = tuple(command.commands.values()) if isinstance(command, click.Group) else ()
        found[name] = (command, *below)
    return found


CLICK = _commands()


def _options(commands: tuple[click.Command, ...]) -> set[str]:
    options = {name for one in commands for option in one.params for name in (*option.opts, *option.secondary_opts)}
    return options | {"--help"}


OUR_OPTIONS = {name: _options(commands) for name, commands in CLICK.items()}


def test_there_is_much_to_look_at() -> None:
    assert len(_command_texts()) > 200
    assert sum(1 for _, text in _command_texts() if COMMAND_LINE.match(text)) > 50


def test_the_commands_that_texts_name_exist() -> None:
    named = [(place, word) for place, text in _command_texts() for word in OURS.findall(text)]
    assert {word for _, word in named} > {"show", "diff", "profile", "explain", "list"}
    assert [(place, word) for place, word in named if word not in COMMANDS and word not in PROSE] == []


def _options_said(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each option with the command of ours that stands before it, if any, and the text before it."""
    for found in OPTION.finditer(text):
        before = text[: found.start()]
        start = max(before.rfind("`"), before.rfind(";"), before.rfind("\n\n"))
        ours = OURS.findall(before[start + 1 :])
        yield found.group(), ours[-1] if ours and ours[-1] in COMMANDS else "", before


def test_the_options_that_texts_name_exist() -> None:
    """One behind a command of ours is that command's; one of ncu's stands where ncu is named."""
    every = set.union(*OUR_OPTIONS.values()) | {"--version"}
    wrong = []
    for place, text in _command_texts():
        if place.startswith(OTHER_PROGRAMS):
            continue
        for option, command, before in _options_said(text):
            if command and not OF_NCU.search(before.rpartition("ncu-assist")[2]):
                fine = option in OUR_OPTIONS[command]
            else:
                names_ncu = OF_NCU.search(before) or re.match(r"[^`]*`? of ncu", text.partition(option)[2])
                fine = option in every or option in OF_THEIRS or (option in NCU_OPTIONS and names_ncu is not None)
            if not fine:
                wrong.append((place, option, text[:160]))
    assert wrong == []


def _typed() -> Iterator[tuple[str, str]]:
    """Yield the texts that are a command of ours: whole, to their first remark, or between backquotes."""
    for place, text in _command_texts():
        line = re.split(r"[;,](?:\s|$)|\s\(", text)[0]
        if COMMAND_LINE.match(line) and len(line.split()) > 1:
            yield place, line
        for quoted in QUOTED_COMMAND.findall(text):
            yield place, quoted


def test_a_command_to_try_is_parsed_by_the_command_line() -> None:
    typed = [(place, *shlex.split(line)[1:]) for place, line in _typed()]
    asked = [(place, name, words) for place, name, *words in typed if name not in (*PROSE, WORD) and words]
    assert len(asked) > 60
    for place, name, words in asked:
        command = CLICK[name][0]
        try:
            command.make_context(name, _filled(command, words))
        except click.ClickException as error:
            pytest.fail(f"{place}: ncu-assist {name} {' '.join(words)}: {error.message}")
        if name in ONE_KERNEL and "--kernel" not in words:
            kernel = next((word for word in words if not word.startswith("-")), "")
            assert "/" not in kernel, f"{place}: {name} takes a kernel, and its versions as further words"


def _filled(command: click.Command, words: list[str]) -> list[str]:
    """Return words with numbers where an option wants one, for values that are filled in."""
    numbers = {
        name
        for option in command.params
        if isinstance(option.type, click.IntRange | click.types.IntParamType | click.types.FloatParamType)
        for name in option.opts
    }
    pairs = zip(["", *words], words, strict=False)
    return ["1" if before in numbers and word == WORD else word for before, word in pairs]


def _hints() -> Iterator[tuple[str, ast.expr]]:
    """Yield the hint of each error that a user can act on."""
    kinds = {
        "UsageProblem",
        "NoSuchPlace",
        "NoSuchName",
        "StageFailed",
        "EnvironmentProblem",
        "DamagedData",
        "ModelProblem",
        "NcuAssistError",
    }
    for path, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                hints = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "hint")]
                yield from ((f"{path}:{node.lineno}", hint) for hint in hints)


def test_a_hint_is_something_to_do_and_no_list_of_names() -> None:
    """A list may be empty, and `try: there are none` helps nobody. In kernel.toml a right name is what to write."""
    hints = list(_hints())
    assert len(hints) > 100
    lists = [place for place, hint in hints if isinstance(hint, ast.Call) and "did_you_mean" in ast.dump(hint.func)]
    assert [place for place in lists if not place.startswith("spec_file.py")] == []


def test_the_files_that_texts_name_exist() -> None:
    named = {(place, file) for place, text in _every_text() for file in FILE.findall(text)}
    assert named
    assert [(place, file) for place, file in named if not (ROOT / file).is_file()] == []
