"""How much worse a metric may get: ``METRIC:[+|-]NUMBER[%|pt]`` to a direction and an amount."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from ncu_assist.errors import UsageProblem
from ncu_assist.gate.metric_names import CYCLES, TIME, Gated, Names, gated

Kind = Literal["relative", "points", "absolute"]

FORM = re.compile(r"(?P<sign>[+-]?) *(?P<number>\d+(?:\.\d+)?|\.\d+) *(?P<unit>%|pt|)", re.ASCII)
GRAMMAR = "METRIC:[+|-]NUMBER[%|pt]"
EXAMPLE = "ncu-assist gate KERNEL --fail-on time:2% --fail-on shared_wavefronts_excessive:+0"


@dataclass(frozen=True)
class Limit:
    """By how much a metric may rise, or fall where it does not ``rise``.

    ``amount`` is at least 0: a part of the baseline's value where the kind is relative, else in the unit of the metric,
    which for percentages are points. ``text`` is the limit as it was typed, without the metric.
    """

    metric: Gated
    rise: bool
    amount: float
    kind: Kind
    text: str

    @property
    def is_on_time(self) -> bool:
        return self.metric == TIME

    @property
    def is_on_cycles(self) -> bool:
        """Tell whether the SM cycles of a bench can be held to it: to a part more of them, as a time."""
        return self.metric == CYCLES and self.rise and self.kind == "relative"

    def excess(self, baseline: float, candidate: float) -> float:
        """Return how far a change is beyond the limit, in the unit of the metric; 0 or less keeps it."""
        moved = candidate - baseline if self.rise else baseline - candidate
        return moved - (self.amount * abs(baseline) if self.kind == "relative" else self.amount)


def parse_limit(text: str, in_runs: Names) -> Limit:
    """Return what ``text`` allows.

    With a sign the metric may rise (+) or fall (-) by at most so much; without, it may get worse, whichever way that
    is. A number is in the unit of the metric, in base units (ns, byte); ``%`` is of the baseline's value; ``pt`` are
    points of a percentage. For a percentage ``%`` could be either, so it is refused there. ``time`` takes ``%`` only.
    ``in_runs`` is what ``gated`` asks. Raises UsageProblem for anything else and for a metric that does not exist.
    """
    name, colon, amount = (part.strip() for part in text.rpartition(":"))
    form = FORM.fullmatch(amount)
    number = float(form["number"]) if form else float("inf")
    if not (name and colon and form and isfinite(number)):
        message = f"--fail-on '{text}' is not of the form {GRAMMAR}"
        raise UsageProblem(f"{message}, such as time:2% or registers:+0", EXAMPLE)
    metric = gated(name, in_runs)
    kind = _kind(metric, form, number)
    scaled = number / 100 if kind == "relative" else number
    return Limit(metric, _rises(metric, form["sign"], amount), scaled, kind, amount.replace(" ", ""))


def _kind(metric: Gated, form: re.Match[str], number: float) -> Kind:
    """Return what the number is of; zero is zero in every unit."""
    unit = form["unit"]
    if metric == TIME:
        if unit != "%" and number:
            raise _refused(f"a limit on time is relative to the baseline: time:{number:g}%")
        return "relative"
    if metric == CYCLES and not number:
        return "relative"
    if metric.unit == "%":
        if unit == "%" and number:
            raise _refused(_two_readings(metric.key, number))
        return "points"
    if unit == "pt":
        unit_words = f"in {metric.unit}" if metric.unit else "a plain number"
        start = f"{metric.key}:{form['sign']}{number:g}"
        help_ = f"{start}% is relative, {start} in its unit"
        raise _refused(f"points are of percentages, and {metric.key} is {unit_words}; {help_}")
    return "relative" if unit == "%" else "absolute"


def _two_readings(key: str, number: float) -> str:
    """Return why a percentage takes no limit in percent."""
    both = f"{number:g} points or {number:g} % of its value"
    points = f"limits of percentages are in points: {key}:{number:g}pt"
    return f"{key} is a percentage, so {number:g}% could mean {both}; {points}"


def _rises(metric: Gated, sign: str, amount: str) -> bool:
    if metric == TIME and sign == "-":
        raise _refused(
            f"time:{amount} would fail a version for being faster; time:{amount[1:]} is how much slower it may be"
        )
    if sign:
        return sign == "+"
    if metric.better is None:
        both = f"{metric.key}:+{amount} to limit how it rises, {metric.key}:-{amount} how it falls"
        raise _refused(f"neither way is worse for {metric.key}, so its limit needs a sign: {both}")
    return metric.better == "lower"


def _refused(message: str) -> UsageProblem:
    return UsageProblem(f"--fail-on: {message}", EXAMPLE)
