"""Prompt templates, the project's own before the package's, and their filters; a mistake is told with file and line."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment as Environment

from ncu_assist.analysis.line_notes import LineNote
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import digits, percent, quantity
from ncu_assist.render.escape import plain
from ncu_assist.render.words.verdicts import factor
from ncu_assist.render.words.why import BARRIER, WAITS
from ncu_assist.suggest.evidence.records import (
    EvidenceItem,
    FailedDraft,
    LaunchLine,
    RemovedFault,
    SourceText,
    VersionStory,
    WorkloadTime,
)

DEFAULTS = Path(__file__).parent.parent / "templates"
MAIN = "prompt.md.j2"
ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
# What a template's own expressions may raise on values that are there.
MISUSED = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
SHORTEST = 3
TICKS = re.compile(r"`+")
FULL_WARP = 28.0  # lanes; a few idle ones are no divergence worth a word
WASTED = 1.02  # of what an access needs: up to 2 % is left alone, as by the rules
LEAST_SHARE = 0.01  # of all samples; less is not said
FLOATING = (
    "Of {ids} the ideal is no fixed number, it grows with the bytes that an access moves: predict an efficiency in "
    "percent or the excess in its place."
)


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


def change_words(item: EvidenceItem) -> str:
    """Return how far an item moved since the version before: a factor, of percentages the difference in points."""
    if item.before is None:
        return "-"
    if item.value == item.before:
        return "="
    if item.unit == "%":
        return f"{item.value - item.before:+.1f} pt"
    return f"x{digits(item.value / item.before)}" if item.before else "new"


def number(value: float | None) -> str:
    """Return a number of the table as a reply should quote it; ``-`` for none."""
    return "-" if value is None else f"{value:.7g}"


def numbered(source: SourceText) -> str:
    """Return the source with its line numbers; below a hot line stands what the profiler says of it, after a ^."""
    margins = {one.line: one for one in source.margins}
    width = len(str(len(source.lines)))
    shown = []
    for number_, line in enumerate(source.lines, start=1):
        shown.append(f"{number_:>{width}} | {line}" if line else f"{number_:>{width}} |")
        if number_ in margins and (words := note_words(margins[number_], line)):
            shown.append(f"{'':>{width}} ^ {words}")
    return "\n".join(shown)


def note_words(note: LineNote, line: str) -> str:
    """Return what the profiler says of a line, e.g. ``58 % of samples (long_scoreboard 77 %); 33.0 M excess …``."""
    return "; ".join(one for one in (_samples(note, line), *_wastes(note), _lanes(note)) if one)


def _samples(note: LineNote, line: str) -> str:
    executed = f", {percent(note.instructions)} of instructions" if note.instructions >= LEAST_SHARE else ""
    share = f"{percent(note.share)} of samples{executed}" if note.share >= LEAST_SHARE else ""
    waits = ", ".join(f"{reason} {percent(part)}{_at(reason, line)}" for reason, part in note.stalls)
    return f"{share} ({waits})" if share and waits else share


def _at(reason: str, line: str) -> str:
    """Return where warps wait that are sampled behind a barrier, at a line that has none."""
    return " at the barrier before it" if reason == BARRIER and not any(word in line for word in WAITS) else ""


def _wastes(note: LineNote) -> list[str]:
    found = []
    if note.sectors_excessive > 0 and (note.sectors_ratio or 0.0) > WASTED:
        amount = quantity(note.sectors_excessive, "")
        found.append(f"{amount} excess sectors, {digits(note.sectors_ratio or 0.0)}x what its bytes need")
    if note.wavefronts_excessive > 0 and (note.wavefronts_ratio or 0.0) > WASTED:
        amount, ways = quantity(note.wavefronts_excessive, ""), digits(note.wavefronts_ratio or 0.0)
        found.append(f"{amount} excess wavefronts (bank conflicts), {ways}x the least")
    return found


def _lanes(note: LineNote) -> str:
    return f"{digits(note.lanes)} of 32 lanes active" if note.lanes is not None and note.lanes < FULL_WARP else ""


def sizes(workload: WorkloadTime) -> str:
    """Return the integers of a workload, e.g. ``batch 64, heads 64, dim 96``."""
    return ", ".join(f"{name} {size}" for name, size in workload.integers.items())


def launches_text(launches: Sequence[LaunchLine]) -> str:
    """Return the launches of a call, the longest first, a line each."""
    return "\n".join(_launch(one) for one in launches)


def _launch(one: LaunchLine) -> str:
    time = quantity(one.duration_ns, "ns") if one.duration_ns is not None else "time unknown"
    said = f"  {one.diagnosis}" if one.diagnosis else ""
    return f"{one.kernel}  {time}  grid {one.grid}  block {one.block}{said}"


def story_text(chapters: Sequence[VersionStory], parent: str) -> str:
    """Return the versions, one after the other: outcome, idea in its author's words, what moved."""
    return "\n".join(line for one in chapters for line in _chapter(one, parent))


def _chapter(one: VersionStory, parent: str) -> list[str]:
    name = f"{one.version} (the parent)" if one.version == parent else one.version
    idea = "" if one.version == parent else one.idea  # it stands at the top of the source
    lines = [f"{name}: {one.outcome}" if one.outcome else name]
    lines += [f"    idea: {idea}"] if idea else []
    return [*lines, *([f"    moved: {one.moved}"] if one.moved else []), *_predicted(one)]


def _predicted(one: VersionStory | FailedDraft) -> Iterator[str]:
    if one.proved:
        yield f"    came as predicted: {one.proved}"
    if one.disproved:
        yield f"    disproved: {one.disproved}"


def failures_text(failed: Sequence[FailedDraft]) -> str:
    """Return the drafts that failed, the newest last: what each changed, why it was not kept, and what did not come."""
    return "\n".join(line for one in failed for line in _failure(one))


def _failure(one: FailedDraft) -> Iterator[str]:
    yield f"{one.id} (from {one.parent}): {one.change}"
    yield f"    {one.fate}: {one.reason}"
    yield from _predicted(one)


def removed_text(removed: Sequence[RemovedFault]) -> str:
    """Return what took a fault away before: where, by which change, and what it won."""
    return "\n".join(f"{one.where}: {factor(one.speedup)} faster\n    idea: {one.change}" for one in removed)


def floating_ideals(items: Sequence[EvidenceItem]) -> str:
    """Return what to mind of the items whose ideal is a metric itself, and so no fixed number; empty for none."""
    ids = ", ".join(one.id for one in items if f"{one.name}_ideal" in ROWS)
    return f" {FLOATING.format(ids=ids)}" if ids else ""


FILTERS = {
    "change": change_words,
    "failures": failures_text,
    "factor": factor,
    "floating_ideals": floating_ideals,
    "launches": launches_text,
    "number": number,
    "numbered": numbered,
    "percent": percent,
    "quantity": quantity,
    "removed": removed_text,
    "sizes": sizes,
    "story": story_text,
}
