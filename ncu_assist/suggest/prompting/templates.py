"""Prompt templates: the project's own go before those of the package; a mistake in one is told with file and line."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment as Environment

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.render.escape import plain
from ncu_assist.suggest.prompting.words import FILTERS

DEFAULTS = Path(__file__).parent.parent / "templates"
MAIN = "prompt.md.j2"
ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
# What a template's own expressions may raise on values that are there.
MISUSED = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
SHORTEST = 3
TICKS = re.compile(r"`+")


def load(names: Collection[str], folder: Path | None = None) -> Environment:
    """Return the templates, those in ``folder`` in the place of the package's of the same name; ``names`` are known.

    Raises UsageProblem, with file and line, for a template that names another variable or is no Jinja.
    """
    if folder is None or not folder.is_dir():
        return _of_the_package(frozenset(names))
    return _checked(_environment(folder), names)


@functools.cache
def _of_the_package(names: frozenset[str]) -> Environment:
    """Return the templates as they are installed, compiled once for all prompts of a process."""
    return _checked(_environment(None), names)


def _checked(environment: Environment, names: Collection[str]) -> Environment:
    for name in sorted(one for one in environment.list_templates() if one.endswith(".j2")):
        _check(environment, name, names)
    return environment


def render(environment: Environment, values: Mapping[str, Any]) -> str:
    """Return the prompt that the templates make of these values; raises UsageProblem, with file and line."""
    try:
        return environment.get_template(MAIN).render(values)
    except TemplateNotFound as error:
        hint = did_you_mean(str(error.name), environment.list_templates())
        raise UsageProblem(f"a template includes '{error.name}', which does not exist; {hint}") from error
    except (TemplateError, *MISUSED) as error:
        file, line = _place(error.__traceback__)
        raise _problem(file, line, f"{error}{_near(str(error), values)}") from error


def _environment(folder: Path | None) -> Environment:
    folders = [one for one in (folder, DEFAULTS) if one is not None and one.is_dir()]
    made = Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,  # it is text; what must not get out of its place stands in fences
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update({**FILTERS, "fenced": fenced, "quoted": quoted})
    return made


def _check(environment: Environment, name: str, names: Collection[str]) -> None:
    """Raise UsageProblem for the first unknown variable of a template, also in a part that is never reached."""
    tree, undeclared = _parsed(environment, name)
    own = {one.name for one in tree.find_all(nodes.Name) if one.ctx == "store"}  # set, perhaps in a branch alone
    for unknown in sorted(undeclared - set(names) - own):
        line = min((one.lineno for one in tree.find_all(nodes.Name) if one.name == unknown), default=1)
        raise _problem(name, line, f"there is no variable '{unknown}'; {did_you_mean(unknown, names)}")


def _parsed(environment: Environment, name: str) -> tuple[nodes.Template, set[str]]:
    """Return a template and the variables that it takes from outside."""
    assert environment.loader is not None
    try:
        tree = environment.parse(environment.loader.get_source(environment, name)[0], name)
        return tree, find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        raise _problem(name, error.lineno, error.message or "cannot be read") from error
    except UnicodeDecodeError as error:
        raise UsageProblem(f"prompts/{name} is not text: {error.reason}") from error


def _problem(file: str, line: int, what: str) -> UsageProblem:
    known = "see docs/prompt_v6.md for a prompt; delete the file to use the default"
    return UsageProblem(f"prompts/{file}, line {line}: {what}", known)


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """Return the template and the line where an error rose: jinja puts both into the traceback."""
    found = (MAIN, 1)
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename).name
        found = (name, trace.tb_lineno) if name.endswith(".j2") else found
        trace = trace.tb_next
    return found


def _near(message: str, values: Mapping[str, Any]) -> str:
    """Return the nearest attribute that anything in a prompt has, for a message that says that one is missing."""
    match = ATTRIBUTE.search(message)
    return f"; {did_you_mean(match[1], set(_attributes(values.values())))}" if match else ""


def _attributes(values: Any) -> Iterator[str]:
    for one in values:
        if isinstance(one, tuple):
            yield from _attributes(one[:1])
        elif is_dataclass(one):
            names = [each.name for each in fields(one)]
            yield from names
            yield from _attributes([getattr(one, name) for name in names])


def fenced(text: str, language: str = "text") -> str:
    """Return text in a fence that it cannot close."""
    longest = max((len(run) for run in TICKS.findall(text)), default=0)
    fence = "`" * max(SHORTEST, longest + 1)
    return f"{fence}{language}\n{plain(text)}\n{fence}"


def quoted(text: str) -> str:
    """Return a short text as code in a line, without the backticks in it."""
    return f"`{TICKS.sub(chr(39), plain(text))}`"
