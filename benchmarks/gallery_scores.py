"""Hold the diagnoses against the fault gallery: which finding stands first, beside the one that must.

    python benchmarks/gallery_scores.py [--half tuned|held-out] [--case NAME] [--nvidia]

Reads tests/gallery/reports. ``--case`` prints everything of one case. The held-out half is for counting only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ncu_assist import read_report
from ncu_assist.frame import Combined, by_launch, combine_launches
from ncu_assist.ncu.report import Report
from ncu_assist.rules import RULES, Diagnosis, Facts, diagnose

GALLERY = Path(__file__).resolve().parents[1] / "tests" / "gallery"
sys.path.insert(0, str(GALLERY))

from table import Case, cases  # noqa: E402


@dataclass(frozen=True)
class Judged:
    """A case, what the rules say of it, and whether that is right."""

    case: Case
    facts: Facts
    diagnosis: Diagnosis

    @property
    def ids(self) -> list[str]:
        return [one.finding.rule for one in self.diagnosis.findings]

    @property
    def wanted(self) -> tuple[str, ...]:
        return tuple(name for name in (self.case.expect, *self.case.accept) if name)

    @property
    def first_is_right(self) -> bool:
        return bool(self.ids) and self.ids[0] in self.wanted if self.wanted else True

    @property
    def is_among_three(self) -> bool:
        return any(name in self.ids[:3] for name in self.wanted) if self.wanted else True

    @property
    def cries_wolf(self) -> bool:
        """Whether a near miss is given the id that it must not have, or a healthy kernel any above info."""
        loud = [one for one in self.diagnosis.findings if one.severity != "info"]
        if self.case.kind == "near-miss":
            return self.case.of in [one.finding.rule for one in loud]
        return self.case.kind == "healthy" and bool(loud)


@cache
def reports() -> tuple[Report, ...]:
    return tuple(read_report(path) for path in sorted((GALLERY / "reports").glob("*.ncu-rep.zst")))


def combined_of(case: Case) -> tuple[Combined, Report] | None:
    """Return the launches of a case together; None for one that was only timed."""
    for report in reports():
        own = [one for one in report.records if case.name in one.ranges]
        if own:
            tables = by_launch(report.metrics)
            return combine_launches(None, own, [tables[one.index] for one in own]), report
    return None


def judged(half: str | None = None) -> Iterator[Judged]:
    """Yield every profiled case of a half with its diagnosis."""
    for case in cases():
        found = combined_of(case) if case.profile and half in (None, case.half) else None
        if found:
            facts = Facts(found[0], found[1].device, None, case.bytes, case.flops)
            yield Judged(case, facts, diagnose(facts, RULES))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=["tuned", "held-out"])
    parser.add_argument("--case")
    asked = parser.parse_args()
    found = [one for one in judged(asked.half) if asked.case in (None, one.case.name)]
    for one in found:
        mark = "wolf" if one.cries_wolf else "ok" if one.first_is_right else "among" if one.is_among_three else "WRONG"
        told = ", ".join(
            f"{r.finding.rule} {r.estimated_speedup:.2f}x {r.severity}" for r in one.diagnosis.findings[:4]
        )
        say(f"{mark:6}{one.case.kind:10}{one.case.name:34}{'/'.join(one.wanted) or '-':30} | {told}")
        if asked.case:
            show(one)
    named = [one for one in found if one.wanted]
    right, three = sum(one.first_is_right for one in named), sum(one.is_among_three for one in named)
    wolves = sum(one.cries_wolf for one in found)
    say(f"{len(named)} named: first right {right}, among three {three}; of {len(found)} cases {wolves} cry wolf")
    return 0


def show(one: Judged) -> None:
    for ranked in one.diagnosis.findings:
        say(f"    {ranked.finding.rule}: {ranked.finding.message}")
        for key in ranked.finding.evidence:
            say(f"        {key} = {one.facts.get(key)}")
    say(f"    unanswered: {[(u.rule, u.missing) for u in one.diagnosis.unanswered]}")
    for key, value in one.facts.combined.values.items():
        if value is not None:
            say(f"    {key} = {value:.6g}")
    for reason, share in one.facts.combined.stalls.items():
        say(f"    stall {reason} = {share:.1f} %")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
