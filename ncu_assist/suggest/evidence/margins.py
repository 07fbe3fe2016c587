"""What the profiler says of the hot lines of a version's own file: samples, waits, wasted accesses, idle lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ncu_assist.analysis.diff.lines import base_name
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.line_sums import ISSUED
from ncu_assist.ncu.source.metrics import NOT_ISSUED, SAMPLES, STALL_COLUMN
from ncu_assist.rules.model.own_lines import own_lines
from ncu_assist.suggest.evidence.records import Margin

if TYPE_CHECKING:
    import pandas as pd

LEAST = 0.02  # of samples, or of what is wasted: below it a finding is a remark (docs/sources.md)
MOST = 12
LEAST_STALL = 0.15  # of the samples of a line; a smaller part says little
TOP_STALLS = 2
WASTES = ("sectors_excessive", "wavefronts_excessive")
COUNTED = (
    SAMPLES, "sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal", *WASTES, "instructions",
    "thread_instructions",
)  # fmt: skip


def margins_of(code: Code, file: str) -> tuple[Margin, ...]:
    """Return the hot lines of a file, by their number; inlined code of libraries counts for the line that calls it.

    Empty where no line of the file is known.
    """
    frame = own_lines(code)
    stalls = [name for name in map(str, frame) if _is_stall(name)]
    own = frame[frame["file"].map(lambda name: name is not None and base_name(str(name)) == file).astype(bool)]
    sums = own.groupby("line", observed=True)[[*COUNTED, *stalls]].sum()
    totals = frame[list(COUNTED)].sum()
    rows = {int(str(line)): row for line, row in sums.iterrows()}
    weights = {line: _weight(row, totals) for line, row in rows.items()}
    hot = sorted((line for line in rows if weights[line] >= LEAST), key=lambda line: (-weights[line], line))
    return tuple(_margin(line, rows[line], totals, stalls) for line in sorted(hot[:MOST]))


def _is_stall(name: str) -> bool:
    return name.startswith(STALL_COLUMN) and not name.endswith(NOT_ISSUED) and name != ISSUED


def _weight(row: pd.Series[Any], totals: pd.Series[Any]) -> float:
    """Return a line's part of samples or of a waste, whichever is more."""
    parts = [float(row[name]) / float(totals[name]) for name in (SAMPLES, *WASTES) if totals[name] > 0]
    return max(parts, default=0.0)


def _margin(line: int, row: pd.Series[Any], totals: pd.Series[Any], stalls: list[str]) -> Margin:
    samples = float(row[SAMPLES])
    return Margin(
        line=line,
        share=samples / float(totals[SAMPLES]) if totals[SAMPLES] > 0 else 0.0,
        stalls=_waits(row, stalls, samples),
        sectors_excessive=float(row["sectors_excessive"]),
        sectors_ratio=_ratio(row["sectors"], row["sectors_ideal"]),
        wavefronts_excessive=float(row["wavefronts_excessive"]),
        wavefronts_ratio=_ratio(row["wavefronts"], row["wavefronts_ideal"]),
        lanes=_ratio(row["thread_instructions"], row["instructions"]),
    )


def _waits(row: pd.Series[Any], stalls: list[str], samples: float) -> tuple[tuple[str, float], ...]:
    """Return what most samples of a line waited for, the most frequent first."""
    parts = [(name.removeprefix(STALL_COLUMN), float(row[name]) / samples) for name in stalls if samples > 0]
    ranked = sorted(parts, key=lambda one: (-one[1], one[0]))
    return tuple(one for one in ranked[:TOP_STALLS] if one[1] >= LEAST_STALL)


def _ratio(amount: float, ideal: float) -> float | None:
    return float(amount) / float(ideal) if ideal > 0 else None
