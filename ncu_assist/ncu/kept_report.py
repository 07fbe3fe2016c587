"""A report that was dropped, as its run keeps it: its launches, what NVIDIA's rules said of them, and its session.

Values stand in the tables beside it: those of metrics in metrics.parquet, their instances in instances.parquet, those
of instructions in code.json.zst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from ncu_assist import schema
from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.ncu import compressed
from ncu_assist.ncu.contents import Contents, LaunchFacts, SessionFacts
from ncu_assist.ncu.report_file import SessionTexts
from ncu_assist.ncu.source.kept import decompressed

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SCHEMA = "ncu-assist.report/1"


@dataclass(frozen=True)
class ReportFacts:
    """The file. ``report_sha256`` is that of the archived report that it stands for.

    ``numbers`` are what the run calls the launches of the report; ``names`` and ``texts`` of a launch are empty, as its
    metrics stand in metrics.parquet. ``said`` names machine and user: what a page goes by to take them out.
    ``charted_only`` are launches, by their place in the report, of whose samples over time those of metrics that pages
    chart were kept; of ``without_samples`` none were, as in some runs recorded before that.
    """

    report_sha256: str
    numbers: tuple[int, ...]
    launches: tuple[LaunchFacts, ...]
    session: SessionFacts
    notes: tuple[str, ...]
    said: SessionTexts
    without_samples: tuple[int, ...] = ()
    charted_only: tuple[int, ...] = ()
    schema: str = SCHEMA


READERS: schema.Readers[ReportFacts] = {1: msgspec.json.Decoder(ReportFacts).decode}


def facts_of(contents: Contents, report_sha256: str, numbers: tuple[int, ...], said: SessionTexts) -> ReportFacts:
    """Return what is kept of a report beside its tables."""
    launches = tuple(replace(one, names=0, texts={}) for one in contents.launches)
    return ReportFacts(report_sha256, numbers, launches, contents.session, contents.notes, said)


def packed(facts: ReportFacts) -> bytes:
    """Return it as a file: JSON, compressed with zstd."""
    return compressed.compress(msgspec.json.encode(facts), compressed.SMALL)


def unpacked(data: bytes, name: str) -> ReportFacts | None:
    """Return what ``packed`` made; None for what a newer version wrote.

    Raises DamagedData, which names the file, for anything else.
    """
    try:
        facts = schema.read(decompressed(data, name), SCHEMA, READERS, name, "ncu-assist verify")
    except NewerData:
        return None
    if len(facts.numbers) != len(facts.launches):
        raise DamagedData(f"{name} contradicts itself", "ncu-assist verify")
    return facts


@dataclass(frozen=True)
class KeptMetrics:
    """The table of metrics of a run, a row each: its launch, its metric and its unit by number, its value.

    ``names`` and ``units`` are what the numbers mean, ``texts`` those of the rows that have one.
    """

    launch: Array
    metric: Array
    names: Sequence[str]
    value: Array
    unit: Array
    units: Sequence[str]
    texts: Mapping[int, str]


def contents_of(facts: ReportFacts, metrics: KeptMetrics) -> Contents:
    """Return what was read of the report when it was there; ``metrics`` is the table of its run."""
    import numpy as np

    rank = np.empty(len(metrics.names), dtype=np.int64)
    rank[sorted(range(len(metrics.names)), key=metrics.names.__getitem__)] = np.arange(len(metrics.names))
    own = {}
    for number in sorted(set(facts.numbers)):
        rows = np.flatnonzero(metrics.launch == number)
        own[number] = rows[np.argsort(rank[metrics.metric[rows]], kind="stable")]
    named = {number: tuple(metrics.names[one] for one in metrics.metric[rows].tolist()) for number, rows in own.items()}
    units: dict[str, str] = {}
    for number in {names: number for number, names in reversed(named.items())}.values():
        for name, unit in zip(named[number], metrics.unit[own[number]].tolist(), strict=True):
            units.setdefault(name, metrics.units[unit])
    name_lists: dict[tuple[str, ...], int] = {}
    texts: dict[str, int] = {}
    launches, values = [], []
    for number, one in zip(facts.numbers, facts.launches, strict=True):
        names = name_lists.setdefault(named[number], len(name_lists))
        said = {place: metrics.texts[row] for place, row in enumerate(own[number].tolist()) if row in metrics.texts}
        numbered = {place: texts.setdefault(text, len(texts)) for place, text in said.items()}
        launches.append(replace(one, names=names, texts=numbered))
        values.append(metrics.value[own[number]])
    return Contents(
        launches=tuple(launches),
        name_lists=tuple(name_lists),
        texts=tuple(texts),
        units=units,
        session=facts.session,
        values=np.concatenate(values) if values else np.empty(0),
        notes=facts.notes,
    )
