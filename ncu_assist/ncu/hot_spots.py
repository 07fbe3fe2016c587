"""The few source lines and the few findings of NVIDIA's that say most about some launches of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ncu_assist.ncu.contents import RuleFacts
from ncu_assist.ncu.report import Report
from ncu_assist.ncu.source.metrics import NOT_ISSUED, SAMPLES, STALL_COLUMN
from ncu_assist.ncu.tables import Launches

if TYPE_CHECKING:
    import pandas as pd

TOP = 3
MOST_LAUNCHES = 20  # whose lines are read, the longest: 30 ms each
INTERVAL = "smsp__pcsamp_interval_cycles"  # ncu samples a long launch less often
EXCESSES = ("sectors_excessive", "wavefronts_excessive")
ISSUED = f"{STALL_COLUMN}selected"  # the state of a warp that issues: sampled, but no stall
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
    longest = sorted(launches, key=lambda i: -(report.records[i].duration_ns or 0.0))[:MOST_LAUNCHES]
    lines = _lines(report, report.source(longest).lines) if longest else ()
    spots = HotSpots(() if isinstance(lines, str) else lines, found, len(launches), len(longest))
    return replace(spots, note=lines) if isinstance(lines, str) else spots


def _lines(report: Report, frame: pd.DataFrame) -> tuple[HotLine, ...] | str:
    """Return the lines with most samples, or why there are none. A sample counts for the cycles between two of them."""
    values = Launches(report.contents)
    cycles = {launch: values.number(launch, INTERVAL) for launch in frame["launch"].unique()}
    weights = frame["launch"].map({launch: 1.0 if math.isnan(c) else c for launch, c in cycles.items()})
    stalls = [c for c in map(str, frame) if c.startswith(STALL_COLUMN) and not c.endswith(NOT_ISSUED) and c != ISSUED]
    frame = frame.assign(cost=frame[SAMPLES] * weights, **{c: frame[c] * weights for c in stalls})
    total = float(frame["cost"].sum())
    if total <= 0:
        return "no warp states were sampled: ncu-assist profile samples them, as ncu --set full does"
    if frame["line"].isna().all():
        return "the code has no line numbers: compile with -lineinfo, and profile again"
    groups = frame.groupby(["file", "line"], observed=True, sort=True)
    sums = groups[["cost", SAMPLES, *EXCESSES, *stalls]].sum(min_count=1)
    top = sums.assign(source=groups["source"].first()).nlargest(TOP, "cost")
    return tuple(_line(key, row, stalls, total) for key, row in top.iterrows() if row["cost"] > 0)


def _line(key: object, row: pd.Series[float], stalls: list[str], total: float) -> HotLine:
    assert isinstance(key, tuple)
    waits = {name: float(row[name]) for name in stalls if row[name] > 0}
    source: object = row["source"]
    excess = {name: None if math.isnan(row[name]) else float(row[name]) for name in EXCESSES}
    return HotLine(
        file=str(key[0]),
        line=int(key[1]),
        source=source if isinstance(source, str) else None,
        share=float(row["cost"]) / total,
        samples=int(row[SAMPLES]),
        stall=max(waits, key=lambda name: waits[name]).removeprefix(STALL_COLUMN) if waits else None,
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
