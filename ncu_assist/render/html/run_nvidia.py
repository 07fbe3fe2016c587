"""What Nsight Compute's own rules say, beside our diagnosis."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.nvidia_findings import NvidiaFinding
from ncu_assist.render.escape import one_line

MESSAGE = 3000  # letters


@dataclass(frozen=True)
class NvidiaView:
    """One rule's advice; ``kind`` is local or global, ``kernel`` of which launches, where there are several."""

    title: str
    rule: str
    estimate: str
    kind: str
    kernel: str
    message: str


def nvidia_views(shown: Shown) -> tuple[NvidiaView, ...]:
    """Return the advice in NVIDIA's order: global estimates first, then local ones."""
    launches = len(shown.launches_shown)
    return tuple(_view(one, launches) for one in shown.close.nvidia or ())


def _view(one: NvidiaFinding, launches: int) -> NvidiaView:
    where = f"{one_line(one.kernel, 60)}, {one.launches} of {launches} launches" if launches > 1 else ""
    return NvidiaView(
        title=one_line(one.title),
        rule=one_line(one.rule),
        estimate=f"{one.speedup_pct:.0f} %" if one.speedup_pct is not None else "-",
        kind=one_line(one.speedup_type or ""),
        kernel=where,
        message=one_line(one.message, MESSAGE),
    )
