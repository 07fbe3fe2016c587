"""Why a check was not kept, in words."""

from __future__ import annotations

from ncu_assist.analysis.gate import GateCheck
from ncu_assist.analysis.gate.records import (
    ACROSS_LIMIT,
    ACROSS_MARGIN,
    CHECK_FAILED,
    MAY_BE_NOISE,
    NOT_COUNTED,
    Lacking,
)
from ncu_assist.verdict import MARGIN, REASONS

SENTENCES = {
    ACROSS_LIMIT: "the 99 % interval reaches across the limit",
    ACROSS_MARGIN: f"the 99 % interval reaches across {100 * MARGIN:g} %, the least that is told apart",
    MAY_BE_NOISE: "it may be noise: it is beyond the limit by less than twice what repeats of a kernel may be apart",
}


def reason_words(check: GateCheck) -> str:
    """Return why a check was not kept; empty for one that was, and where the numbers say it all."""
    if check.reason == CHECK_FAILED:
        return f"the check of {check.detail.version} failed there: {check.detail.text}"
    if check.reason == NOT_COUNTED:
        return _not_counted(check)
    likely = f"likely {check.detail.likely}, but " if check.detail.likely else ""
    meaning = SENTENCES.get(check.reason) or (REASONS[check.reason].meaning if check.reason else "")
    return likely + meaning


def _not_counted(check: GateCheck) -> str:
    """Return which side lacks a metric, why, and what it has that is spelled like it."""
    if check.detail.text:  # it was counted, and says nothing: of different kernels, of no traffic
        return f"no value in {' or '.join(one.version for one in check.detail.lacking)}: {check.detail.text}"
    sides = " or ".join(f"{one.version}{_profiled(one)}" for one in check.detail.lacking)
    near = f"; did you mean '{check.detail.nearest}'?" if check.detail.nearest else ""
    return f"not counted in {sides}{near}"


def _profiled(side: Lacking) -> str:
    if not side.is_profiled:
        return " (it was not profiled there)"
    return f" (section set {side.section_set})" if side.section_set else ""
