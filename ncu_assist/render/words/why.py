"""Why the time changed, in at most five lines: what binds, the product, the lines that changed and those left."""

from __future__ import annotations

import re
from math import prod
from pathlib import PurePath
from textwrap import wrap
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.lines import LineChange, LineChanges, Place, answering_lines, base_name, told_changes
from ncu_assist.ncu.catalogue.stalls import spoken
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.quantity import duration, number_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.verdicts import UNCUT, factor, names
from ncu_assist.rules.model.resources import LATENCY

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import Diff
    from ncu_assist.analysis.diff.why import BoundBy, Factor, Factors, Kind, Why
    from ncu_assist.rules.model.resources import Bottleneck

PLACE_WIDTH = 30  # columns for file:line; of a longer name the end is shown
NAME_WIDTH = 8  # a short version, v12, stands for the name of its file
NAME_IN_NOTE = 24
CODE_WIDTH = 12  # the least of a line's text that is worth showing
BARRIER = "barrier"
OR_WGMMA = " or wgmma"  # ncu books both as barriers; without the code nobody can tell
WAITS = ("sync", "barrier", "bar.")  # in a line's text, as CUDA, cooperative groups and PTX write it


def line_lines(
    lines: LineChanges, names: tuple[str, str], count: int, width: int, note_width: int | None = None
) -> list[str]:
    """Return what changed most, then what is left, then notes: about ``count`` lines of ``width`` columns.

    Notes are whole, also where that takes a line more; ``note_width`` is their own.
    """
    notes = _notes(lines, names, note_width or width) if count else []
    changed, left = answering_lines(lines)
    shown = [_change_line(one, lines, names, width) for one in changed]
    shown += [_left_line(one, lines, names, width) for one in left]
    return [*shown[: max(0, count - len(notes))], *notes]


def _change_line(change: LineChange, lines: LineChanges, names: tuple[str, str], width: int) -> str:
    both = zip((change.baseline, change.candidate), lines.own, names, strict=True)
    places = [_place(line, own, name) for line, own, name in both if line in change.named and line]
    word, facts = f"{change.became}:" if change.is_beyond else " " * 5, change_facts(change)
    start = f"{word} {' → '.join(dict.fromkeys(places))}"
    if change.became == "replaced" and _room(start, facts, width) < CODE_WIDTH:
        start = f"{word} {places[0]} →" if change.direction < 0 else f"{word} → {places[1]}"  # that of the text
    return _within(start, change.text, facts, width)


def change_facts(change: LineChange) -> list[str]:
    """Return how the excess and the time of a line changed, and where warps were sampled that waited there."""
    return [*_excess_changes(change), _time_change(change), *sampled_words(change)]


def sampled_words(change: LineChange) -> list[str]:
    """Return where warps were sampled that the barrier at this line held: at the instruction behind it."""
    at = change.candidate or change.baseline
    return [f"sampled at {_of_file(change.sampled, at.file)}"] if change.sampled and at else []


def _excess_changes(change: LineChange) -> list[str]:
    facts = []
    for what in ("sectors", "wavefronts"):
        before, after = (
            (getattr(side, f"{what}_excessive") or 0.0) if side else 0.0 for side in (change.baseline, change.candidate)
        )
        if before != after and change.is_material:
            ends = [quantity(amount, "") for amount in (before, after) if amount]
            facts.append(f"{' → '.join(ends)} excess {what}")
    return facts


def _time_change(change: LineChange) -> str:
    if change.baseline is None or change.candidate is None:
        line = change.baseline or change.candidate
        assert line is not None
        return duration(line.ns)
    before, after = change.baseline.ns, change.candidate.ns
    return _from_to((before, after), "ns") if before and after else f"{_or_zero(before)} → {_or_zero(after)}"


def _or_zero(ns: float) -> str:
    return duration(ns) if ns else "0"


def _left_line(line: LineCost, lines: LineChanges, names: tuple[str, str], width: int) -> str:
    at, facts = left_facts(line)
    return _within(f"{left_word(line, lines)}: {_place(at, lines.own[1], names[1])}", at.text, facts, width)


def left_word(line: LineCost, lines: LineChanges | None) -> str:
    """Return what a line of those left is: one of them is the hottest, though it may be told as a change."""
    return "hottest" if lines and line in lines.left[:1] else "left"


