"""The page of one run: the verdict first, then everything that an engineer needs to trust it and to act on it."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.record import Run
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.memory_chart import MemoryChart, memory_chart
from ncu_assist.render.html.page import Head, Link, PageSection, page, provenance
from ncu_assist.render.html.roofline import Roofline, roofline
from ncu_assist.render.html.run_counters import (
    MixPart,
    OccupancyPart,
    SpeedPart,
    StallPart,
    mix_part,
    occupancy_part,
    speed_part,
    stall_part,
)
from ncu_assist.render.html.run_diagnosis import DiagnosisPart, NvidiaView, diagnosis_part, nvidia_views
from ncu_assist.render.html.run_facts import FactGroup, MetricsPart, RawPart, fact_groups, metrics_part, raw_part
from ncu_assist.render.html.run_records import RunRecord
from ncu_assist.render.html.run_verdict import RunVerdict, run_verdict, to_profile, to_time
from ncu_assist.render.html.source_file import finding_lines
from ncu_assist.render.html.source_view import SourceView, source_view
from ncu_assist.render.html.timing_chart import TimingChart, timing_chart
from ncu_assist.render.words.verdicts import of_longest, origin

NVIDIA = (
    "Nsight Compute's advice with its own estimates, beside our diagnosis. A global estimate is of the launch, a local "
    "one of the part that the rule looks at; they overlap and do not add up."
)
OF_LAUNCHES = {"speed", "roofline", "memory", "stalls", "occupancy", "mix", "source", "nvidia", "metrics"}


@dataclass(frozen=True)
class RunPage:
    """The content of a run's page, section by section; ``collect`` is the command for missing counters.

    Where the version launches no kernel, the sections on launches are left out.
    """

    launched_nothing: bool
    has_counters: bool
    verdict: RunVerdict
    facts: tuple[FactGroup, ...]
    speed: SpeedPart
    diagnosis: DiagnosisPart
    roofline: Roofline
    memory: MemoryChart
    timing: TimingChart
    source: SourceView
    of_longest: str  # what the ratios of these sections are of, where the launches are of different kernels
    stalls: StallPart
    occupancy: OccupancyPart
    mix: MixPart
    nvidia: tuple[NvidiaView, ...]
    asked_nvidia: bool
    close_note: str
    metrics: MetricsPart
    raw: RawPart
    collect: str


def run_html(record: RunRecord) -> str:
    """Return the page of a run, which lies in the run's folder; the same record gives the same bytes."""
    run = run_page_model(record)
    return page(_head(record), run_sections(run), run=run)


def run_sections(run: RunPage) -> tuple[PageSection, ...]:
    """Return the sections in the order in which they are asked for: how fast, measured how, how near to the peak, what
    is wrong, then where. Of a version that launches no kernel those on launches are left out."""
    sections = (
        PageSection("verdict", "Verdict", run.verdict, "run_verdict.html.j2"),
        PageSection("facts", "Facts to reproduce it", run.facts, "run_facts.html.j2"),
        PageSection("speed", "Speed of light", run.speed, "run_speed.html.j2", run.speed.sentence),
        PageSection("diagnosis", "Diagnosis", run.diagnosis, "run_diagnosis.html.j2"),
        PageSection("roofline", "Roofline", run.roofline, "roofline.html.j2"),
        PageSection("memory", "Memory chart", run.memory, "memory_chart.html.j2"),
        PageSection("stalls", "Warp stall reasons", run.stalls, "run_stalls.html.j2", run.of_longest),
        PageSection("occupancy", "Occupancy", run.occupancy, "run_occupancy.html.j2", run.of_longest),
        PageSection("mix", "Instructions and pipes", run.mix, "run_mix.html.j2", run.of_longest),
        PageSection("timing", "Timing", run.timing, "timing_chart.html.j2"),
        PageSection("source", "Source", run.source, "source_view.html.j2"),
        PageSection("nvidia", "NVIDIA's rules", run.nvidia, "run_nvidia.html.j2", NVIDIA),
        PageSection("metrics", "All metrics", run.metrics, "run_metrics.html.j2"),
        PageSection("raw", "Command and logs", run.raw, "run_raw.html.j2"),
    )
    return tuple(one for one in sections if not (run.launched_nothing and one.id in OF_LAUNCHES))


def run_page_model(record: RunRecord) -> RunPage:
    """Return what the page says."""
    shown = record.shown
    lines = finding_lines(shown)
    source = source_view(shown, lines)
    return RunPage(
        launched_nothing=shown.run.launched_nothing,
        has_counters=any(shown.combined.tables),
        verdict=run_verdict(shown, dict(record.verdicts), record.diff),
        facts=fact_groups(shown),
        speed=speed_part(shown.counted, record.breakdowns, of_longest(shown)),
        diagnosis=diagnosis_part(shown, lines, source),
        roofline=roofline(shown.counted, of=of_longest(shown)),
        memory=memory_chart(shown),
        timing=timing_chart(record.samples, collect=to_time(shown)),
        source=source,
        of_longest=f"Of {of_longest(shown)}." if of_longest(shown) else "",
        stalls=stall_part(shown.counted),
        occupancy=occupancy_part(shown),
        mix=mix_part(shown, record.opcodes, record.opcode_launches),
        nvidia=nvidia_views(shown),
        asked_nvidia=shown.close.nvidia is not None,
        close_note=one_line(shown.close.note, 500),
        metrics=metrics_part(shown, record.metrics),
        raw=raw_part(shown.run, record.logs),
        collect=to_profile(shown),
    )


def _head(record: RunRecord) -> Head:
    shown, run = record.shown, record.shown.run
    words = [run.kernel if run.run_id else "", shown.combined.workload or "", _dtype(shown), _gpu(shown)]
    subtitle = " · ".join(one_line(word) for word in words if word)
    return Head(
        title=one_line(run.version if run.run_id else shown.reference),
        subtitle=subtitle,
        crumbs=_crumbs(run, record.linked) if run.run_id else (Link("a report that is in no archive"),),
        provenance=provenance((record.stored, *record.read)),
        recorded=_recorded(shown),
        warnings=_warnings(shown),
    )


def _recorded(shown: Shown) -> str:
    if shown.source != "recorded":
        return ""
    return f"{origin(shown.source, shown.run).removeprefix('recorded ')}; not measured where this is read."


def _crumbs(run: Run, linked: bool) -> tuple[Link, ...]:
    """Return what lies above the page, as links where it lies in its archive."""
    places = (("All kernels", "../../../index.html"), (one_line(run.kernel), "../../index.html"))
    return tuple(Link(text, href if linked else "") for text, href in places)


def _dtype(shown: Shown) -> str:
    return shown.row.workload.dtype if shown.row else ""


def _gpu(shown: Shown) -> str:
    return shown.run.device.name if shown.run.device else ""


def _warnings(shown: Shown) -> tuple[str, ...]:
    failed = [check.workload for check in shown.run.checks if not check.passed]
    wrong = f"the check FAILED on {', '.join(one_line(name) for name in failed)}: this version computes something else"
    foreign = "imported from a foreign report: nothing of it was checked or timed here"
    return (*((wrong,) if failed else ()), *((foreign,) if shown.run.source == "imported" else ()))
