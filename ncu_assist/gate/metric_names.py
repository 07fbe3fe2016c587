"""Which metric the METRIC of a limit names: the bench time, a key of the catalogue, or a name of ncu."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ncu_assist.errors import NcuAssistError, UsageProblem
from ncu_assist.ncu.catalogue.available_names import in_report, on_chip
from ncu_assist.ncu.catalogue.derived import Derived
from ncu_assist.ncu.catalogue.lookup import NamedRollup, explain
from ncu_assist.ncu.catalogue.metric import LOWER, Better, Metric
from ncu_assist.ncu.catalogue.metric_doctor import suggestion
from ncu_assist.ncu.catalogue.metric_units import recorded_units
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.mistaken_names import MISTAKEN
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.spelling import NEAR, split
from ncu_assist.ncu.catalogue.spelling import nearest as nearest_of
from ncu_assist.ncu.catalogue.stalls import StallReason

Names = Callable[[], Collection[str]]


@dataclass(frozen=True)
class Gated:
    """A metric that a limit is put on: ``key`` is ``time``, a key of the catalogue, or a name of ncu that it lacks."""

    key: str
    label: str
    unit: str
    better: Better | None

    @property
    def is_known(self) -> bool:
        """Tell whether the catalogue knows it; any other has to be read by ncu's name, among all that a run has."""
        return self == TIME or self.key in ROWS


TIME_EXAMPLE = "ncu-assist gate KERNEL --fail-on time:2%"
TIME = Gated("time", "Time", "ns", LOWER)
CYCLES = Gated("cycles", "SM Cycles", "cycle", LOWER)  # of a bench, time times SM clock; else those that ncu counted


def gated(name: str, in_runs: Names) -> Gated:
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
        return Gated(key, row.label, row.unit, row.better)
    if on_chip(None).has(name) or _is_in(name, in_runs):
        return Gated(name, name, _unit(name), None)
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
    return next(iter(nearest_of(name.lower(), ROWS)), "")


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
