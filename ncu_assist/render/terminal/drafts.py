"""Drafts on a terminal: the ledger of all with who predicted rightly, and what a suggestion made and proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.records import REFUSAL, ArchivedDraft, Draft, Proof, Score
from ncu_assist.quantity import digits, duration, number_of
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.terminal.style import Style, styled, table, to_text
from ncu_assist.render.words import drafts as words
from ncu_assist.render.words.verdicts import factor

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ncu_assist.analysis.archive import DraftBuild, Suggested
    from ncu_assist.analysis.ledger import Ledger, RoundBest, Tally

FATE_COLORS = {"kept": "green", "rejected": "bold red", "unproven": "yellow", "drafted": ""}
LONGEST_NAME = 26  # letters of a model or a diagnosis that leave room for the numbers beside it


def ledger_text(ledger: Ledger) -> str:
    """Return a ledger as text; where there are no drafts, how to get one."""
    parts: list[RenderableType] = [styled(words.title(ledger), "bold")]
    if ledger.drafts:
        parts += [styled(line) for line in _ledger_summary(ledger)]
        parts += [styled(""), _tallies("model", ledger.models), styled(""), _tallies("diagnosis", ledger.diagnoses)]
        parts += [styled(line, "dim") for line in ("", *words.LEGEND)]
        parts += [styled(""), _rounds(ledger.rounds), *_reasons(ledger), styled(""), *_all_drafts(ledger)]
    else:
        parts += [styled("no drafts yet"), styled(f"  try: {words.how_to(ledger)}")]
    parts += _damaged_drafts(ledger)
    return to_text(parts)


def _ledger_summary(ledger: Ledger) -> Iterator[str]:
    total = ledger.total
    yield words.counted(total)
    came_true = f"{words.hits(total.true, total.told, total.untold)} predictions came true"
    said = [came_true if total.told else "no prediction was measured"]
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
            words.hits(one.true, one.told, one.untold),
            words.mean(one.expected),
            words.mean(one.measured),
            words.tokens(one.cost),
            words.seconds(one.cost),
        )
    return made


def _rounds(rounds: Sequence[RoundBest]) -> Table:
    made = table(("kernel", "left"), ("round", "right"), ("drafts", "right"), ("kept", "right"), ("best", "left"))
    for one in rounds:
        best = _best_draft(one.best) if one.best else words.ABSENT
        made.add_row(styled(one_line(one.kernel, 30)), str(one.round), str(one.drafts), str(one.kept), styled(best))
    return made


def _best_draft(draft: Draft) -> str:
    measured = words.mean(draft.proof.speedup if draft.proof else None)
    return f"{measured} {one_line(draft.version, 40) or f'draft {draft.id}'}"


def _reasons(ledger: Ledger) -> list[RenderableType]:
    if not ledger.reasons:
        return []
    lines = (f"  {one.count} {one.fate}: {one_line(one.text, words.MOST_SAID)}" for one in ledger.reasons)
    return [styled(""), styled("not kept, and why", "bold"), *(styled(line) for line in lines)]


def _all_drafts(ledger: Ledger) -> Iterator[RenderableType]:
    """Yield two lines a draft, a third one where its fate has a reason, and one for each flaw of its reply."""
    yield styled("drafts, the oldest first", "bold")
    for draft in ledger.drafts:
        kernel = "" if ledger.kernel else f"{one_line(draft.kernel, 30)} "
        head = f"{kernel}{draft.id}  {words.parent(draft)}, round {draft.round}  "
        yield styled(head).append(words.fate(draft), FATE_COLORS[draft.fate])
        version = f", now {one_line(draft.version, 60)}" if draft.version else ""
        model = one_line(draft.model, 60) or "a file"
        came = f"{words.speedups(draft)}; predictions: {words.predictions(draft)}"
        yield below(f"{words.idea(draft)} (by {model}; {came}{version})")
        if draft.reason:
            yield below(words.reason(draft))
        yield from (below(f"wrong in the reply: {one_line(flaw, words.MOST_SAID)}", "yellow") for flaw in draft.flaws)


def _damaged_drafts(ledger: Ledger) -> list[RenderableType]:
    if not ledger.damaged:
        return []
    lines = (f"  {one_line(one.path)}: {one_line(one.problem, words.MOST_SAID)}" for one in ledger.damaged)
    head = f"{number_of(len(ledger.damaged), 'damaged draft')} left out"
    return [styled(""), styled(head, "bold red"), *(styled(line) for line in lines), styled("  try: ncu-assist verify")]


def below(text: str, style: str = "") -> RenderableType:
    """Return a paragraph that stays indented where it wraps."""
    from rich.padding import Padding

    return Padding(styled(text, style), (0, 0, 0, 2))


CAME_TRUE = {True: ("✓ came true", "green"), False: ("✕ did not", "red"), None: ("- not counted", "dim")}
LONGEST_METRIC = 34


def suggest_text(found: Suggested, style: Style | None = None) -> str:
    """Return drafts as text, what was written of them, and what to do next."""
    parts: list[RenderableType] = []
    for stored in found.drafts:
        parts += [*_draft_parts(stored.draft), *_answer_file(stored), styled("")]
    parts += [part for one in found.builds for part in _build_parts(one)]
    for path in found.files:
        parts += [styled(f"written: {path.name}", "bold green"), below("read it: from now on it runs with your rights")]
    parts += [styled(f"ended early: {one_line(found.ended, words.MOST_SAID)}", "yellow")] if found.ended else []
    parts += [styled(line) for line in _next_commands(found)]
    return to_text(parts, style)


def _build_parts(build: DraftBuild) -> Iterator[RenderableType]:
    """Yield what compiling came to, in the compiler's words where it has any."""
    what = f"draft {build.id}" if build.id else "the source"
    came = "compiles" if build.passed else "does not compile"
    yield styled(f"{what} {came}, {duration(build.seconds * 1e9)}", "" if build.passed else "bold red")
    if build.said:
        yield below(plain(build.said))
    for one in build.functions:
        spilled = f", {number_of(one.spilled_bytes, 'byte')} of spills" if one.spilled_bytes else ""
        shared = f", {number_of(one.shared_bytes, 'byte')} of shared memory" if one.shared_bytes else ""
        code = f", {number_of(one.instructions, 'instruction')}" if one.instructions else ""
        loops = f", in its innermost loops {', '.join(map(str, one.loops))}" if one.loops else ""
        yield below(f"{one_line(one.name, 60)}: {number_of(one.registers, 'register')}{spilled}{shared}{code}{loops}")


