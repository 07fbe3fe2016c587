"""What is known of one GPU, on a terminal: a row a number, with where it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.ceilings.known import KnownGpu, KnownRate
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, to_text

if TYPE_CHECKING:
    from rich.console import RenderableType

MEASURE = "nothing was measured on such a GPU: `ncu-assist ceilings` does, and --import takes in what somebody sends"


def known_text(found: KnownGpu, style: Style | None = None) -> str:
    """Return which GPU it is, whose ceilings answer for it, and every number with its source below it."""
    from rich.text import Text

    device, ceilings = found.device, found.ceilings
    size = [f"compute capability {device.compute_capability}" if device.compute_capability else ""]
    size += [f"{device.sm_count} multiprocessors" if device.sm_count else ""]
    answering = f"ceilings measured on {ceilings.where}, {ceilings.created[:10]}" if ceilings else MEASURE
    parts: list[RenderableType] = [Text(one_line(device.name), style="bold"), Text(", ".join(filter(None, size)))]
    parts += [Text(answering), Text("")]
    width = max(len(rate.what) for rate in found.rates)
    for rate in found.rates:
        parts.append(Text(f"{rate.what:<{width}}  {_value(rate)}{', assumed' if rate.assumed else ''}"))
        parts.append(Text(f"  {one_line(rate.source)}", style="dim"))
    return to_text(parts, style)


def _value(rate: KnownRate) -> str:
    if rate.value is None:
        return "-"
    ends = [quantity(one, rate.unit) for one in (rate.value, rate.most) if one is not None]
    return " to ".join(ends)
