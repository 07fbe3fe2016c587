"""Sentences on a verdict, on where runs come from and on what to do next, for every format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from shlex import quote
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import number_of, quantity, ratio_digits, times_as_fast
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.launches import why_in_focus
from ncu_assist.render.words.values import collect_again
from ncu_assist.verdict import REASONS, Verdict, clock_note, is_one_ratio
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import Diff, DiffSide
    from ncu_assist.analysis.records import Combined, Coverage
    from ncu_assist.analysis.run_view import RunView, WorkloadRow
    from ncu_assist.record import Launch, Run, Source

# What settles runs of programs, which nothing here can bench: durations of many launches under ncu.
OF_LIVE_PROGRAMS = "profile each again with --repeats N, so that each has 20 launches of the kernel or more"
OF_PROGRAMS = "with 20 launches of the kernel or more in each: {}"
OF_PARTS = "leave out --launch: whole calls are compared by the times of a bench"
COMMAND = re.compile(r"\bncu(?:-assist)? .*")  # in what settles a verdict
FEW_LAUNCHES, UNCOUNTED = ("one-sample", "too-few-samples"), "unknown-work"
WORDS = (
    "faster",
    "faster at a higher clock",
    "same",
    "slower at a lower clock",
    "slower",
    "unclear",
    "not comparable",
)
LINE = 80  # letters, of a terminal
NAME = 40  # letters of a kernel in a sentence
KERNEL = 20  # and where it names one of two launches
PAIRS = re.compile(r", \d+ pairs(?=;)")  # what a line has no room for, where cycles stand behind it
MOST_DIGITS = 5
SAME_CYCLES, IN_CYCLES_TOO = "the same cycles", "in cycles too"
UNCUT = 10_000  # for a page, where a sentence wraps


def verdict_line(diff: Diff, width: int = LINE) -> str:
    """Return the verdict in one line, e.g. ``v7 is 3.42x faster than v3 on b64 (99 % interval 3.40 to 3.44, …)``.

    Where it is wider than ``width`` it is told in fewer words.
    """
    baseline, candidate = names(diff)
    if baseline == candidate and diff.is_one_run:
        baseline = "itself"
    if _are_of_kernels(diff):
        baseline += ", another kernel"
    workloads = dict.fromkeys(one_line(side.workload) for side in (diff.candidate, diff.baseline) if side.workload)
    where = f" on {' and '.join(workloads)}" if diff.workload and workloads else _on_pairs(diff)
    if diff.forced:
        where += " (forced)"
    return _fitted(_SENTENCES[diff.verdict.verdict](candidate, baseline, where, diff.verdict), width)


def verdict_sentence(candidate: str, baseline: str, workload: str | None, verdict: Verdict, width: int = LINE) -> str:
    """Return the verdict on two versions in one line, as ``verdict_line`` has it."""
    names = one_line(short_name(candidate)), one_line(short_name(baseline))
    where = f" on {one_line(workload)}" if workload else ""
    return _fitted(_SENTENCES[verdict.verdict](*names, where, verdict), width)


def counted(verdicts: Mapping[str, Verdict]) -> str:
    """Return on how many workloads the verdict is what, few of them by name: ``faster on 7, slower on 1 (small)``."""
    found: dict[str, list[str]] = {}
    for workload, one in verdicts.items():
        found.setdefault(one.words, []).append(one_line(workload))
    return ", ".join(f"{word} on {_few(found[word], len(verdicts))}" for word in WORDS if word in found)


def _few(workloads: Sequence[str], of: int) -> str:
    count = len(workloads)
    return f"{count} ({', '.join(workloads)})" if count <= MOST_NAMED and count < of else str(count)


MOST_NAMED = 3  # workloads, in a line that counts them


def _fitted(sentence: str, width: int) -> str:
    shorter = sentence.replace("99 % interval ", "99 %: ")
    unpaired = PAIRS.sub("", shorter)
    return next((one for one in (sentence, shorter) if len(one) <= width), unpaired)


def _on_pairs(diff: Diff) -> str:
    some = any(side.compared < side.launches for side in (diff.baseline, diff.candidate))
    return " on the launches of both" if some else ""


def of_launches(coverage: Coverage | None) -> str:
    """Return of how many launches a value is, e.g. ``2 of 4 launches``; empty where it is of all."""
    return f"{coverage.known} of {coverage.launches} launches" if coverage else ""


def impossible_lines(combined: Combined, keys: Sequence[str]) -> list[str]:
    """Return a remark on each value that no hardware can have, so that it is shown and nobody takes it for evidence."""
    values = [(ROWS[key], combined.impossible[key]) for key in keys if key in combined.impossible]
    return [
        f"{row.label}: the report says {quantity(value, row.unit)}, which no hardware can have: counters of different "
        "passes"
        for row, value in values
    ]


def of_representative(shown: RunView) -> str:
    """Return what ratios are of where launches are of different kernels: one of them; empty where they are of all."""
    if shown.counted is shown:
        return ""
    whole, alone = shown.combined, shown.counted.combined
    launch, which = alone.launches[0], why_in_focus(shown)
    of_kernel = next((one for one in whole.by_kernel if launch in one.launches), whole)
    is_alone = shown.focus is not None or len(of_kernel.launches) == 1
    counted, of = (alone, whole) if is_alone else (of_kernel, of_kernel)
    time = counted.duration_ns
    share = f"{100 * time / whole.duration_ns:.0f} % of the time" if time and whole.duration_ns else ""
    also = f", {share}" if is_alone else f" of a kernel that takes {share}"
    many = f"{which} of {len(of.launches)}{also if share else ''}"
    return f"launch {launch.index} alone, {one_line(launch.kernel, NAME)}: {many}"


def names(diff: Diff) -> tuple[str, str]:
    """Return what to call the two sides: short versions, or full references where those are the same.

    Two launches of one run have their numbers, and kernels; a part of a call has its numbers, as ``v0 #5-7``.
    """
    short = one_line(short_name(diff.baseline.version)), one_line(short_name(diff.candidate.version))
    pair = _launches_of_one_run(diff)
    if pair:
        return _launch_name(pair[0]), _launch_name(pair[1])
    parts = _parts_of_calls(diff)
    named = f"{short[0]}{parts[0] and f' #{parts[0]}'}", f"{short[1]}{parts[1] and f' #{parts[1]}'}"
    if diff.is_one_run or named[0] != named[1]:
        return named
    for name in (_file, lambda side: side.reference):
        both = one_line(name(diff.baseline)), one_line(name(diff.candidate))
        if both[0] != both[1]:
            return both
    return both


def part_words(diff: Diff) -> list[str]:
    """Return what the comparison is not of: a version's whole work, where a side is a part of a call; all repeats.

    And which launches are paired by their place alone, and which do other work, where the whole is compared.
    """
    from ncu_assist.analysis.diff.work import ARE_OTHER  # with the rest of a diff: `explain` needs none

    if _launches_of_one_run(diff):
        return []
    doubts: dict[str, list[str]] = {}
    for one in diff.launches:
        if one.doubt in ARE_OTHER and one.doubt not in (diff.verdict.reason, diff.forced):
            doubts.setdefault(one.doubt, []).append(one_line(one.kernel, NAME))
    by_order = [one.pair for one in diff.launches if one.pairing == "order"]
    kernels = [[one_line(side[0].kernel, NAME) for side in (pair.baseline, pair.candidate)] for pair in by_order]
    told = [
        f"{before} and {after} are paired by order: their names do not say that they do the same"
        for before, after in kernels
        if before != after
    ]
    told += [
        f"{name}: launch{'es' * ('-' in part or ',' in part)} {part} alone, a part of a call"
        for name, part in zip(names(diff), _parts_of_calls(diff), strict=True)
        if part
    ]
    for doubt, some in doubts.items():
        first, *more = dict.fromkeys(some)
        told.append(f"{first}{f' and {len(more)} more' if more else ''}: {REASONS[doubt].meaning}")
    return [*dict.fromkeys(told), *_repeats_left_out(diff)]


def _repeats_left_out(diff: Diff) -> list[str]:
    """Return of each side how many repeats neither the whole nor a metric counts, as the other side has fewer."""
    found = []
    paired = [(one.pair.baseline, one.pair.candidate) for one in diff.launches if one.pair.repeats]
    for place, (name, side) in enumerate(zip(names(diff), (diff.baseline, diff.candidate), strict=True)):
        more = [(pair[place][0].kernel, len(pair[place]) - len(pair[1 - place])) for pair in paired]
        left = [(kernel, count) for kernel, count in more if count > 0]
        if left and side.compared < sum(len((one.pair.baseline, one.pair.candidate)[place]) for one in diff.launches):
            kernels = list(dict.fromkeys(kernel for kernel, _ in left))
            of = one_line(kernels[0], NAME) if len(kernels) == 1 else number_of(len(kernels), "kernel")
            repeats = number_of(sum(count for _, count in left), "repeat")
            found.append(f"{name}: {repeats} of {of} more than the other side has: not in its total, nor in a metric")
    return found


def in_doubt_beside(diff: Diff) -> bool:
    """Return whether the verdict of a comparison that was forced is in doubt for another reason as well."""
    return bool(diff.forced) and diff.verdict.verdict == "unclear" and diff.verdict.reason != diff.forced


def clock_words(diff: Diff, called: tuple[str, str] | None = None) -> str:
    """Return what ``clock_note`` says of the clocks, beside what binds the candidate."""
    from ncu_assist.analysis.diff import follows_sms  # with the rest of a diff: `explain` needs none

    return clock_note(diff.verdict, called, follows_sms(diff.candidate.bottleneck))


def next_command(diff: Diff) -> str:
    """Return the command that would settle the verdict; empty when it is settled or nothing can.

    Nothing can of two launches of one run: measured again they are what they are.
    """
    if diff.is_one_run:
        return ""
    sides = (diff.baseline, diff.candidate)
    if any(_parts_of_calls(diff)):
        return OF_PARTS if diff.verdict.reason in FEW_LAUNCHES else ""
    if any(side.source == "imported" or side.workload is None for side in sides):
        if diff.verdict.reason == UNCOUNTED:
            return collect_again(diff.candidate.device)
        if diff.verdict.reason not in FEW_LAUNCHES:
            return ""
        is_live = all(side.source == "live" for side in sides)
        return OF_LIVE_PROGRAMS if is_live else OF_PROGRAMS.format(collect_again(diff.candidate.device))
    return settling(diff.verdict.reason, diff.candidate.kernel, (sides[0].version, sides[1].version), diff.workload)


def next_words(diff: Diff) -> str:
    """Return ``next_command`` with the command between backticks: a condition may stand before it."""
    return COMMAND.sub(r"`\g<0>`", next_command(diff))


def outlier_words(diff: Diff, *, by_path: bool = False) -> tuple[str, str]:
    """Return which function changed although the whole does not show it, and the command that compares it alone.

    E.g. ``gemm alone is likely 2.00x slower (100 µs → 200 µs)``; both are empty for none. ``by_path``: reports are
    named as they were typed; a page, which others read, has no folders.
    """
    from ncu_assist.analysis.diff import outlier  # with the rest of a diff: `explain` needs none
    from ncu_assist.render.words.launches import kernel_words

    found = outlier(diff)
    if found is None:
        return "", ""
    pair, (before, after), likely = found
    first = [side[0] for side in (pair.baseline, pair.candidate)]
    times = f"{quantity(before, 'ns')} → {quantity(after, 'ns')}{'' if likely else ', which may be noise'}"
    files = (side.reference if by_path else _file(side) for side in (diff.baseline, diff.candidate))
    sides = [quote(one_line(name)) for name in files]
    on = ["--workload", quote(one_line(diff.workload))] if diff.workload else []
    filters = [
        word
        for name in dict.fromkeys(one_line(launch.kernel) for launch in first)
        for word in ("--filter", quote(name))
    ]
    moved = f"{'likely ' if likely else ''}{faster_or_slower(before / after)}"
    return f"{' → '.join(dict.fromkeys(map(kernel_words, first)))} alone is {moved} ({times})", " ".join(
        ["ncu-assist diff", *sides, *on, *filters]
    )


def origin(source: Source, run: Run | DiffSide) -> str:
    """Return where and when a run was measured, e.g. ``measured on NVIDIA H200, 2026-11-21``.

    Only what came with the archive was *recorded*: a run measured into it is not, wherever it is read.
    """
    from ncu_assist.analysis.diff.comparability import UNKNOWN  # with the rest of a diff: `explain` needs none

    where = ""
    if run.device:
        capability = run.device.compute_capability
        of_kind = f" of compute capability {capability}" if capability[:1].isdigit() else ""
        nameless = f"a GPU{of_kind} that is not named"
        where = f" on {nameless if run.device.name in UNKNOWN else one_line(run.device.name)}"
    date = one_line(run.created[:10])
    if source == "imported":  # when it was measured, a foreign report does not say
        archived = f"imported {date}" if run.run_id else "not archived"
        return f"{archived}, measured{where or ' elsewhere'}, unverified"
    return f"{'measured' if source == 'live' else 'recorded'}{where}, {date}"


def kernels_and_origins(diff: Diff) -> str:
    """Return of which kernel the two runs are, two where that differs, and what ``origins`` does."""
    kernels = dict.fromkeys(one_line(side.kernel) for side in (diff.baseline, diff.candidate) if side.run_id)
    return " · ".join(filter(None, [" and ".join(kernels), origins(diff)]))


def origins(diff: Diff) -> str:
    """Return where and when both sides were measured, once where that is the same."""
    return of_both(names(diff), [origin(side.source, side) for side in (diff.baseline, diff.candidate)])


def of_both(names: Sequence[str], said: Sequence[str]) -> str:
    """Return what is said of each side by its name, or once where that is the same."""
    return said[0] if said[0] == said[1] else "; ".join(map("{}: {}".format, names, said))


def failed_checks(rows: Iterable[WorkloadRow]) -> list[str]:
    """Return a line for each workload whose check failed: why."""
    failed = [row for row in rows if row.check and not row.check.passed]
    return [f"{one_line(row.workload.name)}: {one_line(row.check.reason)}" for row in failed if row.check]


def factor(speedup: float) -> str:
    """Return a ratio of times with the digits that matter: 3.42x, 1.008x."""
    return f"{speedup:.{ratio_digits(speedup)}f}x"


def faster_or_slower(speedup: float) -> str:
    """Return a ratio of times in the words of a verdict, e.g. ``1.03x slower``; empty where it rounds to none."""
    ratio = factor(max(speedup, 1 / speedup))
    return "" if ratio == factor(1.0) else f"{ratio} {'faster' if speedup > 1 else 'slower'}"


def estimated(speedup: float, assumed: bool) -> str:
    """Return what a finding could win, e.g. ``estimated 1.13x, assumed`` where that rests on a rate that is assumed."""
    return f"estimated {times_as_fast(speedup)}{', assumed' if assumed else ''}"


def between(low: float, high: float) -> str:
    """Return an interval of ratios, both ends with as many digits, and so many that they differ: ``1.096 to 1.101``."""
    digits = max(ratio_digits(low), ratio_digits(high))
    while f"{low:.{digits}f}" == f"{high:.{digits}f}" and low != high and digits < MOST_DIGITS:
        digits += 1
    return f"{low:.{digits}f} to {high:.{digits}f}"


def interval_words(verdict: Verdict, turned: bool | None = None) -> str:
    """Return the 99 % interval of how much faster the candidate is, ``turned`` of how much slower; empty for none.

    It is of the ratio that a badge says, ``1.006x slower`` as well as ``unclear (1.006x slower)``, unless that is told.
    """
    if verdict.low is None or verdict.high is None:
        return ""
    if turned is None:
        turned = verdict.speedup is not None and faster_or_slower(verdict.speedup).endswith("slower")
    return between(*((1 / verdict.high, 1 / verdict.low) if turned else (verdict.low, verdict.high)))


def settling(reason: str, kernel: str, versions: tuple[str, str], workload: str | None) -> str:
    """Return the command that would settle a verdict with this reason on a workload; empty where none would."""
    command = REASONS[reason].command
    where = f" --workload {one_line(workload)}" if workload and command and "--workload" not in command else ""
    baseline, candidate = (one_line(short_name(version)) for version in versions)
    return command.format(kernel=one_line(kernel), baseline=baseline, candidate=candidate) + where


def level_words(same: Sequence[str], unclear: Sequence[str]) -> str:
    """Return which versions no verdict calls slower, e.g. ``the same as v4, v12, perhaps as v8``; empty for none."""
    known, doubtful = (", ".join(one_line(short_name(name)) for name in names) for names in (same, unclear))
    perhaps = f"perhaps {'' if known else 'the same '}as {doubtful}" if doubtful else ""
    return ", ".join(filter(None, [f"the same as {known}" if known else "", perhaps]))


def _launches_of_one_run(diff: Diff) -> tuple[Launch, Launch] | None:
    """Return the two launches that were compared, where they are of one run and one a side; else None."""
    if not diff.is_one_run or diff.baseline.indices == diff.candidate.indices or len(diff.launches) != 1:
        return None
    pair = diff.launches[0].pair
    return (pair.baseline[0], pair.candidate[0]) if len(pair.baseline) == len(pair.candidate) == 1 else None


def _parts_of_calls(diff: Diff) -> tuple[str, str]:
    """Return which launches each side is, e.g. ``5-7``; empty for one that is whole calls, or a program."""
    alone = diff.only_baseline, diff.only_candidate
    paired = [one.pair.baseline for one in diff.launches], [one.pair.candidate for one in diff.launches]
    found = []
    for side, some, rest in zip((diff.baseline, diff.candidate), paired, alone, strict=True):
        launches = [*(one for each in some for one in each), *rest]
        of_a_call = side.workload is None and any(one.workload is not None for one in launches)
        numbers = sorted({one.index for one in launches}) if of_a_call else []
        is_row = bool(numbers) and len(numbers) == numbers[-1] - numbers[0] + 1 > 1
        found.append(f"{numbers[0]}-{numbers[-1]}" if is_row else ",".join(map(str, numbers)))
    return found[0], found[1]


def _are_of_kernels(diff: Diff) -> bool:
    pair = _launches_of_one_run(diff)
    return pair is not None and pair[0].kernel != pair[1].kernel


def _launch_name(launch: Launch) -> str:
    return f"launch {launch.index} ({one_line(launch.kernel, KERNEL)})"


def _file(side: DiffSide) -> str:
    """Return the name of a report's file; of a run its reference."""
    return side.reference if side.run_id else PurePath(side.reference).name


