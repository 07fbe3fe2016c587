"""Build the question to a language model from evidence and templates, within a budget, the same for the same runs."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment as Environment

from ncu_assist import schema
from ncu_assist.atomic import atomic_write
from ncu_assist.errors import DamagedData, UsageProblem, did_you_mean
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.stalls import spoken
from ncu_assist.quantity import digits, percent, quantity, times_as_fast
from ncu_assist.render.escape import plain
from ncu_assist.render.words.verdicts import factor
from ncu_assist.render.words.why import BARRIER, WAITS
from ncu_assist.store.folders import DRAFTS, is_folder_name
from ncu_assist.store.writing import environment_problem
from ncu_assist.suggest.evidence.records import (
    Evidence,
    EvidenceItem,
    FailedDraft,
    FindingFacts,
    LaunchLine,
    LineNote,
    RemovedFault,
    SourceText,
    VersionStory,
    WorkloadTime,
)
from ncu_assist.suggest.model.endpoint import CHARACTERS_PER_TOKEN

SCHEMA = "ncu-assist.prompt/1"
ID = re.compile(r"\bprompt-[0-9a-f]{12}\b")
DIGITS = 12  # of the hash, as many as git shows for a large repository
ASK_AGAIN = "ncu-assist suggest {kernel} --dry-run"


@dataclass(frozen=True)
class Prompt:
    """A question. ``tokens`` are characters / 4, ``dropped`` lists what did not fit, ``evidence`` what is shown.

    A reply may cite only the items of ``evidence``. ``id`` is in the text, and a reply repeats it.
    """

    id: str
    created: str  # when it was stored: ISO 8601, UTC; empty if it is not stored
    text: str = field(repr=False)
    tokens: int
    dropped: tuple[str, ...]
    evidence: Evidence = field(repr=False)
    sha256: str
    schema: str = SCHEMA


READERS: schema.Readers[Prompt] = {1: msgspec.json.Decoder(Prompt).decode}


class _AsWritten(msgspec.Struct):
    """The evidence of a stored prompt, byte for byte, so that later versions with more fields can read it."""

    evidence: msgspec.Raw


def id_of(evidence: Evidence) -> str:
    """Return the id of a prompt: a hash of its evidence, so the same for the same runs."""
    return _id_of(msgspec.json.encode(evidence))


def _id_of(written: bytes | msgspec.Raw) -> str:
    return f"prompt-{hashlib.sha256(written).hexdigest()[:DIGITS]}"


def ids_in(reply: str) -> tuple[str, ...]:
    """Return the ids of the prompts that a reply names, without duplicates."""
    return tuple(dict.fromkeys(ID.findall(reply)))


@dataclass(frozen=True)
class PromptArchive:
    """The files next to the drafts of each kernel, ``reports/<kernel>/suggest/prompt-<hash>.json``."""

    reports: Path

    def keep(self, prompt: Prompt) -> None:
        """Store a prompt for later replies; an existing one is rewritten and becomes the latest.

        Raises EnvironmentProblem if the file cannot be written.
        """
        created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # several may be written in a second
        path = self._folder(prompt.evidence.kernel) / f"{prompt.id}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                file.write(msgspec.json.encode(replace(prompt, created=created)) + b"\n")
        except OSError as error:
            raise environment_problem(error, "prompt") from error

    def find(self, id: str, kernel: str | None = None) -> Prompt:
        """Return the prompt with this id. Raises UsageProblem if it is not stored, DamagedData if it was changed."""
        if ID.fullmatch(id):
            for path in sorted(self.reports.glob(f"{kernel or '*'}/{DRAFTS}/{id}.json")):
                return _read(path)
        message = f"no prompt {id} is kept here: it was written elsewhere, or its file was removed"
        raise UsageProblem(message, ASK_AGAIN.format(kernel=kernel or "KERNEL"))

    def last(self, kernel: str, version: str | None = None) -> Prompt | None:
        """Return the latest prompt of a kernel, or of one version of it; None without any."""
        found = (one for one in self._all(kernel) if version in (None, one.evidence.version))
        return max(found, key=lambda one: (one.created, one.id), default=None)

    def _all(self, kernel: str) -> Iterator[Prompt]:
        for path in sorted(self._folder(kernel).glob("prompt-*.json")) if is_folder_name(kernel) else ():
            try:
                yield _read(path)
            except DamagedData:
                continue

    def _folder(self, kernel: str) -> Path:
        return self.reports / kernel / DRAFTS


def _read(path: Path) -> Prompt:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedData(f"{path.name} cannot be read ({error.strerror})") from error
    found = schema.read(data, SCHEMA, READERS, path.name)
    if found.id != path.stem or found.id != _id_of(msgspec.json.decode(data, type=_AsWritten).evidence):
        raise DamagedData(f"{path.name} was changed after it was written")
    return found


FORMS = ("json_schema", "json_object", "fences", "tool")  # suggest.model.REPLY_FORMS, and for callers of `propose`
MAX_TOKENS = 8_000  # of a prompt whose source needs at most half of them
# Appended to the output of the templates: only this line says which prompt a saved reply answers.
NAMES = dict.fromkeys(FORMS, "This is {id}.") | {
    "fences": "This is {id}. Write {id} in the first line of your reply, so it is checked against the numbers above.",
    "tool": "This is {id}: the argument `prompt_id`.",
}
LAST_FAILED = 3  # drafts
RECENT = 2  # versions of the story


def build_prompt(
    evidence: Evidence, templates: Path | None = None, max_tokens: int | None = None, form: str = FORMS[0]
) -> Prompt:
    """Return the question built from evidence, in at most ``max_tokens``; ``form`` is one of FORMS.

    Without a limit it has MAX_TOKENS, or more if the source needs more than half of them.

    ``templates`` is the project's folder; its files replace the package's by name. A prompt that is too long loses the
    least important parts first, in the order of ``DROPS``, and lists them. Raises UsageProblem for an unknown form, a
    faulty template, or a budget too small for the core of the question.
    """
    if form not in FORMS:
        raise UsageProblem(f"there is no reply form '{form}'; {did_you_mean(form, FORMS)}")
    known = load([*(one.name for one in fields(Evidence)), "form", "dropped"], templates)

    def prompt_of(shown: Evidence, dropped: tuple[str, ...]) -> Prompt:
        id = id_of(shown)
        text = render(known, {**values_of(shown), "form": form, "dropped": dropped})
        text = f"{text.rstrip()}\n\n{NAMES[form].format(id=id)}\n"
        return Prompt(id, "", text, tokens_of(text), dropped, shown, hashlib.sha256(text.encode()).hexdigest())

    made = prompt_of(evidence, ())
    texts = [evidence.source, *evidence.source.includes]
    source = tokens_of("\n".join(line for text in texts for line in text.lines))
    room = max_tokens or MAX_TOKENS + max(0, source - MAX_TOKENS // 2)
    for drop in DROPS:
        if made.tokens <= room:
            return made
        less = drop.without(made.evidence)
        if less != made.evidence:
            made = prompt_of(less, drop.after(made.dropped))
    if max_tokens is not None and made.tokens > max_tokens:
        message = f"the core of the prompt needs {made.tokens} tokens, more than the {max_tokens} allowed"
        raise UsageProblem(message, f"--max-prompt-tokens {made.tokens}")
    return made


def values_of(evidence: Evidence) -> dict[str, Any]:
    """Return the variables of the templates: the parts of the evidence by name, ``form`` and ``dropped``."""
    return {one.name: getattr(evidence, one.name) for one in fields(evidence)}


@dataclass(frozen=True)
class Drop:
    """One step of shortening: the name of the dropped part and the reduced evidence; ``more_than`` are lesser steps."""

    what: str
    without: Callable[[Evidence], Evidence]
    more_than: tuple[str, ...] = ()

    def after(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        """Return all parts that a prompt lacks after this step."""
        return (*(one for one in dropped if one not in self.more_than), self.what)


def tokens_of(text: str) -> int:
    """Return the approximate number of tokens: a quarter of the characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _plain_story(one: Evidence) -> Evidence:
    story = (replace(each, moved="" if each.version != one.version else each.moved) for each in one.story)
    return replace(one, story=tuple(story))


