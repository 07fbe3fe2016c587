"""Names of metrics with what they mean, how they combine and repeat; verdicts and sources of runs as badges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.chips import CHIPS, Chip
from ncu_assist.ncu.catalogue.metric import Combining, How, Metric, Way
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.noise import SHORT_NS, noise_class, recording
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, Derived
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS, TOLD_APART, in_ncu, spoken
from ncu_assist.render.table import Badge, Term, Tone
from ncu_assist.render.words.verdicts import cycle_words, factor, faster_or_slower

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.analysis.yardstick import Yardstick
    from ncu_assist.ncu.catalogue.stalls import StallReason
    from ncu_assist.record import Source
    from ncu_assist.verdict import Verdict

COMBINE_WORDS: dict[How, str] = {
    "sum": "added up",
    "mean": "mean, weighted by {}",
    "formula": "the formula of all launches together",
    "max": "the largest",
    "none": "not combined: shown where all launches have the same",
}
LONG_NS = 10 * SHORT_NS  # any duration on the long side
NOISE_CHIP = "gh100"  # the chip that repeats were recorded on


def term_of(key: str, label: str = "") -> Term:
    """Return what the catalogue says of a key or a stall reason; a word that it does not know explains nothing."""
    if key in CATALOGUE:
        row = CATALOGUE[key]
        return Term(label or row.label, "" if row.given else row.names[0], row.meaning)
    if key in ALL_DERIVED:
        derived: Derived = ALL_DERIVED[key]
        return Term(label or derived.label, f"{key} = {derived.words}", derived.meaning)
    if key in STALL_REASONS:
        reason = STALL_REASONS[key]
        return Term(label or spoken(key), f"stall {key}", f"the warp waits for {reason.waits_for}")
    if key in TOLD_APART:
        told = "told apart by the instruction that waits"
        return Term(label or in_ncu(key), f"{in_ncu(key)}; {told}", f"the warp waits for {TOLD_APART[key].waits_for}")
    return Term(label or key)


def stall_name(reason: str, shown: RunView) -> str:
    """Return a stall reason of a run as it is said; of what may be one of two, as no code was read that tells, both."""
    has_wgmma = reason == "barrier" and shown.combined.values["pipe_tensor_gmma"]
    read = any(one.index in shown.close.waits for one in shown.combined.launches)
    return f"{reason} or wgmma" if has_wgmma and not read else in_ncu(reason)


TONES: dict[str, Tone] = {
    "faster": "good",
    "improved": "good",
    "slower": "bad",
    "regressed": "bad",
    "unclear": "unsure",
    "not-comparable": "unsure",
    "same": "same",
}


SIGNS = {"faster": "▲", "slower": "▼", "same": "=", "unclear": "?", "not-comparable": "≠"}
BY_CLOCK = {"faster": "△", "slower": "▽"}


def against(verdict: Verdict | None) -> str:
    """Return a verdict in a few letters, e.g. ``▲ 1.78x faster``, ``▼ 1.16x slower``, ``? unclear (1.03x slower)``."""
    if verdict is None:
        return "-"
    sign, word = BY_CLOCK[verdict.verdict] if verdict.by_clock else SIGNS[verdict.verdict], verdict.words
    if verdict.speedup is None or verdict.verdict == "not-comparable":
        return f"{sign} {word}"
    if verdict.likely:
        return f"{sign} likely {factor(max(verdict.speedup, 1 / verdict.speedup))} {verdict.likely}"
    if verdict.verdict in ("faster", "slower"):
        return f"{sign} {factor(max(verdict.speedup, 1 / verdict.speedup))} {word}"
    said = faster_or_slower(verdict.speedup)
    return f"{sign} {word} ({said})" if said else f"{sign} {word}"


def verdict_badge(verdict: Verdict | None) -> Badge | None:
    """Return the badge of a verdict by time, e.g. ``▲ 1.78x faster``; None for no verdict."""
    return Badge(against(verdict), verdict_tone(verdict), cycle_words(verdict)) if verdict else None


def verdict_tone(verdict: Verdict) -> Tone:
    """Return the tone of a verdict by time: what another clock explains is neither good nor bad."""
    return "same" if verdict.by_clock else TONES[verdict.verdict]


def source_badge(source: Source) -> Badge:
    """Return the badge that says where a run comes from: live, recorded or imported."""
    hints = {
        "live": "measured into this archive",
        "recorded": "measured elsewhere and shipped with the archive",
        "imported": "from a foreign report, unverified",
    }
    return Badge(source, "unsure" if source == "imported" else "plain", hints[source])


def share_term(of: Yardstick) -> Term:
    """Return what heads a column of shares."""
    return Term(of.title, of.formula, f"{of.meaning}: 100 % as fast")


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