def _faster(candidate: str, baseline: str, where: str, verdict: Verdict) -> str:
    ratio = factor(verdict.speedup or 1.0)
    return f"{candidate} is {ratio} {verdict.words} than {baseline}{where} ({_interval(verdict, False)})"


def _slower(candidate: str, baseline: str, where: str, verdict: Verdict) -> str:
    ratio = factor(1 / (verdict.speedup or 1.0))
    return f"{candidate} is {ratio} {verdict.words} than {baseline}{where} ({_interval(verdict, True)})"


def _same(candidate: str, baseline: str, where: str, verdict: Verdict) -> str:
    return f"{candidate} is as fast as {baseline}{where} ({_interval(verdict, False)})"


def _unclear(candidate: str, baseline: str, where: str, verdict: Verdict) -> str:
    start = f"{candidate} against {baseline}{where}: unclear"
    if verdict.likely and verdict.speedup:
        ratio = verdict.speedup if verdict.likely == "faster" else 1 / verdict.speedup
        start += f", likely {factor(ratio)} {verdict.likely}"
    basis = _interval(verdict, False)
    return f"{start} ({basis})" if basis else start


def _not_comparable(candidate: str, baseline: str, where: str, verdict: Verdict) -> str:
    return f"{candidate} and {baseline} cannot be compared{where}: {verdict.meaning}"


