"""The commands that collect what a run lacks, as a page names them."""

from __future__ import annotations

from pathlib import PurePath
from shlex import quote
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.chips import profiler_of
from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.record import Device

OPENED = (".ncu-rep", ".nsight-cuprof-report")  # what ncu-ui opens
KEPT_REPORT = "report.ncu-rep.zst"


def to_profile(shown: RunView) -> str:
    """Return the command that collects all counters of what was run; empty where there are none to collect."""
    kernel, version = one_line(shown.run.kernel), one_line(shown.run.version)
    if shown.run.launched_nothing:
        return ""
    if shown.run.source == "imported":
        return collect_again(shown.run.device)
    if not shown.run.workloads:
        return f"ncu-assist profile --kernel {kernel} --version {version} --set full -- PROGRAM"
    return f"ncu-assist profile {kernel} {version} --set full"


def collect_again(device: Device | None) -> str:
    """Return the command that collects all counters and the source of a program on such a GPU."""
    _, program = profiler_of(device.compute_capability if device else "")
    return f"{program} --set full{' --import-source yes' if program == 'ncu' else ''} -o REPORT PROGRAM"


def to_time(shown: RunView) -> str:
    """Return the command that times it; empty for a program that has no kernel folder, which nothing here can time."""
    if shown.run.source == "imported" or not shown.run.workloads:
        return ""
    return f"ncu-assist bench {one_line(shown.run.kernel)} {one_line(shown.run.version)}"


def to_compare(shown: RunView, before: str) -> str:
    """Return the command that says why the time changed; ``before`` is the version before."""
    kernel = one_line(shown.run.kernel)
    return f"ncu-assist diff {kernel}/{one_line(before)} {kernel}/{one_line(shown.run.version)}"


def to_export(shown: RunView) -> str:
    """Return the command that writes all metrics of all launches."""
    return f"ncu-assist export {_quoted(shown)} -o metrics.csv"


def to_sass(shown: RunView) -> str:
    """Return the command that writes every instruction with what it cost."""
    return f"ncu-assist export {_quoted(shown)} --table sass -o sass.csv"


def to_page(shown: RunView) -> str:
    """Return the command that writes a page of it, to which ``--launch N`` may be added."""
    return f"ncu-assist report {_quoted(shown)}{' -o page.html' if shown.run.run_id else ''}"


def _quoted(shown: RunView) -> str:
    return quote(one_line(shown.reference if shown.run.run_id else PurePath(shown.reference).name))


def to_open(shown: RunView) -> str:
    """Return the command that opens the report in Nsight Compute's window; empty where the run keeps none.

    A report of an archive lies compressed in the folder of its run.
    """
    if not shown.keeps_report:
        return ""
    if not shown.run.run_id:
        name = PurePath(shown.reference).name
        return f"ncu-ui {quote(one_line(name))}" if name.endswith(OPENED) else ""
    return f"zstd -d {KEPT_REPORT} && ncu-ui {PurePath(KEPT_REPORT).stem}"
