"""What each instruction wastes of what a finding is about: excess, idle lanes, waits, bytes that were read before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ncu_assist.ncu.source.metrics import SAMPLES, STALL_COLUMN
from ncu_assist.rules.base import Finding
from ncu_assist.rules.blame import Function
from ncu_assist.rules.read_again import read_again
from ncu_assist.rules.shape import LANES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

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
        texts, sectors = own["sass"].astype(str), np.nan_to_num(own["sectors"].to_numpy(float))
        again = read_again(texts.tolist(), list(lines), sectors.tolist())
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
