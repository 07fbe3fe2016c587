"""Small values in words: counts with their noun, what a finding rests on, paths; the commands that collect more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from shlex import quote
from typing import TYPE_CHECKING

from ncu_assist.quantity import number_of, quantity
from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from ncu_assist.analysis.records import Combined, Damage
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.record import Device

# Units of which a person counts pieces, and the label says of what: 8192 blocks, 132 SMs, 4,194,304 threads.
COUNTED = ("", "thread", "SM", "block", "warp", "register/thread")
ABOUT = "about "
IN_FULL_BELOW = 1e6  # from here on three digits are enough


def evidence_value(value: float, unit: str, approximate: bool = False) -> str:
    """Return a value with its unit; a whole number of pieces whole and without a unit, as its label names them.

    ``approximate``: derived from other metrics and only near what the label says: ``about 64.3 %``.
    """
    about = ABOUT if approximate else ""
    if unit not in COUNTED:
        return about + quantity(value, unit)
    return about + (str(int(value)) if value == int(value) and abs(value) < IN_FULL_BELOW else quantity(value, ""))


def drivers_part(combined: Combined) -> str:
    """Return what of the shared memory of a block the driver keeps for itself, empty for none.

    E.g. ``1.02 kB of it the driver's``, ``all of it the driver's`` of a kernel that uses none.
    """
    whole, own = combined.values["shared_memory"], combined.values["shared_memory_driver"]
    if not whole or not own:
        return ""
    return f"{'all' if own >= whole else quantity(own, 'byte')} of it the driver's"


WHOLE = 1e6  # from here on six digits would need an exponent
EXACT = 2.0**53  # beyond it a float does not have every integer, and its digits say nothing


def query_cell(value: object) -> str:
    """Return a value of a query as text: a dash for what is absent, large floats in full, as integers are."""
    if not isinstance(value, float):
        return "-" if value is None else str(value)
    return f"{value:.0f}" if WHOLE <= abs(value) < EXACT else f"{value:.6g}"


def shown_path(path: Path, folder: Path) -> str:
    """Return a path relative to the folder one stands in, where it lies below that, else the whole of it."""
    whole, here = path.absolute(), folder.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def unread(damages: Sequence[Damage]) -> str:
    """Return how many runs cannot be read, e.g. ``1 damaged run and 2 runs of a newer ncu-assist``."""
    newer = sum(one.is_newer for one in damages)
    damaged = number_of(len(damages) - newer, "damaged run") if newer < len(damages) else ""
    later = f"{number_of(newer, 'run')} of a newer ncu-assist" if newer else ""
    return " and ".join(part for part in (damaged, later) if part)


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
    from ncu_assist.ncu.catalogue.chips import profiler_of

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
