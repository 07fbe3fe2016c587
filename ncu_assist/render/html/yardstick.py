"""The term of a share: what stands beside it, and how it is worked out."""

from __future__ import annotations

from ncu_assist.analysis.yardstick import Yardstick
from ncu_assist.render.html.term import Term


def share_term(of: Yardstick) -> Term:
    """Return what heads a column of shares."""
    return Term(of.title, of.formula, f"{of.meaning}: 100 % as fast")
