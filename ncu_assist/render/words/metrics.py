"""Sentences on metrics that every format shares: how launches combine, how well a value repeats, where it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.chips import CHIPS, Chip
from ncu_assist.ncu.catalogue.metric import Combining, How, Metric, Way
from ncu_assist.ncu.catalogue.noise import SHORT_NS, noise_class, recording

if TYPE_CHECKING:
    from ncu_assist.ncu.catalogue.rows import Derived
    from ncu_assist.ncu.catalogue.stalls import StallReason

COMBINE_WORDS: dict[How, str] = {
    "sum": "added up",
    "mean": "mean, weighted by {}",
    "formula": "the formula of all launches together",
    "max": "the largest",
    "none": "not combined: shown where all launches have the same",
}
LONG_NS = 10 * SHORT_NS  # any duration on the long side
NOISE_CHIP = "gh100"  # the chip that repeats were recorded on


def combine_words(how: Combining) -> str:
    """Return how launches make one value, for people."""
    words = COMBINE_WORDS[how.how].format(next(iter(how.weights), ""))
    return words if how.over_kernels else f"{words}; not over different kernels"


def better_words(better: str | None) -> str:
    """Return which way is better, for people."""
    return better or "neither: it depends"


def noise_words(key: str) -> str:
    """Return how well a metric repeats, e.g. ``within 1 % (short kernels: wanders)``."""
    long, short = (noise_class(key, NOISE_CHIP, ns) for ns in (LONG_NS, 0.0))
    if long == short == "unknown":
        return "unknown: no recorded kernel exercised it"
    known = recording(NOISE_CHIP)
    source = f"; {known.launches} launches on {known.gpu}" if known else ""
    kernels = long if long == short else f"{long}, below {SHORT_NS / 1e3:g} µs {short}"
    return f"{kernels}{source}"


def way_words(way: Way) -> str:
    """Return how a metric is known from others where a launch has none of its names: ``about`` what is only near."""
    return f"{'about ' if way.approximate else ''}{way.words}"


def spelled_on(chip: str, instead_of: Chip | None) -> str:
    """Return whose names are shown, e.g. ``as spelled on tu102; tu104, …, was not recorded: the nearest chip``."""
    if instead_of is None:
        return f"as spelled on {chip}"
    capability = f"{instead_of.name}, of compute capability {instead_of.compute_capability}"
    return f"as spelled on {chip}, the nearest chip: the names of {capability}, were not recorded"


def unit_words(metric: Metric | Derived) -> str:
    """Return the unit, and ncu's own where that is another."""
    shown = metric.ncu_unit if isinstance(metric, Metric) else None
    return f"{metric.unit or '-'}{f' (ncu prints {shown})' if shown else ''}"


def chip_words(metric: Metric | StallReason) -> str:
    """Return on which recorded chips a metric exists."""
    if isinstance(metric, Metric) and metric.given:
        return "measured by ncu-assist, in no report"
    if not metric.lacking:
        return f"all recorded ({', '.join(CHIPS)})"
    return f"not on {', '.join(metric.lacking)}"
