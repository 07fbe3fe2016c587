"""The documentation of one rule on a terminal."""

from __future__ import annotations

import inspect
import textwrap

from ncu_assist.render.terminal.style import NARROWEST
from ncu_assist.rules import Rule
from ncu_assist.rules.model.warnings import WarningEntry

NEEDS = "  needs     "
USES = "  also      "  # without which it may find something, but does not say that there is nothing


def rule_text(rule: Rule | WarningEntry) -> str:
    """Return the id, the docstring in paragraphs, and the metrics without which the rule cannot answer, or not fully.

    Of a warning its text in paragraphs.
    """
    if isinstance(rule, WarningEntry):
        return "\n\n".join([f"{rule.id}: a warning about the measurement", *_paragraphs(rule.text)])
    needs = _listed(NEEDS, rule.NEEDS or ("no metric of its own",))
    uses = _listed(USES, rule.USES) if rule.USES else []
    about = _paragraphs(inspect.cleandoc(rule.__doc__ or ""))
    return "\n\n".join([f"{rule.ID}: what a diagnosis can say", *about, "\n".join([*needs, *uses])])


def _listed(title: str, keys: tuple[str, ...]) -> list[str]:
    indent = " " * len(title)
    return textwrap.wrap(
        ", ".join(keys), NARROWEST, initial_indent=title, subsequent_indent=indent, break_long_words=False
    )


def _paragraphs(text: str) -> list[str]:
    return [textwrap.fill(one, NARROWEST, break_long_words=False, break_on_hyphens=False) for one in text.split("\n\n")]
