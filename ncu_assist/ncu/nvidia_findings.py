"""What NVIDIA's own rules say of some launches of a report, what is worth most first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncu_assist.ncu.contents import RuleFacts
    from ncu_assist.ncu.report import Report

LINK = re.compile(
    r"@[a-z]+:(?:[^@:]*:)??([^@:]+)(?::https?://[^@]*)?@"
)  # to a section, metric or page: its text is kept
ADVICE = ("optimization", "warning")  # kinds of findings that are more than a remark


@dataclass(frozen=True)
class NvidiaFinding:
    """What a rule of NVIDIA's says, with the largest speed-up that it estimates of any launch; None without one."""

    rule: str
    title: str
    message: str
    speedup_type: str | None  # local (of what the rule looks at) or global (of the launch)
    speedup_pct: float | None
    kernel: str  # of the launch with that estimate
    launches: int  # how many it is said of


def nvidia_findings(report: Report, launches: Sequence[int]) -> tuple[NvidiaFinding, ...]:
    """Return the advice on these launches, numbered as in the report: global estimates first, then local ones.

    A local estimate is of a part of the work and says nothing of the launch, so the two are not ranked together. What
    is said of several launches stands once, with the largest estimate.
    """
    found: dict[tuple[str, str | None], list[tuple[int, RuleFacts]]] = {}
    for launch in launches:
        for rule in report.contents.launches[launch].rules:
            if rule.kind in ADVICE:
                found.setdefault((rule.rule, rule.title), []).append((launch, rule))
    return tuple(
        sorted(
            (_finding(report, said) for said in found.values()),
            key=lambda one: (one.speedup_type != "global", -(one.speedup_pct or 0.0), one.title),
        )
    )


def _finding(report: Report, said: list[tuple[int, RuleFacts]]) -> NvidiaFinding:
    launch, rule = max(said, key=lambda one: one[1].speedup_pct or 0.0)
    return NvidiaFinding(
        rule=rule.rule,
        title=rule.title or rule.rule,
        message=LINK.sub(r"\1", rule.message or ""),
        speedup_type=rule.speedup_type,
        speedup_pct=rule.speedup_pct,
        kernel=report.records[launch].kernel,
        launches=len({launch for launch, _ in said}),
    )
