"""Write the table and the picture of a kernel's worklog from its recorded runs: medians, shares of what stood beside.

usage: python benchmarks/worklog_table.py KERNEL     (from the project's root)

It rewrites the table in kernels/KERNEL/README.md, and kernels/KERNEL/times.svg, which is of the default workload.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.analysis.yardstick import COPY, LINK, OPERATIONS, share, yardstick, yardstick_ns
from ncu_assist.ceilings import Floor
from ncu_assist.pipeline.history import Floors, SweptWorkloads, sweeps_of
from ncu_assist.project import find_project
from ncu_assist.record import Run
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import load_kernel
from ncu_assist.store import Store
from ncu_assist.store.choosing import recorded_runs_matching

SHARES = {
    COPY: "of the copy",
    LINK: "of the copy engine",
    OPERATIONS: "of the operations' floor, else of the copy",
}
BETWEEN = re.compile(r"(<!-- table -->\n).*?(<!-- /table -->)", re.DOTALL)


@dataclass(frozen=True)
class Timed:
    """A run, and the least times of its workloads by name."""

    run: Run
    floors: Mapping[str, Floor | None]

    def cell(self, workload: str) -> str:
        """Return the median and what part of it the yardstick takes."""
        timing = self.run.timing(workload)
        if timing is None:
            return "-"
        reached = share(timing, self.floors.get(workload))
        return _microseconds(timing.median_ns) + (f" ({reached:.2f})" if reached else "")

    def beside(self, workload: str) -> str:
        timing, floor = self.run.timing(workload), self.floors.get(workload)
        found = yardstick_ns(timing, floor)
        is_copy = self.is_mixed and yardstick([timing], [floor]) is COPY
        return _microseconds(found) + (" (copy)" if is_copy else "") if found else "-"

    @property
    def is_mixed(self) -> bool:
        """Tell whether some workloads are held against their operations, and so others perhaps against a copy."""
        return yardstick((), self.floors.values()) is OPERATIONS


def table(kernel: Kernel, timed: list[Timed]) -> str:
    """Return a Markdown table, a row a version, a column a workload; below it what they are held against.

    Workloads that are for some versions only follow in a table for each sweep.
    """
    runs = [one.run for one in timed]
    timings = [timing for run in runs if run.bench for timing in run.bench.timings]
    beside = yardstick(timings, (floor for one in timed for floor in one.floors.values()))
    rounds = max((timing.samples + timing.dropped for timing in timings), default=0)
    names = [w.name for w in kernel.workloads if not w.versions]
    lines = [
        f"| µs (share {SHARES[beside]}) | " + " | ".join(names) + " |",
        "|---|" + "--:|" * len(names),
    ]
    lines += [f"| {one.run.version} | " + " | ".join(map(one.cell, names)) + " |" for one in timed]
    lines.append(f"| {beside.name.removeprefix('device ')} | " + " | ".join(map(timed[-1].beside, names)) + " |")
    device = runs[-1].device.name if runs[-1].device else "an unknown GPU"
    note = f"{device}, {runs[-1].created[:10]}, one bench a column, {rounds} interleaved rounds, L2 emptied by reading."
    measured = {facts.name for run in runs for facts in run.workloads}
    swept = (line for sweep in sweeps_of(kernel, measured) for line in ("", *_sweep(sweep, timed)))
    return "\n".join([note, "", *lines, *swept]) + "\n"


def _sweep(sweep: SweptWorkloads, timed: list[Timed]) -> list[str]:
    version, axis, points = sweep
    swept = next(one for one in timed if one.run.version == version)
    head = " | ".join(str(value) for value, _ in points)
    cells = " | ".join(swept.cell(name) for _, name in points)
    return [f"| {axis} | {head} |", "|---|" + "--:|" * len(points), f"| {version} | {cells} |"]


PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" height="{height}" role="img"
 font-family="system-ui, sans-serif" font-size="13"><title>{title}</title>
<style>.c{{fill:#fff}} .t{{fill:#222}} .b{{fill:#4878a8}} .l{{stroke:#a33;stroke-dasharray:4 3}} .n{{fill:#a33}}
@media (prefers-color-scheme: dark) {{.c{{fill:#1e1f22}} .t{{fill:#ddd}} .b{{fill:#6f9fd0}} .l{{stroke:#f99}}
.n{{fill:#f99}}}}</style>
<rect class="c" width="760" height="{height}" rx="6"/>
<text class="t" x="12" y="22">{head}</text>
{rows}
<path class="l" d="M{one:.0f} 34V{end}"/>
<text class="n" x="748" y="{foot}" text-anchor="end">{yardstick}</text>
</svg>
"""
LEFT, RIGHT, ROW = 226, 640, 22  # where bars begin and end, and their distance


def picture(kernel: Kernel, timed: list[Timed]) -> str:
    """Return a drawing: a bar a version, as long as its share of the yardstick on the default workload."""
    workload = kernel.default_workload.name
    reached = [(one, timing, share(timing, one.floors.get(workload))) for one in timed
               if (timing := one.run.timing(workload))]  # fmt: skip
    shown = [(one.run.version, timing.median_ns, part) for one, timing, part in reached if part is not None]
    scale = (RIGHT - LEFT) / max(1.0, *(part for _, _, part in shown))
    rows = []
    for at, (version, ns, part) in enumerate(shown):
        y = 38 + at * ROW
        rows.append(
            f'<text class="t" x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{version}</text>'
            f'<rect class="b" x="{LEFT}" y="{y + 2}" width="{max(part * scale, 1):.0f}" height="16" rx="2"/>'
            f'<text class="t" x="748" y="{y + 14}" text-anchor="end">{_microseconds(ns)} µs</text>'
        )
    end = 38 + len(shown) * ROW
    beside = yardstick([timing for _, timing, _ in reached], [one.floors.get(workload) for one, _, _ in reached])
    name = beside.name.removeprefix("device ")
    head = f"Each version on {workload}: the longer the bar, the faster. Recorded on an {_gpu(timed)}."
    return PICTURE.format(
        height=end + 28, title=f"{kernel.name}: {head}", head=head, rows="\n".join(rows), one=LEFT + scale, end=end + 4,
        foot=end + 19, yardstick=f"{name}: {timed[-1].beside(workload)} µs",
    )  # fmt: skip


def _gpu(timed: list[Timed]) -> str:
    device = timed[-1].run.device
    return device.name.removeprefix("NVIDIA ") if device else "unknown GPU"


def _microseconds(ns: float) -> str:
    return f"{ns / 1e3:.4g}" if ns < 1e7 else f"{ns / 1e3:.0f}"


def main(name: str) -> None:
    project = find_project(Path.cwd())
    kernel = load_kernel(project, name)
    floors = Floors(project.reports)
    stored = [one for one in recorded_runs_matching(Store(project.reports), kernel).values() if one is not None]
    timed = [Timed(one.run, {w.name: floors.of(one, w.name) for w in one.run.workloads}) for one in stored]
    path = kernel.folder / "README.md"
    text = table(kernel, timed)
    path.write_text(BETWEEN.sub(lambda match: match[1] + text + match[2], path.read_text()))
    (kernel.folder / "times.svg").write_text(picture(kernel, timed))


if __name__ == "__main__":
    main(sys.argv[1])
