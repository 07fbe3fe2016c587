"""How fast a version is: the verdict against the version before, the floor, and its time on every workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.floor import floor_words
from ncu_assist.render.html.badge import Badge, verdict_badge
from ncu_assist.render.html.head import Link
from ncu_assist.render.html.run_commands import to_compare, to_time
from ncu_assist.render.html.run_diagnosis import told_first
from ncu_assist.render.html.run_tiles import Tile, tiles
from ncu_assist.render.html.run_workloads import workloads_table
from ncu_assist.render.html.table import Table
from ncu_assist.render.precisions import operations_words
from ncu_assist.render.words import UNCUT, counted, estimated, failed_checks, verdict_sentence
from ncu_assist.verdict import REASONS, Verdict, clock_note
from ncu_assist.versions import short_name


@dataclass(frozen=True)
class VerdictPart:
    """The first section: a badge with its sentence, the floor, tiles, failed checks, all workloads."""

    badge: Badge | None
    sentence: str
    notes: tuple[str, ...]  # of the verdict
    floor: str
    operations: str  # needed and counted, empty where bytes set the floor
    to_see_more: str  # a command
    diagnosis: str  # the first finding
    failed: tuple[str, ...]
    tiles: tuple[Tile, ...]
    workloads: Table | None
    diff: Link | None = None  # the page on what changed since the version before


def verdict_part(shown: Shown, verdicts: Mapping[str, Verdict], diff: str = "") -> VerdictPart:
    """Return how fast the version is, first against the version before; ``verdicts`` are those of every workload.

    ``diff`` is the link to the page on both, empty without one.
    """
    return VerdictPart(
        badge=verdict_badge(shown.before.verdict) if shown.before else None,
        sentence=_sentence(shown),
        notes=_reason(shown, verdicts),
        floor=_floor(shown),
        operations=operations_words(shown),
        to_see_more=_command(shown),
        diagnosis=_diagnosis(shown),
        failed=tuple(failed_checks(shown.rows)),
        tiles=tiles(shown),
        workloads=workloads_table(shown, verdicts) if shown.rows else None,
        diff=Link(f"All that changed since {one_line(shown.before.version)}", diff) if shown.before and diff else None,
    )


def _sentence(shown: Shown) -> str:
    if shown.before is not None:
        name, verdict = shown.before.version, shown.before.verdict
        return verdict_sentence(shown.run.version, name, shown.combined.workload, verdict, UNCUT)
    if shown.row and shown.row.timing:
        return f"{short_name(one_line(shown.run.version))} takes {duration(shown.row.timing.median_ns)} on " + (
            f"{one_line(shown.row.workload.name)}; it is compared with no other version"
        )
    under = shown.combined.duration_ns
    if under is not None:
        count = len(shown.combined.launches)
        what = "its launch takes" if count == 1 else f"its {count} launches take"
        return f"Not timed: {what} {duration(under)} under ncu, which explains a time and is no benchmark"
    return "Not timed, and without counters"


def _diagnosis(shown: Shown) -> str:
    """Return the first finding in a line; empty without one."""
    findings = told_first(shown.told) if shown.told else ()
    if not findings:
        return ""
    first = findings[0]
    gain = f", {estimated(first.estimated_speedup, first.finding.assumed)}" if first.severity != "info" else ""
    return f"{first.finding.rule}{gain}: {one_line(first.finding.message, 300)}"


def _command(shown: Shown) -> str:
    if shown.before is not None:
        return to_compare(shown, shown.before.version)
    return "" if shown.row and shown.row.timing else to_time(shown)


def _floor(shown: Shown) -> str:
    words = floor_words(shown.row)
    return f"Floor: {words}" if words else ""


def _reason(shown: Shown, verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """Return on how many workloads it is what, why a verdict is in doubt, and whether the clocks were the same."""
    if shown.before is None:
        return ()
    verdict, before = shown.before.verdict, short_name(one_line(shown.before.version))
    several = f"On all {len(verdicts)} workloads against {before}: {counted(verdicts.values())}"
    doubt = f"Why {verdict.verdict.replace('-', ' ')}: {REASONS[verdict.reason].meaning}"
    clocks = clock_note(verdict)
    lines = (
        several if len(verdicts) > 1 else "",
        doubt if verdict.verdict in ("unclear", "not-comparable") else "",
        f"{clocks}: part of the difference may be theirs" if clocks else "",
    )
    return tuple(line for line in lines if line)
