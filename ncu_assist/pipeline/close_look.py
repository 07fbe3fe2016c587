"""A closer look at a run than its archived tables allow: its report is read again for lines and findings."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.code import Code, read_code
from ncu_assist.ncu.hot_spots import HotSpots, hot_spots
from ncu_assist.ncu.line_sums import longest
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.record import Launch, Run
from ncu_assist.render.facts import shown_workload
from ncu_assist.store import StoredRun

NO_REPORT = "the run keeps no report: it has no source lines and none of NVIDIA's findings"


def look_closer(stored: StoredRun, workload: str | None) -> tuple[HotSpots, Code | None]:
    """Return the top lines and findings of the launches that ``show`` shows of a run, and their code, if it is known.

    Raises UsageProblem for a workload that the run lacks, DamagedData where its report cannot be read.
    """
    chosen = shown_workload(stored.run, workload)
    wanted = {one.index for one in stored.run.launches if chosen in (None, one.workload)}
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        path = stored.report_file(Path(folder))
        if path is None:
            return HotSpots((), (), len(wanted), 0, NO_REPORT), None
        report = stored.report if isinstance(stored, BareReport) else read_report(path)
        numbers = launch_numbers(stored.run, report)
        places = [place for place, number in enumerate(numbers) if number in wanted]
        found = hot_spots(report, places)
        code = read_code(report, longest(report, places), numbers)
    if wanted and not found.launches:
        return replace(found, note=f"the report that the run keeps has no launch of workload {chosen}"), None
    return found, code


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
