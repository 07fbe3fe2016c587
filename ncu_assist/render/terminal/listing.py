"""What there is, and what of it is damaged, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, UNREADABLE, KernelListing, VersionOutcome
from ncu_assist.analysis.records import Damage
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.pages_words import number_of
from ncu_assist.render.terminal.style import Align, Style, detected, styled, table, to_text
from ncu_assist.render.words import origin

if TYPE_CHECKING:
    from rich.console import RenderableType

NO_MEDIAN = "-"
LEAST_BESIDE = 36  # columns for a median and where a run comes from, in two or three lines


LONGEST = 1000  # characters of a line of a summary, or of what is wrong with a folder


def list_text(kernels: Sequence[KernelListing], style: Style | None = None) -> str:
    """Return kernels, their versions and the run that shows each as text."""
    from rich.text import Text

    parts: list[RenderableType] = []
    for kernel in kernels:
        parts += [Text(one_line(kernel.kernel), style="bold")]
        parts += [Text(f"  {one_line(line, LONGEST)}") for line in kernel.summary.splitlines()]  # a line a mistake
        parts += [Text(f"  workloads: {_workloads(kernel)}", style="dim")] if kernel.workloads else []
        parts += [*_versions(kernel, (style or detected()).width), Text("")]
    return to_text(parts or [Text("there are no kernels: no kernels/*/kernel.toml and no run in reports/")], style)


def _workloads(kernel: KernelListing) -> str:
    return one_line(", ".join(f"{name}{_remark(kernel, name)}" for name in kernel.workloads), 1000)


def _remark(kernel: KernelListing, workload: str) -> str:
    """Return what is to be known of a workload: that it is the default one, or for whom it is."""
    if workload == kernel.default_workload:
        return " (default)"
    names = kernel.only.get(workload, ())
    return f" ({' and '.join(names)} only)" if names else ""


def _versions(kernel: KernelListing, width: int) -> list[RenderableType]:
    """Return a row a version. Names stay whole, to be typed again: where one is long, each has a line of its own."""
    names = [f"  {one_line(version.version)}" for version in kernel.versions]
    longest = max(map(len, names), default=0)
    medians = [_median(version, kernel.default_workload) for version in kernel.versions]
    median: list[tuple[str, Align]] = [("median", "right")] if set(medians) != {NO_MEDIAN} else []
    cells = [(*([ns] if median else []), _run(one)) for ns, one in zip(medians, kernel.versions, strict=True)]
    if longest > width - LEAST_BESIDE:
        lines = ((name, f"    {'  '.join(beside)}") for name, beside in zip(names, cells, strict=True))
        return [styled(line) for both in lines for line in both]
    made = table(("  version", "left"), *median, ("run", "left"))
    made.columns[0].no_wrap, made.columns[-1].no_wrap = True, False
    made.columns[-1].overflow = "fold"
    for name, beside in zip(names, cells, strict=True):
        made.add_row(name, *beside)
    return [made]


def _median(version: VersionOutcome, workload: str | None) -> str:
    timing = version.run.run.timing(workload) if version.run and workload else None
    return duration(timing.median_ns) if timing else NO_MEDIAN


def _run(version: VersionOutcome) -> str:
    if version.run is None and version.unreadable:
        return UNREADABLE
    if version.run is None:
        return f"{SKIPPED}: {one_line(version.skipped)}" if version.skipped else NOT_MEASURED
    run = version.run.run
    return origin(run.source, run)


def verify_text(damages: Sequence[Damage], runs: int, drafts: int = 0, style: Style | None = None) -> str:
    """Return what cannot be read as text; ``runs`` and ``drafts`` are how many others can be."""
    from rich.text import Text

    if not damages:
        read = number_of(runs, "run") + (f" and {number_of(drafts, 'draft')}" if drafts else "")
        return to_text([Text(f"✓ {read}, nothing damaged", style="green")], style)
    lines = [
        Text(
            f"{'?' if damage.is_newer else '✗'} {one_line(damage.place, 500)}: {one_line(damage.problem, 500)}",
            style="yellow" if damage.is_newer else "red",
        )
        for damage in damages
    ]
    newer = sum(damage.is_newer for damage in damages)
    parts = [f"{len(damages) - newer} damaged" if newer < len(damages) else ""]
    parts += [f"{newer} of a newer ncu-assist" if newer else "", f"{number_of(runs, 'other run')} can be read"]
    return to_text([*lines, Text("; ".join(part for part in parts if part))], style)
