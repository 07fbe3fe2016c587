"""Gather the content of `show` and the pages: counters, rules, ceilings, the version before, and source lines.

Source lines and NVIDIA's findings are not in the archived tables, so the report is read again for them.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.lines import base_name
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.analysis.launches import LaunchRow
from ncu_assist.analysis.run_view import CloseLook, ParentVerdict, RunView, shown_workload, workload_row
from ncu_assist.ceilings import Ceilings, ceilings_of
from ncu_assist.frame import combine_launches, combine_tables
from ncu_assist.ncu.code import Code, code_of
from ncu_assist.ncu.csv_page import RULES_LACKED
from ncu_assist.ncu.line_sums import HotSpots, hot_spots
from ncu_assist.ncu.report import Report, nvidia_findings
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN
from ncu_assist.ncu.source.kept import launches_of
from ncu_assist.ncu.source.tables import sass_frame, waits_of
from ncu_assist.ncu.tables import SampledMetric, sampled_metrics
from ncu_assist.pipeline.derived import kept_sass, placed, shown_launches
from ncu_assist.pipeline.history import lineage_of
from ncu_assist.pipeline.opened_reports import BareReport, archived_report, launch_numbers, of_library
from ncu_assist.rules.model.of_run import (
    NO_SASS,
    KernelPart,
    LaunchSass,
    RuleResults,
    agreed,
    as_built,
    code_tells_more,
    each_judged,
    judged_alone,
    located,
    needs_cause,
    results_of,
    results_of_shown,
    sass_of,
    with_causes,
)
from ncu_assist.rules.model.resources import bottleneck, bottleneck_of_launch
from ncu_assist.store.choosing import live_first, same_source
from ncu_assist.store.reading import SOURCE_FOLDER
from ncu_assist.versions import Lineage, version_order

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.frame.columns import Values
    from ncu_assist.ncu.source.reading import SourceTables
    from ncu_assist.project import Project
    from ncu_assist.record import Launch, Run
    from ncu_assist.store import Damage, Store, StoredRun

MOST_JUDGED = 200  # longest launches that are judged for a person: each takes some milliseconds
NO_REPORT = "the run keeps no report, so it has no source lines and no findings of NVIDIA's rules"
PRINTED, NO_RULES = "a printed page has no source lines", ", and this one no findings of NVIDIA's rules"


def look_closer(
    stored: StoredRun,
    workload: str | None,
    lines: bool = True,
    rules: bool = True,
    read: Collection[int] | None = None,
    timeline: Collection[int] = (),
) -> CloseLook:
    """Return the lines and findings of the launches of one workload of a run, None for all.

    Lines are those of the launches in ``read``, by default of the longest; ``timeline`` names launches whose samples
    over time are read, too. Raises DamagedData if the report cannot be read.
    """
    wanted = _wanted(stored, workload)
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        report = _report(stored, Path(folder), timeline)
        if report is None:
            return _nothing(wanted, lines, NO_REPORT)
        numbers, places, chosen = _places(stored, report, workload, read)
        if report.lossy:
            has_rules = RULES_LACKED not in report.lacks
            close = _nothing(wanted, lines, PRINTED if has_rules else f"{PRINTED}{NO_RULES}")
            if not (rules and has_rules):
                return close
            return replace(close, nvidia=nvidia_findings(report, places), note=close.note if lines else "")
        if wanted and not places:
            return _nothing(wanted, lines, f"the archived report has no launch of workload {workload}")
        found = nvidia_findings(report, places) if rules else None
        over_time = [place for place, number in enumerate(numbers) if number in timeline]
        with ThreadPoolExecutor(1) as beside:  # each takes a child process
            sampled = beside.submit(_timeline, report, over_time, numbers)
            close = _read(stored, report, places, numbers, chosen) if lines else CloseLook()
            return replace(close, nvidia=found, timeline=sampled.result())


def _wanted(stored: StoredRun, workload: str | None) -> set[int]:
    return {one.index for one in stored.run.launches if workload in (None, one.workload)}


def _places(
    stored: StoredRun, report: Report, workload: str | None, read: Collection[int] | None
) -> tuple[Sequence[int], list[int], list[int]]:
    """Return the numbers that launches of a report have in the run, and by their places those of a workload.

    And of these those to read the code of: those in ``read``, by default the longest.
    """
    numbers, wanted = launch_numbers(stored.whole, report), _wanted(stored, workload)
    places = [place for place, number in enumerate(numbers) if number in wanted]
    if read is None:
        return numbers, places, shown_launches(stored.run, report.records, places)
    return numbers, places, [place for place in places if numbers[place] in read]


def _timeline(report: Report, places: Sequence[int], numbers: Sequence[int]) -> tuple[SampledMetric, ...]:
    """Return the metrics sampled over time during launches, by their numbers in the run."""
    if not places or not report.has_timeline:
        return ()
    frame = report.timeline_of(places)
    return sampled_metrics(frame.assign(launch=frame["launch"].map(dict(enumerate(numbers)))))


def _report(stored: StoredRun, folder: Path, timeline: Collection[int]) -> Report | None:
    """Return the report of a run, or the kept part of a dropped report, None if it has neither.

    Samples over time are read with it, of launches that mostly have the same numbers in the report as in the run.
    """
    if isinstance(stored, BareReport):
        return stored.report
    return archived_report(stored, folder, timeline=timeline)


def _nothing(wanted: set[int], lines: bool, why: str) -> CloseLook:
    return CloseLook(HotSpots((), len(wanted), 0) if lines else None, note=why)


def _read(
    stored: StoredRun, report: Report, places: Sequence[int], numbers: Sequence[int], read: Sequence[int]
) -> CloseLook:
    """Return lines, code and texts of some launches, read once for all of them."""
    if not read:
        return CloseLook(hot_spots(report, len(places), read, None))
    source = _source(stored, report, read)
    own = _own_texts(stored, source)
    spots = hot_spots(report, len(places), read, source)
    spots = replace(spots, note=of_library(spots.note, [report.records[place] for place in read]))
    return CloseLook(
        spots=spots,
        code=code_of(report, read, source, numbers),
        texts={**own, **source.texts},
        kept=frozenset(own),
        waits={numbers[one.launch]: waits_of(one) for one in source.found},
    )


def _code_wanted(shown: RunView, every: bool) -> set[int] | None:
    """Return the launch that details are about, whose code is read; None for the longest launches."""
    return None if every or shown.focus is None else {shown.focus.launch.index}


def _source(stored: StoredRun, report: Report, places: Collection[int]) -> SourceTables:
    """Return the code of launches; of a report outside an archive what `_as_built` may ask for is read with it.

    A reader takes half a second to start, and each kernel 30 ms.
    """
    if isinstance(stored, BareReport):
        report.source({*places, *_longest_of_each_kernel(report.records)})
    return report.source(places)


def _longest_of_each_kernel(launches: Iterable[Launch]) -> list[int]:
    """Return the numbers of the longest launch of each kernel, of at most MOST_KERNELS, the longest first."""
    longest: dict[str, int] = {}
    for one in sorted(launches, key=lambda one: -(one.duration_ns or 0.0)):
        longest.setdefault(one.signature, one.index)
    return list(longest.values())[:MOST_KERNELS]


def _own_texts(stored: StoredRun, source: SourceTables) -> dict[str, str]:
    """Return the sources of lines that are in the run's folder but not in the report, by their names in the report."""
    last = source.lines.groupby("file", observed=True)["line"].max()
    lacking = {str(name): int(line) for name, line in last.items() if name not in source.texts}
    if not any(f"{SOURCE_FOLDER}{base_name(name)}" in stored.run.files for name in lacking):
        return {}
    kept = stored.source_texts()
    texts = {name: kept[base_name(name)] for name in lacking if base_name(name) in kept}
    return {name: text for name, text in texts.items() if text.count("\n") + 1 >= lacking[name]}


