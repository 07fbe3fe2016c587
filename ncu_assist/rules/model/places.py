"""Where a finding happens: the source lines with most of what it wastes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.code import Code
from ncu_assist.ncu.source.metrics import SAMPLES, STALL_COLUMN
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.blame import Function, read_again
from ncu_assist.rules.model.own_lines import own_lines
from ncu_assist.rules.model.shape import LANES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

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


LOCAL = frozenset({"LDL", "STL"})
# The instructions that a finding is about, by opcode without modifiers; where none of them wastes anything, all are.
ABOUT = {
    "uncoalesced-global-load": frozenset({"LD", "LDG", "LDGSTS", "UBLKCP"}),
    "uncoalesced-global-store": frozenset({"ST", "STG"}),
    "atomic-contention": frozenset({"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"}),
    "local-array": LOCAL,
    "register-spill": LOCAL,
    "no-tensor-core": frozenset({"FFMA", "HFMA2", "HFMA"}),
}


def wasted(finding: Finding, sass: pd.DataFrame) -> Floats:
    """Return what each instruction wastes, zero where nothing was counted; ``sass`` with the user's own lines."""
    waste = _of_all(finding, sass)
    about = finding.about or ABOUT.get(finding.rule)
    if not about:
        return waste
    heads = sass["opcode"].astype(str).str.split(".").str[0]
    only: Floats = waste * heads.isin(about).to_numpy()
    return only if only.sum() > 0 else waste


def _of_all(finding: Finding, sass: pd.DataFrame) -> Floats:
    import numpy as np

    if finding.waste == "divergence":
        lost = (LANES * sass["instructions"] - sass["thread_instructions"]).to_numpy(float)
        clipped: Floats = np.clip(np.nan_to_num(lost), 0.0, None)
        return clipped
    if finding.waste == "samples":
        return _waits(finding, sass)
    counted = _again(sass) if finding.waste == "read_again" else np.nan_to_num(sass[finding.waste].to_numpy(float))
    return counted if counted.sum() > 0 else _waits(finding, sass)


def _again(sass: pd.DataFrame) -> Floats:
    import numpy as np

    found = np.zeros(len(sass))
    for rows in _functions(sass):
        own = sass.iloc[rows]
        lines = zip(own["file"].astype(str), own["line"].fillna(0).astype(int), strict=True)
        texts, sectors = [str(text) for text in own["sass"]], np.nan_to_num(own["sectors"].to_numpy(float))
        again = read_again(texts, list(lines), sectors.tolist())
        found[rows[again]] = sectors[again]
    return found


def _waits(finding: Finding, sass: pd.DataFrame) -> Floats:
    import numpy as np

    reasons = [reason for reason in finding.stalls if STALL_COLUMN + reason in sass]
    if not any(np.nansum(sass[STALL_COLUMN + reason]) > 0 for reason in reasons):
        samples: Floats = np.nan_to_num(sass[SAMPLES].to_numpy(float))
        return samples
    waits = np.zeros(len(sass))
    for rows in _functions(sass):
        function = Function.of([str(text) for text in sass["sass"].iloc[rows]])
        for reason in reasons:
            column = np.nan_to_num(sass[STALL_COLUMN + reason].to_numpy(float)[rows])
            for own in np.flatnonzero(column):
                blamed = function.blamed(int(own), reason)
                waits[rows[function.matrix_instruction(blamed) if finding.with_operands else blamed]] += column[own]
    return waits


def _functions(sass: pd.DataFrame) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Yield the rows of each function of each launch."""
    import numpy as np

    keys = [sass["launch"].to_numpy(), sass["kernel"].astype(str).to_numpy()]
    for _, rows in sass.assign(row=np.arange(len(sass))).groupby(keys, sort=False)["row"]:
        yield rows.to_numpy()
