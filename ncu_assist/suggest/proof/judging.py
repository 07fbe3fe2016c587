"""What becomes of a draft: kept, rejected with the reason, or unproven; and the ways to cheat that are looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log
from pathlib import Path

from ncu_assist.analysis.diff import Change
from ncu_assist.ceilings import Ceilings, Point, ceilings_of
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.harness.exam.client import Examined
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.record import Launch, WorkloadFacts
from ncu_assist.store import StoredRun
from ncu_assist.store.drafts import Claim, FateWord, MetricPrediction, Score
from ncu_assist.suggest.evidence.gathering import name_of
from ncu_assist.suggest.evidence.records import EvidenceItem
from ncu_assist.suggest.reply import item_of
from ncu_assist.verdict import REASONS, Verdict

# Every way of cheating that anything here or in an exam finds, as a verdict says it.
CHEATS = {
    "kept": "outputs or inputs of an earlier call are kept",
    "modified": "inputs are modified",
    "outside": "memory beside its outputs is written",
    "unfinished": "work on another stream is left unfinished",
    "patched": "functions that measure were replaced",
    "reference": "the reference was called",
    "one-seed": "right only for the tested seed",
    "one-shape": "right only for the tested shape",
    "timed": "other results while it is timed",
    "profiler": "different under the profiler",
    "results": "results were tampered with",
    "library": "a library does the work",
    "bytes": "fewer bytes moved than the minimum",
    "peak": "faster than this GPU can be",
    "no-kernel": "no kernel was launched",
    "time": "a time that its launches contradict",
    "parent": "the version beside it was timed wrongly",
}
AGREES = 0.2  # of ncu's durations: within that times are believed. Over eleven recorded versions they agree within 5 %
# Between two kernels of a chain nothing is counted, but the event clock runs: about 1 us on an H200 where all is
# enqueued behind a hold, and an empty kernel between two events takes 2.8 us (shipped ceilings, empty_seconds).
GAP_NS = 5_000.0
# ncu empties the caches before every launch, so the later launches of a chain lose what they would find in L2: at most
# what L2 is faster than DRAM, a factor of 2 on an H200 and an H100 (shipped ceilings).
CHAIN_REUSE = 0.5
# The recorded versions of lightning_decode ask L2 for 1.0001 times the bytes of kernel.toml and more; sectors of one
# binary stray by 0.14 % (67,215,953 against 67,308,243).
OF_MINIMUM = 0.98
OF_PEAK = 1.05  # above a ceiling that was measured: two GPUs of one model differ by up to 2.2 % (ceilings_spread.py)
LIBRARY_SHARE = 0.2  # of the time: clearing a buffer with torch is no cheat, a matrix product by cuBLAS is
EVENTS = "events"  # peaks that the same kind of clock has seen
INTEGERS = "int8"  # no rate of floating-point operations
# Beginnings of demangled names without return type, as reports have them: those of torch, cuBLAS (nvjet, gemv, xmma),
# cuDNN and CUB in torch's and cuBLAS's own test programs on an H200, the others as their sources spell them. xmma and
# cutlass kernels come with cuBLAS and cuDNN alike; CUTLASS that a draft instantiates itself is a library's kernel too.
LIBRARIES: tuple[tuple[str, str], ...] = (
    ("torch", r"at::native::|at::cuda::|c10::|at_cuda_detail::(?!cub)"),
    ("torch.compile", r"triton_(?:poi|red|per|tem|mm|foreach)_"),
    ("cublas", r"nvjet_|cublas|gemv\w*_kernel|internal::gemvx::|splitKreduce_|gemmk1_|dot_kernel<|Kernel2<cutlass"),
    ("xmma", r"(?:sm\d+|ampere|turing|volta|hopper|maxwell)_(?:xmma|[sdhcz]\d*gemm|\w*gemm|\w*cudnn)"),
    ("cutlass", r"cutlass(?:::|_)|cute::"),
    ("cudnn", r"cudnn|implicit_convolve_|\w+__5x_cudnn"),
    ("cub", r"(?:at_cuda_detail::)?cub::|thrust::"),
    ("flash-attention", r"pytorch_flash::|flash_fwd|flash_bwd|flash::|fmha_"),
    ("cufft", r"(?:regular|vector|composite)_fft"),
    ("cusparse", r"cusparse::"),
    ("nccl", r"nccl"),
)
ALL_LIBRARIES = frozenset(name for name, _ in LIBRARIES)
RETURN_TYPE = re.compile(r"^(?:(?:void|std::enable_if<[^>]*>::type)\s+)+")
RunPair = tuple[StoredRun, StoredRun]  # parent and draft


Cheat = tuple[str, str]  # the id of a way in CHEATS, and what was seen


def cheating(id: str, words: str) -> str:
    """Return what stands behind ``rejected: `` of a draft that cheats."""
    return f"{CHEATS.get(id, id)} ({words})"


@dataclass(frozen=True)
class MeasuredSide:
    """One version on the workload: the median of its bench, and what ncu counted of a call; None where there is none.

    ``archived_ns`` is the median of an archived bench on such a GPU.
    """

    bench_ns: float | None = None
    counted: Combined | None = None
    archived_ns: float | None = None

    @property
    def counted_ns(self) -> float | None:
        return self.counted.duration_ns if self.counted and self.counted.launches else None

    @property
    def moved_bytes(self) -> float | None:
        """Bytes between L2 and the multiprocessors, whole sectors; TMA counts, copy engines do not."""
        sectors = self.counted.values["l2_sectors_sm"] if self.counted and self.counted.launches else None
        return None if sectors is None else SECTOR_BYTES * sectors


@dataclass(frozen=True)
class CheatCase:
    """All that there is to judge a draft by. ``allowed`` are libraries that may do the work, by their names.

    ``ceilings`` are those of the GPU, None where nothing was measured.
    """

    draft: MeasuredSide
    parent: MeasuredSide
    workload: WorkloadFacts
    ceilings: Ceilings | None = None
    allowed: frozenset[str] = frozenset()


def judge(case: CheatCase) -> tuple[Cheat, ...]:
    """Return every way of cheating that counters and times show; what is missing is not judged."""
    found = (judged(case) for judged in JUDGES)
    return tuple(cheat for cheat in found if cheat is not None)


def no_kernel(case: CheatCase) -> Cheat | None:
    """Return whether ncu saw no launch in a call that it profiled."""
    if case.draft.counted is None or case.draft.counted.launches:
        return None
    return "no-kernel", "ncu counted no launch in its call"


def library(case: CheatCase) -> Cheat | None:
    """Return whether kernels of a library take more than a fifth of the time."""
    total = case.draft.counted_ns
    if case.draft.counted is None or not total:
        return None
    times = library_time(case.draft.counted.launches, case.allowed)
    share = sum(times.values()) / total
    if share <= LIBRARY_SHARE:
        return None
    return "library", f"{', '.join(sorted(times))}: {100 * share:.0f} % of its time"


def too_few_bytes(case: CheatCase) -> Cheat | None:
    """Return whether fewer bytes went between L2 and the multiprocessors than inputs and outputs have.

    Where the parent, which is right, needs fewer than kernel.toml says, what it needs is the minimum.
    """
    moved, minimum = case.draft.moved_bytes, case.workload.algorithmic_bytes
    if moved is None or not minimum:
        return None
    least = min(float(minimum), case.parent.moved_bytes or float(minimum))
    if moved >= OF_MINIMUM * least:
        return None
    return "bytes", f"{moved / 1e6:.4g} MB of at least {least / 1e6:.4g} MB"


def above_peak(case: CheatCase) -> Cheat | None:
    """Return whether its time would need a faster GPU.

    Caches are cold at the start and L2 may hold what is written last, so that all bytes but as many as L2 has pass
    DRAM; all of them pass L2.
    """
    bench_ns, work, ceilings = case.draft.bench_ns, case.workload, case.ceilings
    if not bench_ns or ceilings is None:
        return None
    moved, l2_bytes = work.algorithmic_bytes or 0, ceilings.device.l2_bytes
    tensor = [r for r in ceilings.rates if (r.kind, r.source) == ("tensor", EVENTS) and INTEGERS not in r.name]
    wanted = (
        ("DRAM", moved - l2_bytes if l2_bytes else 0, _fastest(ceilings.dram), "TB/s"),
        ("L2", moved, _fastest(ceilings.l2), "TB/s"),
        ("arithmetic", work.flops or 0, max((rate.per_second for rate in tensor), default=0.0), "TFLOP/s"),
    )
    for name, amount, peak, unit in wanted:
        rate = amount / (bench_ns * 1e-9)
        if peak and rate > OF_PEAK * peak:
            return "peak", f"{name} at {rate / 1e12:.4g} {unit}, this GPU reaches {peak / 1e12:.4g}"
    return None


def _fastest(curve: Iterable[Point]) -> float:
    return max((point.bytes_per_second for point in curve if point.source == EVENTS), default=0.0)


def too_short(case: CheatCase) -> Cheat | None:
    """Return whether the bench took less time than its own launches take: then it did not time them."""
    return _shorter(case.draft, "time", "the call")


def too_long(case: CheatCase) -> Cheat | None:
    """Return whether the bench took longer than launches and the gaps between them: ncu saw another call."""
    words = _longer(case.draft)
    return ("profiler", f"a call takes {words}") if words else None


def parent_disturbed(case: CheatCase) -> Cheat | None:
    """Return whether the parent's time beside the draft is not the one it has by ncu or had alone."""
    parent = case.parent
    shorter = _shorter(parent, "parent", "the parent's call")
    if shorter is not None:
        return shorter
    words = _longer(parent)
    if words:
        return "parent", f"a call of the parent takes {words}"
    if parent.bench_ns and parent.archived_ns and not _agree(parent.bench_ns, parent.archived_ns):
        return "parent", f"{_us(parent.bench_ns)} beside the draft, {_us(parent.archived_ns)} in the archive"
    return None


