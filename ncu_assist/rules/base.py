"""What a rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ncu_assist.rules.model.facts import Facts

Severity = Literal["high", "medium", "low", "info"]
Waste = Literal[
    "samples", "sectors", "sectors_excessive", "wavefronts_excessive", "divergence", "read_again", "instructions"
]
# Of the run time that could be won: below it a finding is a remark (docs/sources.md). Of the shape of a launch none is
# made: multiprocessors never end in the same cycle and a last wave is never full, so it would stand everywhere.
LEAST_WORTH = 0.02
LIMITS: tuple[tuple[float, Severity], ...] = ((0.30, "high"), (0.10, "medium"), (LEAST_WORTH, "low"))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one rule says of one launch.

    ``saved_ns`` is the time that what ``advice`` names could save, by the rule's own model: the most of its changes
    that have a number to type, where there are such, else all that the fault costs. ``whole_ns``: what it would save if
    the fault were gone altogether, where such a change goes a part of the way; else no more. What other limits leave of
    it is worked out for all findings together. ``relieves`` are the resources (names of `resources`) that the fix takes
    work off: their limits do not bound it. ``evidence`` are keys of the catalogue. ``detail`` names the pipe or the
    limiter. ``unless_known``: a unit is busy, and not why; dropped where another finding takes work off the busiest
    unit. ``is_done``: the kernel is at a ceiling, and has no time to give. ``assumed``: rests on a ceiling that was not
    measured on this GPU. ``of_build``: the build is at fault, not this kernel; one change mends it for all launches,
    and what others win is not known before. ``advice`` is what to try first, a short clause in the imperative without a
    full stop; empty where there is nothing to try. ``figures`` are how far that would carry, in numbers of this kernel:
    what it has now and what it would have; a diagnosis adds what it wins at most. ``left``: what part of its work each
    unit keeps once it is fixed, 0 to 1, where the rule knows; of other units that it relieves as much goes as of the
    time. ``launches`` are the indices of those that message and evidence are of, empty for all that were judged;
    ``elsewhere``: how many others have it less. Where it happens: ``waste`` says which cost of source lines shows it,
    ``stalls`` which stall reasons, ``about`` which instructions, by opcode without modifiers (empty: those of its
    rule); ``with_operands``: loading the operands of a matrix instruction is its own cost.
    """

    rule: str
    message: str
    saved_ns: float
    evidence: tuple[str, ...]
    whole_ns: float = 0.0
    relieves: tuple[str, ...] = ()
    left: Mapping[str, float] = field(default_factory=dict)
    waste: Waste = "samples"
    stalls: tuple[str, ...] = ()
    detail: dict[str, str] = field(default_factory=dict)
    assumed: bool = False
    advice: str = ""
    figures: str = ""
    launches: tuple[int, ...] = ()
    elsewhere: int = 0
    about: frozenset[str] = frozenset()
    with_operands: bool = False
    is_done: bool = False
    unless_known: bool = False
    of_build: bool = False

    @property
    def most_ns(self) -> float:
        """Return what it would save if the fault were gone altogether."""
        return max(self.saved_ns, self.whole_ns)

    @property
    def full_advice(self) -> str:
        """Return what to try, with the figures of this kernel."""
        return with_figures(self.advice, self.figures)


def with_figures(advice: str, figures: str) -> str:
    """Return an advice with figures in brackets behind it, where there are any."""
    return f"{advice} ({figures})" if figures else advice


class Rule(Protocol):
    """A module that looks for one thing. Its docstring is what the user reads: hardware, cost, what to try, sources."""

    ID: str
    NEEDS: tuple[str, ...]  # keys without which it cannot answer
    USES: tuple[str, ...]  # further keys without which it may still find something, but its silence says nothing

    def find(self, facts: Facts) -> Finding | None:
        """Return what is wrong; None where nothing is. Every key of NEEDS has a value."""
        ...


def severity(saved_share: float) -> Severity:
    """Return how much a finding matters, by the part of the run time that it could save."""
    return next((word for limit, word in LIMITS if saved_share >= limit), "info")
