"""All rules on one launch: findings by the time that they could save, what cannot be answered, what misleads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ncu_assist.ncu.catalogue.chips import profiler_of
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import percent, times_as_fast
from ncu_assist.rules.base import LEAST_WORTH, LIMITS, Finding, Rule, Severity, severity
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import verb
from ncu_assist.rules.model.savings import Busiest, bounded_ns, busiest_unit, joint_ns, left_by, next_limit

UNEXPLAINED, NEAR_CEILING = "unexplained", "near-ceiling"  # ids of rules that know no cause
LOUD = ("medium", "high")
# Ids of rules on how work is spread in time, or over warps: no fix takes work off the unit that takes the time.
OF_THE_SPREAD = (
    "grid-underfill", "tail-effect", "workload-imbalance", "barrier-stall", "redundant-traffic", "low-occupancy",
)  # fmt: skip
# Ids of rules on a call as a whole, by sums and shares of its time; the others are on one kernel.
OF_A_CALL = ("launch-bound", "redundant-traffic", "at-dram-roofline")
HOPPER = "9.0"
ON_SOME_CHIPS = ("pipe_tensor_gmma", "tensor_ops_bf16")  # instructions that others do not have
TOO_FEW = "not enough counters for a diagnosis: the report does not say how busy any unit was"
COLLECT = "collect `--section SpeedOfLight` at least, or all by `--set full`"
INTERRUPTED = "the program ended while this kernel was profiled, so that ncu wrote next to no counters"
LET_IT_END = "profile again, with a program that waits for its kernels and ends by itself"


@dataclass(frozen=True)
class Ranked:
    """A finding with what it could win: ``estimated_speedup`` is the time now over the time without it.

    ``places`` are its source lines, none before `located` found them. ``to_floor``: its rule promises more than the
    floor of the workload allows, so that is what it could win; where a rate of the floor is assumed, this is too.
    ``next_limit`` is the unit that binds once it is won, None where none is near its limit then.
    """

    finding: Finding
    saved_ns: float
    estimated_speedup: float
    severity: Severity
    places: tuple[Place, ...] = ()
    to_floor: bool = False
    next_limit: Busiest | None = None


@dataclass(frozen=True)
class Unanswered:
    """A rule that could not answer: the metrics that the report lacks."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a launch, the first finding first; ``findings`` is never empty where there are counters.

    ``asked`` is the number of rules, of which some may be ``unanswered``.
    """

    findings: tuple[Ranked, ...]
    unanswered: tuple[Unanswered, ...]
    asked: int = 0

    @property
    def first(self) -> Ranked | None:
        """The diagnosis, which every format shows first."""
        return self.findings[0] if self.findings else None

    @property
    def further(self) -> tuple[Ranked, ...]:
        """The other findings that are worth a change."""
        return tuple(one for one in self.findings[1:] if one.severity != "info")

    @property
    def remarks(self) -> tuple[Ranked, ...]:
        """The other findings that are worth next to nothing; that nothing is explained is none."""
        return tuple(one for one in self.findings[1:] if one.severity == "info" and one.finding.rule != UNEXPLAINED)

    @property
    def answer(self) -> Literal["cause", "throughput", "none"]:
        """Return what the diagnosis comes to: a cause, how busy units were, or nothing for want of counters."""
        if self.first is None or self.lacks_counters:
            return "none"
        return "throughput" if self.first.finding.rule == UNEXPLAINED else "cause"

    @property
    def lacks_counters(self) -> bool:
        """Tell whether nothing is known because nothing was counted: no cause, and not even how busy any unit was."""
        if self.first is None or self.first.finding.rule != UNEXPLAINED:
            return False
        return not self.first.finding.evidence and not self.first.finding.stalls


@dataclass(frozen=True)
class JointGain:
    """What two fixes win together, and each alone: the time now over the time then. Alone one may win nothing."""

    rules: tuple[str, str]
    alone: tuple[float, float]
    together: float

    @property
    def carries_further(self) -> bool:
        """Tell whether both win notably more than the better of them: by a tenth of the time that this leaves."""
        return self.together >= max(self.alone) / (1.0 - LIMITS[1][0])

    @property
    def words(self) -> str:
        """Return the gain in words, without a full stop."""
        first, second = self.alone
        return (
            f"`{self.rules[0]}` and `{self.rules[1]}` both fixed: up to {times_as_fast(self.together)}, "
            f"alone {times_as_fast(first)} and {times_as_fast(second)}"
        )


MOST_PAIRED = 3  # findings beside the first


def joint_gains(diagnosis: Diagnosis, facts: Facts, rules: Mapping[str, Rule]) -> tuple[JointGain, ...]:
    """Return what the first finding wins together with each of the next, and with what it hides, the most first.

    Hidden is what has no gain while another unit is busier, and has one once the first fault is gone. Of launches of
    different kernels nothing is said: no unit takes the time of all. Nor of a build that is at fault: what others win
    is not known before it is mended.
    """
    first = diagnosis.first
    if first is None or first.severity == "info" or len(facts.by_kernel) > 1:
        return ()
    if any(one.finding.of_build for one in diagnosis.findings):
        return ()
    others = [(one.finding, one.estimated_speedup) for one in diagnosis.further[:MOST_PAIRED]]
    known = {one.finding.rule for one in diagnosis.findings if one.severity != "info"}
    then = replace(facts, left=left_by(first.finding, facts))
    others += [(one, 1.0) for one in _hidden(then, rules, known)]
    found = []
    for other, alone in others:
        saved = joint_ns((first.finding, other), facts)
        if saved is not None:
            both = max(first.estimated_speedup, alone, _speedup(saved, facts))
            found.append(JointGain((first.finding.rule, other.rule), (first.estimated_speedup, alone), both))
    return tuple(sorted(found, key=lambda one: -one.together))


def _hidden(then: Facts, rules: Mapping[str, Rule], known: Collection[str]) -> Iterator[Finding]:
    """Yield what takes work off a unit that is the limit then, and was not before."""
    for rule in rules.values():
        finding = _answer(rule, then)[0] if rule.ID not in known else None
        if finding and finding.left and not finding.unless_known and finding.saved_ns >= LEAST_WORTH * then.duration_ns:
            yield finding


def _speedup(saved: float, facts: Facts) -> float:
    now, most = facts.duration_ns, facts.times_floor or float("inf")
    return min(most, now / (now - saved)) if saved < now else most


def diagnose(facts: Facts, rules: Mapping[str, Rule]) -> Diagnosis:
    """Return what all rules say: what could win most first; where nothing is worth it, which ceiling is reached.

    Of launches of different kernels each is judged by itself, as no ratio is one of both.
    A remark (`info`) explains no kernel's time, so it does not stand before a ceiling, nor before `unexplained`.
    """
    found: list[Ranked] = []
    silent: list[Unanswered] = []
    for rule in rules.values():
        asked = [(one, *_answer(rule, one)) for one in ((facts,) if rule.ID in OF_A_CALL else facts.by_kernel)]
        answers = [(one, finding) for one, finding, _ in asked if finding]
        if missing := tuple(dict.fromkeys(key for _, _, lacking in asked for key in lacking)) if not answers else ():
            silent.append(Unanswered(rule.ID, missing))
        if answers and (ranked := _ranked(answers, facts)):
            found.append(ranked)
    busiest = busiest_unit(facts)
    found = _without_known(found, busiest)
    alone = busiest if len(facts.by_kernel) < 2 else None  # of several kernels no unit takes the time of all
    found.sort(key=lambda one: _order(one, alone))
    if found and found[0].severity == "info" and not _explains(found[0]):
        found.sort(key=lambda one: one.finding.rule != UNEXPLAINED)
    diagnosis = Diagnosis(tuple(found), tuple(silent), len(rules))
    return replace(diagnosis, findings=_unasked(diagnosis, facts)) if diagnosis.lacks_counters else diagnosis


def _unasked(diagnosis: Diagnosis, facts: Facts) -> tuple[Ranked, ...]:
    """Return the findings, the first of which says why there are too few counters instead of that none explains it."""
    first, *others = diagnosis.findings
    message, advice = (
        (INTERRUPTED, LET_IT_END) if facts.is_interrupted else (TOO_FEW, f"{COLLECT}{by_last_release(facts)}")
    )
    return replace(first, finding=replace(first.finding, message=message, advice=advice, figures="")), *others


def by_last_release(facts: Facts) -> str:
    """Return with which release to collect, in words, where the newest does not know the GPU; else nothing."""
    release, program = profiler_of(facts.device.compute_capability if facts.device else "")
    called = "" if program == "ncu" else f" ({program})"
    return f" with Nsight Compute {release}{called}, the last that knows this GPU" if release else ""


def _without_known(found: Sequence[Ranked], busiest: Busiest | None) -> list[Ranked]:
    """Return the findings without those that only say that a unit is busy, where another knows why or it is done.

    Where two say so, the one that could win something stays; that a unit is near its ceiling is no news beside a cause,
    nor is the nearest ceiling (`unexplained`) beside what could win a tenth of the time, takes work off the busiest
    unit or says that the kernel is done.
    """
    causes = [one for one in found if not one.finding.unless_known]
    is_known = any(one.finding.is_done or (busiest and _names(one, busiest)) for one in causes)
    kept = causes if is_known else list(found)
    if any(one.severity in LOUD or _explains(one) or (busiest and _names(one, busiest)) for one in kept):
        kept = [one for one in kept if one.finding.rule != UNEXPLAINED]
    loud = any(one.severity in LOUD or (one.finding.unless_known and one.severity != "info") for one in kept)
    return [one for one in kept if not (loud and one.finding.rule == NEAR_CEILING)]


def _names(one: Ranked, busiest: Busiest) -> bool:
    """Tell whether a finding is a cause that takes work off the busiest unit."""
    finding = one.finding
    is_cause = one.severity != "info" and finding.rule not in (NEAR_CEILING, *OF_THE_SPREAD)
    return is_cause and busiest.name in finding.relieves


def _explains(one: Ranked) -> bool:
    """Tell whether a remark says why it takes this long: it is at a ceiling or near it, or at the floor."""
    return one.finding.is_done or one.to_floor or one.finding.rule == NEAR_CEILING


def _order(one: Ranked, busiest: Busiest | None) -> tuple[bool, bool, bool, float, float]:
    """Return by what findings are ranked: causes by what they could save, but behind the unit that takes the time.

    Where a unit is at its limit or close to it, what takes less than a tenth of the time elsewhere comes behind it;
    where one is busy at all, so does what is about how work is spread in time.
    """
    is_remark, explains = one.severity == "info", _explains(one)
    is_owned, is_busy = (False, False) if busiest is None else (busiest.takes_the_time, busiest.is_busy)
    is_aside = is_owned or (is_busy and one.finding.rule in OF_THE_SPREAD)
    is_behind = is_aside and busiest is not None and one.severity == "low" and not _names(one, busiest)
    is_first = (not is_remark and not is_behind) or (is_busy and explains)
    unknown = one.finding.rule == UNEXPLAINED
    return not is_first, is_remark and not explains, unknown, -one.saved_ns, -one.finding.saved_ns


def _answer(rule: Rule, facts: Facts) -> tuple[Finding | None, tuple[str, ...]]:
    """Return what a rule says of launches, and the keys for want of which it says nothing."""
    lacks_needs = any(_lacks(one, key) for one in facts.by_kernel for key in rule.NEEDS)
    finding = None if lacks_needs else rule.find(facts)
    return finding, () if finding else _missing(rule.NEEDS if lacks_needs else rule.USES, facts)


def _missing(keys: Sequence[str], facts: Facts) -> tuple[str, ...]:
    """Return which metrics the report lacks, but for those that say nothing of a kernel.

    What some chips have no counter for is missing on Hopper only, which the catalogue's rows are of: elsewhere a rule
    that knows of such a counter does without.
    """
    is_hopper = facts.device is not None and facts.device.compute_capability == HOPPER
    absent = ((one, key) for one in facts.by_kernel for key in keys if _lacks(one, key))
    missing = dict.fromkeys(key for one, key in absent if key not in one.combined.not_applicable)
    return tuple(key for key in missing if is_hopper or key not in ON_SOME_CHIPS)


def _lacks(facts: Facts, key: str) -> bool:
    """Tell whether the launches of a kernel lack a metric; what does not combine a rule asks of each shape."""
    if facts.get(key) is not None:
        return False
    return ROWS[key].combine.how != "none" or any(one.get(key) is None for one in facts.by_shape)


def _ranked(answers: Sequence[tuple[Facts, Finding]], facts: Facts) -> Ranked | None:
    """Return what a rule says of each kernel as one: message and evidence of the one that it costs most, all the time.

    What saves nothing says how a kernel stands: it is said of the one that takes longest, or of none.
    """
    won = [min(finding.saved_ns, bounded_ns(finding, one)) for one, finding in answers]
    worst, (own, finding) = max(enumerate(answers), key=lambda pair: won[pair[0]])
    is_of_all = len(own.combined.launches) == len(facts.combined.launches)
    if not is_of_all:
        if not finding.saved_ns and own is not facts.by_kernel[0]:
            return None
        launches = finding.launches or tuple(one.index for one in own.combined.launches)
        others = sum(len(one.combined.launches) for place, (one, _) in enumerate(answers) if place != worst)
        every = sum(other.saved_ns for _, other in answers)
        finding = replace(
            finding, saved_ns=every, launches=launches, elsewhere=finding.elsewhere + others,
            assumed=any(other.assumed for _, other in answers),
        )  # fmt: skip
    if finding.launches and finding.figures:
        finding = replace(finding, figures=f"in these launches {finding.figures}")
    finding = replace(finding, whole_ns=sum(min(other.most_ns, bounded_ns(other, one)) for one, other in answers))
    now, saved, most = facts.duration_ns, sum(won), facts.times_floor
    speedup = now / (now - saved) if saved < now else float("inf")
    to_floor = most is not None and speedup > most
    if to_floor and most is not None and facts.floor is not None:
        saved, speedup = now * (1.0 - 1.0 / most), most
        finding = replace(finding, assumed=finding.assumed or facts.floor.assumed)
    level = severity(saved / now if now else 0.0)
    then = next_limit(finding, own, speedup) if is_of_all and level != "info" and not to_floor else None
    ranked = Ranked(finding, saved, speedup, level, to_floor=to_floor, next_limit=then)
    return replace(ranked, finding=replace(finding, figures=_figures(ranked, facts)))


def _figures(one: Ranked, facts: Facts) -> str:
    """Return the numbers of this kernel for its advice: how far it carries, and what is the limit then.

    And what there is to win where the fault goes altogether, if that is notably more than what the advice names.
    """
    finding, then = one.finding, one.next_limit
    if one.severity == "info" or not finding.advice:
        return ""
    won = times_as_fast(one.estimated_speedup)
    said, up_to = [finding.figures], "" if f": {won}" in finding.figures else f"up to {won}, "
    if one.to_floor:
        said.append("which is the floor" if not up_to else f"up to {won}, which is the floor")
    if then is not None:
        said.append(f"{up_to}then the {then.name} {verb(then.name)} at {percent(then.reached)} of what it can reach")
    if finding.whole_ns - one.saved_ns >= LEAST_WORTH * facts.duration_ns and not (one.to_floor or finding.launches):
        said.append(f"{times_as_fast(_speedup(finding.whole_ns, facts))} if the fault were gone")
    return "; ".join(filter(None, said))
