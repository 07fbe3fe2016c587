"""The documentation of one rule on a terminal."""

from __future__ import annotations

import inspect
import textwrap

from ncu_assist.render.terminal.style import NARROWEST
from ncu_assist.rules import Rule

NEEDS = "  needs     "


def rule_text(rule: Rule) -> str:
    """Return the id, then the rule's docstring in its paragraphs, then the metrics without which it cannot answer."""
    paragraphs = inspect.cleandoc(rule.__doc__ or "").split("\n\n")
    needs = textwrap.wrap(
        ", ".join(rule.NEEDS) or "no metric of its own",
        NARROWEST,
        initial_indent=NEEDS,
        subsequent_indent=" " * len(NEEDS),
        break_long_words=False,
    )
    bodies = [textwrap.fill(one, NARROWEST, break_long_words=False, break_on_hyphens=False) for one in paragraphs]
    return "\n\n".join([f"{rule.ID}: what a diagnosis can say", *bodies, "\n".join(needs)])
