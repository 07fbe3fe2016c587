"""Which workloads a draft is examined on: the default one and two others, so that no shape can be built in."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.errors import UsageProblem
from ncu_assist.spec import Kernel, Version, Workload

OTHERS = 2
BYTES_LIMIT = 256 << 20  # that a call moves, of the others: questions and answers pass through files, at about 1 GB/s


def examined_workloads(kernel: Kernel, version: Version, limit: int = BYTES_LIMIT) -> tuple[Workload, ...]:
    """Return the workloads to examine a version on, the default one first.

    The others are those that bring most integers that were not seen yet, of equals the cheapest; without any that is
    within ``limit`` bytes and served there are fewer.
    """
    chosen = [kernel.default_workload]
    left = [w for w in kernel.workloads if not w.default and version.serves(w) and _bytes(kernel, w) <= limit]
    while left and len(chosen) <= OTHERS:
        best = min(left, key=lambda w: (-_news(w, chosen), _bytes(kernel, w)))
        chosen.append(best)
        left.remove(best)
    return tuple(chosen)


def refuse_host_inputs(kernel: Kernel) -> None:
    """Raise UsageProblem for a kernel with inputs in memory of the host.

    An exam swaps inputs behind a held stream. What it writes to memory of the host is there at once, held or not: work
    that a draft leaves on another stream would find the right inputs, and nobody would notice.
    """
    if kernel.host is not None:
        names, lie = ", ".join(kernel.host.names), "lies" if len(kernel.host.names) == 1 else "lie"
        raise UsageProblem(
            f"drafts of {kernel.name} cannot be examined: {names} {lie} in memory of the host",
            f"write the version by hand, then ncu-assist check {kernel.name}",
        )


def _news(workload: Workload, chosen: Sequence[Workload]) -> int:
    """Return how many integers (and whether the dtype) of a workload no chosen one has."""
    news = workload.integers.items() - {pair for w in chosen for pair in w.integers.items()}
    return len(news) + (workload.dtype not in {w.dtype for w in chosen})


def _bytes(kernel: Kernel, workload: Workload) -> int:
    return kernel.algorithmic_bytes(workload)