def gather(
    stored: StoredRun,
    workload: str | None = None,
    store: Store | None = None,
    *,
    lines: bool = False,
    ncu_rules: bool = False,
    every: bool = False,
) -> RunView:
    """Return the view of a run; ``workload`` names the one whose counters are shown, None the first timed.

    ``store`` is its archive, for the version before and the ceilings of its GPU. Damaged runs are not compared with the
    run, and are named in ``left_out``. ``lines`` and ``ncu_rules`` read its report again. The 200 longest launches of
    the workload shown are judged one by one; ``every``: all of the run. Raises UsageProblem for a workload that the run
    lacks, DamagedData when its own files were changed.
    """
    run = stored.run
    chosen = shown_workload(run, workload, stored.whole)
    tables = stored.by_launch()
    combined = combine_tables(run, tables, chosen)
    ceilings = ceilings_of(run.device, store.reports if store else None)
    compared: Compared = (None, None)
    left_out: tuple[Damage, ...] = ()
    if store and not isinstance(stored, BareReport) and is_timed(run, chosen):
        compared, left_out = store.read_others(stored, lambda whole: _compared(whole, stored, chosen))
    shown = RunView(
        run=run,
        reference=stored.reference,
        source=run.source,
        rows=tuple(workload_row(run, facts, ceilings) for facts in run.workloads),
        combined=combined,
        bottleneck=bottleneck(combined.values),
        launches=_launches(stored, tables, ceilings, chosen, every),
        keeps_report=stored.keeps_report,
        results=results_of_shown(run, combined, ceilings, stored.whole),
        before=compared[0],
        library=compared[1],
        ceilings=ceilings,
        profiled=len(stored.whole.launches),
        left_out=left_out,
    )
    if lines and isinstance(stored, BareReport) and not stored.report.lossy:
        *_, looked_at = _places(stored, stored.report, chosen, _code_wanted(shown, every))
        if looked_at:
            _source(stored, stored.report, looked_at)
    shown = _as_built(stored, shown)
    shown = replace(shown, results=_of_focus(shown))
    read = _code_wanted(shown, every)
    if lines or ncu_rules:
        shown = replace(shown, close=look_closer(stored, chosen, lines, ncu_rules, read))
    return with_places(shown) if lines else _with_kept_code(stored, shown, chosen, read)


