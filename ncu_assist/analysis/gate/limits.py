"""How much worse a metric may get, or what it may be: ``METRIC:[+|-|=]NUMBER[%|pt]`` to a metric and an amount."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import isfinite

from ncu_assist.analysis.gate import LimitKind
from ncu_assist.errors import NcuAssistError, UsageProblem
from ncu_assist.ncu.catalogue.chips import in_report, on_chip, recorded_units
from ncu_assist.ncu.catalogue.lookup import NamedRollup, explain
from ncu_assist.ncu.catalogue.metric import HIGHER, LOWER, Better, Metric
from ncu_assist.ncu.catalogue.metric_doctor import MISTAKEN, suggestion
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS, Derived
from ncu_assist.ncu.catalogue.spelling import NEAR, split
from ncu_assist.ncu.catalogue.spelling import nearest as nearest_of
from ncu_assist.ncu.catalogue.stalls import StallReason
from ncu_assist.verdict import MARGIN

Names = Callable[[], Collection[str]]


@dataclass(frozen=True)
class GatedMetric:
    """A metric that a limit is put on: ``key`` is ``time``, a key of the catalogue, or a name of ncu that it lacks."""

    key: str
    label: str
    unit: str
    better: Better | None

    @property
    def is_known(self) -> bool:
        """Tell whether the catalogue knows it; any other has to be read by ncu's name, among all that a run has."""
        return self == TIME or self.key in ROWS


# What counts the loss that a rule is about, for who names the rule, or its last word, where a metric is wanted.
COUNTED_BY = {
    "register-spill": "local_spilling_requests",
    "shared-bank-conflict": "shared_wavefronts_excessive",
    "warp-divergence": "threads_per_instruction",
}
FEWEST_LETTERS = 3  # of a word that an abbreviation begins with
TIME_EXAMPLE = "--fail-on time:2%"
TIME = GatedMetric("time", "Time", "ns", LOWER)
CYCLES = GatedMetric(
    "cycles", "SM Cycles", "cycle", LOWER
)  # of a bench, time times SM clock; else those that ncu counted


def gated(name: str, in_runs: Names) -> GatedMetric:
    """Return the metric called ``name``; ``in_runs`` returns ncu's names in the runs, and is called in doubt only.

    Names of ncu that the catalogue has are its keys. Raises UsageProblem with the nearest name for one that nothing
    has, also where the runs cannot be read.
    """
    key = _BY_NAME.get(name, name)
    if key == TIME.key:
        return TIME
    if name == CYCLES.key:
        return CYCLES
    if key in ROWS:
        row = ROWS[key]
        return GatedMetric(key, row.label, row.unit, row.better)
    if on_chip(None).has(name) or _is_in(name, in_runs):
        return GatedMetric(name, name, _unit(name), None)
    raise _unknown(name)


def _is_in(name: str, in_runs: Names) -> bool:
    """Tell whether runs have a name that no recorded chip has, as that of a newer ncu."""
    base = split(name)[0]
    if "__" not in name or base.lower() in MISTAKEN or base in on_chip(None).rollups:
        return False
    try:
        return name in in_runs()
    except NcuAssistError:
        return False  # what is wrong with the runs is said once the limits are right


def _unit(name: str) -> str:
    return recorded_units().get(name) or ("%" if ".pct" in name else "")


def _unknown(name: str) -> UsageProblem:
    near = meant(name)
    if near:
        command = f"ncu-assist explain {shlex.quote(near)}" if near != TIME.key else TIME_EXAMPLE
        return UsageProblem(f"--fail-on: no metric is called '{name}'; did you mean '{near}'?", command)
    return UsageProblem(f"--fail-on: no metric is called '{name}'", _listing(name))


def meant(name: str) -> str:
    """Return the METRIC that a name most likely stands for, as names of nvprof do; empty where none is near."""
    if difflib.get_close_matches(name.lower(), [TIME.key], n=1, cutoff=NEAR):
        return TIME.key
    try:
        found = [key for subject in explain(name) if (key := _key(subject, name))]
    except UsageProblem:
        found = []
    near = found[0] if found else _near_key(name) or suggestion(name, on_chip(None))
    return _BY_NAME.get(near, near)


def nearest(name: str, in_runs: Collection[str]) -> str:
    """Return the METRIC that a name of ncu may stand for, of those that runs have; empty where none is near.

    Keys of the same rollup go first: another unit's count of the same is nearer than its share of the peak.
    """
    base, rollup = split(name)
    alike = {split(one)[0]: one for one in in_runs if one in _BY_NAME and split(one)[1] == rollup}
    found = nearest_of(base, sorted(alike))
    near = alike[found[0]] if found else suggestion(name, in_report(in_runs))
    return _BY_NAME.get(near, near)


