"""Hold estimated speed-ups against achieved ones, over the pairs of the gallery: a fault, and the same work without it.

    python benchmarks/gallery_speedups.py [--part PART] [--reports FOLDER] [--out FILE] [--before FILE] [--every FILE]

Achieved: the fault's time over the fix's, both with CUDA events in one process (times*.json in tests/gallery/reports).
Estimated: of the finding that the case must have, else of the first one, with the fault gone altogether as it is in its
fix, where the advice names a step on the way; NVIDIA's: its largest global estimate, and
beside it the largest of the advice that can be read as the right id (nvidia_rules.py), where there is such. The error
is the absolute natural logarithm of estimated over achieved. No pair is left out for its fit. ``--before`` names a file
that ``--out`` wrote earlier: all pairs are printed in Markdown, with the estimates of then and of now. ``--every``
writes the pairs of all parts into a file, and prints how near each rule's estimates came, in Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from gallery_scores import (
    CHIP_HALVES,
    GALLERY,
    HALVES,
    PARTS,
    REPORTS,
    Judged,
    folder_of,
    judged,
    say,
    score_rows,
    theirs,
)
from table import Part, pairs

from ncu_assist.rules import RULES, Ranked

TIMES = tuple(f"times{part}.json" for part in ("", "_blind", "_chip", "_blind2", "_blind3", "_blind4"))
HALVES_OF = {"chip": CHIP_HALVES, "blind2": ("blind2",), "blind3": ("blind3",), "blind4": ("blind4",)}
TARGET = 0.25  # of the median absolute error
COLUMNS = ("estimated", "nvidia_largest", "nvidia_fitting")
EVERY: tuple[tuple[tuple[Part, ...], Path], ...] = (
    (PARTS, REPORTS),
    *(((part,), folder_of(part)) for part in ("chip", "blind2", "blind3", "blind4")),
    (("blind2",), GALLERY / "reports_blind2_h100"),
)
RECORDED = Path(__file__).resolve().parent / "results" / "gallery_by_rule.json"


@dataclass(frozen=True)
class Pair:
    """A fault and its fix: speed-ups, time before over time after."""

    fault: str
    fix: str
    half: str
    rule: str
    achieved: float
    estimated: float
    nvidia_largest: float
    nvidia_fitting: float

    def error(self, column: str) -> float:
        """Return the absolute natural logarithm of an estimate over what was achieved."""
        return abs(math.log(getattr(self, column) / self.achieved))


@dataclass(frozen=True)
class LeftOut:
    """A pair that has no figures, and why."""

    fault: str
    fix: str
    reason: str


def speedups(found: Sequence[Judged], folder: Path = REPORTS) -> tuple[tuple[Pair, ...], tuple[LeftOut, ...]]:
    """Return the pairs whose fault is among these judged cases, and those that cannot be used."""
    rows = {row["name"]: row for name in TIMES for row in _times(folder / name)}
    known = {one.case.name: one for one in found}
    used, out = [], []
    for fault, fix in [pair for part in sorted({one.case.part for one in found}) for pair in pairs(part)]:
        reason = _why_not(fault, fix, known, rows)
        if reason:
            out.append(LeftOut(fault, fix, reason))
        else:
            used.append(_pair(known[fault], fix, rows[fault]["median_us"] / rows[fix]["median_us"]))
    return tuple(used), tuple(out)


def _times(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(path.read_text()) if path.exists() else []
    return rows


def every() -> list[dict[str, Any]]:
    """Return the pairs of all parts as the rules judge them now, with the fault's time."""
    found = []
    for parts, folder in EVERY:
        took = {row["name"]: row["median_us"] for name in TIMES for row in _times(folder / name)}
        for one in speedups(tuple(judged(folder=folder, parts=parts)), folder)[0]:
            own = {name: getattr(one, name) for name in ("rule", "fault", "fix", "achieved", "estimated")}
            found.append({**own, "took_us": took[one.fault], "error": round(one.error("estimated"), 4)})
    return sorted(found, key=lambda one: (one["rule"], -one["error"]))


def of_rule(name: str, recorded: Path = RECORDED) -> list[dict[str, Any]]:
    """Return the recorded pairs of a rule, the worst first."""
    rows: list[dict[str, Any]] = json.loads(recorded.read_text())["pairs"]
    return [one for one in rows if one["rule"] == name]


def by_rule(recorded: Path = RECORDED) -> str:
    """Return in Markdown how near the estimates of each rule came; then which rules have no pair."""
    rows, without = [], []
    for name in RULES:
        if not (own := of_rule(name, recorded)):
            without.append(f"`{name}`")
            continue
        middle, worst = median(one["error"] for one in own), own[0]
        said = f"`{worst['fault']}`: {worst['estimated']:.2f}x said, {worst['achieved']:.2f}x got"
        rows.append(f"| `{name}` | {len(own)} | {middle:.2f} | {worst['error']:.2f} | {said} |")
    head = "| rule | pairs | median error | worst | which |\n|---|--:|--:|--:|---|"
    return "\n".join((head, *rows)) + f"\n\nNo pair: {', '.join(without)}.\n"


def _without(found: Ranked, now_ns: float) -> float:
    """Return the speed-up that a finding promises of its fault gone: a fix leaves nothing of it."""
    gone_ns = max(found.saved_ns, found.finding.whole_ns)
    return now_ns / (now_ns - gone_ns) if gone_ns < now_ns else math.inf