def _shorter(side: MeasuredSide, id: str, what: str) -> Cheat | None:
    if not side.bench_ns or not side.counted_ns or side.counted is None:
        return None
    reuse = CHAIN_REUSE if len(side.counted.launches) > 1 else 1.0
    if side.bench_ns >= (1 - AGREES) * reuse * side.counted_ns:
        return None
    return id, f"{what} takes {_us(side.bench_ns)} on the clock, its launches {_us(side.counted_ns)} by ncu"


def _longer(side: MeasuredSide) -> str:
    if not side.bench_ns or not side.counted_ns or side.counted is None:
        return ""
    gaps_ns = GAP_NS * len(side.counted.launches)
    if side.bench_ns <= (1 + AGREES) * side.counted_ns + gaps_ns:
        return ""
    return f"{_us(side.bench_ns)} on the clock, its launches {_us(side.counted_ns)} by ncu"


def _agree(one: float, other: float) -> bool:
    return abs(one - other) <= AGREES * other


def _us(time_ns: float) -> str:
    return f"{time_ns / 1e3:.4g} us"


JUDGES: tuple[Callable[[CheatCase], Cheat | None], ...] = (
    no_kernel,
    library,
    too_few_bytes,
    above_peak,
    too_short,
    too_long,
    parent_disturbed,
)


