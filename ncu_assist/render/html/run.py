"""The page of one run: the verdict first, then everything that an engineer needs to trust it and to act on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ncu_assist.analysis.records import Combined
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import DERIVED, is_impossible
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Bench, HostMemory, Launch, Profile, Run
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.html.charts import Chart, Fact
from ncu_assist.render.html.curves import timeline_charts
from ncu_assist.render.html.memory_chart import memory_chart
from ncu_assist.render.html.page import Head, PageSection, page, provenance
from ncu_assist.render.html.roofline import roofline
from ncu_assist.render.html.run_counters import (
    Log,
    RawMetric,
    RawMetrics,
    RunRecord,
    Value,
    mix_model,
    occupancy_model,
    speed_section,
    stalls_model,
)
from ncu_assist.render.html.run_diagnosis import diagnosis_section, kernels_table, launches_table, nvidia_section
from ncu_assist.render.html.run_verdict import across_section, verdict_section
from ncu_assist.render.html.source_file import FindingLines, finding_lines
from ncu_assist.render.html.source_view import SourceBudget, SourceView, source_view
from ncu_assist.render.html.timing_chart import timing_chart
from ncu_assist.render.table import Cell, Column, Link, Table, Term, number
from ncu_assist.render.words.floors import power_words
from ncu_assist.render.words.launches import kernel_words, why_in_focus
from ncu_assist.render.words.terms import source_badge, term_of
from ncu_assist.render.words.values import to_export, to_open, to_page, to_profile, to_time
from ncu_assist.render.words.verdicts import of_representative, origin
from ncu_assist.steps import steps

UNKNOWN = "not known"
COMMAND_LETTERS = 2000
HINTS = {
    "live": "measured for this archive",
    "recorded": "measured elsewhere, shipped with the archive",
    "imported": "read from a foreign report, unverified",
}
CLOCKS = {"none": "not locked", "base": "locked to base", "boost": "locked to boost"}  # --clock-control
CACHES = {"all": "flushed before every pass", "none": "as they were"}  # --cache-control


# The sections that a version which launches no kernel does not have.
OF_LAUNCHES = {"speed", "roofline", "memory", "stalls", "occupancy", "timeline", "mix", "source", "nvidia", "metrics"}


def run_html(record: RunRecord) -> str:
    """Return the page of a run, which lies in the run's folder; the same record gives the same bytes."""
    return page(_head(record), run_sections(record))


def run_sections(record: RunRecord) -> tuple[PageSection, ...]:
    """Return the sections in the order in which they are asked for: how fast, measured how, how near to the peak, what
    is wrong, then where. Of a version that launches no kernel those on launches are left out."""
    shown = record.shown
    first = _first_shown(record)
    sections = (
        *_what_was_done(record, first),
        nvidia_section(shown),
        PageSection("metrics", "All metrics", metrics_model(shown, record.metrics, first), "run_metrics.html.j2"),
        PageSection("facts", "Facts to reproduce it", fact_groups(shown), "run_facts.html.j2"),
        PageSection("raw", "Command and logs", raw_model(shown.run, record.logs, to_open(shown)), "run_raw.html.j2"),
    )
    return tuple(one for one in sections if not (shown.run.launched_nothing and one.id in OF_LAUNCHES))


def _what_was_done(record: RunRecord, first: int | None) -> Iterator[PageSection]:
    if first is None:
        return _of_one(record)
    return _of_many(record, first) if record.shown.combined.workload is None else _of_call(record, first)


def _of_one(record: RunRecord, budget: SourceBudget | None = None) -> Iterator[PageSection]:
    """Yield the sections on what a launch, or all of them together, did; ``budget`` is that of its source."""
    shown = record.shown
    lines = finding_lines(shown)
    source = source_view(shown, lines, budget)
    yield verdict_section(record, source.href, source.hottest_line)
    yield from _counted(record, lines, source)
    if shown.rows:
        yield _timing(record)
    yield PageSection("source", "Source", source, "source_view.html.j2")