def left_facts(line: LineCost) -> tuple[LineCost, list[str]]:
    """Return the line where warps wait, which is that of the barrier if one holds them, and what it costs."""
    facts = [f"{duration(line.ns)} ({100 * line.share:.0f} %)"]
    excess = [("sectors", line.sectors_excessive), ("wavefronts", line.wavefronts_excessive)]
    facts += [f"{quantity(amount, '')} excess {what}" for what, amount in excess if amount and line.is_wasteful]
    at = line.waits_at
    if at is not line:
        return at, [*facts, sampled_at(line)]
    return line, [*facts, stall_words(line.stall, line.text)] if line.stall else facts


def sampled_at(line: LineCost) -> str:
    """Return where the warps that a barrier held were sampled: at the instruction behind it."""
    return f"sampled at {_of_file(line.place, line.barrier_file or '')}"


def _of_file(place: Place, file: str) -> str:
    """Return a place in short where it is in this file, e.g. ``:38``, else with the name of its own."""
    return f"{'' if place[0] == file else one_line(base_name(place[0]))}:{place[1]}"


def stall_words(stall: str, text: str | None, barrier: Place | None = None, file: str = "") -> str:
    """Return what warps at a line of ``file`` waited for; ``barrier`` is the place of that, where it is known.

    One held by a barrier is sampled at the instruction behind it, which is often of another line than the barrier.
    """
    if stall == BARRIER and barrier:
        where = _of_file(barrier, file)
        return f"{BARRIER} ({f'line {barrier[1]}' if where.startswith(':') else where})"
    elsewhere = stall == BARRIER and text and text.strip() and not any(word in text.lower() for word in WAITS)
    return f"held by a {BARRIER}" if elsewhere else one_line(spoken(stall), 24)


def _place(line: LineCost, own: str | None, name: str) -> str:
    """Return where a line is: v5.cu:41 in the version's own file, else the name of the file."""
    is_short = line.file == own and len(name) <= NAME_WIDTH
    file = f"{name}{PurePath(base_name(line.file)).suffix}" if is_short else base_name(line.file)
    return _end(f"{one_line(file)}:{line.line}", PLACE_WIDTH)


def _end(text: str, width: int) -> str:
    """Return a text, of a longer one its end: what tells long names and paths apart."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _within(start: str, text: str | None, facts: list[str], width: int) -> str:
    """Return a line within the width: the last facts are left out before the text of the line becomes a stump."""
    while len(facts) > 1 and _room(start, facts, width) < CODE_WIDTH:
        facts = facts[:-1]
    code = f"  `{one_line(text, max(CODE_WIDTH, _room(start, facts, width)))}`" if text and text.strip() else ""
    return f"{start}{code}  {', '.join(facts)}"


def _room(start: str, facts: list[str], width: int) -> int:
    """Return how many letters of a line's text go between its place and the facts."""
    return width - len(f"{start}  ``  {', '.join(facts)}")


def _notes(lines: LineChanges, names: tuple[str, str], width: int) -> list[str]:
    """Return what is to be known of the lines of either side, once where it is the same."""
    said: dict[str, list[str]] = {}
    for name, note in zip(names, lines.notes, strict=True):
        said.setdefault(note, []).append(_end(one_line(name), NAME_IN_NOTE))
    told = (f"lines: {' and '.join(sides)}: {one_line(note)}" for note, sides in said.items() if note)
    return [line for text in told for line in wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)]


MOST_LINES = 5
WIDTH = 80
FACTORS = re.compile(r" (?=[x/] )")  # between them a line may end
INDENT = "     "  # below the product, behind its *ncu:*
NEUTRAL = "1.00x"  # a factor that rounds to it: no word says which way it went
# The word for more and for less of each kind of factor; a rate or a clock without a word is higher.
MORE_AND_LESS: dict[Kind, tuple[str, str]] = {
    "launches": ("more ", "fewer "),
    "work": ("more ", "fewer "),
    "warps": ("more ", "fewer "),
    "latency": ("longer ", "shorter "),
    "rate": ("", "lower "),
    "clock": ("", "lower "),
}


def why_lines(why: Why | None, lines: LineChanges | None, names: tuple[str, str], width: int = WIDTH) -> list[str]:
    """Return about five lines of at most ``width`` columns; ``names`` are what the two sides are called."""
    told = [] if why is None else resource_lines(why, names, width)
    return told if lines is None else [*told, *line_lines(lines, names, max(0, MOST_LINES - len(told)), width)]


def why_sentences(why: Why | None, lines: LineChanges | None, names: tuple[str, str], width: int) -> list[str]:
    """Return what ``why_lines`` does, each as one line that whoever shows it may wrap; ``width`` cuts source text."""
    told = [] if why is None else resource_lines(why, names, UNCUT)
    count = max(0, MOST_LINES - len(told))
    return told if lines is None else [*told, *line_lines(lines, names, count, width, UNCUT)]


