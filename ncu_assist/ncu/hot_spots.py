"""The few source lines and the few findings of NVIDIA's that say most about some launches of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ncu_assist.ncu.contents import RuleFacts
from ncu_assist.ncu.line_sums import COST, EXCESSES, LineSums, known, line_sums, longest
from ncu_assist.ncu.report import Report
from ncu_assist.ncu.source.metrics import SAMPLES

if TYPE_CHECKING:
    import pandas as pd

TOP = 3
ADVICE = ("optimization", "warning")  # kinds of findings that are more than a remark


@dataclass(frozen=True)
class HotLine:
    """A source line, all launches together. ``share`` is its part of all samples, 1 for all; excess None if unknown."""

    file: str
    line: int
    source: str | None  # None where the source was not imported
    share: float
    samples: int
    stall: str | None  # the reason most of its warps waited for, in ncu's spelling
    sectors_excessive: float | None  # of global memory, L2
    wavefronts_excessive: float | None  # of shared memory, L1


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


@dataclass(frozen=True)
class HotSpots:
    """The top lines and findings of ``launches`` launches; lines are read of ``launches_read``, the longest of them.

    ``note`` says why there are no lines, where there are none.
    """

    lines: tuple[HotLine, ...]
    findings: tuple[NvidiaFinding, ...]
    launches: int
    launches_read: int
    note: str = ""


def hot_spots(report: Report, launches: Sequence[int]) -> HotSpots:
    """Return what costs most in these launches, numbered as in the report.

    Raises DamagedData as ``Report.source`` does.
    """
    if report.lossy:
        return HotSpots((), (), len(launches), 0, "a CSV export holds neither source lines nor NVIDIA's findings")
    found = _findings(report, launches)
    read = longest(report, launches)
    sums = line_sums(report, read) if read else ""
    lines = () if isinstance(sums, str) else _lines(sums)
    spots = HotSpots(lines, found, len(launches), len(read))
    return replace(spots, note=sums) if isinstance(sums, str) else spots


def _lines(sums: LineSums) -> tuple[HotLine, ...]:
    """Return the lines with most samples. A sample counts for the cycles between two of them."""
    top = sums.frame.nlargest(TOP, COST)
    return tuple(_line(key, row, sums) for key, row in top.iterrows() if row[COST] > 0)


def _line(key: object, row: pd.Series[float], sums: LineSums) -> HotLine:
    assert isinstance(key, tuple)
    source: object = row["source"]
    excess = {name: known(row[name]) for name in EXCESSES}
    return HotLine(
        file=str(key[0]),
        line=int(key[1]),
        source=source if isinstance(source, str) else None,
        share=float(row[COST]) / sums.total,
        samples=int(row[SAMPLES]),
        stall=sums.stall_of(row),
        **excess,
    )


def _findings(report: Report, launches: Sequence[int]) -> tuple[NvidiaFinding, ...]:
    """Return the advice with the largest estimates; that which is the same of several launches stands once."""
    found: dict[tuple[str, str | None], list[tuple[int, RuleFacts]]] = {}
    for launch in launches:
        for rule in report.contents.launches[launch].rules:
            if rule.kind in ADVICE:
                found.setdefault((rule.rule, rule.title), []).append((launch, rule))
    return tuple(sorted((_finding(report, said) for said in found.values()), key=_weight)[:TOP])


def _finding(report: Report, said: list[tuple[int, RuleFacts]]) -> NvidiaFinding:
    launch, rule = max(said, key=lambda one: one[1].speedup_pct or 0.0)
    return NvidiaFinding(
        rule=rule.rule,
        title=rule.title or rule.rule,
        message=rule.message or "",
        speedup_type=rule.speedup_type,
        speedup_pct=rule.speedup_pct,
        kernel=report.records[launch].kernel,
        launches=len({launch for launch, _ in said}),
    )


def _weight(finding: NvidiaFinding) -> tuple[float, str]:
    return -(finding.speedup_pct or 0.0), finding.title