def _counted(
    record: RunRecord, lines: FindingLines, source: SourceView, explained: Collection[str] = ()
) -> Iterator[PageSection]:
    """Yield the sections on what was counted of a launch, or of all of one kernel together.

    Where launches are picked, each has those with a model.
    """
    shown = record.shown
    alone = of_representative(shown)
    of = f"Of {alone}." if alone else ""
    yield speed_section(shown, record.breakdowns, alone)
    yield diagnosis_section(shown, lines, source, explained=explained)
    yield PageSection("roofline", "Roofline", roofline(shown.counted, of=alone), "chart_section.html.j2")
    yield PageSection("memory", "Memory chart", memory_chart(shown), "chart_section.html.j2")
    yield PageSection("stalls", "Warp stall reasons", stalls_model(shown), "run_stalls.html.j2", of)
    yield PageSection("occupancy", "Occupancy", occupancy_model(shown), "run_occupancy.html.j2", of)
    yield PageSection("timeline", "Timeline", _timeline(shown), "run_timeline.html.j2", TIMELINE + of)
    yield PageSection("mix", "Instructions and pipes", mix_model(record), "run_mix.html.j2", of)


def _timing(record: RunRecord) -> PageSection:
    shown = record.shown
    untimed = shown.run.untimed.get(shown.row.workload.name, "") if shown.row else ""
    why = f"{untimed[:1].upper()}{untimed[1:]}." if untimed else ""
    timing = timing_chart(record.samples, collect=to_time(shown), why=why)
    return PageSection("timing", "Timing", timing, "chart_section.html.j2")


BUDGET_OF_CALL = SourceBudget(
    source=30_000, sass=12_000, hidden=33_000
)  # less than of one launch: its parts take of the page too


def _of_call(record: RunRecord, first: int) -> Iterator[PageSection]:
    """Yield the sections on a call of several launches: what is of all of them, and a part for each.

    The source is that of all together, which the lines of findings lead to.
    """
    shown = record.shown
    lines = finding_lines(shown)
    source = source_view(shown, lines, BUDGET_OF_CALL)
    yield verdict_section(record, source.href, source.hottest_line)
    together = diagnosis_section(shown, lines, source, with_launches=False)
    yield replace(together, title="Diagnosis of all launches")  # each has its own below, and no two cards one name
    yield from _to_pick_from(record)
    explained = [one.finding.rule for one in shown.results.diagnosis.findings] if shown.results else []
    counted = [tuple(_counted(one, finding_lines(one.shown), source, explained)) for one in record.alone]
    parts = tuple(_launch_part(one, own, shown, first) for one, own in zip(record.alone, counted, strict=True))
    yield PageSection("launch", "The launch picked", parts, "run_launch.html.j2")
    if shown.rows:
        yield _timing(record)
    yield PageSection("source", "Source", source, "source_view.html.j2", "Of all launches together.")


MANY_SOURCE, MANY_SASS = 450_000, 260_000  # bytes of source and SASS of all launches together
BY_KERNEL = "All launches of a kernel together."
PICK = "Pick a launch, also with the keys j and k. Below are the counters of that launch alone."


@dataclass(frozen=True)
class LaunchPart:
    """What a page says of one launch; ``is_first``: it is the one shown before any is picked."""

    index: int
    title: str
    sections: tuple[PageSection, ...]
    is_first: bool


def _first_shown(record: RunRecord) -> int | None:
    """Return the launch that is shown before any is picked; None of a page that has none to pick from."""
    indices = [one.shown.combined.launches[0].index for one in record.alone]
    focus = record.shown.focus
    return focus.launch.index if focus and focus.launch.index in indices else next(iter(indices), None)