def resource_lines(why: Why, names: tuple[str, str], width: int = WIDTH) -> list[str]:
    """Return what binds the sides, the product on that, and what became of what bound before."""
    return [*_bound(why, names, width), *_product(why, width), *_third_line(why, width), *_reuse(why)]


def _bound(why: Why, names: tuple[str, str], width: int) -> list[str]:
    """Return what binds the sides, and how many launches there are where that changed."""
    before, after = why.baseline, why.candidate
    had, has = why.launches
    launches = f"; {number_of(had, 'launch')} → {has}" if had != has else ""
    if before is None or after is None:
        known, place = (after, 0) if after else (before, 1)
        if known is None:
            return []
        lacking, own = one_line(names[place], 30), one_line(names[1 - place], 30)
        rest = (
            f"{lacking} is several kernels{launches}"
            if why.of_kernels[place]
            else f"of {lacking} too little was counted"
        )
        said = [f"{own} bound by {limit_words(known, words)}; {rest}" for words in (2, 1, 0)]
        return [next((text for text in said if len(text) <= width), said[-1])]
    said = [f"was bound by {limit_words(before, words)}, now by {limit_words(after, words)}" for words in (2, 1, 0)]
    if not why.bound_changed:
        percents = f"{before.bottleneck.percent:.0f} %, now {after.bottleneck.percent:.0f} %"
        said = [f"both bound by {limit_words(after, words, percents)}" for words in (2, 1, 0)]
        if before.stall != after.stall:
            waits = " → ".join(_stall_words(one) or "unknown" for one in (before, after))
            said[0] = f"both bound by {bound_words(after.bottleneck, waits, percents)}"
    return [next((text for text in said if len(text + launches) <= width), said[-1]) + launches]


def limit_words(limit: BoundBy, words: int = 2, percents: str = "") -> str:
    """Return what binds and how busy it is: of latency, that this is the busiest unit, and the top stall.

    Below two ``words`` without the stall; below one a percentage that is not of what binds is left out.
    """
    stall = _stall_words(limit)
    if limit.bottleneck.name == LATENCY and not words:
        return LATENCY
    return bound_words(limit.bottleneck, stall if words > 1 else "", percents)


def _stall_words(limit: BoundBy) -> str:
    stall = one_line(spoken(limit.stall or ""), 24)
    return stall + (OR_WGMMA if limit.has_wgmma and limit.stall == BARRIER else "")


def bound_lines(diff: Diff) -> list[str]:
    """Return what each side is bound by, where that is known."""
    sides = zip(names(diff), (diff.baseline.bottleneck, diff.candidate.bottleneck), strict=True)
    return [f"{name} is bound by {bound_words(bound)}" for name, bound in sides if bound]


def bound_words(bound: Bottleneck, stall: str = "", percents: str = "") -> str:
    """Return what binds with its share of peak, e.g. ``DRAM (81 %)``; of latency that of the unit that is busiest."""
    waits = f", {stall}" if stall else ""
    busiest = "busiest unit " if bound.name == LATENCY else ""
    return f"{bound.name}{waits} ({busiest}{percents or f'{bound.percent:.0f} %'})"


def _product(why: Why, width: int) -> list[str]:
    """Return the product on what binds: in a narrow line with shorter words, else on two with all of them.

    No factor is left out, nor which way it went: without that word a rate is higher.
    """
    made = why.main
    if made is None:
        return []
    shown = [part for part in made.in_short if part.kind != "clock" or not _is_neutral(part)]
    start = f"ncu: {_times(why.told_ratio)} {_sign(shown, why)} "
    drafts = [start + _product_of(shown, made, why, words) for words in (3, 2, 1)]
    one = next(([draft] for draft in drafts if len(draft) <= width), None)
    return one or min((_between_factors(draft, width) for draft in drafts), key=len)


def _between_factors(product: str, width: int) -> list[str]:
    """Return a product on several lines, the others indented, broken between its factors."""
    lines: list[str] = []
    for part in FACTORS.split(product):
        if lines and len(f"{lines[-1]} {part}") <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"{INDENT}{part}" if lines else part)
    return lines


def _sign(shown: list[Factor], why: Why) -> str:
    """Return = where the factors multiply to the ratio as they are shown, else ≈: each is rounded on its own."""
    product = prod(float(_gain(part).removesuffix("x")) ** (1 if _helps(part, why) else -1) for part in shown)
    return "=" if factor(product) == factor(max(why.told_ratio, 1 / why.told_ratio)) else "≈"


