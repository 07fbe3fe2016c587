"""What a run's page ends with: the commands, the logs, and the files with their hashes."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.quantity import quantity
from ncu_assist.record import Run
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.html.run_records import Log
from ncu_assist.render.html.table import Cell, Column, Table, number

COLUMNS = (Column("file"), Column("size", "right", "number"), Column("sha256"))


@dataclass(frozen=True)
class RawPart:
    """The section."""

    command: str
    logs: tuple[Log, ...]
    files: Table | None


def raw_part(run: Run, logs: tuple[Log, ...]) -> RawPart:
    """Return the command as it was typed, what the programs wrote, the files that this page was made of."""
    rows = tuple(
        (Cell(one_line(name)), number(quantity(fact.size, "byte"), fact.size), Cell(fact.sha256))
        for name, fact in sorted(run.files.items())
    )
    return RawPart(
        command=one_line(run.profile.command, 4000) if run.profile else "",
        logs=tuple(Log(one_line(one.name), plain(one.text), one.cut) for one in logs),
        files=Table("files-table", "Files of the run", COLUMNS, rows) if rows else None,
    )