def median_error(some: Sequence[Pair], column: str) -> float:
    """Return the median absolute error of the natural logarithm over some pairs."""
    return median(one.error(column) for one in some)


def by_half(some: Sequence[Pair]) -> dict[str, tuple[Pair, ...]]:
    """Return the pairs of each half (that of the fault) that has any, and all together."""
    halves = {half: tuple(one for one in some if one.half == half) for half in (*HALVES, *CHIP_HALVES)}
    return {**{half: own for half, own in halves.items() if own}, "together": tuple(some)}


def _why_not(fault: str, fix: str, known: dict[str, Judged], rows: dict[str, dict[str, object]]) -> str | None:
    if fault not in known:
        return "the fault was not profiled"
    absent = [name for name in (fault, fix) if name not in rows]
    if absent:
        return f"not timed: {', '.join(absent)}"
    wrong = [name for name in (fault, fix) if not rows[name]["sound"] or rows[name]["agrees"] is False]
    return f"results differ: {', '.join(wrong)}" if wrong else None


def _pair(one: Judged, fix: str, achieved: float) -> Pair:
    findings = one.diagnosis.findings
    chosen = next((f for f in findings if f.finding.rule == one.case.expect), findings[0])
    advice = theirs(one).advice
    largest = max((a.estimated_speedup for a in advice), default=1.0)
    fitting = [a.estimated_speedup for a in advice if a.global_pct is not None and one.case.expect in a.ids]
    return Pair(
        fault=one.case.name,
        fix=fix,
        half=one.case.half,
        rule=chosen.finding.rule,
        achieved=round(achieved, 4),
        estimated=round(_without(chosen, one.facts.duration_ns), 4),
        nvidia_largest=round(largest, 4),
        nvidia_fitting=round(max(fitting, default=largest), 4),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", choices=("main", "blind", "blind2", "blind3", "blind4", "chip"))
    parser.add_argument("--reports", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--every", type=Path)
    asked = parser.parse_args()
    if asked.every:
        lines = ",\n".join(json.dumps(one) for one in every())
        asked.every.write_text(f'{{"pairs": [\n{lines}\n]}}\n')
        say(by_rule(asked.every))
        return 0
    folder = asked.reports or folder_of(asked.part)
    found = tuple(judged(folder=folder, parts=(asked.part,) if asked.part else PARTS))
    used, out = speedups(found, folder)
    if asked.before:
        _say_table(used, json.loads(asked.before.read_text())["pairs"])
        return 0
    _say_pairs(used, out)
    errors = _errors(used) if used else {}
    for half, row in errors.items():
        say(f"{half:34}{row['pairs']:8}" + "".join(f"{row[column]:10.3f}" for column in COLUMNS))
    if asked.out:
        record = {
            "gpu": found[0].report.device.name if found[0].report.device else None,
            "scores": {half: _scores(found, half) for half in HALVES_OF.get(asked.part or "", HALVES)},
            "target_median_abs_log_error": TARGET,
            "median_abs_log_error": errors,
            "pairs": [asdict(one) for one in used],
            "left_out": [asdict(one) for one in out],
        }
        asked.out.write_text(json.dumps(record, indent=1) + "\n")
    return 0


def _say_table(used: Sequence[Pair], before: Sequence[dict[str, Any]]) -> None:
    """Print all pairs in Markdown, the worst first: what was achieved, and estimated then and now."""
    then = {one["fault"]: Pair(**one) for one in before}
    say("| fault | finding | achieved | estimated before | now | error before | now |\n|---|---|--:|--:|--:|--:|--:|")
    for one in sorted(used, key=lambda one: -one.error("estimated")):
        was = then.get(one.fault)
        old = ("", "") if was is None else (f"{was.estimated:.2f}x", f"{was.error('estimated'):.2f}")
        now = f"{one.estimated:.2f}x", f"{one.error('estimated'):.2f}"
        say(f"| `{one.fault}` | `{one.rule}` | {one.achieved:.2f}x | {old[0]} | {now[0]} | {old[1]} | {now[1]} |")


def _errors(used: Sequence[Pair]) -> dict[str, dict[str, float]]:
    return {
        half: {"pairs": len(some), **{column: round(median_error(some, column), 4) for column in COLUMNS}}
        for half, some in by_half(used).items()
    }


def _scores(found: Sequence[Judged], half: str) -> dict[str, dict[str, int]]:
    rows = score_rows([one for one in found if one.case.half == half])
    return {what: {"of": count, "ours": ours, "nvidia": nvidia} for what, count, ours, nvidia in rows}


def _say_pairs(used: Sequence[Pair], out: Sequence[LeftOut]) -> None:
    say(f"{'fault':30}{'rule':26}{'achieved':>9}{'ours':>8}{'error':>7}{'NVIDIA':>8}{'error':>7}{'fitting':>9}  half")
    for one in sorted(used, key=lambda one: -one.error("estimated")):
        ours, theirs_ = one.error("estimated"), one.error("nvidia_largest")
        say(
            f"{one.fault:30}{one.rule:26}{one.achieved:9.2f}{one.estimated:8.2f}{ours:7.2f}"
            f"{one.nvidia_largest:8.2f}{theirs_:7.2f}{one.nvidia_fitting:9.2f}  {one.half}"
        )
    for left in out:
        say(f"left out: {left.fault} -> {left.fix}: {left.reason}")
    say(f"\n{'median |ln(estimated/achieved)|':34}{'pairs':>8}{'ours':>10}{'NVIDIA':>10}{'fitting':>10}")


if __name__ == "__main__":
    sys.exit(main())