def _times(ratio: float) -> str:
    shown = factor(max(ratio, 1 / ratio))
    return "the same time" if shown == "1.000x" else f"{shown} {'less' if ratio > 1 else 'more'} time"


def _product_of(shown: list[Factor], made: Factors, why: Why, words: int) -> str:
    """Return the factors that made the time what it is, and behind a slash those that worked against it."""
    helping: list[str] = []
    against: list[str] = []
    for part in shown:
        rates = _rates(part, made, why) if words > 2 and part.kind == "rate" else ""
        (helping if _helps(part, why) else against).append(_term(part, words) + rates)
    return " x ".join(helping or ["1"]) + "".join(f" / {term}" for term in against)


def _helps(part: Factor, why: Why) -> bool:
    """Tell whether a factor has the direction of the whole; what is neutral is told with those that have."""
    return _is_neutral(part) or (part.gain > 1) == (why.told_ratio >= 1)


def _term(part: Factor, words: int = 2) -> str:
    """Return a factor, which way it went and what it is of: below two ``words`` the last of its label.

    Cycles are told of what they are also then: a time has cycles of its own.
    """
    way = "" if _is_neutral(part) else MORE_AND_LESS[part.kind][part.candidate < part.baseline]
    label = "latency" if part.kind == "latency" else part.label.removesuffix(" in flight")
    if words < 2 and not label.endswith(" cycles"):
        label = label.split()[-1]
    return f"{_gain(part)} {way}{label}"


def _gain(part: Factor) -> str:
    return NEUTRAL if _is_neutral(part) else factor(max(part.gain, 1 / part.gain))


def _is_neutral(part: Factor) -> bool:
    return f"{max(part.gain, 1 / part.gain):.2f}x" == NEUTRAL


def _rates(rate: Factor, made: Factors, why: Why) -> str:
    """Return a rate on both sides, in bytes a second where it moves bytes; else how busy, if no line above said it."""
    clock = made.of("clock")
    if rate.unit == "byte/s":
        return f" ({_from_to((rate.baseline, rate.candidate), rate.unit)})"
    if rate.unit == "byte/cycle" and clock:
        both = rate.baseline * clock.baseline, rate.candidate * clock.candidate
        return f" ({_from_to(both, 'byte/s')})"
    busy = _busy(made) if why.bound_changed else ""
    return f" ({busy})" if busy else ""


def _third_line(why: Why, width: int) -> list[str]:
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
    amounts = f" ({_from_to((work.baseline, work.candidate), work.unit)})"
    ends = [f"{amounts}, {_busy(made)}" if _busy(made) else amounts, amounts]
    drafts = [f"{made.resource}: {_term(work, words)}{end}" for end in ends for words in (2, 1)]
    return [next((draft for draft in drafts if len(draft) <= width), drafts[-1])]


def _reuse(why: Why) -> list[str]:
    """Return how often L2 hands out what DRAM brings, where that is why DRAM brings more or less."""
    if why.l2_reuse is None:
        return []
    before, after = why.l2_reuse
    run = "closer" if after > before else "apart"
    return [f"L2: hands out what DRAM brings {before:.1f} → {after:.1f} times: blocks that share run {run}"]


def _busy(made: Factors) -> str:
    before, after = made.busy
    return "" if before is None or after is None else f"{before:.0f} → {after:.0f} % busy"


def _from_to(both: tuple[float, float], unit: str) -> str:
    """Return two quantities with an arrow between, the unit once where it is the same: ``1.27 → 3.89 TB/s``.

    A prefix alone is no unit and stays: ``872 → 60.6 k`` would be more, not less.
    """
    bare = quantity(0, "" if unit == "cycle" else unit).partition(" ")[2]
    before, after = (quantity(each, "" if unit == "cycle" else unit) for each in both)
    number, _, shown = before.partition(" ")
    return f"{number if bare and after.endswith(f' {shown}') else before} → {after}"


def every_line(lines: LineChanges, names: tuple[str, str], width: int) -> list[str]:
    """Return a line of text on each source line that was compared, those within noise last and without a word.

    What no sample fell on and nothing is to be said of is left out: files have it.
    """
    shown = (
        one
        for one in told_changes(lines.changes)
        if one.is_beyond or any(side and duration(side.ns) != "0 ns" for side in (one.baseline, one.candidate))
    )
    return [_change_line(one, lines, names, width) for one in shown]
