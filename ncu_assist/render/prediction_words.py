"""Words that every format of a history shares for what was estimated and what was achieved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ncu_assist.analysis.predictions import FaultsGone
from ncu_assist.analysis.records import StoredFinding
from ncu_assist.render.words import factor
from ncu_assist.versions import short_name

HEADING = "faults gone since the parent: speed-up estimated and achieved"
COLUMNS = ("version", "fault gone", "estimated", "achieved")
TOGETHER = "together: the largest alone, if they waste the same time, to all savings summed"
BY = {
    "bench": "in one bench, paired",
    "unpaired samples": "in two benches, not paired",
    "launches under ncu": "over repeated launches under ncu",
    "ncu": "of durations under ncu",
}
Row = tuple[str, str, str, str]


def with_faults_gone(found: Iterable[FaultsGone]) -> list[FaultsGone]:
    """Return the steps that tell estimate from achievement: those that lost a fault."""
    return [one for one in found if one.gone]


def rows(step: FaultsGone) -> Iterator[Row]:
    """Yield the lines of a step: version, fault, estimate, achieved; of several faults first what they come to."""
    achieved = factor(step.achieved.speedup) if step.achieved else "-"
    if len(step.gone) == 1:
        yield step.version, fault(step.gone[0]), estimate(step.gone[0]), achieved
    else:
        yield step.version, f"{len(step.gone)} together", together(step), achieved
        yield from (("", f"· {fault(one)}", estimate(one), "") for one in step.gone)
    if step.appeared:
        first, *others = step.appeared
        yield "", f"new: {fault(first)}{f' +{len(others)}' if others else ''}", estimate(first), ""


def fault(finding: StoredFinding) -> str:
    """Return a rule with its pipe or limiter, e.g. ``pipe-bound (xu)``."""
    return finding.rule + "".join(f" ({value})" for value in finding.detail.values())


def estimate(finding: StoredFinding) -> str:
    """Return what the fault alone was to win; a tilde where that rests on an assumed ceiling."""
    mark = "~" if finding.assumed else ""
    return mark + factor(finding.estimated_speedup) if finding.estimated_speedup else "-"


def together(step: FaultsGone) -> str:
    """Return what several faults were to win, e.g. ``2.49x to 3.11x``."""
    if step.low is None:
        return "-"
    low = factor(step.low)
    return f"{low} to {factor(step.high)}" if step.high is not None else f"{low} or more"


def legend(found: list[FaultsGone]) -> Iterator[str]:
    """Yield what the table does not say: of what its two figures are, and what its signs mean."""
    yield f"estimated: {_split({one.version: _source(one) for one in found})}"
    by = {one.version: BY[one.achieved.by] for one in found if one.achieved}
    if by:
        yield f"achieved: {_split(by)}"
    if any(len(one.gone) > 1 for one in found):
        yield TOGETHER
    if any(one.assumed for step in found for one in (*step.gone, *step.appeared)):
        yield "~: rests on an assumed ceiling"
    for one in found:
        for old, new in one.renamed:
            yield f"{short_name(one.version)}: {fault(old)} is not gone, the same resource now shows it as {fault(new)}"
    if any(one.appeared for one in found):
        yield "new: the largest fault that came with the version (+ more), and what it costs"


def _source(step: FaultsGone) -> str:
    if step.source == "stored":
        return f"stored with the run of the parent, by ncu-assist {step.tool}, {step.date}"
    return "computed now, as the run of the parent keeps no findings"


def _split(said: dict[str, str]) -> str:
    """Return what is said of all versions, or each thing with the versions that it is said of."""
    groups: dict[str, list[str]] = {}
    for version, words in said.items():
        groups.setdefault(words, []).append(short_name(version))
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{', '.join(names)} {words}" for words, names in groups.items())