def _of_many(record: RunRecord, first: int) -> Iterator[PageSection]:
    """Yield the answer for all launches, the launches to pick from, and a part for each of the longest."""
    yield across_section(record)
    yield from _to_pick_from(record)
    budget = SourceBudget(*(max(10_000, min(own, every // len(record.alone))) for own, every in _SHARES))
    alone = steps("writing the page of launches", record.alone)
    parts = tuple(_launch_part(one, _parts_of(one, budget), record.shown, first) for one in alone)
    yield PageSection("launch", "The launch picked", parts, "run_launch.html.j2")


def _to_pick_from(record: RunRecord) -> Iterator[PageSection]:
    """Yield the time by kernel, and the launches with links to those that have a part of the page."""
    indices = [one.shown.combined.launches[0].index for one in record.alone]
    by_kernel = kernels_table(record.shown, indices)
    if by_kernel:
        yield PageSection("kernels", "Kernels", {"table": by_kernel, "legend": ()}, "table_section.html.j2", BY_KERNEL)
    made = launches_table(record.shown, indices)
    yield PageSection("launches", "Launches", made, "run_launches.html.j2", PICK)


def _launch_part(one: RunRecord, sections: tuple[PageSection, ...], whole: RunView, first: int) -> LaunchPart:
    launch = one.shown.combined.launches[0]
    title = f"#{launch.index} {kernel_words(launch, LAUNCH_NAME)}{_most_to_win(whole, launch.index)}"
    kept = tuple(section for section in sections if section.model)
    return LaunchPart(launch.index, title, kept, launch.index == first)


_SHARES = ((SourceBudget.source, MANY_SOURCE), (SourceBudget.sass, MANY_SASS), (SourceBudget.hidden, MANY_SASS))


def _parts_of(record: RunRecord, budget: SourceBudget) -> tuple[PageSection, ...]:
    verdict, *others = _of_one(record, budget)
    return replace(verdict, title="This launch"), *others


def _most_to_win(shown: RunView, index: int) -> str:
    """Return why a launch is the one shown first, behind its name; empty where it is only the longest."""
    if shown.focus is None or shown.focus.launch.index != index or not shown.focus.winnable_ns:
        return ""
    return f", {why_in_focus(shown).rstrip(',')}: {duration(shown.focus.winnable_ns)}"


LAUNCH_NAME = 90  # letters
TIMELINE = "What ncu sampled while the kernel ran, from its start on the GPU. "


def _timeline(shown: RunView) -> tuple[Chart, ...]:
    """Return the charts of the launch that ratios are shown of; none of several."""
    launches = shown.counted.combined.launches
    return timeline_charts(shown.close.timeline, launches[0]) if len(launches) == 1 else ()


def fact_groups(shown: RunView) -> list[tuple[str, tuple[Fact, ...]]]:
    """Return titles with the facts below them, the run itself first; what a run lacks altogether has no title."""
    run = shown.run
    was_profiled = bool(run.launches) or run.launched_nothing
    groups = (
        ("Run", _of_run(shown)),
        ("GPU", _of_gpu(run)),
        ("Memory of the host", _of_host(run.host_memory) if run.host_memory else ()),
        ("Programs", _of_programs(run)),
        ("Timing", _of_timing(shown, run.bench) if run.bench else ()),
        ("Counters", _of_counters(run.profile, shown.combined, run) if was_profiled else ()),
    )
    return [(title, facts) for title, facts in groups if facts]


def _of_run(shown: RunView) -> tuple[Fact, ...]:
    run = shown.run
    command = one_line(run.profile.command if run.profile else "", COMMAND_LETTERS)
    nowhere = "kept in the report alone: ncu --import FILE --page session" if run.source == "imported" else ""
    created = {"imported": "imported"}.get(run.source, "measured")
    return _known(
        Fact(Term("run"), one_line(shown.reference), is_code=True),
        Fact(Term("source"), run.source, HINTS[run.source], badge=source_badge(run.source)),
        Fact(Term(created), one_line(run.created.replace("T", " ").replace("Z", " UTC"))),
        Fact(Term("command"), command or nowhere, is_code=bool(command)),
        Fact(Term("source hash", "", "sha256 of the version's own files"), run.source_sha256 or "", is_code=True),
        Fact(_hash_term(run), run.digest, is_code=True),
        Fact(Term("bytes at capture"), "" if run.verified else "not known: the report came from elsewhere"),
        *(Fact(Term("note"), one_line(note, 500)) for note in run.notes),
    )


def _hash_term(run: Run) -> Term:
    if not run.run_id:
        return Term("file hash", "", "sha256 of the report")
    return Term("record hash", "", "sha256 of the run's record, which holds the hashes of its files")


def _of_gpu(run: Run) -> tuple[Fact, ...]:
    device = run.device
    if device is None:
        return (Fact(Term("GPU"), UNKNOWN),)
    return _known(
        Fact(Term("GPU"), one_line(device.name)),
        Fact(Term("compute capability"), one_line(device.compute_capability)),
        Fact(Term("SMs"), str(device.sm_count or "")),
        Fact(Term("L2"), quantity(device.l2_bytes, "byte") if device.l2_bytes else ""),
        Fact(Term("memory"), quantity(device.memory_bytes, "byte") if device.memory_bytes else ""),
        Fact(Term("driver"), one_line(device.driver or UNKNOWN)),
        Fact(Term("which GPU", "", "sha256 of its UUID: tells two apart"), device.uuid_sha256[:16], is_code=True),
    )


def _of_host(memory: HostMemory) -> tuple[Fact, ...]:
    generation, lanes = memory.pcie_generation, memory.pcie_lanes
    link = f"PCIe generation {generation}, {lanes} lanes" if generation and lanes else ""
    return _known(
        Fact(Term("inputs there"), ", ".join(one_line(name) for name in memory.inputs)),
        Fact(Term("pinned"), "yes" if memory.pinned else "no"),
        Fact(Term("NUMA node"), ", ".join(map(str, memory.nodes)) or UNKNOWN),
        Fact(Term("node of the CPU that allocated"), _node(memory.cpu_node)),
        Fact(Term("node of the GPU"), _node(memory.gpu_node)),
        Fact(Term("link"), link or UNKNOWN, "when the measurement ended" if link else ""),
    )


def _node(node: int | None) -> str:
    return UNKNOWN if node is None else str(node)


def _of_programs(run: Run) -> tuple[Fact, ...]:
    tools = run.toolchain
    nvcc = "nvcc" if tools.nvcc and not tools.cuda else ""
    return _known(
        Fact(Term("ncu"), one_line(tools.ncu or UNKNOWN)),
        Fact(Term("CUDA"), one_line(tools.cuda or tools.nvcc or UNKNOWN), nvcc),
        Fact(Term("torch"), one_line(tools.torch or "")),
        Fact(Term("triton"), one_line(tools.triton or "")),
        Fact(Term("python"), one_line(tools.python or "")),
        Fact(Term("ncu-assist"), one_line(run.tool)),
        Fact(
            Term("commit"),
            one_line(run.commit.short) if run.commit else "",
            "with changes that are in no commit" if run.commit and run.commit.dirty else "",
        ),
    )


def _of_timing(shown: RunView, bench: Bench) -> tuple[Fact, ...]:
    timing = shown.row.timing if shown.row else None
    timing = timing or next(iter(bench.timings), None)
    late = f"{timing.dropped} late ones dropped" if timing and timing.dropped else ""
    degrees = bench.temperature_c
    return _known(
        Fact(Term("bench"), one_line(bench.bench_id), is_code=True),
        Fact(Term("rounds"), f"{bench.rounds}, versions interleaved", late),
        Fact(Term("L2 before each call"), {"read": "flushed by reading"}.get(bench.flush, one_line(bench.flush))),
        Fact(Term("SM clock"), f"{timing.sm_clock_mhz:.0f} MHz" if timing and timing.sm_clock_mhz else ""),
        Fact(Term("temperature"), f"{degrees[0]:.0f} °C before, {degrees[1]:.0f} °C after" if degrees else ""),
        Fact(Term("throttled"), _throttled(bench.throttle_reasons)),
        Fact(Term("power"), power_words(bench)),
        Fact(Term("an empty call"), duration(timing.empty_ns) if timing and timing.empty_ns else ""),
    )


def _throttled(reasons: tuple[str, ...] | None) -> str:
    if reasons is None:
        return UNKNOWN
    return ", ".join(one_line(reason) for reason in reasons) or "no"


def _of_counters(profile: Profile | None, combined: Combined, run: Run) -> tuple[Fact, ...]:
    o = profile
    return _known(
        Fact(Term("sections"), f"--set {one_line(o.section_set)}" if o else UNKNOWN, is_code=o is not None),
        Fact(Term("clocks"), CLOCKS.get(o.clock_control, one_line(o.clock_control)) if o else UNKNOWN),
        Fact(Term("caches"), CACHES.get(o.cache_control, one_line(o.cache_control)) if o else UNKNOWN),
        Fact(Term("replay"), one_line(o.replay_mode) if o else UNKNOWN),
        *(Fact(term_of(key), _megahertz(combined, key)) for key in ("sm_clock", "dram_clock")),
        Fact(Term("launches"), _launches(combined, run), f"{o.repeats} profiled calls" if o and o.repeats > 1 else ""),
    )


def _megahertz(combined: Combined, key: str) -> str:
    value = combined.values[key]
    return "" if value is None else f"{value / 1e6:.0f} MHz"


def _launches(combined: Combined, run: Run) -> str:
    own, every = len(combined.launches), len(run.launches)
    if run.launched_nothing:
        return "none: it launched no kernel"
    return f"{own} of {combined.workload}, {every} in the run" if own < every else str(every)


def _known(*facts: Fact) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.text)


BY_NAME = {name: metric for metric in CATALOGUE.values() for name in reversed(metric.names)}
ORDER = {name: place for place, name in enumerate(BY_NAME)}
NAME_LETTERS, UNIT_LETTERS = 200, 40
TEXT_LETTERS, TEXT_LETTERS_OF_SEVERAL = 40, 16  # of values that are texts: beside others there is less room
TOGETHER = (
    "all launches: counts are added up, a ratio is weighted by its denominator; empty for values that cannot be "
    "combined, such as a ratio of different kernels"
)
IMPOSSIBLE = " (impossible)"
NOTE = "Impossible: no hardware has such a value. It is NVIDIA's own, from counters of different passes."
WHOLE = 1e6  # from here on no decimals


MetricRow = tuple[str, Term, tuple[str, ...], str]  # ncu's name or our formula, label, values as texts, unit


def metrics_model(shown: RunView, raw: RawMetrics, picked: int | None = None) -> dict[str, object]:
    """Return every metric, those of the catalogue first, then what we derive, then ncu's others by name.

    The launch that is ``picked`` at first has its column before the others, as the script has it of each.
    """
    raw = _with_first(raw, picked)
    several = len(raw.launches) + raw.left_out > 1
    columns = [Term("together", "", TOGETHER)] if several else []
    titles = [Term(f"#{one.index}", kernel_words(one, 60)) for one in raw.launches] if several else [Term("value")]
    ours = [row for row in raw.rows if row.name in BY_NAME]
    ours.sort(key=lambda row: ORDER[row.name])
    others = [row for row in raw.rows if row.name not in BY_NAME]
    derived = [key for key in DERIVED if any(value is not None for value in shown.combined.of_each(key))]
    rows = (
        *(_metric_row(row, shown, several) for row in ours),
        *(_derived_row(key, shown, raw.launches, several) for key in derived),
        *_zeros_together([_metric_row(row, shown, several) for row in others]),
    )
    note = f"{ZEROS} {_other_launches(shown, raw) if raw.left_out else ''}".strip()
    if any(row.name.startswith(CURVES) for row in others):
        note = f"{note} {IN_CURVES}".strip()
    if any(value.endswith(IMPOSSIBLE) for _, _, values, _ in rows for value in values):
        note = f"{note} {NOTE}".strip()
    return {
        "columns": (*columns, *titles),
        "rows": rows if raw.rows else (),
        "count": len(raw.rows) + len(derived),
        "picked": picked,
        "has_column": picked in [one.index for one in raw.launches],
        "note": note,
        "collect": to_profile(shown),
    }


def _with_first(raw: RawMetrics, index: int | None) -> RawMetrics:
    order = sorted(range(len(raw.launches)), key=lambda place: raw.launches[place].index != index)
    rows = tuple(replace(row, values=tuple(row.values[place] for place in order)) for row in raw.rows)
    return replace(raw, launches=tuple(raw.launches[place] for place in order), rows=rows)


ZEROS = "A row that ends in .* stands for all rollups of that name that have no row: they are 0."
ALL_ZERO = ".*"  # the end of a row that stands for several metrics of one name


def _zeros_together(rows: Sequence[MetricRow]) -> Iterator[MetricRow]:
    """Yield rows, those of one name that are 0 in all their rollups as one: half of what ncu counts is 0."""

    def base(row: MetricRow) -> str:
        return row[0].partition(".")[0] if set(row[2]) == {"0"} else row[0]

    for name, own in groupby(sorted(rows, key=lambda row: (base(row), row[0])), key=base):
        first, *others = own
        yield (f"{name}{ALL_ZERO}", first[1], first[2], "") if others else first


# A value for each block size, number of registers, … that a launch could have: what ncu gives as one is their sum.
CURVES = ("derived__pct_occupancy_per_", "launch__occupancy_per_")
CURVE = "curve"
IN_CURVES = "*curve*: a value for each size. Occupancy draws them; `ncu-assist export --table instances` exports them."


def _other_launches(shown: RunView, raw: RawMetrics) -> str:
    """Return which launches have a column, and how to get the others."""
    picked, *others = raw.launches
    is_long = all((picked.duration_ns or 0.0) >= (one.duration_ns or 0.0) for one in others[-1:])
    own = f"the {len(raw.launches)} longest" if is_long else f"#{picked.index} and the {len(others)} longest"
    return (
        f"“together” is over all launches; {own} have a column of their own. All "
        f"{len(raw.launches) + raw.left_out}: `{to_export(shown)}`; one on a page: `{to_page(shown)} --launch N`."
    )


def _metric_row(row: RawMetric, shown: RunView, several: bool) -> MetricRow:
    metric = BY_NAME.get(row.name)
    label = term_of(metric.key) if metric else Term("")
    together = (_together(row, shown),) if several else ()
    letters = TEXT_LETTERS_OF_SEVERAL if several else TEXT_LETTERS
    values = (_value_text(value, letters) + _remark(row.name, value) for value in row.values)
    if row.name.startswith(CURVES) and any(row.values):
        return row.name[:NAME_LETTERS], label, (CURVE,) * (several + len(row.values)), row.unit[:UNIT_LETTERS]
    return row.name[:NAME_LETTERS], label, (*together, *values), row.unit[:UNIT_LETTERS]


def _remark(name: str, value: Value) -> str:
    """Return a remark on a value that no hardware can have: it is shown, and nothing is concluded from it."""
    metric = BY_NAME.get(name)
    return IMPOSSIBLE if metric and isinstance(value, float) and is_impossible(metric, value) else ""


def _together(row: RawMetric, shown: RunView) -> str:
    metric = BY_NAME.get(row.name)
    if metric is None or metric.given:
        return _value_text(row.together)
    return _value_text(shown.combined.values[metric.key])


def _derived_row(key: str, shown: RunView, launches: tuple[Launch, ...], several: bool) -> MetricRow:
    derived = DERIVED[key]
    each = {one.index: own for one, own in zip(shown.combined.launches, shown.combined.of_each(key), strict=True)}
    alone = tuple(_value_text(each.get(one.index)) for one in launches) if several else ()
    value = _value_text(shown.combined.values[key])
    return f"= {derived.words}", term_of(key), (value, *alone), derived.unit


def _value_text(value: Value, letters: int = TEXT_LETTERS) -> str:
    """Return a value in its unit with six digits, whole numbers in full; texts are cut."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value, letters)
    if value == int(value) or abs(value) >= WHOLE:
        return f"{value:,.0f}"
    return f"{value:,.6g}"


FILE_COLUMNS = (Column("file"), Column("size", "right", "number"), Column("sha256"))


def raw_model(run: Run, logs: tuple[Log, ...], window: str = "") -> dict[str, object]:
    """Return the command as it was typed, what the programs wrote, the files that this page was made of.

    ``window`` is the command that opens the report in ncu's window.
    """
    rows = tuple(
        (Cell(one_line(name)), number(quantity(fact.size, "byte"), fact.size), Cell(fact.sha256))
        for name, fact in sorted(run.files.items())
    )
    return {
        "command": one_line(run.profile.command, 4000) if run.profile else "",
        "window": window,
        "logs": tuple(Log(one_line(one.name), plain(one.text), one.cut) for one in logs),
        "files": Table("files-table", "Files of the run", FILE_COLUMNS, rows) if rows else None,
    }


def _head(record: RunRecord) -> Head:
    shown, run = record.shown, record.shown.run
    words = (
        run.kernel if run.run_id else "",
        shown.combined.workload or "",
        shown.row.workload.dtype if shown.row else "",
        run.device.name if run.device else "",
    )
    subtitle = " · ".join(one_line(word) for word in words if word)
    return Head(
        title=one_line(run.version if run.run_id else shown.reference),
        subtitle=subtitle,
        crumbs=_crumbs(run, record.linked) if run.run_id else (Link("report file"),),
        provenance=provenance((record.stored, *record.read)),
        recorded=_recorded(shown),
        warnings=_warnings(shown),
    )


def _recorded(shown: RunView) -> str:
    if shown.source != "recorded":
        return ""
    return f"{origin(shown.source, shown.run).removeprefix('recorded ')}; not measured where this is read."


def _crumbs(run: Run, linked: bool) -> tuple[Link, ...]:
    """Return what lies above the page, as links where it lies in its archive."""
    places = (("All kernels", "../../../index.html"), (one_line(run.kernel), "../../index.html"))
    return tuple(Link(text, href if linked else "") for text, href in places)


def _warnings(shown: RunView) -> tuple[str, ...]:
    failed = [check.workload for check in shown.run.checks if not check.passed]
    wrong = f"the check FAILED on {', '.join(one_line(name) for name in failed)}: this version computes something else"
    foreign = "imported from a foreign report: nothing was checked or timed here"
    return (*((wrong,) if failed else ()), *((foreign,) if shown.run.source == "imported" else ()))
