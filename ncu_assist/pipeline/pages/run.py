"""The page of one run: gathered from its archive, or from a report that is in none."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import isnan
from pathlib import PurePath
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, is_timed, timed_samples
from ncu_assist.analysis.run_view import CloseLook, RunView, shown_workload
from ncu_assist.frame import Combined, combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.pipeline.opened_reports import BareReport, named_by_content
from ncu_assist.pipeline.pages.readable import identities_of, redacted_run
from ncu_assist.pipeline.showing import gather, look_closer, with_places
from ncu_assist.render.html.run import run_html
from ncu_assist.render.html.run_counters import Breakdowns, Log, RawMetric, RawMetrics, RunRecord, Value
from ncu_assist.render.redact import Identity, redact_command
from ncu_assist.render.redact.frames import redact_close, redact_files, redact_frame
from ncu_assist.render.table import diff_name, href_to
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.reading import LOGS
from ncu_assist.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.record import Run

MOST_LAUNCHES = 5  # columns of the table of all metrics: `export` writes those of the others
MOST_ALONE = 26  # launches that have a part of the page to themselves, the longest
WITH_PARTS = ("sm_throughput", "memory_throughput")
PARTS = "breakdown:"  # ncu's metric of this name and a throughput's lists its parts
PAIR = 2
MOST_OF_A_LOG = 4_000  # characters: the whole of one, or its first and last half


def raw_metrics(frame: pd.DataFrame, combined: Combined, picked: int | None = None) -> RawMetrics:
    """Return every metric of the longest launches, longest first, from the tidy metrics of their run.

    The launch that is ``picked`` is the last of them where it is not long enough to be one.
    """
    longest = sorted(combined.launches, key=lambda one: -(one.duration_ns or 0.0))
    shown = longest[:MOST_LAUNCHES]
    if asked := [one for one in longest[MOST_LAUNCHES:] if one.index == picked]:
        shown[-1:] = asked
    by_launch, units = _by_launch(frame, {one.index for one in longest})
    names = sorted({name for values in by_launch.values() for name in values})
    tables = [_numbers(by_launch.get(one.index, {})) for one in longest]
    together = combine_launches(combined.workload, longest, tables)
    rows = []
    for name in names:
        own = tuple(by_launch.get(one.index, {}).get(name) for one in shown)
        rows.append(RawMetric(name, units[name], own, together.named(name)))
    return RawMetrics(tuple(shown), tuple(rows), len(longest) - len(shown))


def breakdowns(raw: RawMetrics, of_longest: bool) -> Breakdowns:
    """Return the parts of the throughputs of SM and memory, as far as the report lists them.

    Over all launches, or ``of_longest`` alone where launches are of different kernels.
    """
    rows = {row.name: row for row in raw.rows}
    found = {key: _parts(rows, CATALOGUE[key].names[0], of_longest) for key in WITH_PARTS}
    return {key: parts for key, parts in found.items() if parts}


def _by_launch(frame: pd.DataFrame, wanted: set[int]) -> tuple[dict[int, dict[str, Value]], dict[str, str]]:
    own = frame[frame["launch"].isin(wanted)]
    values: dict[int, dict[str, Value]] = {}
    columns = (own["launch"].tolist(), own["metric"].tolist(), own["value"].tolist(), own["text"].tolist())
    for launch, name, value, text in zip(*columns, strict=True):
        known: Value = None if isnan(value) else value
        values.setdefault(launch, {})[str(name)] = text if isinstance(text, str) else known
    first = own.drop_duplicates("metric")
    named = zip(first["metric"], first["unit"], strict=True)
    units = {str(name): unit if isinstance(unit, str) else "" for name, unit in named}
    return values, units


def _numbers(values: dict[str, Value]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, float)}


def _parts_of(values: dict[str, Value], throughput: str) -> list[tuple[str, float]]:
    """Return the parts of a throughput of one launch in percent of their peaks, the busiest first."""
    text = values.get(PARTS + throughput)
    names = text.split(",") if isinstance(text, str) else []
    parts = [(name, value) for name in names if isinstance(value := values.get(name), float)]
    return sorted(parts, key=lambda one: (-one[1], one[0]))


def _parts(rows: dict[str, RawMetric], throughput: str, of_longest: bool) -> list[tuple[str, float]]:
    listed = rows.get(PARTS + throughput)
    text = next((value for value in listed.values if isinstance(value, str)), "") if listed else ""
    some = [rows[name] for name in text.split(",") if name in rows]
    known = [(row.name, row.values[0] if of_longest else row.together) for row in some]
    parts = [(name, percent) for name, percent in known if isinstance(percent, float)]
    return sorted(parts, key=lambda one: (-one[1], one[0]))


def run_page(
    stored: StoredRun,
    store: Store | None = None,
    linked: bool = True,
    beside: Collection[str] = (),
    redact: bool = True,
    workload: str | None = None,
) -> str:
    """Return the page of a run, to lie in its folder; the same runs in the archive give the same bytes.

    One that is not ``linked`` lies elsewhere, and leads nowhere. ``beside`` are the pages in its version's folder.
    ``redact`` takes out who measured it and where, as an export does. Details are of ``workload``, without one of that
    which `show` takes.

    Raises DamagedData when one of its files was changed, UsageProblem for a workload that the run does not know.
    """
    record = run_record(stored, store, redact, workload)
    name = diff_name(record.shown.before.version) if linked and record.shown.before else ""
    return run_html(replace(record, linked=linked, diff=href_to("..", name) if name in beside else ""))


def run_record(
    stored: StoredRun, store: Store | None = None, redact: bool = True, asked: str | None = None
) -> RunRecord:
    """Return all that the page of a run says; ``store`` is its archive, for the version before."""
    identity = identities_of([stored]) if redact and stored.run.source != "recorded" else None
    with ThreadPoolExecutor(1) as beside:  # most of the time goes to a child process that reads the report again
        workload = shown_workload(stored.run, asked, stored.whole)
        looking = beside.submit(look_closer, stored, workload, timeline=_may_stand_alone(stored.run, workload))
        clean = stored if identity is None else redacted_run(stored, identity)
        named = named_by_content(clean)
        if isinstance(named, BareReport):
            named = replace(named, title=PurePath(named.title).name)
        shown = gather(clean, asked, store)
        verdicts = _verdicts(shown)
        metrics = stored.metrics()
        focus = shown.focus.launch.index if shown.focus else None
        raw = raw_metrics(metrics if identity is None else redact_frame(metrics, identity), shown.combined, focus)
        close = looking.result()
        if identity is not None:
            close = redact_close(close, redact_files([close], identity), identity)
        shown = with_places(replace(shown, run=named.run, reference=named.reference, close=close))
    opcodes, launches = opcodes_of(shown)
    whole = RunRecord(
        stored=named,
        shown=shown,
        verdicts=verdicts,
        samples=timed_samples(stored, shown.combined.workload),
        metrics=raw,
        breakdowns=breakdowns(raw, shown.combined.is_of_kernels),
        opcodes=opcodes,
        opcode_launches=launches,
        logs=tuple(_log(stored, name, identity) for name in LOGS if name in stored.run.files),
        read=shown.before.runs if shown.before else (),
    )
    return replace(whole, alone=tuple(_alone(whole, stored.metrics())))


def _may_stand_alone(run: Run, workload: str | None) -> list[int]:
    """Return the launches that the page may show one by one, by their numbers: the longest of a call."""
    own = [one for one in run.launches if workload in (None, one.workload) and one.repeat == 0]
    ordered = sorted(own, key=lambda one: (one.interrupted, -(one.duration_ns or 0.0)))
    return [one.index for one in ordered[:MOST_ALONE]]


def _alone(record: RunRecord, metrics: pd.DataFrame) -> Iterator[RunRecord]:
    """Yield the records of single launches of a run that has several, the longest first; of none interrupted."""
    shown = record.shown
    if len(shown.launches_shown) == 1:
        return
    rows = [row for row in shown.launches_shown if not row.launch.interrupted][:MOST_ALONE]
    by_launch, _ = _by_launch(metrics, {row.launch.index for row in rows})
    for row in rows:
        view = replace(shown.of_launch(row), close=_close_to(shown, row.launch.index))
        opcodes, launches = opcodes_of(view)
        parts = {key: _parts_of(by_launch.get(row.launch.index, {}), CATALOGUE[key].names[0]) for key in WITH_PARTS}
        known = {key: some for key, some in parts.items() if some}
        yield replace(record, shown=view, breakdowns=known, opcodes=opcodes, opcode_launches=launches)


def _close_to(shown: RunView, launch: int) -> CloseLook:
    """Return what was read of one launch."""
    close, code = shown.close, shown.close.code
    own = code.of([launch]) if code else None
    if own is None or not len(own.sass):
        note = (
            close.note
            or f"its source was not read, because there are so many launches; `report --launch {launch}` reads it"
        )
        return replace(close, code=None, spots=None, note=note)
    spots = replace(close.spots, lines=(), launches=1, launches_read=1) if close.spots else None
    return replace(close, code=own, spots=spots)


def _verdicts(shown: RunView) -> tuple[tuple[str, Verdict], ...]:
    """Return the verdict against the version before on every workload that both runs were timed on."""
    if shown.before is None or len(shown.before.runs) != PAIR:
        return ()
    before, own = shown.before.runs
    samples, names = SampleReader(), [row.workload.name for row in shown.rows]
    both = [name for name in names if is_timed(before.run, name) and is_timed(own.run, name)]
    return tuple((name, verdict_by_time(before, own, name, samples)) for name in both)


def opcodes_of(shown: RunView) -> tuple[tuple[tuple[str, float], ...], int]:
    """Return how often each opcode was executed, most first, and in how many launches that was counted."""
    code = shown.close.code
    if code is None:
        return (), 0
    own = code.of([one.index for one in shown.combined.launches]).sass
    heads = [str(opcode).partition(".")[0] for opcode in own["opcode"]]
    sums = own["instructions"].groupby(heads).sum()
    found = [(str(name), float(count)) for name, count in sums.items() if count > 0]
    return tuple(sorted(found, key=lambda one: (-one[1], one[0]))), int(own["launch"].nunique())


def _log(stored: StoredRun, name: str, identity: Identity | None) -> Log:
    text = stored.read(name).decode("utf-8", "replace").strip()
    text = text if identity is None else redact_command(text, identity)
    cut = len(text) - MOST_OF_A_LOG
    if cut <= 0:
        return Log(name, text)
    half = MOST_OF_A_LOG // 2
    return Log(name, f"{text[:half]}\n…\n{text[-half:]}", cut)
