"""Ways of being fast without being a better kernel: what counters and times say of a draft against its parent."""

from __future__ import annotations

from collections.abc import Callable

from ncu_assist.drafts.case import CHEATS as CHEATS
from ncu_assist.drafts.case import Case as Case
from ncu_assist.drafts.case import Cheat as Cheat
from ncu_assist.drafts.case import Peaks as Peaks
from ncu_assist.drafts.case import Side as Side
from ncu_assist.drafts.libraries import library_time

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


def judge(case: Case) -> tuple[Cheat, ...]:
    """Return every way of cheating that counters and times show; what is missing is not judged."""
    found = (judged(case) for judged in JUDGES)
    return tuple(cheat for cheat in found if cheat is not None)


def no_kernel(case: Case) -> Cheat | None:
    """Return whether ncu saw no launch in a call that it profiled."""
    if case.draft.counted is None or case.draft.counted.launches:
        return None
    return Cheat("no-kernel", "ncu counted no launch in its call")


def library(case: Case) -> Cheat | None:
    """Return whether kernels of a library take more than a fifth of the time."""
    total = case.draft.counted_ns
    if case.draft.counted is None or not total:
        return None
    times = library_time(case.draft.counted.launches, case.allowed)
    share = sum(times.values()) / total
    if share <= LIBRARY_SHARE:
        return None
    return Cheat("library", f"{', '.join(sorted(times))}: {100 * share:.0f} % of its time")


def too_few_bytes(case: Case) -> Cheat | None:
    """Return whether fewer bytes went between L2 and the multiprocessors than inputs and outputs have.

    Where the parent, which is right, needs fewer than kernel.toml says, what it needs is the minimum.
    """
    moved, minimum = case.draft.moved_bytes, case.workload.algorithmic_bytes
    if moved is None or not minimum:
        return None
    least = min(float(minimum), case.parent.moved_bytes or float(minimum))
    if moved >= OF_MINIMUM * least:
        return None
    return Cheat("bytes", f"{moved / 1e6:.4g} MB of at least {least / 1e6:.4g} MB")


def above_peak(case: Case) -> Cheat | None:
    """Return whether its time would need a faster GPU.

    Caches are cold at the start and L2 may hold what is written last, so that all bytes but as many as L2 has pass
    DRAM; all of them pass L2.
    """
    bench_ns, work, peaks = case.draft.bench_ns, case.workload, case.peaks
    if not bench_ns:
        return None
    beyond_l2 = (work.algorithmic_bytes or 0) - (peaks.l2_bytes or 0) if peaks.l2_bytes else 0
    wanted = (
        ("DRAM", beyond_l2, peaks.dram_bytes_per_second, "TB/s"),
        ("L2", work.algorithmic_bytes or 0, peaks.l2_bytes_per_second, "TB/s"),
        ("arithmetic", work.flops or 0, peaks.flops_per_second, "TFLOP/s"),
    )
    for name, amount, peak, unit in wanted:
        rate = amount / (bench_ns * 1e-9)
        if peak and rate > OF_PEAK * peak:
            return Cheat("peak", f"{name} at {rate / 1e12:.4g} {unit}, this GPU reaches {peak / 1e12:.4g}")
    return None


def too_short(case: Case) -> Cheat | None:
    """Return whether the bench took less time than its own launches take: then it did not time them."""
    return _shorter(case.draft, "time", "the call")


def too_long(case: Case) -> Cheat | None:
    """Return whether the bench took longer than launches and the gaps between them: ncu saw another call."""
    words = _longer(case.draft)
    return Cheat("profiler", f"a call takes {words}") if words else None


def parent_disturbed(case: Case) -> Cheat | None:
    """Return whether the parent's time beside the draft is not the one it has by ncu or had alone."""
    parent = case.parent
    shorter = _shorter(parent, "parent", "the parent's call")
    if shorter is not None:
        return shorter
    words = _longer(parent)
    if words:
        return Cheat("parent", f"a call of the parent takes {words}")
    if parent.bench_ns and parent.archived_ns and not _agree(parent.bench_ns, parent.archived_ns):
        return Cheat("parent", f"{_us(parent.bench_ns)} beside the draft, {_us(parent.archived_ns)} in the archive")
    return None


def _shorter(side: Side, id: str, what: str) -> Cheat | None:
    if not side.bench_ns or not side.counted_ns or side.counted is None:
        return None
    reuse = CHAIN_REUSE if len(side.counted.launches) > 1 else 1.0
    if side.bench_ns >= (1 - AGREES) * reuse * side.counted_ns:
        return None
    return Cheat(id, f"{what} takes {_us(side.bench_ns)} on the clock, its launches {_us(side.counted_ns)} by ncu")


def _longer(side: Side) -> str:
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


JUDGES: tuple[Callable[[Case], Cheat | None], ...] = (
    no_kernel,
    library,
    too_few_bytes,
    above_peak,
    too_short,
    too_long,
    parent_disturbed,
)
