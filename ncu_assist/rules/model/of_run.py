"""The diagnosis of a run: its workloads, its longest kernel, single launches; source lines; what is kept."""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist import __version__
from ncu_assist.ceilings import Ceilings, floor_of
from ncu_assist.ceilings.chips import LANES
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.quantity import times_as_fast
from ncu_assist.rules import RULES, debug_build, grid_underfill, l1_bound, shared_bank_conflict, tensor_underfed
from ncu_assist.rules.model.blame import PREDICATE
from ncu_assist.rules.model.diagnosis import UNEXPLAINED, Diagnosis, JointGain, Ranked, diagnose, joint_gains
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.libraries import header_advice, header_advice_by_code, library_advice, library_kernel
from ncu_assist.rules.model.places import own_lines, places
from ncu_assist.rules.model.resources import SM_PARTS
from ncu_assist.rules.model.same_work import SameWork, asked, same_work, scaled
from ncu_assist.rules.model.uncounted import uncounted_words
from ncu_assist.rules.model.warnings import warnings
from ncu_assist.steps import steps
from ncu_assist.store.findings import Findings, Judged, StoredFinding

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.frame.columns import Values
    from ncu_assist.ncu.code import Code
    from ncu_assist.record import Launch, Run
    from ncu_assist.rules.base import Finding


@dataclass(frozen=True)
class KernelPart:
    """The kernel that a diagnosis is of, where it is not of all launches.

    ``share`` is its part of their time, None where that is not known.
    """

    name: str
    launches: int
    of_launches: int
    share: float | None


@dataclass(frozen=True)
class RuleResults:
    """What the rules say of launches, and what misleads about their measurement, by id; ``part`` None: of all shown.

    ``typical`` are the facts of one launch that stands for all which do the same work; None where nobody looked.
    """

    facts: Facts
    diagnosis: Diagnosis
    warnings: Mapping[str, str]
    part: KernelPart | None = None
    typical: Facts | None = None

    @cached_property
    def joint_gains(self) -> tuple[JointGain, ...]:
        """What the first finding wins together with others, the most first."""
        return joint_gains(self.diagnosis, self.facts, RULES)

    @property
    def joint(self) -> JointGain | None:
        """The pair that wins most, where both carry notably further than either alone."""
        return next((one for one in self.joint_gains if one.carries_further), None)

    def about(self, finding: Finding) -> Facts:
        """Return the facts of the launches that a finding is about: its evidence is of them."""
        return self.facts.only(finding.launches)

    def where(self, finding: Finding) -> str:
        """Return which launches a finding is about where it is not about all, e.g. ``k, 2 of 10 launches``."""
        own, every = self.about(finding).combined.launches, self.facts.combined.launches
        if len(own) == len(every):
            return ""
        also = f", less so in {finding.elsewhere} more" if finding.elsewhere else ""
        return f"{own[0].kernel}, {len(own)} of {len(every)} launches{also}"


def results_of(
    run: Run,
    combined: Combined,
    ceilings: Ceilings | None = None,
    whole: bool = True,
    complete: Run | None = None,
) -> RuleResults | None:
    """Return what the rules say of launches of a run together; None without counters.

    ``ceilings`` are those of its GPU (`ceilings.ceilings_of`), None where nobody measured such a GPU.
    ``whole``: they are all that a call on the workload launches, so that its bytes, operations and dtype are theirs.
    ``complete`` is the run with every workload, where ``run`` has only those whose calls are whole.
    """
    if not combined.launches or not any(combined.tables):
        return None
    workload = run.workload(combined.workload) if combined.workload and whole else None
    of_call = (complete or run).workload(combined.workload) if combined.workload else None
    facts = Facts(combined, run.device, ceilings, sections=run.sections)
    if of_call and not workload:
        facts = replace(facts, host_bytes=of_call.host_bytes)
    if workload:
        timing = run.timing(workload.name)
        facts = replace(
            facts,
            algorithmic_bytes=workload.algorithmic_bytes,
            flops=workload.flops,
            dtype=workload.dtype,
            work=workload.work,
            floor=floor_of(workload, ceilings, run),
            median_ns=timing.median_ns if timing else None,
        )
    diagnosis = _in_a_library(diagnose(facts, RULES), facts)
    caches = run.profile.cache_control if run.profile else None
    asked = dict.fromkeys(key for rule in RULES.values() for key in (*rule.NEEDS, *rule.USES))
    return RuleResults(facts, diagnosis, warnings(facts, caches, diagnosis, tuple(asked)))


