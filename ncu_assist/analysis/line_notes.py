"""What the profiler says of the hot lines of a version's own file: samples, waits, wasted accesses, idle lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.analysis.diff.lines import base_name
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.line_sums import ISSUED
from ncu_assist.ncu.source.contents import NOT_ISSUED, SAMPLES, STALL_COLUMN
from ncu_assist.rules.model.places import own_lines

if TYPE_CHECKING:
    import pandas as pd

LEAST_SHARE = 0.02  # of samples, or of what is wasted: below it a finding is a remark (docs/sources.md)
MOST_NOTES = 12
LEAST_STALL = 0.15  # of the samples of a line; a smaller part says little
TOP_STALLS = 2
WASTES = ("sectors_excessive", "wavefronts_excessive")
COUNTED_COLUMNS = (
    SAMPLES, "sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal", *WASTES, "instructions",
    "thread_instructions",
)  # fmt: skip


@dataclass(frozen=True)
class LineNote:
    """What the profiler says of a source line. Shares are of 1; what is None was not counted.

    ``share`` is the line's part of all warp samples, ``stalls`` what most of these waited for, with their parts of it.
    ``sectors`` over ``sectors_ideal`` is how often too much its accesses to global memory move, wavefronts the same of
    shared memory; ``lanes`` are the lanes of 32 that worked; ``instructions`` is its part of all that warps executed.
    """

    line: int
    share: float
    stalls: tuple[tuple[str, float], ...]
    sectors_excessive: float
    sectors_ratio: float | None
    wavefronts_excessive: float
    wavefronts_ratio: float | None
    lanes: float | None
    instructions: float = 0.0


def line_notes(code: Code, file: str) -> tuple[LineNote, ...]:
    """Return the hot lines of a file, by their number; inlined code of libraries counts for the line that calls it.

    Empty where no line of the file is known.
    """
    frame = own_lines(code)
    stalls = [name for name in map(str, frame) if _is_stall(name)]
    own = frame[frame["file"].map(lambda name: name is not None and base_name(str(name)) == file).astype(bool)]
    sums = own.groupby("line", observed=True)[[*COUNTED_COLUMNS, *stalls]].sum()
    totals = frame[list(COUNTED_COLUMNS)].sum()
    rows = {int(str(line)): row for line, row in sums.iterrows()}
    weights = {line: _weight(row, totals) for line, row in rows.items()}
    hot = sorted((line for line in rows if weights[line] >= LEAST_SHARE), key=lambda line: (-weights[line], line))
    return tuple(_line_note(line, rows[line], totals, stalls) for line in sorted(hot[:MOST_NOTES]))


def _is_stall(name: str) -> bool:
    return name.startswith(STALL_COLUMN) and not name.endswith(NOT_ISSUED) and name != ISSUED


def _weight(row: pd.Series[Any], totals: pd.Series[Any]) -> float:
    """Return a line's part of samples or of a waste, whichever is more."""
    parts = [float(row[name]) / float(totals[name]) for name in (SAMPLES, *WASTES) if totals[name] > 0]
    return max(parts, default=0.0)


def _line_note(line: int, row: pd.Series[Any], totals: pd.Series[Any], stalls: list[str]) -> LineNote:
    samples = float(row[SAMPLES])
    return LineNote(
        line=line,
        share=samples / float(totals[SAMPLES]) if totals[SAMPLES] > 0 else 0.0,
        stalls=_waits(row, stalls, samples),
        sectors_excessive=float(row["sectors_excessive"]),
        sectors_ratio=_ratio(row["sectors"], row["sectors_ideal"]),
        wavefronts_excessive=float(row["wavefronts_excessive"]),
        wavefronts_ratio=_ratio(row["wavefronts"], row["wavefronts_ideal"]),
        lanes=_ratio(row["thread_instructions"], row["instructions"]),
        instructions=_ratio(row["instructions"], totals["instructions"]) or 0.0,
    )


def _waits(row: pd.Series[Any], stalls: list[str], samples: float) -> tuple[tuple[str, float], ...]:
    """Return what most samples of a line waited for, the most frequent first."""
    parts = [(name.removeprefix(STALL_COLUMN), float(row[name]) / samples) for name in stalls if samples > 0]
    ranked = sorted(parts, key=lambda one: (-one[1], one[0]))
    return tuple(one for one in ranked[:TOP_STALLS] if one[1] >= LEAST_STALL)


def _ratio(amount: float, ideal: float) -> float | None:
    return float(amount) / float(ideal) if ideal > 0 else None
