"""What a bisection came to: the commits that were measured, and the first that is bad."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal

Found = Literal["good", "bad", "skipped"]
Symptom = Literal["slower", "wrong"]
# A time between the two is nearer to one: in the middle third of the way, in logarithms, another bench decides.
MIDDLE = 1 / 3
EXIT_FOUND, EXIT_SKIPPED = 0, 4


@dataclass(frozen=True)
class MeasuredCommit:
    """One commit: what it is called, its time on the workload, and what it was taken for.

    ``median_ns`` is None where it has none, ``problem`` says then why: it does not build, or is wrong.
    """

    id: str
    subject: str
    found: Found
    median_ns: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Bisection:
    """A search for the first bad commit, ``first``; several where those between could not be measured.

    ``good`` and ``bad`` are the ends as they were measured, ``tried`` the commits between, in the order of the search.
    """

    kernel: str
    version: str
    workload: str
    symptom: Symptom
    good: MeasuredCommit
    bad: MeasuredCommit
    tried: tuple[MeasuredCommit, ...]
    first: tuple[str, ...]
    files: tuple[str, ...] = ()

    @property
    def slowdown(self) -> float | None:
        """How much slower the bad end is than the good one, relative; None where results are wrong."""
        if self.good.median_ns is None or self.bad.median_ns is None:
            return None
        return self.bad.median_ns / self.good.median_ns - 1

    @property
    def exit_code(self) -> int:
        return EXIT_FOUND if len(self.first) == 1 else EXIT_SKIPPED


def side_of(median_ns: float, good_ns: float, bad_ns: float) -> Found | None:
    """Return which end a time is near to; None in the middle third between them."""
    share = (log(median_ns) - log(good_ns)) / (log(bad_ns) - log(good_ns))
    if abs(share - 0.5) < MIDDLE / 2:
        return None
    return "bad" if share > 0.5 else "good"