def _in_a_library(diagnosis: Diagnosis, facts: Facts) -> Diagnosis:
    """Return a diagnosis whose advice can be followed where the kernels are a library's: nobody changes those."""
    findings = tuple(_followable(one, facts.only(one.finding.launches)) for one in diagnosis.findings)
    return replace(diagnosis, findings=findings)


def _followable(ranked: Ranked, facts: Facts) -> Ranked:
    kernels = {library_kernel(one) for one in facts.combined.launches}
    known = [one for one in kernels if one]
    if not ranked.finding.advice or len(kernels) != 1 or not known or ranked.finding.rule == UNEXPLAINED:
        return ranked
    advice = library_advice(known[0], ranked.finding.rule)
    return replace(ranked, finding=replace(ranked.finding, advice=advice, figures=""))


def agreed(results: Sequence[RuleResults], others: Sequence[RuleResults] = ()) -> list[RuleResults]:
    """Return results, each of one launch, in which launches that do the same work have one first finding.

    It is what most of the time of those has that are asked (`asked`): ``others``, or all of these without any. A launch
    that has another one, which is no more than the noise of a launch near a threshold, is given the diagnosis of the
    longest that has it, with savings by its own time.
    """
    voters = others or results
    groups = [(one, [voters[place] for place in one.places]) for one in same_work([own.facts for own in voters])]
    return [_as_most(one, groups) for one in results]


def _as_most(own: RuleResults, groups: Sequence[tuple[SameWork, Sequence[RuleResults]]]) -> RuleResults:
    """Return the results of a launch, with the first finding that most have which do its work."""
    work, alike = next(((work, some) for work, some in groups if work.takes_in(own.facts)), (None, ()))
    if work is None:
        return own
    own = own if own.typical else replace(own, typical=work.typical)
    time: dict[str, float] = {}
    for one in alike:
        time[_first_rule(one)] = time.get(_first_rule(one), 0.0) + one.facts.duration_ns
    most = max(time, key=lambda rule: time[rule])
    if _first_rule(own) == most:
        return own
    with_most = (one for one in alike if _first_rule(one) == most)
    longest = max(with_most, key=lambda one: one.facts.duration_ns)
    times = own.facts.duration_ns / longest.facts.duration_ns if longest.facts.duration_ns else 1.0
    return replace(own, diagnosis=scaled(longest.diagnosis, times))


def _first_rule(results: RuleResults) -> str:
    return results.diagnosis.first.finding.rule if results.diagnosis.first else ""


def results_of_shown(
    run: Run, combined: Combined, ceilings: Ceilings | None = None, complete: Run | None = None
) -> RuleResults | None:
    """Return the diagnosis of a run: what ``results_of`` does, but without a workload that of one kernel.

    Launches of several kernels that no workload holds together have nothing to do with each other: their sums say
    nothing, and the kernel that most of the time goes to is judged. A kernel is a function with its template arguments.
    """
    if combined.workload is not None or not combined.is_of_kernels:
        return results_of(run, combined, ceilings, complete=complete)
    own = combined.by_kernel[0]
    results, whole = results_of(run, own, ceilings), combined.duration_ns
    share = own.duration_ns / whole if whole and own.duration_ns else None
    part = KernelPart(own.launches[0].kernel, len(own.launches), len(combined.launches), share)
    return replace(results, part=part) if results else None


def located(results: RuleResults | None, code: Code | None) -> RuleResults | None:
    """Return results with the lines of each finding that some lines are to blame for; as it is without code."""
    if results is None or code is None or not results.diagnosis.findings:
        return results
    read = code.of([one.index for one in results.facts.combined.launches])
    if len(read.sass):
        results = as_built(results, sass_of(read.sass, results.facts.combined.launches))
    if not any(map(blames_lines, results.diagnosis.findings)):
        return results
    own = replace(read, sass=own_lines(read)) if len(read.sass) else read
    findings = tuple(_located(one, results, own) for one in results.diagnosis.findings)
    return replace(results, diagnosis=replace(results.diagnosis, findings=findings))


def needs_cause(results: RuleResults | None) -> bool:
    """Tell whether results have a finding whose cause the code tells, and counters do not."""
    return results is not None and any(map(_needs_cause, results.diagnosis.findings))


def _needs_cause(ranked: Ranked) -> bool:
    return tensor_underfed.needs_code(ranked.finding) and blames_lines(ranked)


