"""Why the time changed, in at most five lines of text: what binds, the product, the lines that changed and are left."""

from __future__ import annotations

from ncu_assist.diff.factors import Factor, Factors, Kind
from ncu_assist.diff.line_changes import LineChanges
from ncu_assist.diff.resources import LATENCY, SHARED
from ncu_assist.diff.why import Limit, Why
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.line_words import line_lines

MOST_LINES = 5
WIDTH = 80
NEUTRAL = 0.005  # a factor as near to 1 is 1.00x
PHRASES = {SHARED: "shared-memory wavefronts"}  # what it is to be bound by a resource, where its name does not say it
# The word for more and for less of each kind of factor; a rate or a clock without a word is higher.
WORDS: dict[Kind, tuple[str, str]] = {
    "launches": ("more ", "fewer "),
    "work": ("more ", "fewer "),
    "warps": ("more ", "fewer "),
    "latency": ("longer ", "shorter "),
    "rate": ("", "lower "),
    "clock": ("", "lower "),
}


def why_lines(why: Why | None, lines: LineChanges | None, names: tuple[str, str], width: int = WIDTH) -> list[str]:
    """Return at most five lines of at most ``width`` columns; ``names`` are what the two sides are called."""
    told = [] if why is None else [*_bound(why, names, width), *_product(why, width), *_third(why)]
    return told if lines is None else [*told, *line_lines(lines, names, MOST_LINES - len(told), width)]


def _bound(why: Why, names: tuple[str, str], width: int) -> list[str]:
    """Return what binds the sides, and how many launches there are where that changed."""
    before, after = why.baseline, why.candidate
    if before is None or after is None:
        known, lacking = (after, names[0]) if after else (before, names[1])
        return [f"bound by {_limit(known)}; of {one_line(lacking, 30)} too little was counted"] if known else []
    launches = "; {} launches → {}".format(*why.launches) if why.launches[0] != why.launches[1] else ""
    said = [f"was bound by {_limit(before, words)}, now by {_limit(after, words)}" for words in (2, 1, 0)]
    if not why.bound_changed:
        percents = f"{before.bottleneck.percent:.0f} %, now {after.bottleneck.percent:.0f} %"
        said = [f"both bound by {_limit(after, words, percents)}" for words in (2, 1, 0)]
    return [next((text for text in said if len(text + launches) <= width), said[-1]) + launches]


def _limit(limit: Limit, words: int = 2, percents: str = "") -> str:
    """Return what binds and how busy it is: of latency, that this is the busiest unit, and the top stall."""
    name, stall = limit.bottleneck.name, one_line((limit.stall or "").replace("_", " "), 24)
    busiest = "busiest unit " if name == LATENCY and words > 1 else ""
    waits = f", {stall}" if stall and words else ""
    return f"{PHRASES.get(name, name)}{waits} ({busiest}{percents or f'{limit.bottleneck.percent:.0f} %'})"


def _product(why: Why, width: int) -> list[str]:
    """Return the product on what binds, the shorter the narrower."""
    made = why.main
    if made is None:
        return []
    start = f"{'' if _is_said(why) else 'ncu: '}{_times(why.time_ratio)} = "
    drafts = [start + _terms(made, why, rate, clock) for rate, clock in ((True, True), (True, False), (False, False))]
    return [next((draft for draft in drafts if len(draft) <= width), drafts[-1])]


def _is_said(why: Why) -> bool:
    """Tell whether nobody but ncu measured a ratio, the bench saw the same, or a line of its own tells what it saw."""
    return why.speedup is None or not why.agrees or _times(why.speedup) == _times(why.time_ratio)


def _times(ratio: float) -> str:
    shown = times(max(ratio, 1 / ratio), 3)
    return "the same time" if shown == "1.000x" else f"{shown} {'less' if ratio > 1 else 'more'} time"


def _terms(made: Factors, why: Why, with_rate: bool, with_clock: bool) -> str:
    """Return the factors that made the time what it is, and behind a slash those that worked against it."""
    helping: list[str] = []
    against: list[str] = []
    for part in made.in_short:
        gain = part.gain if why.time_ratio >= 1 else 1 / part.gain
        if part.kind == "clock" and not with_clock and _is_neutral(part):
            continue
        rates = _rates(part, made, why) if with_rate and part.kind == "rate" else ""
        (helping if gain >= 1 or _is_neutral(part) else against).append(_term(part) + rates)
    return " x ".join(helping) + "".join(f" / {term}" for term in against)


def _term(part: Factor) -> str:
    word = "" if _is_neutral(part) else WORDS[part.kind][part.candidate < part.baseline]
    label = "latency" if part.kind == "latency" else part.label.removesuffix(" in flight")
    return f"{times(max(part.gain, 1 / part.gain))} {word}{label}"


def _rates(rate: Factor, made: Factors, why: Why) -> str:
    """Return a rate on both sides, in bytes a second where it moves bytes; else how busy, if no line above said it."""
    clock = made.of("clock")
    if rate.unit == "byte/cycle" and clock:
        both = rate.baseline * clock.baseline, rate.candidate * clock.candidate
        return f" ({_from_to(both, 'byte/s')})"
    busy = _busy(made) if why.bound_changed else ""
    return f" ({busy})" if busy else ""


def _third(why: Why) -> list[str]:
    """Return that the bench saw another ratio, else what the latency is, or what became of what bound the baseline."""
    if why.agrees is False and why.speedup:
        return [f"the bench saw {_times(why.speedup)}: under ncu, clocks and caches are not the same"]
    made = why.on(why.baseline)
    if made is None:
        return []
    if made.resource == LATENCY:
        parts = [made.of("warps"), made.of("latency")]
        parts = parts if made is why.main else [made.in_short[0], *parts]
        return [f"latency: {', '.join(_term(part) for part in parts if part)}"] if parts[-1] else []
    if made is why.main:
        return []
    work = made.in_short[0]
    busy = f", {_busy(made)}" if _busy(made) else ""
    return [f"{made.resource}: {_term(work)} ({_from_to((work.baseline, work.candidate), work.unit)}){busy}"]


def _busy(made: Factors) -> str:
    before, after = made.busy
    return "" if before is None or after is None else f"{before:.0f} → {after:.0f} % busy"


def _from_to(both: tuple[float, float], unit: str) -> str:
    """Return two quantities with an arrow between, the unit once where it is the same: ``1.27 → 3.89 TB/s``."""
    before, after = (quantity(each, "" if unit == "cycle" else unit) for each in both)
    number, _, shown = before.partition(" ")
    return f"{number if shown and after.endswith(f' {shown}') else before} → {after}"


def _is_neutral(part: Factor) -> bool:
    return abs(part.gain - 1) < NEUTRAL


def times(ratio: float, digits: int = 2) -> str:
    """Return a ratio with the digits that matter, 3.42x and 11.0x; of one near 1 as many as asked for, 1.008x."""
    if abs(ratio - 1) < 0.1:
        return f"{ratio:.{digits}f}x"
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.3g}x"