def _recent_story(one: Evidence) -> Evidence:
    earlier = [each for each in one.story if not each.later]
    return replace(one, story=tuple(earlier[-1 - RECENT :]))


def _unexplained(finding: FindingFacts | None) -> FindingFacts | None:
    return None if finding is None else replace(finding, explanation="")


def _first_items(count: int) -> Callable[[Evidence], Evidence]:
    def without(one: Evidence) -> Evidence:
        kept = {each.id for each in one.items[:count]}
        cited = (replace(each, evidence=tuple(i for i in each.evidence if i in kept)) for each in one.further)
        first = one.diagnosis
        shown = None if first is None else replace(first, evidence=tuple(i for i in first.evidence if i in kept))
        return replace(one, items=one.items[:count], further=tuple(cited), diagnosis=shown)

    return without


def _one_workload(one: Evidence) -> Evidence:
    """Return the evidence without the times of other workloads; the task still lists them and their sizes."""
    kept = (
        w if w.name == one.workload else replace(w, median_ns=None, copy_ns=None, floor_ns=None)
        for w in one.task.workloads
    )
    return replace(one, task=replace(one.task, workloads=tuple(kept)))


MOVED, FAILED, RECENTLY = "what moved in earlier versions", "failed drafts", f"all but the last {1 + RECENT} versions"
OLD_FAILED, LESSER_COUNTERS = f"failed drafts but the last {LAST_FAILED}", "less important counters (from {} on)"
FROM_21, FROM_13, FROM_8 = (LESSER_COUNTERS.format(one) for one in ("E21", "E13", "E8"))
DROPS: tuple[Drop, ...] = (
    Drop(MOVED, _plain_story),
    Drop("the measured ceilings except DRAM's", lambda e: replace(e, hardware=replace(e.hardware, ceilings=()))),
    Drop("times of the other workloads", _one_workload),
    Drop("how busy pipes were, and opcodes", lambda e: replace(e, shape=replace(e.shape, pipes="", opcodes=""))),
    Drop(FROM_21, _first_items(20)),
    Drop(OLD_FAILED, lambda e: replace(e, failed=e.failed[-LAST_FAILED:])),
    Drop(RECENTLY, _recent_story),
    Drop("what fixed the same fault elsewhere", lambda e: replace(e, removed=())),
    Drop("what the hardware does", lambda e: replace(e, diagnosis=_unexplained(e.diagnosis))),
    Drop(FROM_13, _first_items(12), (FROM_21,)),
    Drop("further findings", lambda e: replace(e, further=(), joint="")),
    Drop("the story", lambda e: replace(e, story=()), (MOVED, RECENTLY)),
    Drop(FAILED, lambda e: replace(e, failed=()), (OLD_FAILED,)),
    Drop("what the rules cannot tell", lambda e: replace(e, unknown=())),
    Drop(FROM_8, _first_items(7), (FROM_13,)),
    Drop("notes at source lines", lambda e: replace(e, source=replace(e.source, margins=(), about_margins="left out"))),
)


