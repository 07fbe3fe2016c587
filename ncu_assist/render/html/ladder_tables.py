"""The tables of a ladder: floor and peers, traffic, diagnoses, all workloads, drafts, every run; and the comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ncu_assist.analysis.faults_gone import findings_of
from ncu_assist.analysis.history import History, HistoryCell, VersionRow
from ncu_assist.analysis.records import ArchivedRun, Damage, Draft, StoredFinding
from ncu_assist.analysis.yardstick import COPY, OPERATIONS, Yardstick, measure_of
from ncu_assist.quantity import duration, quantity, times_as_fast
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import heat_level
from ncu_assist.render.table import ABSENT, Badge, Cell, Column, Link, RunLinks, Table, Term, Tone, number, percent
from ncu_assist.render.words import drafts as words
from ncu_assist.render.words.floors import FLOOR, FLOOR_TERM, copy_words, floor_note, workload_words
from ncu_assist.render.words.history import MOST_SAID, in_l2_lines
from ncu_assist.render.words.terms import share_term, source_badge
from ncu_assist.render.words.verdicts import factor, faster_or_slower
from ncu_assist.rules import RULES
from ncu_assist.rules.base import Severity, severity
from ncu_assist.versions import short_name

FILTER_FROM = 12  # rows, from which a filter is of use
RUN_COLUMNS = (
    Column("version"),
    Column("run"),
    Column("measured"),
    Column("time", "right", "number"),
    Column("workloads", "right", "number"),
    Column("launches", "right", "number"),
    Column("GPU"),
    Column("source"),
)
UNREADABLE = "Runs that cannot be read"
DAMAGED_COLUMNS = (Column("run"), Column("what is wrong"))


def matrix(history: History) -> Table:
    """Return the time of every version on every workload, warmer the further it is from a copy of the same bytes."""
    names = [one_line(history.workloads[place] or ABSENT) for place in history.places]
    columns = (Column("version"), *(Column(name, "right", "number") for name in names))
    rows = tuple(
        (Cell(one_line(row.version)), *(_matrix_cell(row.cells[place]) for place in history.places if row.cells))
        for row in history.rows
    )
    note = f"below each time: {history.yardsticks} divided by it, 100 % is as fast; warmer is further from that"
    note = "; ".join([note, *map(one_line, in_l2_lines(history))])
    return Table("matrix-table", "Time of every version on every workload", columns, rows, note=note)


def _matrix_cell(cell: HistoryCell) -> Cell:
    if cell.time_ns is None:
        return Cell("FAILED", tone="bad") if cell.failed else Cell()
    share = cell.share
    if share is None:
        return number(duration(cell.time_ns), cell.time_ns)
    return Cell(
        duration(cell.time_ns), repr(cell.time_ns), note=f"{100 * share:.0f} %", heat=heat_level(1 - share - 0.05)
    )


def runs_table(runs: Iterable[ArchivedRun], workload: str | None, links: RunLinks) -> Table:
    """Return every run of the kernel, newest first, with the page of each that has one."""
    rows = tuple(_run_row(stored, workload, links) for stored in runs)
    return Table("runs-table", "Every run", RUN_COLUMNS, rows, len(rows) >= FILTER_FROM, tall=True).without_empty()


def _run_row(stored: ArchivedRun, workload: str | None, links: RunLinks) -> tuple[Cell, ...]:
    run = stored.run
    timing = run.timing(workload) if workload else None
    return (
        Cell(run.version),
        Cell(run.run_id, link=Link(run.run_id, links.of(stored))),
        Cell(one_line(run.created[:10]), run.created),
        number(duration(timing.median_ns), timing.median_ns) if timing else Cell(),
        number(str(len(run.workloads)), len(run.workloads)) if run.workloads else Cell(),
        number(str(len(run.launches)), len(run.launches)) if run.launches else Cell(),
        Cell(one_line(run.device.name)) if run.device else Cell(),
        Cell(run.source, badge=source_badge(run.source)),
    )


def damaged_table(damaged: Iterable[Damage]) -> Table:
    """Return the runs that were left out, and why."""
    rows = tuple((Cell(one_line(one.path)), Cell(one_line(one.problem, MOST_SAID))) for one in damaged)
    return Table("damaged-table", UNREADABLE, DAMAGED_COLUMNS, rows)


def floor_tables(history: History) -> tuple[Table, ...]:
    """Return a table a workload, that of the workload shown first; none of those on which nothing was timed."""
    places = sorted(history.places, key=lambda place: history.workloads[place] != history.shown)
    tables = (_floor_table(history, place) for place in places)
    return tuple(one for one in tables if one is not None)


def _floor_table(history: History, place: int) -> Table | None:
    timed = [(row, row.cells[place]) for row in history.rows if row.cells and row.cells[place].timing]
    peers = [(row, cell) for row, cell in timed if row.is_peer]
    if not peers and not any(cell.floor for _, cell in timed):
        return None
    measure = measure_of(cell for _, cell in timed)
    columns = (
        Column("version"),
        Column("time", "right", "number"),
        Column(FLOOR, "right", "number", FLOOR_TERM),
        *([Column(measure.title, "right", "number", share_term(measure))] if measure is not OPERATIONS else []),
        *(_peer_column(row) for row, _ in peers),
    )
    rows = tuple((*_floor_cells(row, cell, measure), *_peer_cells(cell, peers)) for row, cell in timed)
    facts = next((cell.facts for _, cell in timed if cell.facts), None)
    name = one_line(history.workloads[place] or ABSENT)
    lies = next((cell.row.in_l2 for _, cell in timed if cell.row and cell.row.in_l2), "") if measure is COPY else ""
    is_of = f"{name}: {workload_words(facts)}" if facts else ""
    note = "; ".join(filter(None, [is_of, _floor_note(timed), f"{COPY.title}: {copy_words(lies)}" if lies else ""]))
    return Table(f"floors-{place}", name, columns, rows, note=note).without_empty()


def _peer_column(peer: VersionRow) -> Column:
    name, whole = one_line(short_name(peer.version)), one_line(peer.version)
    what = f"how much faster or slower than {whole}: paired samples of one bench"
    return Column(f"against {name}", "right", "number", Term(f"against {name}", "", what))


def _floor_cells(row: VersionRow, cell: HistoryCell, measure: Yardstick) -> Iterator[Cell]:
    yield Cell(one_line(row.version))
    yield number(duration(cell.time_ns), cell.time_ns) if cell.time_ns is not None else Cell()
    of_floor = percent(cell.share_of_floor)
    yield replace(of_floor, note="assumed") if cell.floor and cell.floor.assumed else of_floor
    if measure is not OPERATIONS:  # which is the floor itself
        yield percent(cell.share_of(measure))


def _peer_cells(cell: HistoryCell, peers: Sequence[tuple[VersionRow, HistoryCell]]) -> Iterator[Cell]:
    for _, peer in peers:
        ratio = cell.over(peer)
        yield _faster_cell(ratio if peer is not cell else None)


def _floor_note(timed: Sequence[tuple[VersionRow, HistoryCell]]) -> str:
    """Return what the floor is, its time and the rate that it is by; runs of several GPUs have several."""
    floors: dict[str, list[str]] = {}
    for row, cell in timed:
        if cell.floor:
            floors.setdefault(floor_note(cell.floor), []).append(one_line(short_name(row.version)))
    if len(floors) == 1:
        return f"floor: {next(iter(floors))}"
    return "; ".join(f"floor of {', '.join(versions)}: {said}" for said, versions in floors.items())


MOVED_TERM = Term(
    "DRAM bytes",
    "dram_bytes",
    "read from and written to DRAM by all launches together, under ncu, without copies that are not kernels",
)
NEEDED_TERM = Term(
    "of needed",
    "dram_bytes / algorithmic_bytes",
    "divided by each input read once and each output written once; below 1x, some results are still in L2",
)
WORTH = (
    "The speed-up that fewer bytes alone bring: the bytes that a version saves over the first version that was "
    "counted, with the caches as ncu set them before each launch. Its speed-up in time is larger if it also moves "
    "bytes at a higher rate. ncu counts kernels only: other copies take time but are in no other column."
)
BESIDE_OPERATIONS = (
    "The bytes that every version moves. Operations set the least time here, so fewer bytes do not bring a "
    "proportional speed-up."
)
FACT_COLUMNS = 4  # the first columns: version, launches, bytes, of needed


def traffic_table(history: History) -> Table | None:
    """Return a row a version with counters on the workload shown; None where no version has several launches."""
    counted = [(row, history.cell(row)) for row in history.rows if _moved_bytes(history.cell(row))]
    if not any(cell.under_ncu.launches > 1 for _, cell in counted):
        return None
    first, bytes_count = counted[0], history.yardstick is not OPERATIONS
    columns = _traffic_columns(first[0]) if bytes_count else _traffic_columns(first[0])[:FACT_COLUMNS]
    rows = tuple(tuple(_traffic_cells(row, cell, first[1]))[: len(columns)] for row, cell in counted)
    return Table("traffic-table", "Launches and bytes of every version", columns, rows)


def traffic_words(history: History) -> str:
    """Return what the table is about: what bytes are worth is not said where operations set the least time."""
    return BESIDE_OPERATIONS if history.yardstick is OPERATIONS else WORTH


def _traffic_columns(first: VersionRow) -> tuple[Column, ...]:
    name, whole = one_line(short_name(first.version)), one_line(first.version)
    fewer = f"the speed-up over {name} that fewer bytes bring at the same rate"
    worth = Term("worth", f"dram_bytes of {whole} / dram_bytes", fewer)
    won = Term("won", f"time of {whole} / time", f"the speed-up over {name}, paired samples of one bench")
    return (
        Column("version"),
        Column("launches", "right", "number"),
        Column("DRAM bytes", "right", "number", MOVED_TERM),
        Column("of needed", "right", "number", NEEDED_TERM),
        Column("worth", "right", "number", worth),
        Column("won", "right", "number", won),
    )


def _traffic_cells(row: VersionRow, cell: HistoryCell, first: HistoryCell) -> Iterator[Cell]:
    moved, needed = _moved_bytes(cell), (cell.facts.algorithmic_bytes or 0) if cell.facts else 0
    launches = cell.under_ncu.launches
    yield Cell(one_line(row.version))
    yield number(str(launches), launches)
    yield number(quantity(moved, "byte"), moved)
    yield _ratio_cell(moved / needed if needed else None)
    yield _faster_cell(_moved_bytes(first) / moved if cell is not first else None)
    yield _faster_cell(cell.over(first) if cell is not first else None)


def _moved_bytes(cell: HistoryCell) -> float:
    """Return the bytes that DRAM moved; 0 where they were not counted, or come from the host, as DRAM is idle then."""
    if cell.combined is None or cell.facts is None or cell.facts.host_bytes is not None:
        return 0.0
    return cell.combined.values["dram_bytes"] or 0.0


def _ratio_cell(value: float | None) -> Cell:
    return number(factor(value), value) if value else Cell()


def _faster_cell(ratio: float | None) -> Cell:
    return number(faster_or_slower(ratio) or "the same", ratio) if ratio else Cell()


MOST_FLAWS = 3  # of one reply; `ledger` shows all
DRAFT_TONES: dict[str, Tone] = {"kept": "good", "rejected": "bad", "unproven": "unsure", "drafted": "plain"}
DRAFT_COLUMNS = (
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
    rows = (*map(_draft_row, drafts), *map(_damaged_row, damaged))
    if not rows:
        return None
    note = "expected → measured: speed-up over the version it was made from; predictions: how many came true"
    return Table(
        "drafts-table", "Drafts and what became of them", DRAFT_COLUMNS, rows, len(rows) >= FILTER_FROM, note=note
    )


def _draft_row(draft: Draft) -> tuple[Cell, ...]:
    version = f"now {one_line(draft.version, 80)}" if draft.version else ""
    flaws = "; ".join(one_line(flaw, words.MOST_SAID) for flaw in draft.flaws[:MOST_FLAWS])
    measured = draft.proof.speedup if draft.proof else None
    return (
        Cell(draft.id, note=version),
        Cell(draft.fate, badge=Badge(words.fate(draft), DRAFT_TONES[draft.fate]), note=words.reason(draft)),
        Cell(words.idea(draft), note=f"wrong in the reply: {flaws}" if flaws else ""),
        Cell(words.speedups(draft), repr(measured) if measured else ""),
        Cell(words.predictions(draft)),
        Cell(words.parent(draft)),
        Cell(str(draft.round), str(draft.round)),
        Cell(one_line(draft.model, 80) or "from a file"),
    )


def _damaged_row(one: Damage) -> tuple[Cell, ...]:
    problem = one_line(one.problem, words.MOST_SAID)
    rest = tuple(Cell() for _ in DRAFT_COLUMNS[2:])
    name = one_line(one.path.rpartition("/")[2], 80) or ABSENT
    return Cell(name), Cell("damaged", badge=Badge("✕ damaged", "bad"), note=problem), *rest


MOST_LETTERS = 1_500  # letters of a comment
MOST_OF_IDEA = 90  # letters of it beside a version's name
_FIRST = re.compile(r"(?<=[\w)])[.:;] ")
# "Changes, to v3", "measured (a first run)"; in small letters only what our comments begin with, as "address:" in the
# first column may be the end of a sentence.
_LABEL = re.compile(
    r"((?:[A-Z]\w{0,15}|expected|measured|parent|idea|packages|dtypes|draws)"
    r"(?:, [\w ]{1,20})?(?: \([^():]{1,40}\))?):(?:\s|$)"
)
_ENDS = (".", ":", ";", "!", "?", ")")  # of a sentence: only behind it a capital begins a label
_LISTED = re.compile(r"\s*([-*|+•]|\d+[.)])\s")


Comment = tuple[str, list[tuple[str, str]], int]  # version, paragraphs with their labels, letters that are left out


def version_comments(comments: Mapping[str, str], history: History) -> Iterator[Comment]:
    """Yield what each version says of itself, in the order of the versions, without those that say nothing."""
    for row in history.rows:
        comment = comments.get(row.version, "")
        if comment:
            paragraphs = list(_paragraphs(comment[:MOST_LETTERS]))
            yield row.version, paragraphs, max(0, len(comment) - MOST_LETTERS)


def idea(comment: str) -> str:
    """Return what a version says first of what it changes, as much as stands beside its name; empty for no word."""
    first = next((text for _, text in _paragraphs(comment)), "")
    said = _FIRST.split(first, maxsplit=1)[0].rstrip(".").replace("`", "")
    return said if len(said) <= MOST_OF_IDEA else f"{said[:MOST_OF_IDEA].rsplit(' ', 1)[0]} …"


def _paragraphs(comment: str) -> Iterator[tuple[str, str]]:
    """Yield paragraphs, each with the word with a colon that it starts with.

    An empty line, such a word or a sign of a list starts one; other lines are joined.
    """
    parts: list[list[str]] = [[]]
    for line in comment.splitlines():
        is_label = _LABEL.match(line) and (line[0].islower() or not parts[-1] or parts[-1][-1].endswith(_ENDS))
        if not line.strip() or is_label or _LISTED.match(line):
            parts.append([])
        if line.strip():
            parts[-1].append(line.strip())
    for part in parts:
        if part:
            text = " ".join(part)
            label = _LABEL.match(text)
            yield (label[1], text[label.end() :]) if label else ("", text)


QUOTED = re.compile(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`")
EXPECTED_TERM = Term("expected", "", 'the rules named after "expected:" in the comment at the top of the source')
FOUND_TERM = Term("found", "", "whether a rule that was expected comes first, elsewhere, or on no profiled workload")
ESTIMATED_TERM = Term(
    "estimated", "", "the estimated speed-up of fixing the finding, under ncu, at most what the floor allows"
)
DIAGNOSIS_COLUMNS = (
    Column("version"),
    Column("first finding"),
    Column("severity", "left", "number"),
    Column("estimated", "right", "number", ESTIMATED_TERM),
    Column("on"),
    Column("expected", "left", "text", EXPECTED_TERM),
    Column("found", "left", "text", FOUND_TERM),
)
WEIGHTS: tuple[Severity, ...] = ("info", "low", "medium", "high")  # what a table is sorted by
FindingsByCell = list[tuple[HistoryCell, tuple[StoredFinding, ...]]]


def diagnoses_table(history: History, comments: Mapping[str, str]) -> Table | None:
    """Return a row a version with a finding or an expectation; None where there is no finding at all."""
    rows = [_diagnosis_row(row, history, expected(comments.get(row.version, ""))) for row in history.rows]
    said = tuple(row for row in rows if row is not None)
    if not any(row[1].text != ABSENT for row in said):
        return None
    return Table("diagnoses-table", "First finding and the one expected", DIAGNOSIS_COLUMNS, said).without_empty()


def expected(comment: str) -> tuple[str, ...]:
    """Return the rules that a comment names between ``expected:`` and ``measured:``, in its order."""
    said = comment.partition("expected:")[2].partition("measured:")[0]
    return tuple(dict.fromkeys(name for name in QUOTED.findall(said) if name in RULES))


def _diagnosis_row(row: VersionRow, history: History, wanted: tuple[str, ...]) -> tuple[Cell, ...] | None:
    told: FindingsByCell = list(findings_of(row, history))
    if not told and not wanted:
        return None
    cell, found = (told[0][0], _to_floor(told[0][1][0], told[0][0])) if told else (None, None)
    elsewhere = cell is not None and cell.workload != history.shown
    return (
        Cell(one_line(row.version)),
        Cell(found.rule) if found else Cell(),
        Cell(found.severity, repr(float(WEIGHTS.index(found.severity)))) if found else Cell(),
        _estimate_cell(found),
        Cell(one_line(cell.workload or ABSENT)) if cell and elsewhere else Cell(),
        Cell(", ".join(wanted)) if wanted else Cell(),
        _found_cell(told, wanted),
    )


def _to_floor(found: StoredFinding, cell: HistoryCell) -> StoredFinding:
    """Return a finding with no more than the floor allows: it may be older than that bound."""
    most = max(1.0, 1.0 / cell.share_of_floor) if cell.share_of_floor else None
    if cell.floor is None or most is None or found.estimated_speedup is None or found.estimated_speedup <= most:
        return found
    assumed = found.assumed or cell.floor.assumed
    return replace(found, estimated_speedup=most, severity=severity(1.0 - 1.0 / most), assumed=assumed)


def _estimate_cell(found: StoredFinding | None) -> Cell:
    """Return what a finding is worth; nothing of a remark."""
    if found is None or found.severity == "info" or found.estimated_speedup is None:
        return Cell()
    worth = number(times_as_fast(found.estimated_speedup), found.estimated_speedup)
    return replace(worth, note="assumed" if found.assumed else "")


def _found_cell(told: FindingsByCell, wanted: Iterable[str]) -> Cell:
    """Return whether what was expected is there: first, behind another, on another workload, or not."""
    if not wanted or not told:
        return Cell()
    first, known = told[0], set(wanted)
    if first[1][0].rule in known:
        return Cell("first", badge=Badge("first", "good"))
    for cell, findings in told:
        rule = next((one.rule for one in findings if one.rule in known), None)
        if rule is not None:
            where = "" if cell is first[0] else f" on {one_line(cell.workload or ABSENT)}"
            return Cell("also", badge=Badge("also", "same"), note=f"{rule}{where}")
    return Cell("not found", badge=Badge("not found", "unsure"))
