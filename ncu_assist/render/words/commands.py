"""The commands that collect what a run lacks, as a page names them."""

from __future__ import annotations

from ncu_assist.analysis.run_view import RunView
from ncu_assist.render.escape import one_line


def to_profile(shown: RunView) -> str:
    """Return the command that collects all counters of what was run; empty where there are none to collect."""
    kernel, version = one_line(shown.run.kernel), one_line(shown.run.version)
    if shown.run.launched_nothing:
        return ""
    if shown.run.source == "imported":
        return "ncu --set full --import-source yes -o REPORT PROGRAM"
    if not shown.run.workloads:
        return f"ncu-assist profile --kernel {kernel} --version {version} --set full -- PROGRAM"
    return f"ncu-assist profile {kernel} {version} --set full"


def to_time(shown: RunView) -> str:
    """Return the command that times it; empty for a program that has no kernel folder, which nothing here can time."""
    if shown.run.source == "imported" or not shown.run.workloads:
        return ""
    return f"ncu-assist bench {one_line(shown.run.kernel)} {one_line(shown.run.version)}"


def to_compare(shown: RunView, before: str) -> str:
    """Return the command that says why the time changed; ``before`` is the version before."""
    kernel = one_line(shown.run.kernel)
    return f"ncu-assist diff {kernel}/{one_line(before)} {kernel}/{one_line(shown.run.version)}"
