"""A closer look at a run than its archived tables allow: its report is read again for lines and NVIDIA's findings."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff.lines import base_name
from ncu_assist.analysis.run_view import CloseLook
from ncu_assist.errors import DamagedData
from ncu_assist.ncu.code import code_of
from ncu_assist.ncu.compressed import plain_file
from ncu_assist.ncu.hot_spots import HotSpots, hot_spots
from ncu_assist.ncu.nvidia_findings import nvidia_findings
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.source.reading import SourceTables
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.pipeline.kept_code import shown_launches, with_code
from ncu_assist.record import Launch, Run
from ncu_assist.store import StoredRun
from ncu_assist.store.reading import SOURCE_FOLDER

NO_REPORT = "the run keeps no report: it has no source lines and none of NVIDIA's findings"
CSV = "a CSV export holds neither source lines nor NVIDIA's findings"


def look_closer(
    stored: StoredRun,
    workload: str | None,
    lines: bool = True,
    rules: bool = True,
    read: Collection[int] | None = None,
) -> CloseLook:
    """Return the lines and findings of the launches of one workload of a run, None for all.

    Lines are those of the launches in ``read``, without it of the longest.
    Raises DamagedData where its report cannot be read.
    """
    wanted = {one.index for one in stored.run.launches if workload in (None, one.workload)}
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        path = stored.report_file(Path(folder))
        if path is None:
            return _nothing(wanted, lines, NO_REPORT)
        report = stored.report if isinstance(stored, BareReport) else with_code(read_report(_plain(path)), stored)
        if report.lossy:
            return _nothing(wanted, lines, CSV)
        numbers = launch_numbers(stored.run, report)
        places = [place for place, number in enumerate(numbers) if number in wanted]
        if wanted and not places:
            return _nothing(wanted, lines, f"the report that the run keeps has no launch of workload {workload}")
        found = nvidia_findings(report, places) if rules else None
        chosen = shown_launches(stored.run, report.records, places)
        if read is not None:
            chosen = [place for place in places if numbers[place] in read]
        return replace(_read(stored, report, places, numbers, chosen) if lines else CloseLook(), nvidia=found)


def _plain(path: Path) -> Path:
    """Return a file of the same name with the decompressed bytes of one: it is read twice."""
    found = plain_file(path, path.parent)
    return found if found == path else found.rename(path.with_suffix(""))


def _nothing(wanted: set[int], lines: bool, why: str) -> CloseLook:
    return CloseLook(HotSpots((), len(wanted), 0) if lines else None, note=why)


def _read(
    stored: StoredRun, report: Report, places: Sequence[int], numbers: Sequence[int], read: Sequence[int]
) -> CloseLook:
    """Return lines, code and texts of some launches, read once for all of them."""
    if not read:
        return CloseLook(hot_spots(report, len(places), read, None))
    source = report.source(read)
    own = _own_texts(stored, source)
    return CloseLook(
        spots=hot_spots(report, len(places), read, source),
        code=code_of(report, read, source, numbers),
        texts={**own, **source.texts},
        kept=frozenset(own),
    )


def _own_texts(stored: StoredRun, source: SourceTables) -> dict[str, str]:
    """Return the sources in the run's folder that lines stand in and the report does not hold, by the names in it."""
    last = source.lines.groupby("file", observed=True)["line"].max()
    lacking = {str(name): int(line) for name, line in last.items() if name not in source.texts}
    if not any(f"{SOURCE_FOLDER}{base_name(name)}" in stored.run.files for name in lacking):
        return {}
    kept = stored.source_texts()
    texts = {name: kept[base_name(name)] for name in lacking if base_name(name) in kept}
    return {name: text for name, text in texts.items() if text.count("\n") + 1 >= lacking[name]}


def launch_numbers(run: Run, report: Report) -> tuple[int, ...]:
    """Return which launches of the run those of its report are: a recorded run keeps the report of one workload.

    Raises DamagedData where they are others.
    """
    whole = {launch.workload for launch in run.launches}
    for some in (None, *sorted(name for name in whole if name is not None)):
        chosen = [launch for launch in run.launches if some in (None, launch.workload)]
        if _alike(chosen, report.records):
            return tuple(launch.index for launch in chosen)
    raise DamagedData("the archived report holds other launches than the run", "ncu-assist verify")


def _alike(launches: Sequence[Launch], others: Sequence[Launch]) -> bool:
    """Tell whether these are the same launches, whatever their numbers and workloads."""
    bare = [[replace(one, index=0, workload=None, repeat=0) for one in some] for some in (launches, others)]
    return bare[0] == bare[1]
