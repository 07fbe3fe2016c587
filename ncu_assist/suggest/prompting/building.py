"""The question to a language model: built from evidence by templates, within a budget, the same for the same runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.suggest.evidence.records import Evidence, FindingFacts
from ncu_assist.suggest.model.endpoint import CHARACTERS_PER_TOKEN
from ncu_assist.suggest.prompting.archive import Prompt, id_of

FORMS = ("json_schema", "json_object", "fences")  # as suggest.model.REPLY_FORMS
MAX_TOKENS = 8_000
# Behind whatever templates make of it: of a saved reply only this says which prompt it answers.
NAMES = dict.fromkeys(FORMS, "This is {id}.") | {
    "fences": "This is {id}. Write {id} in the first line of your reply, so that it is held against the numbers above."
}
LAST_FAILED = 3  # drafts
RECENT = 2  # versions of the story


def build_prompt(
    evidence: Evidence, templates: Path | None = None, max_tokens: int = MAX_TOKENS, form: str = FORMS[0]
) -> Prompt:
    """Return the question that evidence makes, in at most ``max_tokens``; ``form`` is the one of FORMS to reply in.

    ``templates`` is the project's folder, whose files replace the package's by name. Where it is too long the least
    important goes first, in the order of ``DROPS``, and the text says what went. Raises UsageProblem for an
    unknown form, a template with a mistake, and a budget that the core of the question does not fit into.
    """
    if form not in FORMS:
        raise UsageProblem(f"there is no reply form '{form}'; {did_you_mean(form, FORMS)}")
    from ncu_assist.suggest.prompting.templates import load, render

    known = load([*(one.name for one in fields(Evidence)), "form", "dropped"], templates)

    def prompt_of(shown: Evidence, dropped: tuple[str, ...]) -> Prompt:
        id = id_of(shown)
        text = render(known, {**values_of(shown), "form": form, "dropped": dropped})
        text = f"{text.rstrip()}\n\n{NAMES[form].format(id=id)}\n"
        return Prompt(id, "", text, tokens_of(text), dropped, shown, hashlib.sha256(text.encode()).hexdigest())

    made = prompt_of(evidence, ())
    for drop in DROPS:
        if made.tokens <= max_tokens:
            return made
        less = drop.without(made.evidence)
        if less != made.evidence:
            made = prompt_of(less, drop.after(made.dropped))
    if made.tokens > max_tokens:
        message = f"the core of the prompt needs {made.tokens} tokens, more than the {max_tokens} allowed"
        raise UsageProblem(message, f"--max-prompt-tokens {made.tokens}")
    return made


def values_of(evidence: Evidence) -> dict[str, Any]:
    """Return what templates know: the parts of the evidence by name, and ``form`` and ``dropped`` beside them."""
    return {one.name: getattr(evidence, one.name) for one in fields(evidence)}


@dataclass(frozen=True)
class Drop:
    """One step: what the prompt then lacks, in words, and the evidence without it; ``more_than`` are lesser steps."""

    what: str
    without: Callable[[Evidence], Evidence]
    more_than: tuple[str, ...] = ()

    def after(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        """Return what a prompt lacks in all after this step."""
        return (*(one for one in dropped if one not in self.more_than), self.what)


def tokens_of(text: str) -> int:
    """Return how many tokens a text has, roughly: a quarter of its characters, rounded up."""
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
    """Return the evidence without the times of other workloads; that they exist and their sizes are the task's."""
    kept = (
        w if w.name == one.workload else replace(w, median_ns=None, copy_ns=None, floor_ns=None)
        for w in one.task.workloads
    )
    return replace(one, task=replace(one.task, workloads=tuple(kept)))


MOVED, FAILED, RECENTLY = "what moved in earlier versions", "failed drafts", f"all but the last {1 + RECENT} versions"
OLD_FAILED, LESSER_COUNTERS = f"failed drafts but the last {LAST_FAILED}", "counters of less importance ({} and on)"
FROM_21, FROM_13, FROM_8 = (LESSER_COUNTERS.format(one) for one in ("E21", "E13", "E8"))
DROPS: tuple[Drop, ...] = (
    Drop(MOVED, _plain_story),
    Drop("the measured ceilings beside DRAM's", lambda e: replace(e, hardware=replace(e.hardware, ceilings=()))),
    Drop("times of the other workloads", _one_workload),
    Drop("how busy pipes were, and opcodes", lambda e: replace(e, shape=replace(e.shape, pipes="", opcodes=""))),
    Drop(FROM_21, _first_items(20)),
    Drop(OLD_FAILED, lambda e: replace(e, failed=e.failed[-LAST_FAILED:])),
    Drop(RECENTLY, _recent_story),
    Drop("what took the same fault away elsewhere", lambda e: replace(e, removed=())),
    Drop("what the hardware does", lambda e: replace(e, diagnosis=_unexplained(e.diagnosis))),
    Drop(FROM_13, _first_items(12), (FROM_21,)),
    Drop("further findings", lambda e: replace(e, further=(), joint="")),
    Drop("the story", lambda e: replace(e, story=()), (MOVED, RECENTLY)),
    Drop(FAILED, lambda e: replace(e, failed=()), (OLD_FAILED,)),
    Drop("what the rules cannot tell", lambda e: replace(e, unknown=())),
    Drop(FROM_8, _first_items(7), (FROM_13,)),
    Drop("notes at source lines", lambda e: replace(e, source=replace(e.source, margins=(), about_margins="left out"))),
)
