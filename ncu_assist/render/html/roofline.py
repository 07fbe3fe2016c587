"""The roofline of a run: what it computed a second over operations a byte, under what this GPU can reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.quantity import quantity
from ncu_assist.render.html.roofline_drawing import HEIGHT, WIDTH, Drawing, drawing
from ncu_assist.render.html.roofline_numbers import is_counted, points
from ncu_assist.render.html.roofline_scene import ONLY_CONSTANTS, Scene, label_of, name_of, scene_of, share_of
from ncu_assist.render.html.roofline_tables import points_table, roofs_table
from ncu_assist.render.html.run_commands import to_profile
from ncu_assist.render.html.table import Table
from ncu_assist.rules.model.resources import LATENCY

X_LABEL = "Arithmetic intensity [operations per byte of DRAM traffic]"
Y_LABEL = "Performance [operations per second]"
EACH_ALONE = (
    "A roofline of launches of different kernels together: each has its own operations and bytes. "
    "The page of a run has that of its longest launch."
)
NO_WORK = (
    "No floating-point work was counted, of FP64, FP32, FP16 or the tensor cores. "
    "A roofline says nothing of such a kernel; what moves its data is in the memory chart."
)
CONSTANTS = f"Pairs of halves were counted, but {ONLY_CONSTANTS}."
OFF_CLOCK = 0.05  # of the clock at which a ceiling was measured: ceilings of two H200 differ by less (docs/sources.md)


@dataclass(frozen=True)
class Roofline:
    """A roofline ready to be drawn; ``missing`` instead of all else where nothing was counted, with what collects it.

    ``says`` is its outcome in a sentence; ``drawing`` is None for a kernel without points, and ``says`` tells why.
    """

    says: str = ""
    drawing: Drawing | None = None
    description: str = ""
    points: Table | None = None
    roofs: Table | None = None
    notes: tuple[str, ...] = ()
    missing: str = ""
    collect: str = ""
    id: str = "roofline-figure"
    width: int = WIDTH
    height: int = HEIGHT
    x_label: str = X_LABEL
    y_label: str = Y_LABEL


def roofline(shown: Shown, baseline: Shown | None = None, of: str = "") -> Roofline:
    """Return the roofline of what a run shows; the points of ``baseline`` are ghosts, with arrows to those of the run.

    ``of`` names the launch that is shown of several kernels. Of different kernels together there is none.
    A precision is one of ncu's: operations of instructions, and those of the tensor cores by the type of their input.
    """
    if shown.combined.is_of_kernels or (baseline and baseline.combined.is_of_kernels):
        return Roofline(missing=EACH_ALONE)
    if not is_counted(shown):
        what = "The counters of a roofline (operations and duration) were not collected."
        return Roofline(missing=what, collect=to_profile(shown))
    scene = scene_of(shown, baseline)
    if scene is None:
        return Roofline(says=f"{NO_WORK} {CONSTANTS}" if points(shown) else NO_WORK)
    is_drawn = any(one.of_dram for one in scene.points)
    says = _says(scene)
    parts = [says, *(f"{label_of(one)}." for one in scene.points), *(f"Roof: {name_of(one)}." for one in scene.roofs)]
    return Roofline(
        says=says,
        drawing=drawing(scene) if is_drawn else None,
        description=" ".join(parts),
        points=points_table(scene),
        roofs=roofs_table(scene),
        notes=tuple(filter(None, [f"Of {of}." if of else "", *_notes(shown, scene, is_drawn)])),
    )


def _says(scene: Scene) -> str:
    """Return the outcome, e.g. ``FP32 work reaches 23 % of what DRAM allows at 3.1 operations a byte.``"""
    main, share = scene.main, share_of(scene.main, scene.dram)
    if scene.binding is None or share is None:
        return "No roof is known for this GPU."
    assumed = "" if scene.binding.measured else ", assumed,"
    at = f" at {quantity(main.of_dram, '')} operations a byte" if main.of_dram else ""
    roof = scene.binding.label if scene.binding == scene.dram else f"the roof of {scene.binding.label}"
    return f"{main.precision.label} work reaches {100 * share:.0f} % of what {roof}{assumed} allows{at}.{_other(scene)}"


def _other(scene: Scene) -> str:
    """Return what binds, where it is not the lowest roof."""
    if scene.binds:
        return ""
    if scene.bound:
        busy = f", at {scene.bound.percent:.0f} % of its peak" if scene.bound.name != LATENCY else ""
        return f" What binds is {scene.bound.name}{busy}."
    return "" if scene.is_near else " It is so far below that something else binds."


def _notes(shown: Shown, scene: Scene, is_drawn: bool) -> Iterator[str]:
    if not is_drawn:
        yield "No byte was counted at DRAM: operations have no intensity, and no point can be drawn."
    if shown.ceilings is None:
        yield "No ceiling was measured on such a GPU, so roofs are assumed; to measure them: ncu-assist ceilings"
    if without := [one.precision.label for one in scene.points if one.roof is None]:
        yield f"No peak is known for {', '.join(without)}."
    clock = shown.combined.values["sm_clock"]
    measured = shown.ceilings.conditions.sm_clock_mhz if shown.ceilings else None
    if clock and measured and abs(clock / 1e6 / measured - 1) > OFF_CLOCK:
        yield f"Ceilings were measured at {measured:.0f} MHz, this ran at {clock / 1e6:.0f} MHz."
    if (launches := len(shown.combined.launches)) > 1:
        yield f"Operations and bytes of all {launches} launches of one kernel, over their time under ncu."
