"""Hold the diagnoses against the fault gallery: which finding stands first, beside the one that must.

    python benchmarks/gallery_scores.py [--half HALF | --part PART] [--case NAME] [--nvidia] [--reports FOLDER]

Reads tests/gallery/reports, of an H200, or the reports of another GPU. ``--part chip`` is of the kernels bound on the
chip, which are counted apart: chip-tuned and chip-held-out; ``blind2``, ``blind3`` and ``blind4`` of more by those who
had seen no rule.
``--case`` prints everything of one case. The held-out half is for counting only.
``--nvidia`` puts what Nsight Compute's own rules say of the same reports beside it: nvidia_rules.py says how they are
ranked and read as ids.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ncu_assist import read_report
from ncu_assist.ceilings import Ceilings, ceilings_of
from ncu_assist.frame import Combined, by_launch, combine_launches
from ncu_assist.ncu.report import Report
from ncu_assist.rules import RULES, Diagnosis, Facts, diagnose

GALLERY = Path(__file__).resolve().parents[1] / "tests" / "gallery"
REPORTS = GALLERY / "reports"
CHIP_REPORTS = GALLERY / "reports_chip"
BLIND2_REPORTS = GALLERY / "reports_blind2"
BLIND3_REPORTS = GALLERY / "reports_blind3"
BLIND4_REPORTS = GALLERY / "reports_blind4"
sys.path.insert(0, str(GALLERY))

from nvidia_rules import Theirs, advice_of, says_high  # noqa: E402
from table import Case, Part, cases  # noqa: E402

HALVES = ("tuned", "held-out", "blind")
CHIP_HALVES = ("chip-tuned", "chip-held-out")
PARTS: tuple[Part, ...] = ("main", "blind")


@dataclass(frozen=True)
class Judged:
    """A case, what the rules say of it, and whether that is right."""

    case: Case
    facts: Facts
    diagnosis: Diagnosis
    report: Report

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


def theirs(one: Judged) -> Theirs:
    """Return what NVIDIA's rules say of a judged case."""
    return Theirs(one.case, advice_of(one.report, one.facts.combined.launches))


def score_rows(found: Sequence[Judged]) -> list[tuple[str, int, int, int]]:
    """Return the counts over cases as rows: what, of how many, this project's, NVIDIA's."""
    both = [(one, theirs(one)) for one in found]
    kinds = {kind: [two for two in both if two[0].case.kind == kind] for kind in ("healthy", "near-miss")}
    faults = [two for two in both if two[0].case.kind in ("fault", "compound")]
    done = kinds["healthy"] + kinds["near-miss"]
    rows = [("fault named first", faults, [(a.first_is_right, b.right_within(1)) for a, b in faults])]
    rows += [("fault among the first three", faults, [(a.is_among_three, b.right_within(3)) for a, b in faults])]
    rows += [("kernel at its limit, said first", done, [(a.first_is_right, b.right_within(1)) for a, b in done])]
    for kind, what in (("healthy", "healthy kernel given advice"), ("near-miss", "near miss taken for the fault")):
        rows += [(what, kinds[kind], [(a.cries_wolf, b.cries_wolf) for a, b in kinds[kind]])]
    return [(what, len(some), sum(a for a, _ in held), sum(b for _, b in held)) for what, some, held in rows]


def remarks(found: Sequence[Judged]) -> tuple[int, int]:
    """Return of how many kernels at their limit, and of how many with a fault, NVIDIA remarks "High Throughput"."""
    kinds = [one.case.kind for one in found if says_high(one.report, one.facts.combined.launches)]
    done, faults = ("healthy", "near-miss"), ("fault", "compound")
    return sum(kind in done for kind in kinds), sum(kind in faults for kind in kinds)


@cache
def reports(folder: Path = REPORTS) -> tuple[Report, ...]:
    return tuple(read_report(path) for path in sorted(folder.glob("*.ncu-rep.zst")))


