"""What a machine can do, on a terminal: the ceilings of its GPUs, and what ``doctor`` found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ceilings.records import SECTORS, Curve, dram_curves
from ncu_assist.quantity import digits, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, styled, table, to_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ncu_assist.ceilings import Ceilings, Point, Rate
    from ncu_assist.ceilings.records import KnownGpu, KnownRate, Under
    from ncu_assist.environment import Condition, Examination

DETAIL_LIMIT = 200  # characters; compilers and drivers can be wordy
VERDICTS = {
    True: "✓ this machine can measure",
    False: "✗ this machine cannot measure; show, diff and recorded runs still work",
}


def doctor_text(examination: Examination, style: Style | None = None) -> str:
    """Return the conditions as text, each lack with its fix, and the verdict last."""
    made = table(("", "left"), ("", "left"))
    made.show_header = False
    for column in made.columns:
        column.no_wrap = False
    for condition in examination.conditions:
        made.add_row(_state_mark(condition), _condition_words(condition))
    verdict = styled(VERDICTS[examination.can_measure], "green" if examination.can_measure else "red")
    return to_text([made, verdict], style)


def _state_mark(condition: Condition) -> RenderableType:
    if condition.state == "ok":
        return styled(f"✓ {condition.name}", "green")
    return styled(f"{'✗' if condition.needed else '-'} {condition.name}", "red" if condition.needed else "yellow")


def _condition_words(condition: Condition) -> str:
    fix = f"\n  try: {one_line(condition.fix, DETAIL_LIMIT)}" if condition.fix else ""
    return one_line(condition.detail, DETAIL_LIMIT) + fix


NONE_STORED = "no ceilings are stored: `ncu-assist ceilings` measures them on a GPU"
MEASURED: dict[Under, str] = {"ncu": "under ncu, as profile counts", "events": "by events, as bench times"}
UNITS = {"inst": "inst", "byte": "B", "op": "op"}
MIB = 1 << 20
NOTE_LIMIT = 300  # characters


def ceilings_text(found: Sequence[tuple[Ceilings, Path | None]], style: Style | None = None) -> str:
    """Return one block a GPU: where and when, DRAM by mix and size, caches and links, pipes."""
    parts: list[RenderableType] = []
    for ceilings, path in found:
        parts += [styled("")] if parts else []
        parts += [styled(line, "bold" if index == 0 else "") for index, line in enumerate(_head(ceilings, path))]
        for under in MEASURED:
            parts += _dram(ceilings, under)
        parts += _caches_and_links(ceilings)
        parts += _rates(ceilings)
        failed = [f"{stage.name}: {stage.problem}" for stage in ceilings.stages if stage.problem]
        parts += [styled(one_line(f"! {words}", NOTE_LIMIT), "yellow") for words in (*failed, *ceilings.notes)]
    return to_text(parts or [styled(NONE_STORED)], style)


def imported_text(ceilings: Ceilings, path: Path, was_there: bool) -> str:
    """Return what was taken in, by whom and how it was measured, and where it lies now."""
    how, tools = ceilings.conditions, ceilings.conditions.toolchain
    known = [
        f"ncu-assist {ceilings.tool}",
        f"ncu {tools.ncu}" if tools.ncu else "",
        f"driver {ceilings.device.driver}" if ceilings.device.driver else "",
        f"clocks {how.clock_control}, caches {how.cache_control}" if how.clock_control else "",
        f"probes {how.probes_sha256[:12]}" if how.probes_sha256 else "",
    ]
    counts = {
        "points of DRAM": ceilings.dram,
        "of L2": ceilings.l2,
        "of the link": ceilings.link,
        "rates": ceilings.rates,
    }
    held = ", ".join(f"{len(some)} {what}" for what, some in counts.items())
    done = "already stored" if was_there else "stored, for reports of this model"
    lines = [
        f"{ceilings.device.name}, {ceilings.created[:10]}: {done}",
        " · ".join(filter(None, known)),
        held,
        str(path),
    ]
    return "\n".join(one_line(line) for line in lines)


def _head(ceilings: Ceilings, path: Path | None) -> list[str]:
    device, how = ceilings.device, ceilings.conditions
    first = f"{device.name} · {ceilings.origin} · {ceilings.created[:10]}"
    known = [
        f"driver {device.driver}" if device.driver else "",
        f"ncu {how.toolchain.ncu}" if how.toolchain.ncu else "",
        f"SM {how.sm_clock_mhz:.0f} MHz" if how.sm_clock_mhz else "",
        f"memory {how.memory_clock_mhz:.0f} MHz" if how.memory_clock_mhz else "",
    ]
    lines = [one_line(first), one_line(" · ".join(filter(None, known)))]
    return [line for line in [*lines, str(path) if path else "came with the tool"] if line]


def _dram(ceilings: Ceilings, under: Under) -> list[RenderableType]:
    curves = dram_curves(ceilings, under)
    if not curves:
        return []
    return [styled(""), styled(f"DRAM in GB/s, reads : writes, {MEASURED[under]}"), _curves(curves)]


def _curves(curves: Sequence[Curve]) -> Table:
    made = table(("moved", "left"), *((_mix(curve), "right") for curve in curves))
    sizes = sorted({_size(point) for curve in curves for point in curve})
    for size in sizes:
        made.add_row(_mebibytes(size), *(_rate_at(curve, size) for curve in curves))
    return made


def _mix(curve: Curve) -> str:
    point = curve[0]
    if not point.write_bytes:
        return "1:0 read"
    return f"{round(point.read_bytes / point.write_bytes)}:1 {point.name.rstrip('3')}"


def _size(point: Point) -> int:
    """Return the bytes asked for, the nearest power of two: streams are cut to whole blocks, a little below it."""
    lower = 1 << point.bytes.bit_length() - 1
    return 2 * lower if point.bytes > 1.4142135623730951 * lower else lower


def _mebibytes(size: int) -> str:
    return f"{size // MIB} MiB" if size < 1 << 30 else f"{size >> 30} GiB"


def _rate_at(curve: Curve, size: int) -> str:
    found = [point for point in curve if _size(point) == size]
    return f"{found[0].bytes_per_second / 1e9:.0f}" if found else "-"


def _caches_and_links(ceilings: Ceilings) -> list[RenderableType]:
    if not ceilings.l2 and not ceilings.link:
        return []
    made = table(("", "left"), ("GB/s", "right"), ("", "left"))
    for point in ceilings.l2:
        footprint = f" of {quantity(point.footprint_bytes, 'byte')}" if point.footprint_bytes else ""
        made.add_row(f"L2 reads{footprint}", f"{point.bytes_per_second / 1e9:.0f}", point.source)
    for point in ceilings.link:
        made.add_row(
            one_line(point.name.replace("_", " ")), f"{point.bytes_per_second / 1e9:.1f}", _measured_under(point)
        )
    return [styled(""), made]


def _measured_under(point: Point) -> str:
    """Return under what a link was measured; of requests of a sector how many there were, which their bytes hide."""
    if point.name != SECTORS:
        return point.source
    return f"{point.source}, {quantity(point.bytes_per_second / SECTOR_BYTES, 'request/s')}"


def _rates(ceilings: Ceilings) -> list[RenderableType]:
    """Return a row a pipe: what events timed, what ncu counted."""
    if not ceilings.rates:
        return []
    made = table(
        ("per cycle and SM", "left"),
        ("ncu", "right"),
        ("of peak", "right"),
        ("events", "right"),
        ("per second", "right"),
    )
    for kind, name in dict.fromkeys((rate.kind, rate.name) for rate in ceilings.rates):
        counted, timed = ceilings.rate(kind, name, "ncu"), ceilings.rate(kind, name, "events")
        made.add_row(_pipe_name(kind, name), _cycle(counted), _peak(counted), _cycle(timed), _second(timed or counted))
    return [styled(""), made]


def _pipe_name(kind: str, name: str) -> str:
    return "shared memory" if kind == "shared" else one_line(name.replace("_", " "))


def _cycle(rate: Rate | None) -> str:
    if rate is None or rate.per_cycle_per_sm is None:
        return "-"
    return f"{digits(rate.per_cycle_per_sm)} {UNITS[rate.unit]}"


def _peak(rate: Rate | None) -> str:
    return f"{rate.pct_of_peak:.1f} %" if rate is not None and rate.pct_of_peak is not None else "-"


def _second(rate: Rate | None) -> str:
    return quantity(rate.per_second, f"{UNITS[rate.unit]}/s") if rate is not None else "-"


MEASURE = "no ceilings of such a GPU are stored: `ncu-assist ceilings` measures them, --import stores a file of them"


def known_text(found: KnownGpu, style: Style | None = None) -> str:
    """Return which GPU it is, whose ceilings answer for it, and every number with its source below it."""
    device, ceilings = found.device, found.ceilings
    size = [f"compute capability {device.compute_capability}" if device.compute_capability else ""]
    size += [f"{device.sm_count} multiprocessors" if device.sm_count else ""]
    answering = f"ceilings measured on {ceilings.where}, {ceilings.created[:10]}" if ceilings else MEASURE
    parts: list[RenderableType] = [styled(one_line(device.name), "bold"), styled(", ".join(filter(None, size)))]
    parts += [styled(answering), styled("")]
    width = max(len(rate.what) for rate in found.rates)
    for rate in found.rates:
        parts.append(styled(f"{rate.what:<{width}}  {_value(rate)}{', assumed' if rate.assumed else ''}"))
        parts.append(styled(f"  {one_line(rate.source)}", "dim"))
    return to_text(parts, style)


def _value(rate: KnownRate) -> str:
    if rate.value is None:
        return "-"
    ends = [quantity(one, rate.unit) for one in (rate.value, rate.most) if one is not None]
    return " to ".join(ends)