def with_causes(results: RuleResults | None, code: Code | None) -> RuleResults | None:
    """Return results with the causes that the code tells, as ``located`` does, without lines."""
    if results is None or code is None:
        return results
    findings = tuple(_with_cause(one, results, code)[0] for one in results.diagnosis.findings)
    return replace(results, diagnosis=replace(results.diagnosis, findings=findings))


def _with_cause(ranked: Ranked, results: RuleResults, code: Code) -> tuple[Ranked, Code]:
    """Return a finding with its cause, and the code that it is about."""
    about = results.about(ranked.finding)
    own = code.of([one.index for one in about.combined.launches])
    if ranked.finding.rule == shared_bank_conflict.ID:
        return replace(ranked, finding=shared_bank_conflict.by_code(ranked.finding, own.sass)), own
    if not _needs_cause(ranked):
        return ranked, own
    finding, sass = tensor_underfed.by_code(ranked.finding, own.sass, about)
    return replace(ranked, finding=finding), replace(own, sass=sass)


OPTIMISE_FIRST = "compile with optimisation first; if it is still there then"


# SASS, how often warps executed each (zeros if not counted), and the file of each, empty if that was not read.
Instructions = tuple[list[str], list[float], list[str]]
LINELESS = {"", "nan", "None", "<NA>"}  # files of code without lines
JUMPS = ("BRA", "BRX", "JMP", "JMX", "CALL")


@dataclass(frozen=True)
class LaunchSass:
    """The code of the launches of a run whose code was read, by their index.

    ``alike`` names one of them for each kernel: a launch whose code was not read counts as built like that one.
    ``straight``: the kernels, by signature, of which every launch that was read executed no instruction more than once
    a warp.
    """

    read: Mapping[int, Instructions] = field(default_factory=dict)
    alike: Mapping[str, int] = field(default_factory=dict)
    straight: frozenset[str] = frozenset()

    @classmethod
    def of(cls, read: Mapping[int, Instructions], launches: Iterable[Launch]) -> LaunchSass:
        """Return the code of some launches as that of all ``launches`` of the run."""
        own = [one for one in launches if one.index in read]
        looped = {one.signature for one in own if not _is_straight(one, read[one.index])}
        straight = frozenset({one.signature for one in own} - looped - {""})
        return cls(read, {one.signature or one.kernel: one.index for one in own}, straight)

    @cached_property
    def unoptimised(self) -> Mapping[int, Mapping[str, float]]:
        """How often warps executed each opcode of the code that was built without optimisation."""
        slow = {number: own for number, own in self.read.items() if debug_build.is_unoptimised(own[0])}
        return {number: debug_build.executed(sass, counts) for number, (sass, counts, _) in slow.items()}

    def ran(self, launches: Iterable[Launch]) -> Counter[tuple[str, int]]:
        """Return how many of these launches ran which code, by kernel and launch; without kernels never read."""
        named = ((one.index, one.signature or one.kernel) for one in launches)
        places = ((kernel, number if number in self.read else self.alike.get(kernel)) for number, kernel in named)
        return Counter((kernel, place) for kernel, place in places if place is not None)


