"""The question to a language model: built from evidence by templates, within a budget, the same for the same runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.suggest.evidence.records import Evidence
from ncu_assist.suggest.prompting.budget import DROPS, tokens_of
from ncu_assist.suggest.prompting.kept import id_of

FORMS = ("json_schema", "json_object", "fences")  # the rungs of suggest.model, the strictest first
MAX_TOKENS = 8_000
# Behind whatever templates make of it: of a saved reply only this says which prompt it answers.
NAMES = dict.fromkeys(FORMS, "This is {id}.") | {
    "fences": "This is {id}. Write {id} in the first line of your reply, so that it is held against the numbers above."
}


@dataclass(frozen=True)
class Prompt:
    """A question. ``tokens`` are characters over four, ``dropped`` is what did not fit, ``evidence`` what is shown.

    A reply may cite the items of ``evidence`` and no others. ``id`` stands in the text, for a reply to repeat.
    """

    text: str = field(repr=False)
    tokens: int
    dropped: tuple[str, ...]
    evidence: Evidence = field(repr=False)
    sha256: str
    id: str


def build_prompt(
    evidence: Evidence, templates: Path | None = None, max_tokens: int = MAX_TOKENS, form: str = FORMS[0]
) -> Prompt:
    """Return the question that evidence makes, in at most ``max_tokens``; ``form`` is the one of FORMS to reply in.

    ``templates`` is the project's folder, whose files replace the package's by name. Where it is too long the least
    important goes first, in the order of ``budget.DROPS``, and the text says what went. Raises UsageProblem for an
    unknown form, a template with a mistake, and a budget that the core of the question does not fit into.
    """
    if form not in FORMS:
        raise UsageProblem(f"there is no reply form '{form}'; {did_you_mean(form, FORMS)}")
    made_by = _Builder(templates, form)
    made = made_by.prompt(evidence, ())
    for drop in DROPS:
        if made.tokens <= max_tokens:
            return made
        less = drop.without(made.evidence)
        if less != made.evidence:
            made = made_by.prompt(less, drop.after(made.dropped))
    if made.tokens > max_tokens:
        message = f"the core of the prompt needs {made.tokens} tokens, more than the {max_tokens} allowed"
        raise UsageProblem(message, f"--max-prompt-tokens {made.tokens}")
    return made


class _Builder:
    """The templates, read once, and the form that is asked for."""

    def __init__(self, folder: Path | None, form: str) -> None:
        from ncu_assist.suggest.prompting.templates import load

        self._form = form
        self._templates = load([*(one.name for one in fields(Evidence)), "form", "dropped"], folder)

    def prompt(self, evidence: Evidence, dropped: tuple[str, ...]) -> Prompt:
        from ncu_assist.suggest.prompting.templates import render

        id = id_of(evidence)
        text = render(self._templates, {**values_of(evidence), "form": self._form, "dropped": dropped})
        text = f"{text.rstrip()}\n\n{NAMES[self._form].format(id=id)}\n"
        return Prompt(text, tokens_of(text), dropped, evidence, hashlib.sha256(text.encode()).hexdigest(), id)


def values_of(evidence: Evidence) -> dict[str, Any]:
    """Return what templates know: the parts of the evidence by name, and ``form`` and ``dropped`` beside them."""
    return {one.name: getattr(evidence, one.name) for one in fields(evidence)}
