"""A page with the three charts on it, for tests, and the runs that they are made of."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff.timing import TimedSamples
from ncu_assist.analysis.run_view import RunView
from ncu_assist.frame import combine_launches
from ncu_assist.pipeline.opened_reports import BareReport, bare_reports
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.memory_chart import memory_chart
from ncu_assist.render.html.page import Head, PageSection, Provenance, page
from ncu_assist.render.html.roofline import roofline
from ncu_assist.render.html.timing_chart import timing_chart
from ncu_assist.rules.model.of_run import results_of
from ncu_assist.rules.model.resources import bottleneck
from ncu_assist.store import Store, StoredRun

ROOT = Path(__file__).parents[3]
ARCHIVE = Store(ROOT / "reports")
GALLERY = ROOT / "tests" / "gallery" / "reports"


def recorded(version: str) -> StoredRun:
    """Return the recorded run of a version of lightning_decode, by its number."""
    return next(one for one in ARCHIVE.runs("lightning_decode") if one.run.version.startswith(f"{version}_"))


@functools.cache
def shown(version: str, workload: str | None = None) -> RunView:
    return gather(recorded(version), workload, ARCHIVE)


@functools.cache
def report(path: Path) -> BareReport:
    return bare_reports([path.name], [path], None)[0]


def launch(path: Path, name: str) -> RunView:
    """Return one launch of a report, the first whose signature starts with ``name``, as a run of its own."""
    stored = report(path)
    whole, tables = gather(stored), stored.by_launch()
    one = next(one for one in whole.run.launches if one.signature.startswith(name))
    combined = combine_launches(None, [one], [tables[one.index]])
    told = results_of(whole.run, combined, whole.ceilings)
    return replace(whole, combined=combined, results=told, bottleneck=bottleneck(combined.values))


def charts_html(
    one: RunView, before: RunView | None = None, samples: TimedSamples | None = None, old: TimedSamples | None = None
) -> str:
    """Return a page with the three charts."""
    sections = (
        PageSection("roofline", "Roofline", roofline(one, before), "chart_section.html.j2"),
        PageSection("memory", "Memory", memory_chart(one, before), "chart_section.html.j2"),
        PageSection("timing", "Timing", timing_chart(samples, old), "chart_section.html.j2"),
    )
    return page(Head("Charts", "", (), Provenance((), 0, "0" * 64)), sections)
