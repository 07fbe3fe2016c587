"""Where a finding happens: the source lines with most of what it wastes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_assist.ncu.code import Code
from ncu_assist.ncu.source.metrics import SAMPLES, STALL_COLUMN
from ncu_assist.rules.base import Finding
from ncu_assist.rules.blame import Function
from ncu_assist.rules.inlined import own_lines
from ncu_assist.rules.shape import LANES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

MOST = 5
LEAST_SHARE = 0.01  # of the waste; a line below it leads nowhere
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")  # where code was loaded in one run: it leads nowhere
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

    Waits are put down to the instruction that was waited for, and code of libraries to the own line that most likely
    calls it; ``owned``: that was done with ``code``. Empty where the report does not say what instructions cost.
    """
    waste = _waste(finding, code.sass)
    total = float(waste.sum())
    if not total > 0:
        return ()
    about = ABOUT.get(finding.rule)
    if about:
        heads = code.sass["opcode"].astype(str).str.split(".").str[0]
        only = waste * heads.isin(about).to_numpy()
        waste = only if only.sum() > 0 else waste
    frame = (code.sass if owned else own_lines(code)).assign(waste=waste)
    lined = bool(frame["line"].notna().any())
    keys = ["file", "line"] if lined else ["kernel", "offset"]
    sums = frame.groupby(keys, observed=True, sort=True).agg(waste=("waste", "sum"), sass=("sass", "first"))
    top = sums.nlargest(MOST, "waste")
    found = [(key, row["sass"], float(row["waste"]) / float(waste.sum())) for key, row in top.iterrows()]
    return tuple(_place(key, sass, share, code, lined) for key, sass, share in found if share >= LEAST_SHARE)


def _place(key: object, sass: object, share: float, code: Code, lined: bool) -> Place:
    assert isinstance(key, tuple)
    if not lined:
        return Place(None, None, ADDRESS.sub("…", str(sass)) if sass else None, share)
    file, line = str(key[0]), int(key[1])
    return Place(file, line, code.texts.get((file, line)), share)


def _waste(finding: Finding, sass: pd.DataFrame) -> Floats:
    """Return what each instruction wastes, zero where nothing was counted."""
    import numpy as np

    if finding.waste == "divergence":
        lost = (LANES * sass["instructions"] - sass["thread_instructions"]).to_numpy(float)
        clipped: Floats = np.clip(np.nan_to_num(lost), 0.0, None)
        return clipped
    if finding.waste != "samples":
        excess: Floats = np.nan_to_num(sass[finding.waste].to_numpy(float))
        return excess if excess.sum() > 0 else _waits(finding, sass)
    return _waits(finding, sass)


def _waits(finding: Finding, sass: pd.DataFrame) -> Floats:
    import numpy as np

    reasons = [reason for reason in finding.stalls if STALL_COLUMN + reason in sass]
    if not any(np.nansum(sass[STALL_COLUMN + reason]) > 0 for reason in reasons):
        samples: Floats = np.nan_to_num(sass[SAMPLES].to_numpy(float))
        return samples
    waits = np.zeros(len(sass))
    keys = [sass["launch"].to_numpy(), sass["kernel"].astype(str).to_numpy()]
    for _, rows in sass.assign(row=np.arange(len(sass))).groupby(keys, sort=False)["row"]:
        own_rows = rows.to_numpy()
        function = Function.of([str(text) for text in sass["sass"].iloc[own_rows]])
        for reason in reasons:
            column = np.nan_to_num(sass[STALL_COLUMN + reason].to_numpy(float)[own_rows])
            for own in np.flatnonzero(column):
                waits[own_rows[function.blamed(int(own), reason)]] += column[own]
    return waits