def _near_key(name: str) -> str:
    """Return the key that is spelled like a name that is no one's: keys go before names of ncu that are as near."""
    if "__" in name or name.lower() in MISTAKEN:
        return ""
    typed = name.lower().replace("-", "_")
    return next(iter(nearest_of(typed, ROWS)), "") or _of_rule(typed) or _beginning(typed)


def _of_rule(name: str) -> str:
    """Return what counts the loss of the rule that a name is about, as ``spills`` or ``bank_conflicts``."""
    words = [one.removesuffix("s") for one in name.split("_") if one]
    found = set()
    for rule, key in COUNTED_BY.items():
        parts = rule.split("-")
        if words and words[-1].startswith(parts[-1]) and all(any(map(one.startswith, parts)) for one in words):
            found.add(key)
    return found.pop() if len(found) == 1 else ""


def _beginning(name: str) -> str:
    """Return the shortest key of words that begin as those of a name do, as ``regs`` for registers; empty for several.

    An abbreviation has at least three letters of a word, and may have its plural.
    """
    begun = [one.removesuffix("s") for one in name.split("_") if one]
    if not begun or min(map(len, begun)) < FEWEST_LETTERS:
        return ""
    parts = {key: key.split("_") for key in ROWS}
    fits = [key for key, words in parts.items() if all(any(word.startswith(one) for word in words) for one in begun)]
    least = min((len(parts[key]) for key in fits), default=0)
    shortest = [key for key in fits if len(parts[key]) == least]
    return shortest[0] if len(shortest) == 1 else ""


def _key(subject: object, name: str) -> str:
    """Return the key of what a label or the name of a stall reason stands for; empty for a rule."""
    if isinstance(subject, StallReason):
        share = f"stall_{subject.name}"
        return share if share in ROWS else ""
    if isinstance(subject, NamedRollup):  # a name without its rollup
        return suggestion(name, on_chip(None))
    return subject.key if isinstance(subject, Metric | Derived) else ""


def _listing(name: str) -> str:
    """Return the command that lists what shares a word with the name."""
    try:
        explain(name)
    except UsageProblem as error:
        return error.hint
    return "ncu-assist metrics"


_BY_NAME = {name: key for key, metric in reversed(CATALOGUE.items()) for name in metric.names}


FORM = re.compile(r"(?P<sign>[+=-]?) *(?P<number>\d+(?:\.\d+)?|\.\d+) *(?P<unit>%|pt|)", re.ASCII)
GRAMMAR = "METRIC:[+|-|=]NUMBER[%|pt]"
EXAMPLE = "--fail-on time:2% --fail-on shared_wavefronts_excessive:+0"
# What may be meant by what is no limit: a name or none, anything that compares, a number, a unit.
NEARLY = re.compile(
    r"(?P<name>[\w.]*?)[\s:=<>≤≥]*(?P<sign>[+-]?) *(?P<number>\d+(?:\.\d+)?|\.\d+) *(?P<unit>%|pt|)\W*", re.ASCII
)


@dataclass(frozen=True)
class Limit:
    """By how much a metric may rise, or fall where it does not ``rise``.

    ``amount`` is at least 0: a part of the baseline's value where the kind is relative, else in the unit of the metric,
    which for percentages are points. Where it is a ``value``, it is what the candidate itself may be at most, or at
    least where it does not ``rise``, whatever the baseline is. ``text`` is the limit as typed, without the metric.
    """

    metric: GatedMetric
    rise: bool
    amount: float
    kind: LimitKind
    text: str

    @property
    def is_on_time(self) -> bool:
        return self.metric == TIME

    @property
    def is_on_cycles(self) -> bool:
        """Tell whether the SM cycles of a bench can be limited by it: to a part more of them, as a time."""
        return self.metric == CYCLES and self.rise and self.kind == "relative"

    def excess(self, baseline: float, candidate: float) -> float:
        """Return how far a change is beyond the limit, in the unit of the metric; 0 or less keeps it."""
        if self.kind == "value":
            return candidate - self.amount if self.rise else self.amount - candidate
        moved = candidate - baseline if self.rise else baseline - candidate
        return moved - (self.amount * abs(baseline) if self.kind == "relative" else self.amount)