DEFAULTS = Path(__file__).parent / "templates"
MAIN = "prompt.md.j2"
ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
# Errors that a template's own expressions may raise on existing values.
MISUSED = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
SHORTEST = 3
TICKS = re.compile(r"`+")
FULL_WARP = 28.0  # lanes; a few idle ones are not worth a note
WASTED = 1.02  # of the ideal: up to 2 % is ignored, as in the rules
LEAST_SHARE = 0.01  # of all samples; less is not shown
FLOATING = (
    "The ideal of {ids} is not a fixed number: it grows with the bytes that an access moves. Predict an efficiency in "
    "percent or the excess instead. A warp that does not start at the edge of a sector touches one sector more."
)


def load(names: Collection[str], folder: Path | None = None) -> Environment:
    """Return the templates, with those in ``folder`` replacing the package's by name; ``names`` are the variables.

    Raises UsageProblem, with file and line, for a template with an unknown variable or invalid Jinja.
    """
    if folder is None or not folder.is_dir():
        return _of_the_package(frozenset(names))
    return _checked(_environment(folder), names)


@functools.cache
def _of_the_package(names: frozenset[str]) -> Environment:
    """Return the installed templates, compiled once per process."""
    return _checked(_environment(None), names)


def _checked(environment: Environment, names: Collection[str]) -> Environment:
    for name in sorted(one for one in environment.list_templates() if one.endswith(".j2")):
        _check(environment, name, names)
    return environment


def render(environment: Environment, values: Mapping[str, Any]) -> str:
    """Render the prompt from these values; raises UsageProblem, with file and line."""
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
        autoescape=False,  # the output is text; fences contain untrusted parts
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update({**FILTERS, "fenced": fenced, "quoted": quoted})
    return made


def _check(environment: Environment, name: str, names: Collection[str]) -> None:
    """Raise UsageProblem for the first unknown variable of a template, also in a part that never runs."""
    tree, undeclared = _parsed(environment, name)
    own = {one.name for one in tree.find_all(nodes.Name) if one.ctx == "store"}  # set, perhaps in a branch only
    for unknown in sorted(undeclared - set(names) - own):
        line = min((one.lineno for one in tree.find_all(nodes.Name) if one.name == unknown), default=1)
        raise _problem(name, line, f"there is no variable '{unknown}'; {did_you_mean(unknown, names)}")


def _parsed(environment: Environment, name: str) -> tuple[nodes.Template, set[str]]:
    """Return a template and its free variables."""
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
    """Return the template and line of an error: jinja puts both into the traceback."""
    found = (MAIN, 1)
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename).name
        found = (name, trace.tb_lineno) if name.endswith(".j2") else found
        trace = trace.tb_next
    return found


