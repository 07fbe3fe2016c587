"""Where a finding happens: the source lines with most of what it wastes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.code import Code
from ncu_assist.rules.base import Finding
from ncu_assist.rules.inlined import own_lines
from ncu_assist.rules.wasted import wasted

if TYPE_CHECKING:
    import pandas as pd

MOST = 5
MOST_OF_IT = 0.5
LEAST_SHARE = 0.01  # of the waste; a line below it leads nowhere
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")  # where code was loaded in one run: it leads nowhere


@dataclass(frozen=True)
class Place:
    """A source line and its part of what a finding wastes, 1 for all.

    ``text`` is None where the source was not imported. Of code without lines, ``file`` and ``line`` are None and
    ``text`` is the instruction. ``is_guess``: most of it is code of a library, and the line the one that most likely
    calls it, as the report does not say which does.
    """

    file: str | None
    line: int | None
    text: str | None
    share: float
    is_guess: bool = False


def places(finding: Finding, code: Code, owned: bool = False) -> tuple[Place, ...]:
    """Return up to five lines with most of what a finding wastes, the first line first.

    Waits are put down to the instruction that was waited for, and code of libraries to the own line that calls it;
    ``owned``: that was done with ``code``. Empty where the report does not say what instructions cost.
    """
    frame = code.sass if owned else own_lines(code)
    waste = wasted(finding, frame)
    total = float(waste.sum())
    if not total > 0:
        return ()
    frame = frame.assign(waste=waste)
    lined = bool(frame["line"].notna().any())
    keys = ["file", "line"] if lined else ["kernel", "offset"]
    frame = frame.assign(guessed=waste * frame["is_guess"].to_numpy(float))
    groups = frame.groupby(keys, observed=True, sort=True)
    sums = groups.agg(waste=("waste", "sum"), guessed=("guessed", "sum"), sass=("sass", "first"))
    top = sums.nlargest(MOST, "waste")
    kept = top[top["waste"] >= LEAST_SHARE * total]
    return tuple(_place(key, row, float(row["waste"]) / total, code, lined) for key, row in kept.iterrows())


def _place(key: object, row: pd.Series[Any], share: float, code: Code, lined: bool) -> Place:
    assert isinstance(key, tuple)
    if not lined:
        return Place(None, None, ADDRESS.sub("…", str(row["sass"])) if row["sass"] else None, share)
    file, line = str(key[0]), int(key[1])
    is_guess = bool(row["guessed"] > MOST_OF_IT * row["waste"])
    return Place(file, line, code.texts.get((file, line)), share, is_guess)