def parse_limit(text: str, in_runs: Names) -> Limit:
    """Return what ``text`` allows.

    With a sign the metric may rise (+) or fall (-) by at most so much; without, it may get worse, whichever way that
    is. A number is in the unit of the metric, in base units (ns, byte); ``%`` is of the baseline's value; ``pt`` are
    points of a percentage. For a percentage ``%`` could be either, so it is refused there. ``time`` takes ``%`` only,
    0 or 0.5 and more. Behind ``=`` stands what the candidate may be: ``local_spilling_requests:=0`` is no spills.
    ``in_runs`` is what ``gated`` asks. Raises UsageProblem for anything else and for a metric that does not exist.
    """
    name, colon, amount = (part.strip() for part in text.rpartition(":"))
    form = FORM.fullmatch(amount)
    number = float(form["number"]) if form else float("inf")
    if not (name and colon and form and isfinite(number)):
        near = meant(text) if text and not colon else ""
        limit = _nearly(text, in_runs) or (_no_worse(near, in_runs) if near else "")
        help_ = f"; did you mean '{limit}'?" if limit else ", such as time:2% or registers:+0"
        raise UsageProblem(f"--fail-on '{text}' is no limit: one is {GRAMMAR}{help_}", EXAMPLE)
    metric = gated(name, in_runs)
    try:
        kind = _kind(metric, form, number)
        rise = _rises(metric, form["sign"], amount)
    except UsageProblem as error:
        limit = "" if form["sign"] == "=" and metric.better is None else _nearly(text, in_runs)
        said = error.message.removeprefix("--fail-on: ")
        help_ = f"; did you mean '{limit}'?" if limit else ""
        raise UsageProblem(f"--fail-on '{text}': {said}{help_}", error.hint) from None
    scaled = number / 100 if kind == "relative" else number
    return Limit(metric, rise, scaled, kind, amount.replace(" ", ""))


def _no_worse(name: str, in_runs: Names) -> str:
    """Return the limit under which a metric may not get worse at all; of time, not by more than is told apart well."""
    metric = gated(name, in_runs)
    return f"{TIME.key}:2%" if metric == TIME else f"{metric.key}:{'-' if metric.better == HIGHER else '+'}0"


def _nearly(text: str, in_runs: Names) -> str:
    """Return the limit that is most likely meant by what is none, empty where nobody can tell; no name means time."""
    form = NEARLY.fullmatch(text.strip())
    if form is None:
        return ""
    number, sign = form["number"], form["sign"]
    try:
        metric = gated(form["name"] or TIME.key, in_runs)
    except UsageProblem:
        return ""
    if metric == TIME:
        return f"{TIME.key}:{max(float(number), 100 * MARGIN):g}%"
    unit = "pt" if metric.unit == "%" else form["unit"].replace("pt", "")
    is_rise = metric.better is None or (metric.better == LOWER and float(number) == 0)
    return f"{metric.key}:{sign or ('+' if is_rise else '')}{number}{unit}"


def _kind(metric: GatedMetric, form: re.Match[str], number: float) -> LimitKind:
    """Return what the number is of; zero is zero in every unit."""
    unit = form["unit"]
    if form["sign"] == "=":
        return _value_of(metric, unit, number)
    if metric == TIME:
        if 0 < number < 100 * MARGIN:
            raise _refused(f"{100 * MARGIN:g} % is the least of time that a bench tells apart")
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


def _value_of(metric: GatedMetric, unit: str, number: float) -> LimitKind:
    """Return the kind of a limit on what the candidate itself is."""
    if metric in (TIME, CYCLES):
        raise _refused(f"a limit on {metric.key} is relative to the baseline: {metric.key}:2%")
    if unit == "%" or (unit == "pt" and metric.unit != "%"):
        raise _refused(f"behind = stands a value in the unit of {metric.key}: {metric.key}:={number:g}")
    return "value"


def _two_readings(key: str, number: float) -> str:
    """Return why a percentage takes no limit in percent."""
    both = f"{number:g} points or {number:g} % of its value"
    points = f"limits of percentages are in points: {key}:{number:g}pt"
    return f"{key} is a percentage, so {number:g}% could mean {both}; {points}"


def _rises(metric: GatedMetric, sign: str, amount: str) -> bool:
    if metric == TIME and sign == "-":
        raise _refused(
            f"time:{amount} would fail a version for being faster; time:{amount[1:]} is how much slower it may be"
        )
    if sign == "=" and metric.better is None:
        raise _refused(
            f"neither way is worse for {metric.key}, so nobody can tell whether {amount} is a most or a least"
        )
    if sign and sign != "=":
        return sign == "+"
    if metric.better is None:
        both = f"{metric.key}:+{amount} to limit how it rises, {metric.key}:-{amount} how it falls"
        raise _refused(f"neither way is worse for {metric.key}, so its limit needs a sign: {both}")
    return metric.better == "lower"


def _refused(message: str) -> UsageProblem:
    return UsageProblem(f"--fail-on: {message}", EXAMPLE)