def counted_cheats(
    runs: RunPair, archived: StoredRun, workload: str, libraries: bool, reports: Path
) -> tuple[Cheat, ...]:
    """Return every way of cheating that counters and times of parent and draft show, once both were profiled.

    ``archived`` is the run that the draft was made from: its time counts where it is of the same GPU. ``libraries``
    may do the work. Raises DamagedData for files that were changed.
    """
    parent, draft = runs
    facts = draft.run.workload(workload)
    assert facts is not None
    ceilings = ceilings_of(draft.run.device, reports)
    allowed = ALL_LIBRARIES if libraries else frozenset[str]()
    before = _archived_ns(archived, parent, workload)
    return judge(CheatCase(_side(draft, workload), _side(parent, workload, before), facts, ceilings, allowed))


def _side(stored: StoredRun, workload: str, archived_ns: float | None = None) -> MeasuredSide:
    timing = stored.run.timing(workload)
    counted = combine_tables(stored.run, stored.by_launch(), workload)  # of no launch, where none was seen
    return MeasuredSide(timing.median_ns if timing else None, counted, archived_ns)


def _archived_ns(archived: StoredRun, parent: StoredRun, workload: str) -> float | None:
    """Return the parent's median of before; None of another GPU, or of a bench with another flush."""
    timing, now = archived.run.timing(workload), parent.run
    if timing is None or archived.run.gpu != now.gpu:
        return None
    same = archived.run.bench and now.bench and archived.run.bench.flush == now.bench.flush
    return timing.median_ns if same else None


def library_of(launch: Launch) -> str:
    """Return the library that a launch's kernel is of, empty if it is of none that is known."""
    names = (RETURN_TYPE.sub("", launch.signature), launch.kernel)
    return next((name for name, start in LIBRARIES if any(re.match(start, text) for text in names)), "")


def library_time(launches: Iterable[Launch], allowed: frozenset[str]) -> dict[str, float]:
    """Return the nanoseconds that launches of each library take, those of ``allowed`` left out."""
    times: dict[str, float] = {}
    for launch in launches:
        name = library_of(launch)
        if name and name not in allowed:
            times[name] = times.get(name, 0.0) + (launch.duration_ns or 0.0)
    return times


# Both sides stray, each as far as any repeat that was recorded (diff/noise.py, WITHIN): up to twice that is no change.
BEYOND_NOISE = 2.0
# Of a change on a log scale, on which changes multiply: who says 4x and gets 2x was half right, who gets 16x has not
# understood it either. On that scale the demand is as hard for 5 % as for 20x, which a fixed percentage is not. The
# tool's own estimates on the recorded ladder of lightning_decode come to 0.9 of it (history: 3.04x said, 2.76x came).
LEAST, MOST = 0.5, 2.0
# Near zero a log says nothing: conflicts that were to fall to a twentieth and vanished came true. What falls below a
# tenth of what it was is gone, for who predicts that and for what happens.
GONE = 0.1


