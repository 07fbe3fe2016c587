"""Details pages as ncu prints them in a terminal, made of the values of a report or of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from ncu_assist.ncu.catalogue.labels import OF_SECTIONS, OF_TABLES
from ncu_assist.ncu.report import Report

Row = tuple[str, str, str]  # label, unit and value, as printed
SCALES = {  # by base unit: printed unit and what it is divided by, the largest first
    "ns": (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)),
    "nsecond": (("second", 1e9), ("msecond", 1e6), ("usecond", 1e3), ("nsecond", 1.0)),
    "hz": (("Ghz", 1e9), ("Mhz", 1e6), ("hz", 1.0)),
    "cycle/second": (("cycle/nsecond", 1e9), ("cycle/usecond", 1e6), ("cycle/second", 1.0)),
}
PREFIXES = (("G", 1e9), ("M", 1e6), ("K", 1e3), ("", 1.0))
LATEST = "GPU Speed Of Light Throughput"


def table(rows: Iterable[Row], title: str = "") -> str:
    """Return a table as ncu prints it since 2022.2, with the line of its title where it has one."""
    cells = [("Metric Name", "Metric Unit", "Metric Value"), *rows]
    wide = [max(len(row[column]) for row in cells) for column in range(3)]
    ruler = " ".join("-" * width for width in wide)
    lines = [f"{name:<{wide[0]}} {unit:>{wide[1]}} {value:>{wide[2]}}" for name, unit, value in cells]
    named = [f"Table Name : {title}"] if title else []
    return "".join(f"    {line}\n" for line in [*named, ruler, lines[0], ruler, *lines[1:], ruler, ""])


def section(title: str, *rows: Row) -> str:
    return f"    Section: {title}\n" + table(rows)


def kernel(name: str = "scale(float *)", grid: str = "(64, 2, 1)", block: str = "(256, 1, 1)", cc: str = "9.0") -> str:
    return f"  {name} {grid}x{block}, Context 1, Stream 7, Device 0, CC {cc}\n"


def printed(report: Report, *, with_tables: bool = False) -> str:
    """Return the page of a report, rounded and scaled as ncu does it: sections, and tables too where wanted."""
    text = f"==PROF== Connected to process 7 (/bin/program)\n[7] {report.session['command'].iloc[0] or 'a'}@127.0.0.1\n"
    capability = report.device.compute_capability if report.device else "9.0"
    for launch in [one for one in report.records if not one.interrupted]:
        values = report[launch.index]
        text += kernel(launch.signature, str(launch.grid), str(launch.block), capability)
        for title, labels in OF_SECTIONS.items():
            rows = list(_rows(labels, values, report.contents.units))
            if rows and title in (LATEST, *(one for one in OF_SECTIONS if not one.startswith("GPU Speed"))):
                text += section(title, *rows)
        for title, labels in OF_TABLES.items() if with_tables else ():
            rows = list(_rows(labels, values, report.contents.units))
            text += table(rows, title) if rows else ""
    return text


def _rows(labels: Mapping[str, str], values: Mapping[str, object], units: Mapping[str, str]) -> Iterator[Row]:
    for label, name in labels.items():
        value = values.get(name)
        if isinstance(value, str):
            yield label, "", value
        elif isinstance(value, float) and not math.isnan(value):
            yield label, *_scaled(value, units.get(name, ""))


def _scaled(value: float, unit: str) -> tuple[str, str]:
    scales = SCALES.get(unit)
    if scales is None and unit.startswith("byte"):
        scales = tuple((f"{prefix}{unit}", scale) for prefix, scale in PREFIXES)
    unit, scale = next((one for one in scales if abs(value) >= one[1]), scales[-1]) if scales else (unit, 1.0)
    value /= scale
    return unit, f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