def _with_kept_code(stored: StoredRun, shown: RunView, workload: str | None, read: Collection[int] | None) -> RunView:
    """Add to a view the facts from the code of kernels with `wgmma`: ``CloseLook.waits``, and causes of findings.

    The code is from the run's folder, or from its report if the folder has none and a finding needs it.
    """
    if not any(combine.values["pipe_tensor_gmma"] for combine in shown.combined.by_kernel):
        return shown
    asks = any(map(needs_cause, (shown.results, *(row.results for row in shown.launches))))
    kept = stored.code()
    found = placed(kept, stored.run, stored.whole, workload) if kept else {}
    if kept is None or not found:
        looked = look_closer(stored, workload, rules=False, read=read) if asks and shown.keeps_report else CloseLook()
        waits, code = looked.waits, looked.code
    else:
        launches = [replace(one, launch=found[one.launch].index) for one in launches_of(kept, set(found)) or ()]
        waits = {one.launch: waits_of(one) for one in launches}
        code = _weighted(sass_frame(launches), found.values()) if asks else None
    return _with_code(replace(shown, close=replace(shown.close, waits=waits)), code, with_causes)


def _weighted(sass: pd.DataFrame, launches: Collection[Launch]) -> Code:
    """Return code with each launch's duration distributed over its samples, as in `ncu.code.code_of`."""
    times = {one.index: one.duration_ns or 0.0 for one in launches}
    weights = sass["launch"].map(times) / sass.groupby("launch")[SAMPLES].transform("sum")
    sampled = [name for name in map(str, sass) if name == SAMPLES or name.startswith(STALL_COLUMN)]
    return Code(sass.assign(**{name: sass[name] * weights for name in sampled}), {})


MOST_KERNELS = 10  # of a report outside an archive: reading the code of a launch takes 30 ms


def _as_built(stored: StoredRun, shown: RunView) -> RunView:
    """Add to a view how its code was built, if that may be without optimisation."""
    code = _code_of_report(stored, shown) if isinstance(stored, BareReport) else kept_sass(stored.whole, stored.code)

    def built(results: RuleResults | None) -> RuleResults | None:
        return as_built(results, code) if results else None

    rows = tuple(replace(row, results=built(row.results)) for row in shown.launches) if code.read else shown.launches
    return replace(shown, results=built(shown.results), launches=rows)


def _code_of_report(stored: BareReport, shown: RunView) -> LaunchSass:
    """Return the code of the longest launch of each kernel of which it tells more than its counters."""
    if stored.report.lossy:
        return NO_SASS
    wanted = _longest_of_each_kernel(
        row.launch for row in shown.launches if row.results and code_tells_more(row.results)
    )
    numbers = launch_numbers(stored.whole, stored.report)
    places = [place for place, number in enumerate(numbers) if number in wanted]
    sass = stored.report.source(places).sass if places else None
    if sass is None or not len(sass):
        return NO_SASS
    return sass_of(sass.assign(launch=sass["launch"].map(dict(enumerate(numbers)))), stored.whole.launches)


def _of_focus(shown: RunView) -> RuleResults | None:
    """Return the rule results of the launch that details are about, so that every format shows the same launch."""
    row, every = shown.focus, shown.combined.launches
    if row is None or row.results is None:
        return shown.results
    if len(every) < 2:
        return row.results
    return replace(row.results, part=KernelPart(row.launch.kernel, 1, len(every), row.share))


