"""The drafts of a suggestion on a terminal: the idea, the stages of its proof, predictions beside what came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ncu_assist.analysis.archive import Suggested
from ncu_assist.analysis.records import REFUSAL, ArchivedDraft, Draft, Proof, Score
from ncu_assist.quantity import digits, duration
from ncu_assist.render import draft_words as words
from ncu_assist.render.escape import one_line
from ncu_assist.render.pages_words import number_of
from ncu_assist.render.terminal.ledger import COLORS, below
from ncu_assist.render.terminal.style import Style, styled, table, to_text
from ncu_assist.render.words import factor

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

CAME = {True: ("✓ came true", "green"), False: ("✕ did not", "red"), None: ("- not counted", "dim")}
LONGEST_METRIC = 34


def suggest_text(found: Suggested, style: Style | None = None) -> str:
    """Return drafts as text, what was written of them, and what to do next."""
    parts: list[RenderableType] = []
    for stored in found.drafts:
        parts += [*_draft(stored.draft), *_told(stored), styled("")]
    for path in found.files:
        parts += [styled(f"written: {path.name}", "bold green"), below("read it: from now on it runs with your rights")]
    parts += [styled(f"ended early: {one_line(found.ended, words.MOST_SAID)}", "yellow")] if found.ended else []
    parts += [styled(line) for line in _next(found)]
    return to_text(parts, style)


def _told(stored: ArchivedDraft) -> Iterator[RenderableType]:
    """Yield where the words for the author of an unusable reply are, for who carries them to a chat window."""
    if REFUSAL in stored.files:
        yield below(f"what to answer its author: reports/{stored.reference}/{REFUSAL}")


def prompt_note(tokens: int, dropped: tuple[str, ...], id: str) -> str:
    """Return what to know of a prompt that was not sent: its size, what it had no room for, and its id."""
    lines = [f"nothing was sent; the prompt has about {tokens:,} tokens (characters over four)"]
    lines += [f"kept as {id}, which a reply is to name: --reply FILE is held against it"]
    lines += [f"left out for --max-prompt-tokens: {what}" for what in dropped]
    return "\n".join(lines)


def _draft(draft: Draft) -> Iterator[RenderableType]:
    yield styled(f"draft {draft.id} of {words.parent(draft)}  ").append(words.fate(draft), COLORS[draft.fate])
    if draft.reason:
        yield below(words.reason(draft), "bold")
    if draft.claim:
        yield below(f"idea: {words.idea(draft)}")
    yield from (below(f"wrong in the reply: {one_line(flaw, words.MOST_SAID)}", "yellow") for flaw in draft.flaws)
    if draft.proof:
        yield below(_stages(draft.proof))
        yield from (below(line) for line in _times(draft, draft.proof))
        if draft.proof.scores:
            yield _predictions(draft.proof.scores)


def _stages(proof: Proof) -> str:
    parts = [f"{'✓' if one.passed else '✕'} {one.name} {duration(one.seconds * 1e9)}" for one in proof.stages]
    shut = f"in a sandbox ({proof.sandbox})" if proof.sandbox != "none" else "without a sandbox"
    return f"{'  '.join(parts)}  {shut}"


def _times(draft: Draft, proof: Proof) -> Iterator[str]:
    if proof.speedup is None:
        return
    low, high = proof.speedup_low, proof.speedup_high
    interval = f", {factor(low)} to {factor(high)}" if low and high else ""
    times = ""
    if proof.parent_ns and proof.draft_ns:
        times = f": {duration(proof.parent_ns)} -> {duration(proof.draft_ns)}"
    expected = draft.claim.expected_speedup if draft.claim else None
    said = f"; {factor(expected)} was expected" if expected else ""
    yield f"{proof.verdict} by {factor(proof.speedup)}{interval} on {one_line(proof.workload, 40)}{times}{said}"


def _predictions(scores: tuple[Score, ...]) -> Table:
    made = table(("  predicted", "left"), ("", "left"), ("before", "right"), ("after", "right"), ("", "left"))
    for one in scores:
        said, color = CAME[one.came_true]
        asked = one.prediction
        way = f"{'▲' if asked.direction == 'up' else '▼'} {factor(asked.factor) if asked.factor else ''}".strip()
        values = (words.ABSENT if v is None else digits(v) for v in (one.before, one.after))
        made.add_row(f"  {one_line(asked.metric, LONGEST_METRIC)}", way, *values, styled(said, color))
    return made


def _next(found: Suggested) -> Iterator[str]:
    """Yield the commands that go on from here."""
    if found.files:
        kernel = found.drafts[-1].draft.kernel
        yield f"try: ncu-assist report {one_line(kernel)}, or ncu-assist profile {one_line(kernel)} --workload all"
    waiting = [one.draft for one in found.drafts if one.draft.fate in ("drafted", "unproven") and not one.draft.version]
    for draft in waiting[:1]:
        verb = "prove" if draft.fate == "drafted" else "accept"
        yield f"try: ncu-assist suggest {verb} {draft.id}"
    if waiting[1:]:
        yield f"and so the other {number_of(len(waiting) - 1, 'draft')}"
