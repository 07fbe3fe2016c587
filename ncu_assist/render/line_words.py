"""Source lines of a diff in words: those whose cost went or came, and where most of the time is left."""

from __future__ import annotations

from pathlib import PurePath

from ncu_assist.analysis.diff.lines import LineChange, LineChanges, LineCost, base_name, explaining_change
from ncu_assist.quantity import digits, duration, quantity
from ncu_assist.render.escape import one_line

PLACE_WIDTH = 30  # columns for file:line; of a longer name the end is shown
NAME_WIDTH = 8  # a short version, v12, stands for the name of its file
NAME_IN_NOTE = 24
CODE_WIDTH = 12  # the least of a line's text that is worth showing
BARRIER = "barrier"
WAITS = ("sync", "barrier", "bar.")  # in a line's text, as CUDA, cooperative groups and PTX write it


def line_lines(lines: LineChanges, names: tuple[str, str], count: int, width: int) -> list[str]:
    """Return what changed most, then what is left, then notes: at most ``count`` lines of ``width`` columns."""
    notes = _notes(lines, names, width)[:count]
    told = explaining_change(lines)
    shown = [_change(told, lines, names, width)] if told else []
    rest = [one for one in lines.left if told is None or told.candidate is None or told.candidate.place != one.place]
    shown += [_left(one, lines, names, width) for one in rest]
    return [*shown[: count - len(notes)], *notes]


def _change(change: LineChange, lines: LineChanges, names: tuple[str, str], width: int) -> str:
    both = zip((change.baseline, change.candidate), lines.own, names, strict=True)
    places = [_place(line, own, name) for line, own, name in both if line and (line.ns or line.excess)]
    facts = [*_excess_changes(change), _time_change(change)]
    return _fitted(f"{_word(change)} {' → '.join(dict.fromkeys(places))}", change.text, facts, width)


def _word(change: LineChange) -> str:
    if change.direction > 0:
        return "new: " if change.kind == "appeared" or _came(change) else "more:"
    return "gone:" if change.kind == "vanished" or _went(change) else "less:"


def _came(change: LineChange) -> bool:
    return change.is_material and (change.baseline is None or change.baseline.excess == 0)


def _went(change: LineChange) -> bool:
    return change.is_material and (change.candidate is None or change.candidate.excess == 0)


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
    scale = 1e3 if max(before, after) >= 1e3 else 1.0
    return f"{digits(before / scale)} → {digits(after / scale)} {'µs' if scale > 1 else 'ns'}"


def _left(line: LineCost, lines: LineChanges, names: tuple[str, str], width: int) -> str:
    facts = [f"{duration(line.ns)} ({100 * line.share:.0f} %)"]
    excess = [("sectors", line.sectors_excessive), ("wavefronts", line.wavefronts_excessive)]
    facts += [f"{quantity(amount, '')} excess {what}" for what, amount in excess if amount and line.is_wasteful]
    facts += [_stall(line.stall, line.text)] if line.stall else []
    return _fitted(f"left: {_place(line, lines.own[1], names[1])}", line.text, facts, width)


def _stall(stall: str, text: str | None) -> str:
    """Return what warps at a line waited for.

    One held by a barrier is sampled at the instruction behind it, which is often of another line than the barrier.
    """
    elsewhere = stall == BARRIER and text is not None and not any(word in text.lower() for word in WAITS)
    return f"{BARRIER} before it" if elsewhere else one_line(stall.replace("_", " "), 20)


def _place(line: LineCost, own: str | None, name: str) -> str:
    """Return where a line is: v5.cu:41 in the version's own file, else the name of the file."""
    is_short = line.file == own and len(name) <= NAME_WIDTH
    file = f"{name}{PurePath(base_name(line.file)).suffix}" if is_short else base_name(line.file)
    return _end(f"{one_line(file)}:{line.line}", PLACE_WIDTH)


def _end(text: str, width: int) -> str:
    """Return a text, of a longer one its end: what tells long names and paths apart."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _fitted(start: str, text: str | None, facts: list[str], width: int) -> str:
    """Return a line within the width: the last facts are left out before the text of the line becomes a stump."""
    while len(facts) > 1 and width - len(f"{start}  ``  {', '.join(facts)}") < CODE_WIDTH:
        facts = facts[:-1]
    room = max(CODE_WIDTH, width - len(f"{start}  ``  {', '.join(facts)}"))
    code = f"  `{one_line(text, room)}`" if text and text.strip() else ""
    return f"{start}{code}  {', '.join(facts)}"


def _notes(lines: LineChanges, names: tuple[str, str], width: int) -> list[str]:
    """Return what is to be known of the lines of either side, once where it is the same."""
    said: dict[str, list[str]] = {}
    for name, note in zip(names, lines.notes, strict=True):
        said.setdefault(note, []).append(_end(one_line(name), NAME_IN_NOTE))
    return [one_line(f"lines: {' and '.join(sides)}: {note}", width) for note, sides in said.items() if note]
