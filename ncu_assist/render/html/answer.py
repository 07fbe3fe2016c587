"""The answer at the top of a page: what it is, how long it takes, bound by what, what to do, where, against whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from ncu_assist.analysis.launches import OTHER_FORMAT, launch_floor
from ncu_assist.analysis.run_view import RunView
from ncu_assist.quantity import duration, number_of
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.run_diagnosis import diagnosis_first
from ncu_assist.render.markdown import code, escaped
from ncu_assist.render.table import Badge, Link
from ncu_assist.render.words.floors import floor_words
from ncu_assist.render.words.launches import kernel_words, lacking_word, times_words
from ncu_assist.render.words.terms import verdict_badge
from ncu_assist.render.words.verdicts import estimated, of_representative
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import LATENCY, Bottleneck

MESSAGE, CODE_LETTERS, NAME = 700, 160, 100
MOST_PLACES = 3
Href = Callable[[str | None, int | None], str]


@dataclass(frozen=True)
class AnswerRow:
    """One line of the answer: a text with code between backticks, behind a badge; below it links with what they say.

    ``why`` are sentences between the two: what the text rests on.
    """

    label: str
    text: str
    badge: Badge | None = None
    links: tuple[tuple[Link, str], ...] = ()
    why: str = ""


def answer_rows(shown: RunView, href: Href, hottest: tuple[Link, str] | None = None) -> tuple[AnswerRow, ...]:
    """Return what a reader of a run, or of one launch of it, asks first; what is not known is left out.

    ``href`` says where the page shows a source line; ``hottest`` is the line with most samples, which stands where the
    diagnosis names none.
    """
    first = next(iter(diagnosis_first(shown.results)), None) if shown.results else None
    bound, places = shown.counted.bottleneck, tuple(_where(first.places, href)) if first else ()
    of = of_representative(shown)
    in_launch = f" ({of})" if of else ""
    rows = [
        AnswerRow("What", what_words(shown)),
        AnswerRow("Time", _time(shown)),
        AnswerRow("Bound by", f"{_bound(bound)}{in_launch}" if bound else ""),
        _to_do(first, shown) if first else AnswerRow("What to do", ""),
        *_another_format(shown, first),
        AnswerRow("Where", "", links=places),
        AnswerRow(
            "Hottest line", "", links=(hottest,) if hottest and hottest[0] not in [at for at, _ in places] else ()
        ),
        *_against(shown),
    ]
    return tuple(row for row in rows if row.text or row.links or row.badge)


def what_words(shown: RunView) -> str:
    """Return what was measured: the version and its workload, or the kernel and its launch, on which GPU."""
    run, launches = shown.run, shown.combined.launches
    words = [f"{run.kernel}, {run.version}" if run.run_id else ""]
    if shown.row:
        words.append(f"workload {shown.row.workload.name} ({shown.row.workload.dtype})")
    if len(launches) == 1:
        grid, block = ("x".join(map(str, size)) for size in (launches[0].grid, launches[0].block))
        sizes = f"{grid} blocks of {block} threads" if all(launches[0].grid) else "sizes not recorded"
        words.append(f"`{kernel_words(launches[0], NAME)}`, {sizes}")
    elif launches:
        kernels = len({one.signature or one.kernel for one in launches})
        words.append(f"{len(launches)} launches of {number_of(kernels, 'kernel')}")
    words.append(run.device.name if run.device else "")
    return "; ".join(one_line(word, NAME * 3) for word in words if word)


def _time(shown: RunView) -> str:
    row, under = shown.row, shown.combined.duration_ns
    if row and row.timing:
        floor = floor_words(row)
        return f"{duration(row.timing.median_ns)} a call" + (f". Floor: {floor}" if floor else "")
    return f"{duration(under)} under ncu{_over_floor(shown)}" if under is not None else ""


def _over_floor(shown: RunView) -> str:
    """Return how far a launch that was not timed is from what was counted of it needs at least."""
    floor = launch_floor(shown.results) if len(shown.combined.launches) == 1 else None
    if floor is None or floor.times is None:
        return ""
    needs = f"the least time for its start and the counted bytes or operations: {floor.by}"
    if floor.by_finding:
        needs = "the time left after the saving of its finding; the counted work needs longer"
    return f", {times_words(floor.times)} its floor ({needs}{', assumed' if floor.assumed else ''})"


def _bound(bound: Bottleneck) -> str:
    if bound.name == LATENCY:
        return f"latency: the busiest unit is busy for {bound.percent:.0f} % of the time"
    idle = f" and idle for {100 - bound.percent:.0f} %" if bound.percent < FULL else ""
    return f"{bound.name}: the unit nearest to its peak, busy for {bound.percent:.0f} % of the time{idle}"


FULL = 90.0  # percent: a unit that is busier has hardly more to give


def _to_do(first: Ranked, shown: RunView) -> AnswerRow:
    finding = first.finding
    part = shown.results.part if shown.results else None
    of = f"In {part.name}, {part.launches} of {part.of_launches} launches: " if part else ""
    if finding.is_done:
        badge = Badge("at a ceiling", "good")
    elif first.severity == "info":
        badge = None
    else:
        gain = estimated(first.estimated_speedup, finding.assumed)
        badge = Badge(", ".join(filter(None, [_in_time(first, shown), gain])), "unsure", WITHOUT_IT)
    why = _sentences(finding.message)
    name = (lacking_word(shown.results) if shown.results else "") or finding.rule
    if not finding.advice:
        return AnswerRow("What to do", one_line(of + why, MESSAGE), badge, ((Link(name, "#diagnosis"), ""),))
    text = f"{of}{_sentences(finding.full_advice)}"
    told = one_line(why, MESSAGE)
    return AnswerRow("What to do", one_line(text, MESSAGE), badge, ((Link(name, "#diagnosis"), ""),), told)


WITHOUT_IT = "by the counters, if this fault alone goes and all else stays; only a measurement of the change is certain"


def _in_time(first: Ranked, shown: RunView) -> str:
    """Return ``820 µs → about 646 µs without this fault``; empty where the finding is of some launches only."""
    timed = shown.row.timing.median_ns if shown.row and shown.row.timing else shown.combined.duration_ns
    if timed is None or shown.results is None or shown.results.part or first.estimated_speedup <= 1.0:
        return ""
    return f"{duration(timed)} → about {duration(timed / first.estimated_speedup)} without this fault"


def _another_format(shown: RunView, first: Ranked | None) -> Iterator[AnswerRow]:
    """Yield what another number format would win of a launch of a library, where that is more than its diagnosis."""
    payoff = next(iter(shown.payoffs), None) if len(shown.launches) == 1 else None
    if payoff and first and payoff.rule == OTHER_FORMAT != first.finding.rule:
        yield AnswerRow(
            "Or", one_line(f"{payoff.full_advice}: up to {duration(payoff.winnable_ns)} less, assumed", MESSAGE)
        )


def _sentences(text: str) -> str:
    """Return the clauses of a text as sentences; what stands in parentheses is not divided."""
    clauses = CLAUSES.split(text)
    return " ".join(f"{one[:1].upper()}{one[1:]}." for one in clauses if one)


CLAUSES = re.compile(r"; (?![^(]*\))")


def _where(places: Iterable[Place], href: Href) -> Iterator[tuple[Link, str]]:
    for place in list(places)[:MOST_PLACES]:
        name = f"{one_line(PurePath(place.file).name, NAME)}:{place.line}" if place.file else "code without lines"
        text = one_line((place.text or "").strip(), CODE_LETTERS)
        yield Link(name, href(place.file, place.line)), _of_cost(place, text)


def _of_cost(place: Place, text: str) -> str:
    guess = ", a guess: they are in a header's code, and the report does not say which line calls it"
    said = f"{100 * place.share:.0f} % of the {COUNTED[place.counted]}{guess if place.is_guess else ''}"
    return f"{said} `{text}`" if text else said


# What the share of a line is of: another than that of the hottest lines, which are by all samples.
COUNTED = {
    "samples": "samples that this is about",
    "sectors": "sectors",
    "sectors_excessive": "excess sectors",
    "wavefronts_excessive": "excess wavefronts",
    "divergence": "idle lanes",
    "read_again": "sectors of global memory",
    "instructions": "executed instructions",
}


def _against(shown: RunView) -> Iterator[AnswerRow]:
    if shown.before is not None:
        yield AnswerRow("Against its parent", one_line(shown.before.version), verdict_badge(shown.before.verdict))
    if shown.library is not None:
        yield AnswerRow(
            "Against the best library", one_line(shown.library.version), verdict_badge(shown.library.verdict)
        )


def answer_markdown(title: str, sentence: str, rows: Iterable[AnswerRow]) -> str:
    """Return the answer as Markdown, to be pasted into an issue or a chat."""
    lines, label = [f"**{escaped(title)}**: {escaped(sentence, MESSAGE)}", ""], ""
    for row in rows:
        label = row.label or label  # what goes on without a label in a list is of the same
        said = [row.badge.text if row.badge else "", f"{row.text} {row.why}".strip().replace("`", "")]
        text = ": ".join(escaped(one, MESSAGE) for one in said if one)
        places = "; ".join(f"{code(link.text)} {_place(words)}".strip() for link, words in row.links)
        lines.append(f"- **{label}**: {' — '.join(filter(None, (text, places)))}")
    return "\n".join(lines)


def _place(words: str) -> str:
    """Return what is said of a place: between its first backtick and its last is code."""
    before, _, rest = words.partition("`")
    text, is_code, after = rest.rpartition("`")
    return " ".join(filter(None, [escaped(before), code(text)])) + escaped(after) if is_code else escaped(words)