def _interval(verdict: Verdict, turned: bool) -> str:
    """Return what the verdict stands on, with what it is in cycles; empty where there are no samples.

    Cycles that say what time does are told without their number, which noise alone makes another.
    """
    cycles = IN_CYCLES_TOO if _says_the_same_in_cycles(verdict) else cycle_words(verdict)
    return "; ".join(filter(None, [_sampled(verdict, turned), cycles]))


def _says_the_same_in_cycles(verdict: Verdict) -> bool:
    """Return whether a sentence has the ratio of times, and that of cycles is the same ratio."""
    by, is_told = verdict.cycles, verdict.verdict in ("faster", "slower") or bool(verdict.likely)
    if by is None or verdict.speedup is None or not is_told or cycle_words(verdict) == SAME_CYCLES:
        return False
    return (by.speedup > 1) == (verdict.speedup > 1) and is_one_ratio(by.speedup, verdict.speedup)


def cycle_words(verdict: Verdict) -> str:
    """Return how many SM cycles the candidate takes, as ``fewer_cycles`` has it; empty where a clock is not known."""
    return fewer_cycles(verdict.cycles.speedup) if verdict.cycles else ""


def fewer_cycles(speedup: float) -> str:
    """Return the cycles of a baseline over those of a candidate in words, e.g. ``8.84x fewer cycles``."""
    ratio = factor(max(speedup, 1 / speedup))
    if ratio == factor(1.0):
        return SAME_CYCLES
    return f"{ratio} {'fewer' if speedup > 1 else 'more'} cycles"


def _sampled(verdict: Verdict, turned: bool) -> str:
    if verdict.low is None or verdict.high is None:
        if verdict.samples is None:
            return number_of(verdict.pairs, "pair") if verdict.pairs else ""
        before, after = verdict.samples
        return "one sample a side" if before == after == 1 else f"not paired, {before} and {after} samples"
    return f"99 % interval {interval_words(verdict, turned)}, {verdict.pairs} pairs"


_SENTENCES: dict[str, Callable[[str, str, str, Verdict], str]] = {
    "faster": _faster,
    "slower": _slower,
    "same": _same,
    "unclear": _unclear,
    "not-comparable": _not_comparable,
}
