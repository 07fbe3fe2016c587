"""Where a finding happens: the source lines with most of what it wastes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ncu_assist.ncu.code import Code
from ncu_assist.rules.base import Finding
from ncu_assist.rules.inlined import own_lines
from ncu_assist.rules.wasted import wasted

MOST = 5
LEAST_SHARE = 0.01  # of the waste; a line below it leads nowhere
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")  # where code was loaded in one run: it leads nowhere


@dataclass(frozen=True)
class Place:
    """A source line and its part of what a finding wastes, 1 for all.

    ``text`` is None where the source was not imported. Of code without lines, ``file`` and ``line`` are None and
    ``text`` is the instruction.
    """

    file: str | None
    line: int | None
    text: str | None
    share: float


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
    sums = frame.groupby(keys, observed=True, sort=True).agg(waste=("waste", "sum"), sass=("sass", "first"))
    top = sums.nlargest(MOST, "waste")
    found = [(key, row["sass"], float(row["waste"]) / total) for key, row in top.iterrows()]
    return tuple(_place(key, sass, share, code, lined) for key, sass, share in found if share >= LEAST_SHARE)


def _place(key: object, sass: object, share: float, code: Code, lined: bool) -> Place:
    assert isinstance(key, tuple)
    if not lined:
        return Place(None, None, ADDRESS.sub("…", str(sass)) if sass else None, share)
    file, line = str(key[0]), int(key[1])
    return Place(file, line, code.texts.get((file, line)), share)
