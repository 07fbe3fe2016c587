"""The page of one run: the verdict first, then everything that an engineer needs to trust it and to act on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ncu_assist.analysis.run_view import RunView
from ncu_assist.quantity import duration
from ncu_assist.record import Run
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.curves import CurveChart
from ncu_assist.render.html.memory_chart import memory_chart
from ncu_assist.render.html.page import Head, PageSection, page, provenance
from ncu_assist.render.html.roofline import roofline
from ncu_assist.render.html.run_counters import mix_model, occupancy_model, speed_section, stalls_model
from ncu_assist.render.html.run_diagnosis import diagnosis_section, kernels_table, launches_table, nvidia_section
from ncu_assist.render.html.run_facts import fact_groups, metrics_model, raw_model
from ncu_assist.render.html.run_records import RunRecord
from ncu_assist.render.html.run_verdict import across_section, verdict_section
from ncu_assist.render.html.source_file import finding_lines
from ncu_assist.render.html.source_view import SourceBudget, source_view
from ncu_assist.render.html.timeline import timeline_charts
from ncu_assist.render.html.timing_chart import timing_chart
from ncu_assist.render.table import Link
from ncu_assist.render.words.commands import to_open, to_time
from ncu_assist.render.words.launches import why_in_focus
from ncu_assist.render.words.verdicts import of_longest, origin

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
        *(_of_one(record) if first is None else _of_many(record, first)),
        nvidia_section(shown),
        PageSection("metrics", "All metrics", metrics_model(shown, record.metrics, first), "run_metrics.html.j2"),
        PageSection("facts", "Facts to reproduce it", fact_groups(shown), "run_facts.html.j2"),
        PageSection("raw", "Command and logs", raw_model(shown.run, record.logs, to_open(shown)), "run_raw.html.j2"),
    )
    return tuple(one for one in sections if not (shown.run.launched_nothing and one.id in OF_LAUNCHES))


def _of_one(record: RunRecord, budget: SourceBudget | None = None) -> Iterator[PageSection]:
    """Yield the sections on what a launch, or all of them together, did; ``budget`` is that of its source."""
    shown = record.shown
    lines, longest = finding_lines(shown), of_longest(shown)
    source, of = source_view(shown, lines, budget), f"Of {longest}." if longest else ""
    yield verdict_section(record, source.href, source.hottest_line)
    yield speed_section(shown, record.breakdowns, longest)
    yield diagnosis_section(shown, lines, source)
    yield PageSection("roofline", "Roofline", roofline(shown.counted, of=longest), "roofline.html.j2")
    yield PageSection("memory", "Memory chart", memory_chart(shown), "memory_chart.html.j2")
    yield PageSection("stalls", "Warp stall reasons", stalls_model(shown), "run_stalls.html.j2", of)
    yield PageSection("occupancy", "Occupancy", occupancy_model(shown), "run_occupancy.html.j2", of)
    yield PageSection("timeline", "Timeline", _timeline(shown), "run_timeline.html.j2", TIMELINE + of)
    yield PageSection("mix", "Instructions and pipes", mix_model(record), "run_mix.html.j2", of)
    if shown.rows:
        timing = timing_chart(record.samples, collect=to_time(shown))
        yield PageSection("timing", "Timing", timing, "timing_chart.html.j2")
    yield PageSection("source", "Source", source, "source_view.html.j2")


MANY_SOURCE, MANY_SASS = 450_000, 260_000  # bytes of source and SASS of all launches together
BY_KERNEL = "All launches of a kernel together."
PICK = "Pick a launch, also by the keys j and k: below is what was counted of it alone."


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
    shown, count = record.shown, len(record.alone)
    yield across_section(record)
    indices = [one.shown.combined.launches[0].index for one in record.alone]
    by_kernel = kernels_table(shown, indices)
    if by_kernel:
        yield PageSection("kernels", "Kernels", {"table": by_kernel, "legend": ()}, "table_section.html.j2", BY_KERNEL)
    made = launches_table(shown, indices)
    yield PageSection("launches", "Launches", made, "run_launches.html.j2", PICK)
    budget = SourceBudget(*(max(10_000, min(own, every // count)) for own, every in _SHARES))
    parts = tuple(
        LaunchPart(index, _launch_title(one.shown) + _most_to_win(shown, index), _parts_of(one, budget), index == first)
        for index, one in zip(indices, record.alone, strict=True)
    )
    yield PageSection("launch", "The launch picked", parts, "run_launch.html.j2")


_SHARES = ((SourceBudget.source, MANY_SOURCE), (SourceBudget.sass, MANY_SASS), (SourceBudget.hidden, MANY_SASS))


def _parts_of(record: RunRecord, budget: SourceBudget) -> tuple[PageSection, ...]:
    verdict, *others = _of_one(record, budget)
    return tuple(one for one in (replace(verdict, title="This launch"), *others) if one.model)


def _launch_title(shown: RunView) -> str:
    launch = shown.combined.launches[0]
    return f"#{launch.index} {one_line(launch.kernel, LAUNCH_NAME)}"


def _most_to_win(shown: RunView, index: int) -> str:
    """Return why a launch is the one shown first, behind its name; empty where it is only the longest."""
    if shown.focus is None or shown.focus.launch.index != index or not shown.focus.winnable_ns:
        return ""
    return f", {why_in_focus(shown).rstrip(',')}: {duration(shown.focus.winnable_ns)}"


LAUNCH_NAME = 90  # letters
TIMELINE = "What ncu sampled while the kernel ran, from when it came onto the GPU. "


def _timeline(shown: RunView) -> tuple[CurveChart, ...]:
    """Return the charts of the launch that ratios are shown of; none of several."""
    launches = shown.counted.combined.launches
    return timeline_charts(shown.close.timeline, launches[0]) if len(launches) == 1 else ()


def _head(record: RunRecord) -> Head:
    shown, run = record.shown, record.shown.run
    words = [run.kernel if run.run_id else "", shown.combined.workload or "", _dtype(shown), _gpu(shown)]
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


def _dtype(shown: RunView) -> str:
    return shown.row.workload.dtype if shown.row else ""


def _gpu(shown: RunView) -> str:
    return shown.run.device.name if shown.run.device else ""


def _warnings(shown: RunView) -> tuple[str, ...]:
    failed = [check.workload for check in shown.run.checks if not check.passed]
    wrong = f"the check FAILED on {', '.join(one_line(name) for name in failed)}: this version computes something else"
    foreign = "imported from a foreign report: nothing of it was checked or timed here"
    return (*((wrong,) if failed else ()), *((foreign,) if shown.run.source == "imported" else ()))
