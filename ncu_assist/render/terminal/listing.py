"""What there is, and what of it is damaged, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.outcome import KernelListing, VersionOutcome
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.ladder import NOT_MEASURED, SKIPPED
from ncu_assist.render.pages_words import number_of
from ncu_assist.render.terminal.style import Style, table, to_text
from ncu_assist.render.words import origin
from ncu_assist.store import Damage, machine_hash, shown_source

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def list_text(kernels: Sequence[KernelListing], style: Style | None = None) -> str:
    """Return kernels, their versions and the run that shows each as text."""
    from rich.text import Text

    parts: list[RenderableType] = []
    for kernel in kernels:
        parts += [Text(one_line(kernel.kernel), style="bold")]
        parts += [Text(f"  {one_line(kernel.summary)}")] if kernel.summary else []
        parts += [Text(f"  workloads: {_workloads(kernel)}", style="dim")] if kernel.workloads else []
        parts += [_versions(kernel), Text("")]
    return to_text(parts or [Text("there are no kernels: no kernels/*/kernel.toml and no run in reports/")], style)


def _workloads(kernel: KernelListing) -> str:
    return one_line(", ".join(f"{name}{_remark(kernel, name)}" for name in kernel.workloads), 1000)


def _remark(kernel: KernelListing, workload: str) -> str:
    """Return what is to be known of a workload: that it is the default one, or for whom it is."""
    if workload == kernel.default_workload:
        return " (default)"
    names = kernel.only.get(workload, ())
    return f" ({' and '.join(names)} only)" if names else ""


def _versions(kernel: KernelListing) -> Table:
    made = table(("  version", "left"), ("median", "right"), ("run", "left"))
    for version in kernel.versions:
        made.add_row(f"  {one_line(version.version)}", _median(version, kernel.default_workload), _run(version))
    return made


def _median(version: VersionOutcome, workload: str | None) -> str:
    timing = version.run.run.timing(workload) if version.run and workload else None
    return duration(timing.median_ns) if timing else "-"


def _run(version: VersionOutcome) -> str:
    if version.run is None:
        return f"{SKIPPED}: {one_line(version.skipped)}" if version.skipped else NOT_MEASURED
    run = version.run.run
    return origin(shown_source(run, machine_hash()), run)


def verify_text(damages: Sequence[Damage], runs: int, drafts: int = 0, style: Style | None = None) -> str:
    """Return what cannot be read as text; ``runs`` and ``drafts`` are how many can be read."""
    from rich.text import Text

    if not damages:
        read = number_of(runs, "run") + (f" and {number_of(drafts, 'draft')}" if drafts else "")
        return to_text([Text(f"✓ {read}, nothing damaged", style="green")], style)
    lines = [
        Text(
            f"{'?' if damage.is_newer else '✗'} {one_line(damage.path, 500)}: {one_line(damage.problem, 500)}",
            style="yellow" if damage.is_newer else "red",
        )
        for damage in damages
    ]
    newer = sum(damage.is_newer for damage in damages)
    parts = [f"{len(damages) - newer} damaged" if newer < len(damages) else ""]
    parts += [f"{newer} of a newer ncu-assist" if newer else "", f"{runs} runs can be read"]
    return to_text([*lines, Text("; ".join(part for part in parts if part))], style)
