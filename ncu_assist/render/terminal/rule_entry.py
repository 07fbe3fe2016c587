"""The documentation of one rule on a terminal."""

from __future__ import annotations

import inspect
import textwrap

from ncu_assist.render.terminal.style import NARROWEST
from ncu_assist.rules import Rule
from ncu_assist.rules.warning_entries import WarningEntry

NEEDS = "  needs     "


def rule_text(rule: Rule | WarningEntry) -> str:
    """Return the id, then the rule's docstring in its paragraphs, then the metrics without which it cannot answer.

    Of a warning its text in paragraphs.
    """
    if isinstance(rule, WarningEntry):
        return "\n\n".join([f"{rule.id}: a warning about the measurement", *_paragraphs(rule.text)])
    needs = textwrap.wrap(
        ", ".join(rule.NEEDS) or "no metric of its own",
        NARROWEST,
        initial_indent=NEEDS,
        subsequent_indent=" " * len(NEEDS),
        break_long_words=False,
    )
    about = _paragraphs(inspect.cleandoc(rule.__doc__ or ""))
    return "\n\n".join([f"{rule.ID}: what a diagnosis can say", *about, "\n".join(needs)])


def _paragraphs(text: str) -> list[str]:
    return [textwrap.fill(one, NARROWEST, break_long_words=False, break_on_hyphens=False) for one in text.split("\n\n")]
