"""Words for numbers, lines and versions in a prompt; templates have them as filters."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.quantity import digits, percent, quantity
from ncu_assist.render.words import factor
from ncu_assist.suggest.evidence.records import (
    EvidenceItem,
    FailedDraft,
    LaunchLine,
    LineNote,
    SourceText,
    VersionStory,
    WorkloadTime,
)

BARRIER, WAITS = "barrier", ("sync", "barrier", "bar.")  # as in render.line_words
FULL_WARP = 28.0  # lanes; a few idle ones are no divergence worth a word
WASTED = 1.02  # of what an access needs: up to 2 % is left alone, as by the rules
LEAST_SHARE = 0.01  # of all samples; less is not said


def change_words(item: EvidenceItem) -> str:
    """Return how far an item moved since the version before: a factor, of percentages the difference in points."""
    if item.before is None:
        return "-"
    if item.value == item.before:
        return "="
    if item.unit == "%":
        return f"{item.value - item.before:+.1f} pt"
    return f"x{digits(item.value / item.before)}" if item.before else "new"


def number(value: float | None) -> str:
    """Return a number of the table as a reply should quote it; ``-`` for none."""
    return "-" if value is None else f"{value:.7g}"


def numbered(source: SourceText) -> str:
    """Return the source with its line numbers; below a hot line stands what the profiler says of it, after a ^."""
    margins = {one.line: one for one in source.margins}
    width = len(str(len(source.lines)))
    shown = []
    for number_, line in enumerate(source.lines, start=1):
        shown.append(f"{number_:>{width}} | {line}" if line else f"{number_:>{width}} |")
        if number_ in margins and (words := margin_words(margins[number_], line)):
            shown.append(f"{'':>{width}} ^ {words}")
    return "\n".join(shown)


def margin_words(margin: LineNote, line: str) -> str:
    """Return what the profiler says of a line, e.g. ``58 % of samples (long_scoreboard 77 %); 33.0 M excess …``."""
    return "; ".join(one for one in (_samples(margin, line), *_wastes(margin), _lanes(margin)) if one)


def _samples(margin: LineNote, line: str) -> str:
    share = f"{percent(margin.share)} of samples" if margin.share >= LEAST_SHARE else ""
    waits = ", ".join(f"{reason} {percent(part)}{_at(reason, line)}" for reason, part in margin.stalls)
    return f"{share} ({waits})" if share and waits else share


def _at(reason: str, line: str) -> str:
    """Return where warps wait that are sampled behind a barrier, at a line that has none."""
    return " at the barrier before it" if reason == BARRIER and not any(word in line for word in WAITS) else ""


def _wastes(margin: LineNote) -> list[str]:
    found = []
    if margin.sectors_excessive > 0 and (margin.sectors_ratio or 0.0) > WASTED:
        amount = quantity(margin.sectors_excessive, "")
        found.append(f"{amount} excess sectors, {digits(margin.sectors_ratio or 0.0)}x what its bytes need")
    if margin.wavefronts_excessive > 0 and (margin.wavefronts_ratio or 0.0) > WASTED:
        amount, ways = quantity(margin.wavefronts_excessive, ""), digits(margin.wavefronts_ratio or 0.0)
        found.append(f"{amount} excess wavefronts (bank conflicts), {ways}x the least")
    return found


def _lanes(margin: LineNote) -> str:
    return f"{digits(margin.lanes)} of 32 lanes active" if margin.lanes is not None and margin.lanes < FULL_WARP else ""


def sizes(workload: WorkloadTime) -> str:
    """Return the integers of a workload, e.g. ``batch 64, heads 64, dim 96``."""
    return ", ".join(f"{name} {size}" for name, size in workload.integers.items())


def launches_text(launches: Sequence[LaunchLine]) -> str:
    """Return the launches of a call, the longest first, a line each."""
    return "\n".join(_launch(one) for one in launches)


def _launch(one: LaunchLine) -> str:
    time = quantity(one.duration_ns, "ns") if one.duration_ns is not None else "time unknown"
    said = f"  {one.diagnosis}" if one.diagnosis else ""
    return f"{one.kernel}  {time}  grid {one.grid}  block {one.block}{said}"


def story_text(chapters: Sequence[VersionStory], parent: str) -> str:
    """Return the versions, one after the other: outcome, idea in its author's words, what moved."""
    return "\n".join(line for one in chapters for line in _chapter(one, parent))


def _chapter(one: VersionStory, parent: str) -> list[str]:
    name = f"{one.version} (the parent)" if one.version == parent else one.version
    idea = "" if one.version == parent else one.idea  # it stands at the top of the source
    lines = [f"{name}: {one.outcome}" if one.outcome else name]
    lines += [f"    idea: {idea}"] if idea else []
    return [*lines, *([f"    moved: {one.moved}"] if one.moved else [])]


def failures_text(failed: Sequence[FailedDraft]) -> str:
    """Return the drafts that failed, the newest last: what each changed, and why it was rejected."""
    told = (f"{one.id} (from {one.parent}): {one.change}\n    rejected: {one.reason}" for one in failed)
    return "\n".join(told)


FILTERS = {
    "change": change_words,
    "failures": failures_text,
    "factor": factor,
    "launches": launches_text,
    "number": number,
    "numbered": numbered,
    "percent": percent,
    "quantity": quantity,
    "sizes": sizes,
    "story": story_text,
}