class Fate(Exception):
    """What becomes of a draft, raised where a proof ends before its last stage; no reason for one that is kept."""

    def __init__(self, word: FateWord, reason: str = "") -> None:
        super().__init__(reason)
        self.word, self.reason = word, reason


def by_exam(draft: str, examined: Examined) -> Fate | None:
    """Return the fate of a draft that cheats, fails or is wrong; None for one that passed the exam.

    A way of cheating is named before what it led to.
    """
    for seen in examined.suspicions:
        return Fate("rejected", cheating(seen.id, seen.words))
    if draft in examined.measured.failures:
        return Fate("rejected", examined.measured.failures[draft])
    checks = examined.measured.checks.get(draft, ())
    for check in checks:
        if not check.passed:
            return Fate("rejected", f"wrong on {check.workload}: {check.reason}")
    return None if checks else Fate("rejected", "no answer came")


def by_time(verdict: Verdict) -> Fate | None:
    """Return the fate of a draft that is not faster than its parent; None for one that is.

    ``unclear`` rejects too: what cannot be told apart from its parent is no improvement that can be proved.
    """
    if verdict.verdict == "faster":
        return None
    times = f" ({verdict.speedup:.3f}x)" if verdict.speedup else ""
    if verdict.verdict == "slower":
        return Fate("rejected", f"slower than its parent{times}")
    if verdict.verdict == "same":
        return Fate("rejected", f"as fast as its parent{times}, no faster")
    why = verdict.meaning if verdict.reason in REASONS else verdict.reason
    return Fate("rejected", f"not shown to be faster than its parent{times}: {why}")


def by_target(predictions: Sequence[object], moved: bool | None) -> Fate:
    """Return the fate of a draft that is right and faster: kept where the counter that it was to move has moved."""
    if not predictions:
        return Fate("unproven", "right and faster, but it predicted no counter that could show why")
    if moved is None:
        return Fate("unproven", "right and faster, but no counter that it predicted has one value over its kernels")
    if not moved:
        return Fate("unproven", "right and faster, but the counter that it was to move has not moved the way predicted")
    return Fate("kept")


def scores(claim: Claim, items: Sequence[EvidenceItem], changes: Sequence[Change]) -> tuple[Score, ...]:
    """Return each prediction of a claim, scored by the change of its metric; without one it stays open."""
    by_name = {name_of(change.metric): change for change in changes}
    by_id = {item.id: item for item in items}
    found = []
    for prediction in claim.predictions:
        item = item_of(prediction.metric, by_id)
        change = by_name.get(item.name) if item else None
        before, after = (change.baseline, change.candidate) if change else (None, None)
        found.append(score(prediction, before, after, _noise(change)))
    return tuple(found)


def target_moved(claim: Claim, items: Sequence[EvidenceItem], changes: Sequence[Change]) -> bool | None:
    """Tell whether the metric that the claim predicts first moved the way it says, however far.

    A draft of several kernels has no value of some ratios: there the first prediction counts that can be told, None if
    there is none.
    """
    directions = replace(claim, predictions=tuple(replace(one, factor=None) for one in claim.predictions))
    found = scores(directions, items, changes)
    told = [one for one in found if one.before is None or one.after is not None]
    return told[0].came_true is True if told else None


def _noise(change: Change | None) -> float:
    """Return how far one side may stray, in the unit of the metric."""
    if change is None or change.noise is None:
        return 0.0
    if change.in_points:
        return change.noise
    return change.noise * max(abs(change.baseline or 0.0), abs(change.candidate or 0.0))


def score(prediction: MetricPrediction, before: float | None, after: float | None, noise: float = 0.0) -> Score:
    """Hold a prediction against a metric's value in the parent and in the draft.

    ``noise`` is how far one side may stray, in the unit of the metric: of a diff's change that is its ``noise``
    where ``in_points``, else its ``noise`` times the larger of the two values. It came true where the metric moved in
    the direction said by more than both sides stray and, with a factor, by that factor within the margins above. None
    where a value is missing or not a number.
    """
    if before is None or after is None or not (isfinite(before) and isfinite(after)):
        return Score(prediction, before, after, None)
    moved = after - before if prediction.direction == "up" else before - after
    right = moved > BEYOND_NOISE * abs(noise)
    return Score(prediction, before, after, right and _by_factor(prediction.factor, before, after))


def _by_factor(factor: float | None, before: float, after: float) -> bool:
    """Tell whether a change is of the size said; what starts at zero has no factor, and none was said of many."""
    if factor is None or before == 0 or not isfinite(factor):
        return True
    ratio = after / before
    if 0 <= factor <= GONE and 0 <= ratio <= GONE:
        return True
    if factor <= 0 or factor == 1 or ratio <= 0:
        return False
    return LEAST <= log(ratio) / log(factor) <= MOST