def with_places(shown: RunView) -> RunView:
    """Return a view with the source lines of its findings, if its code was read."""
    return _with_code(shown, shown.close.code, located)


def _with_code(
    shown: RunView, code: Code | None, told: Callable[[RuleResults | None, Code | None], RuleResults | None]
) -> RunView:
    if code is None:
        return replace(shown, results=told(shown.results, code))
    every = [told(row.results, code) for row in shown.launches]
    same = iter(agreed([one for one in every if one]))
    launches = (replace(row, results=one and next(same)) for row, one in zip(shown.launches, every, strict=True))
    return replace(shown, results=told(shown.results, code), launches=tuple(launches))


def _launches(
    stored: StoredRun, tables: Mapping[int, Values], ceilings: Ceilings | None, shown: str | None, every: bool
) -> tuple[LaunchRow, ...]:
    """Return all launches; the longest of the workload shown, or all of them, are judged individually."""
    run, whole = stored.run, stored.whole
    calls = Counter(one.call for one in whole.launches)
    times: dict[tuple[str | None, int], float] = {}
    for one in whole.launches:
        times[one.call] = times.get(one.call, 0.0) + (one.duration_ns or 0.0)
    own = [one for one in run.launches if every or shown in (None, one.workload)]

    def alone(one: Launch) -> RuleResults | None:
        counted = combine_launches(one.workload, [one], [tables.get(one.index, {})])
        return results_of(whole, counted, ceilings, calls[one.call] == 1)

    judged = each_judged(judged_alone(own, None if every else MOST_JUDGED), whole.launches, alone)
    return tuple(
        LaunchRow(
            launch=one,
            bottleneck=bottleneck_of_launch(tables.get(one.index, {})),
            results=judged.get(one.index),
            judged=one.index in judged,
            share=one.duration_ns / times[one.call] if one.duration_ns is not None and times[one.call] else None,
        )
        for one in run.launches
    )


Compared = tuple[ParentVerdict | None, ParentVerdict | None]


def _compared(store: Store, stored: StoredRun, workload: str | None) -> Compared:
    """Return a timed run against its parent and the fastest library, None without one."""
    run = stored.run
    versions = sorted(store.versions(run.kernel), key=version_order)
    if run.version not in versions:
        return None, None
    lineage = lineage_of(store, run.kernel, versions)
    return _before(store, stored, workload, lineage), _library(store, stored, workload, lineage)


def _before(store: Store, stored: StoredRun, workload: str | None, lineage: Lineage) -> ParentVerdict | None:
    """Return the nearest version that this one builds on with a time on the workload, None if there is none."""
    run = stored.run
    for name in lineage.ancestors(run.version):
        timed = [one for one in live_first(store.heads(run.kernel, name)) if is_timed(one.run, workload)]
        if timed:
            found = store.both(common_bench(timed, same_source(store, stored), workload))
            pair = found or (store.opened(timed[0]), stored)
            return ParentVerdict(name, verdict_by_time(*pair, workload, SampleReader()), pair)
    return None


def _library(store: Store, stored: StoredRun, workload: str | None, lineage: Lineage) -> ParentVerdict | None:
    """Return the fastest library or framework version timed in one bench with this one, None without one.

    Return None as well for a version that is itself a library's.
    """
    run = stored.run
    peers = [name for name in lineage.names if lineage.said(name).is_peer]
    if run.version in peers:
        return None
    pairs = {}
    for name in peers:
        timed = [one for one in live_first(store.heads(run.kernel, name)) if is_timed(one.run, workload)]
        if pair := store.both(common_bench(timed, same_source(store, stored), workload)):
            pairs[name] = pair
    if not pairs:
        return None
    best = min(pairs, key=lambda name: _median(pairs[name][0].run, workload))
    return ParentVerdict(best, verdict_by_time(*pairs[best], workload, SampleReader()), pairs[best])


def _median(run: Run, workload: str | None) -> float:
    timing = run.timing(workload) if workload else None
    return timing.median_ns if timing else inf


def files_of_kernel(project: Project, kernel: str, folder: Path) -> dict[str, str]:
    """Return the files in a kernel's folder by name, each as a path from ``folder``, empty without a folder."""
    place = project.kernels / kernel
    if not kernel or not place.is_dir():
        return {}
    return {path.name: os.path.relpath(path, folder) for path in sorted(place.iterdir()) if path.is_file()}