def _answer_file(stored: ArchivedDraft) -> Iterator[RenderableType]:
    """Yield where the words for the author of an unusable reply are, for who carries them to a chat window."""
    if REFUSAL in stored.files:
        yield below(f"what to answer its author: reports/{stored.reference}/{REFUSAL}")


def prompt_note(tokens: int, dropped: tuple[str, ...], id: str, most_tokens: int | None = None) -> str:
    """Return what to know of a prompt that was not sent: its size, what it had no room for, and its id.

    ``most_tokens`` is the limit that was asked for; None for the default.
    """
    lines = [f"nothing was sent; the prompt has about {tokens:,} tokens (characters over four)"]
    lines += [f"kept as {id}, which a reply is to name: --reply FILE is checked against it"]
    limit = "a prompt is short by default" if most_tokens is None else f"--max-prompt-tokens is {most_tokens:,}"
    lines += [f"left out, as {limit}: {what}" for what in dropped]
    lines += ["to leave out less: a larger --max-prompt-tokens N"] if dropped else []
    return "\n".join(lines)


def _draft_parts(draft: Draft) -> Iterator[RenderableType]:
    yield styled(f"draft {draft.id} of {words.parent(draft)}  ").append(words.fate(draft), FATE_COLORS[draft.fate])
    if draft.reason:
        yield below(words.reason(draft), "bold")
    if draft.claim:
        yield below(f"idea: {words.idea(draft)}")
    yield from (below(f"wrong in the reply: {one_line(flaw, words.MOST_SAID)}", "yellow") for flaw in draft.flaws)
    if draft.proof:
        yield below(_stage_line(draft.proof))
        yield from (below(line) for line in _time_lines(draft, draft.proof))
        if draft.proof.scores:
            yield _prediction_table(draft.proof.scores)


def _stage_line(proof: Proof) -> str:
    parts = [f"{'✓' if one.passed else '✕'} {one.name} {duration(one.seconds * 1e9)}" for one in proof.stages]
    shut = f"in a sandbox ({proof.sandbox})" if proof.sandbox != "none" else "without a sandbox"
    return f"{'  '.join(parts)}  {shut}"


def _time_lines(draft: Draft, proof: Proof) -> Iterator[str]:
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


def _prediction_table(scores: tuple[Score, ...]) -> Table:
    made = table(("  predicted", "left"), ("", "left"), ("before", "right"), ("after", "right"), ("", "left"))
    for one in scores:
        said, color = CAME_TRUE[one.came_true]
        asked = one.prediction
        way = f"{'▲' if asked.direction == 'up' else '▼'} {factor(asked.factor) if asked.factor else ''}".strip()
        values = (words.ABSENT if v is None else digits(v) for v in (one.before, one.after))
        made.add_row(f"  {one_line(asked.metric, LONGEST_METRIC)}", way, *values, styled(said, color))
    return made


def _next_commands(found: Suggested) -> Iterator[str]:
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