def _near(message: str, values: Mapping[str, Any]) -> str:
    """Return the existing attribute nearest to the one that an error message reports missing."""
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
    """Return a short text as inline code, without its backticks."""
    return f"`{TICKS.sub(chr(39), plain(text))}`"


def change_words(item: EvidenceItem) -> str:
    """Return the change of an item since the previous version: a factor, or points for percentages."""
    if item.before is None:
        return "-"
    if item.value == item.before:
        return "="
    if item.unit == "%":
        return f"{item.value - item.before:+.1f} pt"
    return f"x{digits(item.value / item.before)}" if item.before else "new"


def number(value: float | None) -> str:
    """Return a number of the table as a reply should quote it; ``-`` for None."""
    return "-" if value is None else f"{value:.7g}"


def numbered(source: SourceText) -> str:
    """Return the source with line numbers; below a hot line, after a ^, are the profiler's notes on it."""
    margins = {one.line: one for one in source.margins}
    width = len(str(len(source.lines)))
    shown = []
    for number_, line in enumerate(source.lines, start=1):
        shown.append(f"{number_:>{width}} | {line}" if line else f"{number_:>{width}} |")
        if number_ in margins and (words := note_words(margins[number_], line)):
            shown.append(f"{'':>{width}} ^ {words}")
    return "\n".join(shown)


def note_words(note: LineNote, line: str) -> str:
    """Return the profiler's notes on a line, e.g. ``58 % of samples (long scoreboard 77 %); 33.0 M excess …``."""
    return "; ".join(one for one in (_samples(note, line), *_wastes(note), _lanes(note)) if one)


def _samples(note: LineNote, line: str) -> str:
    executed = f", {percent(note.instructions)} of instructions" if note.instructions >= LEAST_SHARE else ""
    share = f"{percent(note.share)} of samples{executed}" if note.share >= LEAST_SHARE else ""
    waits = ", ".join(f"{spoken(reason)} {percent(part)}{_at(reason, line)}" for reason, part in note.stalls)
    return f"{share} ({waits})" if share and waits else share


def _at(reason: str, line: str) -> str:
    """Say that warps wait at an earlier barrier, if barrier samples fall on a line without one."""
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
    """Return the integer sizes of a workload, e.g. ``batch 64, heads 64, dim 96``."""
    return ", ".join(f"{name} {size}" for name, size in workload.integers.items())


def launches_text(launches: Sequence[LaunchLine]) -> str:
    """Return the launches of a call, longest first, one per line."""
    return "\n".join(_launch(one) for one in launches)


def _launch(one: LaunchLine) -> str:
    time = quantity(one.duration_ns, "ns") if one.duration_ns is not None else "time unknown"
    said = f"  {one.diagnosis}" if one.diagnosis else ""
    return f"{one.kernel}  {time}  grid {one.grid}  block {one.block}{said}"


def story_text(chapters: Sequence[VersionStory], parent: str) -> str:
    """Return the versions in order: outcome, the author's description of the idea, changes."""
    return "\n".join(line for one in chapters for line in _chapter(one, parent))


def _chapter(one: VersionStory, parent: str) -> list[str]:
    name = f"{one.version} (the parent)" if one.version == parent else one.version
    idea = "" if one.version == parent else one.idea  # it is at the top of the source
    lines = [f"{name}: {one.outcome}" if one.outcome else name]
    lines += [f"    idea: {idea}"] if idea else []
    return [*lines, *([f"    moved: {one.moved}"] if one.moved else []), *_predicted(one)]


def _predicted(one: VersionStory | FailedDraft) -> Iterator[str]:
    if one.proved:
        yield f"    came as predicted: {one.proved}"
    if one.disproved:
        yield f"    disproved: {one.disproved}"


def failures_text(failed: Sequence[FailedDraft]) -> str:
    """Return the failed drafts, newest last: the change, why it was rejected, and failed predictions."""
    return "\n".join(line for one in failed for line in _failure(one))


def _failure(one: FailedDraft) -> Iterator[str]:
    yield f"{one.id} (from {one.parent}): {one.change}"
    yield f"    {one.fate}: {one.reason}"
    yield from _predicted(one)


def removed_text(removed: Sequence[RemovedFault]) -> str:
    """Return earlier changes that removed a fault: where, the change, and the gain."""
    return "\n".join(f"{one.where}: {factor(one.speedup)} faster\n    idea: {one.change}" for one in removed)


def floating_ideals(items: Sequence[EvidenceItem]) -> str:
    """Return a caution on items whose ideal is a metric itself and so not a fixed number; empty for none."""
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
    "times_as_fast": times_as_fast,
}
