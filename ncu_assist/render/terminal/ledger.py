"""The ledger of drafts on a terminal: who predicted what rightly, what each round won, every draft and its fate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.ledger import Ledger, RoundBest, Tally
from ncu_assist.analysis.records import Draft
from ncu_assist.render import draft_words as words
from ncu_assist.render.escape import one_line
from ncu_assist.render.pages_words import number_of
from ncu_assist.render.terminal.style import Style, styled, table, to_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

COLORS = {"kept": "green", "rejected": "bold red", "unproven": "yellow", "drafted": ""}
LONGEST_NAME = 26  # letters of a model or a diagnosis that leave room for the numbers beside it


def ledger_text(ledger: Ledger, style: Style | None = None) -> str:
    """Return a ledger as text; where there are no drafts, how to get one."""
    parts: list[RenderableType] = [styled(words.title(ledger), "bold")]
    if ledger.drafts:
        parts += [styled(line) for line in _summary(ledger)]
        parts += [styled(""), _tallies("model", ledger.models), styled(""), _tallies("diagnosis", ledger.diagnoses)]
        parts += [styled(line, "dim") for line in ("", *words.LEGEND)]
        parts += [styled(""), _rounds(ledger.rounds), *_reasons(ledger), styled(""), *_drafts(ledger)]
    else:
        parts += [styled("no drafts yet"), styled(f"  try: {words.how_to(ledger)}")]
    parts += _damaged(ledger)
    return to_text(parts, style)


def _summary(ledger: Ledger) -> Iterator[str]:
    total = ledger.total
    yield words.counted(total)
    said = [f"{words.hits(total.hits)} predictions came true"] if total.hits.told else ["no prediction was measured"]
    said += [f"{number_of(total.flawed, 'draft')} with wrong citations or predictions"] if total.flawed else []
    yield "; ".join(said)
    if total.cost.calls:
        yield f"{words.tokens(total.cost)} tokens, {words.seconds(total.cost)} of waiting for models"


def _tallies(heading: str, tallies: Sequence[Tally]) -> Table:
    made = table(
        (heading, "left"), ("drafts", "right"), ("kept", "right"), ("true", "right"),
        ("expected", "right"), ("measured", "right"), ("tokens", "right"), ("time", "right"),
    )  # fmt: skip
    for one in tallies:
        made.add_row(
            styled(one_line(one.name, LONGEST_NAME)),
            str(one.drafts),
            str(one.kept),
            words.hits(one.hits),
            words.mean(one.expected),
            words.mean(one.measured),
            words.tokens(one.cost),
            words.seconds(one.cost),
        )
    return made


def _rounds(rounds: Sequence[RoundBest]) -> Table:
    made = table(("kernel", "left"), ("round", "right"), ("drafts", "right"), ("kept", "right"), ("best", "left"))
    for one in rounds:
        best = _best(one.best) if one.best else words.ABSENT
        made.add_row(styled(one_line(one.kernel, 30)), str(one.round), str(one.drafts), str(one.kept), styled(best))
    return made


def _best(draft: Draft) -> str:
    measured = words.mean(draft.proof.speedup if draft.proof else None)
    return f"{measured} {one_line(draft.version, 40) or f'draft {draft.id}'}"


def _reasons(ledger: Ledger) -> list[RenderableType]:
    if not ledger.reasons:
        return []
    lines = (f"  {one.count} {one.fate}: {one_line(one.text, words.MOST_SAID)}" for one in ledger.reasons)
    return [styled(""), styled("not kept, and why", "bold"), *(styled(line) for line in lines)]


def _drafts(ledger: Ledger) -> Iterator[RenderableType]:
    """Yield two lines a draft, a third one where its fate has a reason, and one for each flaw of its reply."""
    yield styled("drafts, the oldest first", "bold")
    for draft in ledger.drafts:
        kernel = "" if ledger.kernel else f"{one_line(draft.kernel, 30)} "
        head = f"{kernel}{draft.id}  {words.parent(draft)}, round {draft.round}  "
        yield styled(head).append(words.fate(draft), COLORS[draft.fate])
        version = f", now {one_line(draft.version, 60)}" if draft.version else ""
        model = one_line(draft.model, 60) or "a file"
        came = f"{words.speedups(draft)}; predictions: {words.predictions(draft)}"
        yield below(f"{words.idea(draft)} (by {model}; {came}{version})")
        if draft.reason:
            yield below(words.reason(draft))
        yield from (below(f"wrong in the reply: {one_line(flaw, words.MOST_SAID)}", "yellow") for flaw in draft.flaws)


def _damaged(ledger: Ledger) -> list[RenderableType]:
    if not ledger.damaged:
        return []
    lines = (f"  {one_line(one.path)}: {one_line(one.problem, words.MOST_SAID)}" for one in ledger.damaged)
    head = f"{number_of(len(ledger.damaged), 'damaged draft')} left out"
    return [styled(""), styled(head, "bold red"), *(styled(line) for line in lines), styled("  try: ncu-assist verify")]


def below(text: str, style: str = "") -> RenderableType:
    """Return a paragraph that stays indented where it wraps."""
    from rich.padding import Padding

    return Padding(styled(text, style), (0, 0, 0, 2))
