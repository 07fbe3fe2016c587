"""What a name stands for: one of our rules or warnings, anything that ncu has, or a key of an answer."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.glossary import GLOSSARY, GlossaryEntry
from ncu_assist.ncu.catalogue.lookup import MANY, Subject, explain
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
from ncu_assist.render.json.keys import MEANINGS
from ncu_assist.rules import RULES, Rule
from ncu_assist.rules.model.warnings import WARNINGS

NEAR = 0.8  # of the letters: a typing error, and not a metric of similar words


def explain_any(name: str) -> tuple[Rule | GlossaryEntry | Subject, ...]:
    """Return the rule or warning of this id, the word of the glossary, else what ``explain`` of the catalogue knows,
    else what a key of JSON answers means.

    Raises UsageProblem with the command for the nearest name where nothing is called so.
    """
    typed = name.strip().lower()
    tables: tuple[Mapping[str, Rule | GlossaryEntry], ...] = RULES, WARNINGS, GLOSSARY
    for table in tables:
        if typed in table:
            return (table[typed],)
    if typed != name.strip() and typed in ROWS:  # IPC
        return explain(typed)
    if (reason := typed.removeprefix("stall:").strip().replace(" ", "_").replace("-", "_")) in STALL_REASONS:
        return explain(reason)
    try:
        return explain(name)
    except UsageProblem as problem:
        if key := _key(typed):
            return (key,)
        is_of_keys = "_" in typed and problem.message.startswith(MANY)  # the beginning of several
        found = next((table[form] for table in tables for form in _forms(typed) if form in table), None)
        if found and not is_of_keys:
            return (found,)
        words = typed.replace("_", "-").replace(" ", "-")
        near = difflib.get_close_matches(words, [*RULES, *WARNINGS, *GLOSSARY], n=1, cutoff=NEAR)
        if not near and not problem.message.startswith(MANY):
            near = [one for one in RULES if words.removesuffix("s") in one]
            if len(near) > 1:
                message = f"nothing is called '{name}'; diagnoses with it in their name: {', '.join(near)}"
                raise UsageProblem(message, f"ncu-assist explain {near[0]}") from None
        if not near or problem.message.startswith(MANY):
            raise
        message = f"{problem.message.partition('; did you mean')[0]}; did you mean '{near[0]}'?"
        raise UsageProblem(message, f"ncu-assist explain {shlex.quote(near[0])}") from None


def _forms(typed: str) -> Iterator[str]:
    """Yield other ways to write a word: with hyphens or with blanks between its parts, and without the plural."""
    for one in (typed, typed.removesuffix("s")):
        for between in "- ":
            yield re.sub("[-_ ]+", between, one)


def _key(name: str) -> GlossaryEntry | None:
    """Return what a key of JSON answers means, first where it means the same in most; None for another name."""
    told = [MEANINGS[name]] if name in MEANINGS else []
    told += [f"in {key.partition('.')[0]}: {MEANINGS[key]}" for key in MEANINGS if key.endswith(f".{name}")]
    return GlossaryEntry(name, "key of an answer: " + "; ".join(told)) if told else None
