"""What of two runs can be compared: what forbids it, on which workload, which launches of either side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ncu_assist.analysis.diff.kernel_names import kernel_name
from ncu_assist.analysis.diff.pairing import LaunchPair, PairedLaunches, pair_launches
from ncu_assist.analysis.diff.records import RunDifference
from ncu_assist.analysis.diff.work import Tables, is_repeated
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import Combined, combine_repeats
from ncu_assist.record import Launch, Run, WorkloadFacts
from ncu_assist.spec import ALL

UNKNOWN = ("", "unknown", "unknown GPU")


def _gpu(run: Run, workload: WorkloadFacts | None) -> object:
    """Return which GPU timed it: two of one model differ by more than what verdicts are about."""
    found = run.gpu_of(workload.name if workload else None)
    return found[:12] if found else None


def _profiled(name: str) -> Callable[[Run, WorkloadFacts | None], object]:
    return lambda run, _: getattr(run.profile, name) if run.profile else None


def _replay(run: Run, workload: WorkloadFacts | None) -> object:
    """Return what a value is of: one launch, however often it was replayed, or a range of launches."""
    mode = run.profile.replay_mode if run.profile else None
    return mode and ("range" if "range" in mode else "launch")


def _workload(name: str) -> Callable[[Run, WorkloadFacts | None], object]:
    return lambda _, workload: getattr(workload, name) if workload else None


# What is compared, what a run answers (None where it does not know: it differs in nothing then), and the reason code of
# the verdict where a difference forbids the comparison.
QUESTIONS: tuple[tuple[str, Callable[[Run, WorkloadFacts | None], object], str], ...] = (
    ("GPU model", lambda run, _: run.gpu, "other-device"),
    ("workload", _workload("name"), "other-workload"),
    ("dtype", _workload("dtype"), "other-workload"),
    ("sizes", _workload("integers"), "other-workload"),
    ("bytes of the workload", _workload("algorithmic_bytes"), "other-workload"),
    ("clock control", _profiled("clock_control"), "other-settings"),
    ("cache control", _profiled("cache_control"), "other-settings"),
    ("replay mode", _replay, "other-settings"),
    ("section set", _profiled("section_set"), ""),
    ("GPU", _gpu, "other-device"),
    ("driver", lambda run, _: run.device.driver if run.device else None, ""),
    ("values", lambda run, _: "rounded (printed page)" if run.rounded else "as counted", ""),
    ("CUDA", lambda run, _: run.toolchain.cuda, ""),
    ("ncu", lambda run, _: run.toolchain.ncu, ""),
    ("nvcc", lambda run, _: run.toolchain.nvcc, ""),
    ("nvcc options", lambda run, _: run.toolchain.nvcc_options, ""),
    ("torch", lambda run, _: run.toolchain.torch, ""),
)


def differences(
    baseline: tuple[Run, WorkloadFacts | None], candidate: tuple[Run, WorkloadFacts | None]
) -> tuple[tuple[RunDifference, ...], str]:
    """Return what differs, and the reason code that forbids the comparison (empty when nothing does)."""
    found, reasons = [], []
    for what, answer, reason in QUESTIONS:
        sides = answer(*baseline), answer(*candidate)
        if any(side is None or side in UNKNOWN for side in sides) or sides[0] == sides[1]:
            continue
        found.append(RunDifference(what, _text(sides[0]), _text(sides[1]), bool(reason)))
        reasons.append(reason)
    return tuple(found), next((reason for reason in reasons if reason), "")


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in sorted(value.items()))
    return str(value)


def compared_workloads(baseline: Run, candidate: Run, wanted: str | None) -> tuple[str | None, str | None]:
    """Return the workload of each side; None for a side that knows of none, as a foreign report does.

    That is the one wanted, else the first that both were timed on, else the first that both have. Raises UsageProblem
    for one that a side lacks.
    """
    sides = [[w.name for w in run.workloads] for run in (baseline, candidate)]
    if wanted == ALL and ALL not in (*sides[0], *sides[1]):
        hint = f"ncu-assist gate {candidate.kernel}/{candidate.version} --against {baseline.version}"
        raise UsageProblem("a diff is of one workload", hint)
    own = {one.workload for run in (baseline, candidate) for one in run.launches}
    if wanted is not None and not any(sides) and own != {wanted}:  # parts of calls on it know nothing else of it
        message = f"{baseline.version} and {candidate.version} have no workloads, so there is no '{wanted}'"
        raise UsageProblem(message, "leave out --workload")
    if not all(sides):
        chosen = [
            _chosen(names, wanted, run) if names else None
            for names, run in zip(sides, (baseline, candidate), strict=True)
        ]
        return chosen[0], chosen[1]
    common = common_workloads(baseline, candidate)
    timed = [name for name in common if baseline.timing(name) and candidate.timing(name)] or common
    if wanted is not None:
        _check_both(sides, wanted, (baseline, candidate), timed)
        return wanted, wanted
    if common:
        return timed[0], timed[0]
    return sides[0][0], sides[1][0]  # nothing in common: the answer will be not-comparable


def common_workloads(baseline: Run, candidate: Run) -> list[str]:
    """Return the workloads that both runs have, in the order of the baseline."""
    names = [workload.name for workload in candidate.workloads]
    return [workload.name for workload in baseline.workloads if workload.name in names]


def _check_both(sides: list[list[str]], wanted: str, runs: tuple[Run, Run], common: list[str]) -> None:
    """Raise UsageProblem if a side was not measured on the wanted workload; ``common`` are those to offer."""
    lacking = [run.version for names, run in zip(sides, runs, strict=True) if wanted not in names]
    if not lacking:
        return
    hint = f"leave out --workload, or --workload {common[0]}" if common else "leave out --workload"
    if len(lacking) == 1:
        other = "candidate" if wanted in sides[1] else "baseline"
        raise UsageProblem(f"{lacking[0]} was not measured on workload '{wanted}', only the {other} was", hint)
    said = f"neither {' nor '.join(lacking)} was measured"
    raise UsageProblem(f"{said} on workload '{wanted}'; {did_you_mean(wanted, common)}", hint)


def _chosen(names: list[str], wanted: str | None, run: Run) -> str:
    if wanted is not None and wanted not in names:
        message = f"{run.version} was not measured on workload '{wanted}'; {did_you_mean(wanted, names)}"
        raise UsageProblem(message, f"leave out --workload, or --workload {names[0]}")
    return wanted or names[0]


def with_repeats(paired: PairedLaunches, tables: tuple[Tables, Tables] = ({}, {})) -> PairedLaunches:
    """Return the pairs of single launches that are the same on both sides as one, with what else repeats them.

    Launches of the same function, grid and block repeat the same work, in a foreign program as far as anyone can tell:
    not those whose instructions (in ``tables``) are as far apart as those of two sizes of a problem, as the levels of a
    tree are. They stay one by one.
    """
    groups: dict[Hashable, list[LaunchPair]] = {}
    for place, pair in enumerate(paired.pairs):
        groups.setdefault(_work(pair) or place, []).append(pair)
    alone = _Alone(paired.only_baseline, tables[0]), _Alone(paired.only_candidate, tables[1])
    pairs = tuple(chain.from_iterable(_merged(pairs, alone) for pairs in groups.values()))
    return PairedLaunches(pairs, alone[0].left, alone[1].left)


class _Alone:
    """The launches that only one side has, from which repeats are taken, and what was counted of all launches."""

    def __init__(self, launches: Sequence[Launch], tables: Tables) -> None:
        self.left, self.tables = tuple(launches), tables

    def with_alike(self, launches: Sequence[Launch]) -> tuple[Launch, ...]:
        """Return launches of one shape and those here that repeat them; none where they are no repeats."""
        like = _shape(launches[0])
        every = [*launches, *(one for one in self.left if _shape(one) == like)]
        return tuple(sorted(every, key=lambda one: one.index)) if is_repeated(every, self.tables) else ()

    def leave(self, taken: Sequence[Launch]) -> None:
        gone = {one.index for one in taken}
        self.left = tuple(one for one in self.left if one.index not in gone)


def _shape(launch: Launch) -> Hashable:
    return launch.signature, launch.grid, launch.block


def _work(pair: LaunchPair) -> Hashable:
    """Return what the launches of a pair do; None for a chain, which is no single launch."""
    if not len(pair.baseline) == len(pair.candidate) == 1:
        return None
    return _shape(pair.baseline[0]), _shape(pair.candidate[0]), pair.confidence


def _merged(pairs: list[LaunchPair], alone: tuple[_Alone, _Alone]) -> list[LaunchPair]:
    first = pairs[0]
    if _work(first) is None:
        return pairs
    before = alone[0].with_alike([one for pair in pairs for one in pair.baseline])
    after = alone[1].with_alike([one for pair in pairs for one in pair.candidate])
    if not before or not after or len(before) == len(after) == 1:
        return pairs
    alone[0].leave(before)
    alone[1].leave(after)
    common = first.range if all(pair.range == first.range for pair in pairs) else ()
    return [replace(first, baseline=before, candidate=after, range=common, repeats=True)]


NOTHING_IN_COMMON, OTHER_PASSES = "no-common-launch", "other-passes"


@dataclass(frozen=True)
class Scope:
    """The pairs of launches, and what is added up of each side; ``reason`` is the code of what forbids it, or empty."""

    paired: PairedLaunches
    totals: tuple[Combined, Combined]
    compared: tuple[int, int]  # launches of either side; of a call that was repeated, those of the first
    reason: str = ""

    @property
    def apart(self) -> tuple[RunDifference, ...]:
        """How many launches either side has of each function of both that have no partner, where that forbids it."""
        if not self.reason:
            return ()
        sides = [_by_base(some) for some in (self.paired.only_baseline, self.paired.only_candidate)]
        return tuple(
            RunDifference(f"launches of {base} in other shapes", str(len(some)), str(len(sides[1][base])), hard=True)
            for base, some in sides[0].items()
            if base in sides[1]
        )

    @property
    def is_one_kernel(self) -> bool:
        """Tell whether one pair holds every launch: then what is known of the runs is known of it."""
        return len(self.paired.pairs) == 1 and not self.paired.only_baseline and not self.paired.only_candidate


def scope(baseline: Combined, candidate: Combined) -> Scope:
    """Return what of two runs is compared.

    Two calls on a workload do the same work, whatever they launch, so all launches count. Foreign programs may have
    run for longer or shorter, so only launches in a pair do, as many on either side. Their place alone pairs no two
    programs: where nothing else does, nothing is compared, unless each launched one kernel, however often, which is
    then the one to compare. Nor is anything where most of the time of a side goes to launches of functions that both
    have and that do not correspond, as those of a sort in eight passes and in three.
    """
    sides = baseline, candidate
    paired = pair_launches(baseline.launches, candidate.launches)
    if None not in (baseline.workload, candidate.workload) or not all(side.launches for side in sides):
        return Scope(paired, sides, _counts(sides))
    by_place = all(pair.confidence == "order" for pair in paired.pairs)
    if not paired.pairs or (by_place and not (_is_one_kernel(baseline) and _is_one_kernel(candidate))):
        alone = PairedLaunches((), baseline.launches, candidate.launches)
        reason = OTHER_PASSES if _do_not_correspond(alone, sides) else NOTHING_IN_COMMON
        return Scope(alone, sides, _counts(sides), reason)
    repeated = with_repeats(paired, (tables_of(baseline), tables_of(candidate)))
    whole = Scope(repeated, sides, _counts(sides))
    if _do_not_correspond(repeated, sides):
        return replace(whole, reason=OTHER_PASSES)
    if whole.is_one_kernel and repeated.pairs[0].repeats:
        return replace(whole, totals=(_as_repeats(baseline), _as_repeats(candidate)))
    before = baseline.only(one for pair in _as_often(repeated) for one in pair[0])
    after = candidate.only(one for pair in _as_often(repeated) for one in pair[1])
    return Scope(repeated, (before, after), _counts((before, after)))


def _counts(sides: tuple[Combined, Combined]) -> tuple[int, int]:
    return len(sides[0].launches), len(sides[1].launches)


def tables_of(combined: Combined) -> Tables:
    """Return what was counted of each launch, by its number."""
    return {one.index: table for one, table in zip(combined.launches, combined.tables, strict=True)}


def _do_not_correspond(paired: PairedLaunches, sides: tuple[Combined, Combined]) -> bool:
    """Return whether most of the time of a side goes to functions of which both sides have launches without a partner.

    Without a partner are those of other shapes, as often as the other side's on neither: see ``pair_launches``.
    """
    alone = [_by_base(some) for some in (paired.only_baseline, paired.only_candidate)]
    for some, side in zip(alone, sides, strict=True):
        theirs = [one for base in alone[0].keys() & alone[1].keys() for one in some[base]]
        whole = sum(one.duration_ns or 0.0 for one in side.launches)
        if 2.0 * sum(one.duration_ns or 0.0 for one in theirs) >= whole > 0.0:
            return True
    return False


def _by_base(launches: Sequence[Launch]) -> dict[str, list[Launch]]:
    """Return launches by what names their function, in the order of the first of each."""
    bases = {one: kernel_name(one).base for one in {launch.signature for launch in launches}}
    found: dict[str, list[Launch]] = {}
    for one in launches:
        found.setdefault(bases[one.signature], []).append(one)
    return found


def _as_repeats(combined: Combined) -> Combined:
    return combine_repeats(combined.workload, [[one] for one in combined.launches], tables_of(combined))


def _as_often(paired: PairedLaunches) -> Iterator[tuple[tuple[Launch, ...], tuple[Launch, ...]]]:
    """Yield the launches of both sides; of repeats as many as both have."""
    for pair in paired.pairs:
        least = min(len(pair.baseline), len(pair.candidate)) if pair.repeats else None
        yield pair.baseline[:least], pair.candidate[:least]


def _is_one_kernel(combined: Combined) -> bool:
    return len({kernel_name(signature).base for signature in {one.signature for one in combined.launches}}) == 1
