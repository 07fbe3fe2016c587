"""How far metrics stray on one model of GPU, learned from runs whose calls were profiled several times."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.frame import Combined
from ncu_assist.ncu.catalogue.noise import SHORT_NS, Deviation, deviation_of

LEAST_REPEATS = 3  # two that happen to be alike would make anything exact


class LearnedNoise:
    """The deviations of metrics by size class of kernel, each worked out when it is asked for."""

    def __init__(self, repeated: Sequence[Combined]) -> None:
        self._repeated = [one for one in repeated if one.repeats >= LEAST_REPEATS and one.typical_ns is not None]
        self._known: dict[tuple[str, bool], Deviation | None] = {}

    def __bool__(self) -> bool:
        return bool(self._repeated)

    def of(self, key: str, unit: str, duration_ns: float) -> Deviation | None:
        """Return how far a metric strays in a kernel of this duration; None where no repeated kernel exercised it."""
        short = duration_ns < SHORT_NS
        if (key, short) not in self._known:
            alike = [one for one in self._repeated if ((one.typical_ns or 0.0) < SHORT_NS) == short]
            columns = [one.samples(key) for one in alike]
            whole = [column for column, one in zip(columns, alike, strict=True) if len(column) == one.repeats]
            self._known[key, short] = deviation_of(whole, unit)
        return self._known[key, short]
