"""What came of tuning a version, as text: the verdict first, then every combination, the fastest first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.tuning import TuneOutcome, Values
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, table, to_text
from ncu_assist.render.words.values import shown_path
from ncu_assist.render.words.verdicts import verdict_sentence
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from rich.console import RenderableType

FILE_S = "the file's values"
SHOWN = 30  # rows
LONGEST = 300  # letters of a failure


def tune_text(outcome: TuneOutcome, style: Style | None = None) -> str:
    """Return the verdict of the fastest combination against the file's values, and a table of all."""
    from rich.text import Text

    name = one_line(f"{outcome.kernel}/{short_name(outcome.version)} on {outcome.workload}")
    made = table(("values", "left"), ("median", "right"), ("of the file's", "right"), ("rounds", "right"), ("", "left"))
    own = outcome.timing(outcome.rows[0][1])
    for values, row in outcome.ranked[:SHOWN]:
        timing = outcome.timing(row)
        assert timing is not None
        share = f"{timing.median_ns / own.median_ns:.3f}" if own else ""
        what = FILE_S if row is outcome.rows[0][1] else "dropped out" if outcome.is_dropped(row) else ""
        made.add_row(words(values), duration(timing.median_ns), share, str(timing.samples), what)
    parts: list[RenderableType] = [Text(name, style="bold"), *(Text(line, style="bold") for line in _verdict(outcome))]
    parts += [Text(""), made]
    more = len(outcome.ranked) - SHOWN
    if more > 0:
        parts.append(Text(f"… and {more} slower ones: --json has all", style="dim"))
    failed = [(values, row) for values, row in outcome.rows if outcome.timing(row) is None]
    lines = [one_line(f"{words(values)}: {row.failure or 'no time'}", LONGEST) for values, row in failed]
    parts += [Text(line, style="red") for line in ("", *lines)] if lines else []
    parts += [Text(""), Text(_next(outcome), style="dim")]
    return to_text(parts, style)


def words(values: Values) -> str:
    """Return ``BM=64 STAGES=3``."""
    return one_line(" ".join(f"{name}={value}" for name, value in values.items()))


def _verdict(outcome: TuneOutcome) -> list[str]:
    if outcome.diff is None:
        return ["nothing but the file's values could be timed" if outcome.ranked else "nothing could be timed"]
    best = next(one for one, row in outcome.rows if row.version == outcome.diff.candidate.version)
    head = "fastest" if outcome.winner else "no combination beats the file's values; the fastest other"
    return [f"{head}: {words(best)}", verdict_sentence("it", FILE_S, None, outcome.diff.verdict)]


def _next(outcome: TuneOutcome) -> str:
    if outcome.kept:
        return f"written into {shown_path(outcome.kept, Path.cwd())}"
    if outcome.winner:
        return "next: the same command with --keep writes these values into the file"
    return "the file stays as it is"