def _is_straight(launch: Launch, code: Instructions) -> bool:
    """Tell whether it was counted that no warp executed an instruction more than once.

    No count is above that of the warps, and none jumped: one warp alone may loop as often as there are warps.
    """
    sass, counts, _ = code
    warps = math.prod(launch.grid) * -(-math.prod(launch.block) // LANES)
    ran = (PREDICATE.sub("", one) for one, count in zip(sass, counts, strict=bool(counts)) if count)
    jumped = any(one.startswith(JUMPS) for one in ran)
    return 0.0 < max(counts, default=0.0) <= warps and not jumped


NO_SASS = LaunchSass()


def sass_of(frame: pd.DataFrame, launches: Iterable[Launch]) -> LaunchSass:
    """Return the code in a table of the instructions of some of these launches."""
    read: dict[int, Instructions] = {}
    for number in frame["launch"].unique().tolist():
        own = frame[frame["launch"] == number]
        counts = own["instructions"].fillna(0.0).tolist() if "instructions" in own else []
        read[number] = list(map(str, own["sass"])), counts, list(map(str, own["file"])) if "file" in own else []
    return LaunchSass.of(read, launches)


ASK_THE_CODE = (grid_underfill.ID, l1_bound.ID)  # whose gain or advice the code decides


def code_tells_more(results: RuleResults) -> bool:
    """Tell whether what the rules say of a launch may change once its code was read (`as_built`)."""
    asks = any(one.finding.rule in ASK_THE_CODE for one in results.diagnosis.findings)
    return asks or debug_build.may_be_unoptimised(results.facts)


def as_built(results: RuleResults, code: LaunchSass) -> RuleResults:
    """Return results that know of it where code was built without optimisation: rules judge those kernels again.

    Each other finding on such a kernel says to compile with optimisation first then. Where nearly all instructions are
    of a header of CUDA, the findings say what to call in its place. The first says which accesses were not counted.
    """
    if not code.read:
        return results
    ran = code.ran(results.facts.combined.launches)
    results = _judged_as_built(results, code, ran)
    files = [file for _, place in ran for file in code.read[place][2]]
    counts = [count * times for (_, place), times in ran.items() for count in code.read[place][1]] if files else []
    advice = header_advice(files, counts) if files and len(files) == len(counts) else None
    if advice is None and LINELESS.issuperset(files):
        advice = header_advice_by_code([code.read[place][0] for _, place in ran])
    results = _with_uncounted(results, code, ran)
    if advice is None:
        return results
    findings = tuple(_of_header(one, advice) for one in results.diagnosis.findings)
    return replace(results, diagnosis=replace(results.diagnosis, findings=findings))


def _with_uncounted(results: RuleResults, code: LaunchSass, ran: Mapping[tuple[str, int], int]) -> RuleResults:
    """Return results whose first finding names what the code of their only kernel has, and no counter tells.

    Without optimisation every variable is in local memory, which says nothing.
    """
    places, first = {place for _, place in ran}, results.diagnosis.first
    if len(places) != 1 or first is None or places & set(code.unoptimised):
        return results
    sass, executed, _ = code.read[places.pop()]
    words = uncounted_words(sass, results.facts, executed)
    if not words or words in first.finding.message:
        return results
    told = replace(first, finding=replace(first.finding, message=f"{first.finding.message}{words}"))
    findings = (told, *results.diagnosis.findings[1:])
    return replace(results, diagnosis=replace(results.diagnosis, findings=findings))


def _of_header(ranked: Ranked, advice: str) -> Ranked:
    """Return a finding with the advice, if its fix takes work off the SM: nobody changes the code of a header."""
    finding = ranked.finding
    is_of_sm = any(one.name in finding.relieves for one in SM_PARTS) and not finding.of_build
    if ranked.severity == "info" or not is_of_sm or finding.is_done or not finding.advice:
        return ranked
    first = f"{OPTIMISE_FIRST}, " if finding.advice.startswith(OPTIMISE_FIRST) else ""
    return replace(ranked, finding=replace(finding, advice=f"{first}{advice}"))


def _judged_as_built(results: RuleResults, code: LaunchSass, ran: Mapping[tuple[str, int], int]) -> RuleResults:
    slow = {kernel: dict[str, float]() for kernel, place in ran if place in code.unoptimised}
    facts = replace(results.facts, straight=code.straight)
    is_straight = facts.is_straight and any(one.finding.rule == grid_underfill.ID for one in results.diagnosis.findings)
    if results.facts.unoptimised or not (slow or is_straight):
        return results
    for (kernel, place), times in ran.items():
        for opcode, count in code.unoptimised.get(place, {}).items():
            slow[kernel][opcode] = slow[kernel].get(opcode, 0.0) + count * times
    facts = replace(facts, unoptimised=slow)
    diagnosis = _in_a_library(diagnose(facts, RULES), facts)
    rebuilt = next((one for one in diagnosis.findings if one.finding.of_build), None)
    findings = (
        _of_unoptimised(one, rebuilt) if facts.only(one.finding.launches).opcodes else one for one in diagnosis.findings
    )
    return replace(results, facts=facts, diagnosis=replace(diagnosis, findings=tuple(findings)))


def _of_unoptimised(ranked: Ranked, rebuilt: Ranked | None) -> Ranked:
    """Return a finding of a build that has not been optimised: what is left of it then, nobody knows.

    Its figures say what optimisation alone wins where that is more.
    """
    finding = ranked.finding
    if finding.of_build or ranked.severity == "info" or finding.is_done or not finding.advice:
        return ranked
    figures = finding.figures
    if rebuilt is not None and rebuilt.saved_ns > ranked.saved_ns:
        figures = "; ".join(filter(None, (figures, f"optimisation alone: {times_as_fast(rebuilt.estimated_speedup)}")))
    advice = f"{OPTIMISE_FIRST}, {finding.advice}"
    return replace(ranked, finding=replace(finding, advice=advice, figures=figures, assumed=True))


def blames_lines(ranked: Ranked) -> bool:
    """Tell whether some lines are to blame for a finding.

    Not for remarks, nor where a kernel is done or not explained, nor for what is about the launch as a whole, such as
    its tail: that holds for every line.
    """
    finding = ranked.finding
    if ranked.severity == "info" or finding.rule == UNEXPLAINED:
        return False
    return finding.waste != "samples" or bool(finding.stalls)


def _located(ranked: Ranked, results: RuleResults, own: Code) -> Ranked:
    if not blames_lines(ranked):
        return ranked
    ranked, code = _with_cause(ranked, results, own)
    return replace(ranked, places=places(ranked.finding, code, owned=True))


MOST_LAUNCHES = 20  # of one workload whose findings are kept one by one, the longest: a program has thousands


def findings_of(
    run: Run, tables: Mapping[int, Values], ceilings: Ceilings | None, code: LaunchSass = NO_SASS
) -> Findings:
    """Return what the rules of this version say of a run; ``tables`` are the counters of each launch.

    ``ceilings`` are those of its GPU, None where nobody measured such a GPU; ``code`` is what was read of its launches.
    """
    workloads = dict.fromkeys(launch.workload for launch in run.launches)
    judged = [one for name in workloads for one in _of_workload(run, combine_tables(run, tables, name), ceilings, code)]
    return Findings(__version__, tuple(RULES), tuple(judged), rules_code())


@functools.cache
def rules_code() -> str:
    """Return what changes with the modules of the rules and of what they share."""
    folder, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def judged(
    run: Run, combined: Combined, ceilings: Ceilings | None, whole: bool = True, code: LaunchSass = NO_SASS
) -> Judged | None:
    """Return what the rules say of launches of a run together, as ``results_of`` does; None without counters.

    ``code`` is what was read of the launches of the run.
    """
    results = results_of(run, combined, ceilings, whole)
    return _judged(results, whole, code) if results else None


def _judged(results: RuleResults, whole: bool, code: LaunchSass) -> Judged:
    results = as_built(results, code)
    combined = results.facts.combined
    only = combined.launches[0] if len(combined.launches) == 1 else None
    return Judged(
        workload=combined.workload,
        whole=whole,
        launch=only.index if only else None,
        kernel=only.kernel if only else None,
        duration_ns=combined.duration_ns,
        findings=tuple(as_stored(one) for one in results.diagnosis.findings),
        unanswered=tuple(one.rule for one in results.diagnosis.unanswered),
    )


def judged_alone(launches: Sequence[Launch], most: int | None = MOST_LAUNCHES) -> list[Launch]:
    """Return the launches of one workload that are judged one by one, the longest first; all where ``most`` is None."""
    return sorted(launches, key=lambda one: -(one.duration_ns or 0.0))[:most]


def _of_workload(run: Run, combined: Combined, ceilings: Ceilings | None, code: LaunchSass) -> Iterator[Judged]:
    """Yield what is said of a workload as a whole, then of each of its launches where it has several."""
    single = judged_alone(combined.launches) if len(combined.launches) > 1 else []
    together = judged(run, combined, ceilings, code=code)
    yield from (together,) if together else ()

    def alone(one: Launch) -> RuleResults | None:
        return results_of(run, combined.only([one]), ceilings, whole=False)

    every = each_judged(single, combined.launches, alone).values()
    yield from (_judged(one, whole=False, code=code) for one in every if one)


def each_judged(
    wanted: Sequence[Launch], every: Iterable[Launch], judge: Callable[[Launch], RuleResults | None]
) -> dict[int, RuleResults | None]:
    """Return what is said of each of some launches, by index, as it is where ``every`` launch of the run is shown.

    ``judge`` says it of a launch by itself; None without counters.
    """
    needed = asked(every, wanted)
    both = {one.index: one for one in (*wanted, *needed)}
    found = {one.index: judge(one) for one in steps("judging launches", list(both.values()))}
    own = [results for one in wanted if (results := found[one.index])]
    same = iter(agreed(own, [results for one in needed if (results := found[one.index])]))
    return {one.index: found[one.index] and next(same) for one in wanted}


def as_stored(ranked: Ranked) -> StoredFinding:
    """Return what is kept of a finding."""
    finding = ranked.finding
    saved, speedup = _finite(ranked.saved_ns), _finite(ranked.estimated_speedup)
    detail, assumed = finding.detail, finding.assumed
    return StoredFinding(finding.rule, ranked.severity, saved, speedup, detail, assumed, ranked.to_floor)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
