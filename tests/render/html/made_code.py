"""Code with counters as a report would give it, and runs that hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from made import saved

from ncu_assist.analysis.run_view import CloseLook, RunView
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.line_sums import HotSpots
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.page import Head, PageSection, Provenance, page
from ncu_assist.store import Store

NAME = "/src/a.cu"
TEXT = "// a kernel\n\tx = load(p);\n\ty = x + 1;\n\tstore(p, y);\n"


@dataclass(frozen=True)
class Row:
    """One instruction and what it cost."""

    line: int | None
    samples: float = 0.0
    sass: str = "FADD R5, R4, 1"
    file: str = NAME
    instructions: float = 10.0
    sectors_excessive: float = 0.0
    wavefronts_excessive: float = 0.0
    kernel: str = "k"
    launch: int = 0
    stall: str = "long_scoreboard"


ROWS = (
    Row(2, 60.0, "LDG.E R4, [R2.64]", sectors_excessive=1000.0),
    Row(3, 30.0, "FADD R5, R4, 1", stall="wait"),
    Row(4, 10.0, "STG.E [R2.64], R5"),
    Row(None, 0.0, "EXIT"),
)


def code(rows: Sequence[Row] = ROWS, texts: Mapping[str, str] | None = None, **columns: float) -> Code:
    """Return code; ``columns`` are the same for every instruction. Every sample waited for the row's stall."""
    known = {NAME: TEXT} if texts is None else texts
    frame = pd.DataFrame(
        {
            "launch": pd.array([row.launch for row in rows], dtype="int32"),
            "kernel": pd.Categorical([row.kernel for row in rows]),
            "offset": [16 * place for place in range(len(rows))],
            "address": pd.array([4096 + 16 * place for place in range(len(rows))], dtype="uint64"),
            "sass": [row.sass or None for row in rows],
            "opcode": pd.Categorical([(row.sass or "?").split()[0] for row in rows]),
            "file": pd.Categorical([row.file if row.line else None for row in rows]),
            "line": pd.array([row.line for row in rows], dtype="Int32"),
            "samples": [row.samples for row in rows],
            "instructions": [row.instructions for row in rows],
            "thread_instructions": [32 * row.instructions for row in rows],
            "sectors": [2 * row.sectors_excessive + 10 for row in rows],
            "sectors_excessive": [row.sectors_excessive for row in rows],
            "wavefronts": [2 * row.wavefronts_excessive for row in rows],
            "wavefronts_excessive": [row.wavefronts_excessive for row in rows],
            "stall_long_scoreboard": [row.samples if row.stall == "long_scoreboard" else 0.0 for row in rows],
            "stall_wait": [row.samples if row.stall == "wait" else 0.0 for row in rows],
            "stall_barrier": [row.samples if row.stall == "barrier" else 0.0 for row in rows],
            "stall_selected": [row.samples if row.stall == "selected" else 0.0 for row in rows],
            "stall_wait_not_issued": 0.0,
        }
    ).assign(**columns)
    places = {(name, n): line for name, text in known.items() for n, line in enumerate(text.split("\n"), 1)}
    return Code(frame, places)


def close(made: Code | None, texts: Mapping[str, str] | None = None, note: str = "", **changes: Any) -> CloseLook:
    """Return what a report said of code."""
    spots = HotSpots((), 1, 1, note)
    return replace(CloseLook(spots, made, texts={NAME: TEXT} if texts is None else texts), **changes)


def shown(root: Path, look: CloseLook, version: str = "v1_made", **changes: Any) -> RunView:
    """Return a stored run as it is shown, with this look at its code."""
    stored = saved(root, version, **changes)
    return replace(gather(stored, None, Store(root / "reports")), close=look)


def html(model: object, is_pair: bool = False) -> str:
    """Return a page with nothing on it but the view."""
    template = "diff_source.html.j2" if is_pair else "source_view.html.j2"
    head = Head("Source", "of a test", (), Provenance((), 0, "cd" * 32))
    shown = {"pair": model, "lines": None} if is_pair else model
    return page(head, (PageSection("source", "Source", shown, template),))
