"""The drafts of a kernel as a table: what a model wanted, what was expected and measured, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.analysis.records import Damage, Draft
from ncu_assist.render import draft_words as words
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import Badge, Tone
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table

MANY = 12  # rows, from which a filter is of use
MOST_FLAWS = 3  # of one reply; `ledger` shows all
TONES: dict[str, Tone] = {"kept": "good", "rejected": "bad", "unproven": "unsure", "drafted": "plain"}
COLUMNS = (
    Column("draft"),
    Column("fate"),
    Column("idea"),
    Column("expected → measured", "left", "number"),
    Column("predictions"),
    Column("from"),
    Column("round", "right", "number"),
    Column("model"),
)


def drafts_table(drafts: Sequence[Draft], damaged: Sequence[Damage]) -> Table | None:
    """Return a row a draft, the oldest first, then those that cannot be read; None where there are none."""
    rows = (*map(_row, drafts), *map(_damaged, damaged))
    if not rows:
        return None
    note = "expected → measured: speed-up over the version it was made from; predictions: of counters, that came true"
    return Table("drafts-table", "Drafts and what became of them", COLUMNS, rows, len(rows) >= MANY, note=note)


def _row(draft: Draft) -> tuple[Cell, ...]:
    version = f"now {one_line(draft.version, 80)}" if draft.version else ""
    flaws = "; ".join(one_line(flaw, words.MOST_SAID) for flaw in draft.flaws[:MOST_FLAWS])
    measured = draft.proof.speedup if draft.proof else None
    return (
        Cell(draft.id, note=version),
        Cell(draft.fate, badge=Badge(words.fate(draft), TONES[draft.fate]), note=words.reason(draft)),
        Cell(words.idea(draft), note=f"wrong in the reply: {flaws}" if flaws else ""),
        Cell(words.speedups(draft), repr(measured) if measured else ""),
        Cell(words.predictions(draft)),
        Cell(words.parent(draft)),
        Cell(str(draft.round), str(draft.round)),
        Cell(one_line(draft.model, 80) or "from a file"),
    )


def _damaged(one: Damage) -> tuple[Cell, ...]:
    problem = one_line(one.problem, words.MOST_SAID)
    rest = tuple(Cell() for _ in COLUMNS[2:])
    name = one_line(one.path.rpartition("/")[2], 80) or ABSENT
    return Cell(name), Cell("damaged", badge=Badge("✕ damaged", "bad"), note=problem), *rest