def combined_of(case: Case, folder: Path = REPORTS) -> tuple[Combined, Report] | None:
    """Return the launches of a case together; None for one that was only timed, or not recorded in this folder.

    A launch belongs to the cases whose ranges it is in; one in none, of a program without ranges, to that of its name.
    """
    for report in reports(folder):
        own = [one for one in report.records if case.name in (one.ranges or (one.kernel,))]
        if own:
            tables = by_launch(report.metrics)
            return combine_launches(None, own, [tables[one.index] for one in own]), report
    return None


def _ceilings(report: Report) -> Ceilings | None:
    return ceilings_of(report.device) if report.device else None


def folder_of(part: Part | None) -> Path:
    """Return where the reports of a part lie."""
    own = {"chip": CHIP_REPORTS, "blind2": BLIND2_REPORTS, "blind3": BLIND3_REPORTS, "blind4": BLIND4_REPORTS}
    return own.get(part or "", REPORTS)


def judged(half: str | None = None, folder: Path = REPORTS, parts: Sequence[Part] = PARTS) -> Iterator[Judged]:
    """Yield every profiled case of a half, or of all of some parts, with its diagnosis."""
    for case in (case for part in parts for case in cases(part)):
        found = combined_of(case, folder) if case.profile and half in (None, case.half) else None
        if found:
            work = {case.math: case.flops or 0} if case.math else {}
            facts = Facts(found[0], found[1].device, _ceilings(found[1]), case.bytes, case.flops, work=work)
            yield Judged(case, facts, diagnose(facts, RULES), found[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--part", choices=("main", "blind", "blind2", "blind3", "blind4", "chip"))
    parser.add_argument("--case")
    parser.add_argument("--nvidia", action="store_true")
    parser.add_argument("--reports", type=Path)
    asked = parser.parse_args()
    parts = (asked.part,) if asked.part else PARTS
    found = [
        one
        for one in judged(asked.half, asked.reports or folder_of(asked.part), parts)
        if asked.case in (None, one.case.name)
    ]
    for one in found:
        mark = "wolf" if one.cries_wolf else "ok" if one.first_is_right else "among" if one.is_among_three else "WRONG"
        told = ", ".join(
            f"{r.finding.rule} {r.estimated_speedup:.2f}x {r.severity}" for r in one.diagnosis.findings[:4]
        )
        say(f"{mark:6}{one.case.kind:10}{one.case.name:34}{'/'.join(one.wanted) or '-':30} | {told}")
        if asked.nvidia:
            say_theirs(theirs(one))
        if asked.case:
            show(one)
    named = [one for one in found if one.wanted]
    right, three = sum(one.first_is_right for one in named), sum(one.is_among_three for one in named)
    wolves = sum(one.cries_wolf for one in found)
    say(f"{len(named)} named: first right {right}, among three {three}; of {len(found)} cases {wolves} cry wolf")
    if asked.nvidia:
        say_scores(found)
    return 0


def say_theirs(one: Theirs) -> None:
    mark = "wolf" if one.cries_wolf else "ok" if one.right_within(1) else "among" if one.right_within(3) else "WRONG"
    told = ", ".join(f"{a.title} {a.estimated_speedup:.2f}x" for a in one.advice[:4])
    mark = "" if one.case.kind == "fix" else mark
    say(f"{mark:6}{'':10}{'':34}{'NVIDIA':30} | {told}")


def say_scores(found: Sequence[Judged]) -> None:
    for half in (*HALVES, *CHIP_HALVES, "blind2", "blind3", "blind4"):
        own = [one for one in found if one.case.half == half]
        if own:
            say(f"\n{half:34}{'of':>5}{'ours':>7}{'NVIDIA':>8}")
            for what, count, ours, nvidia in score_rows(own):
                say(f"{what:34}{count:5}{ours:7}{nvidia:8}")
    done, faults = remarks(found)
    say(f'\nNVIDIA remarks "High Throughput" of {done} kernels at their limit and of {faults} with a fault')


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
