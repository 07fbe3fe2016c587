"""Small raw pages made cell by cell, as ncu writes them: every cell quoted, nothing inside escaped."""

from __future__ import annotations

FACTS = ("ID", "Process ID", "Process Name", "Host Name")
RANGES = (
    "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
    "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
)
PLACE = ("Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")
UNITS = {"gpu__time_duration.sum": "us", "dram__bytes.sum": "Kbyte", "launch__tpc_enabled": ""}
NO_RANGES = ("", "")


def line(*cells: str) -> str:
    return ",".join(f'"{cell}"' for cell in cells) + "\n"


def pushed(*names: str) -> str:
    """Return the push/pop cell of these ranges of the default domain."""
    return "7  " + "  ".join(f'""<default domain>:{name}:none:none:none:none:none:none""' for name in names) + " "


def row(number: int, *values: str, kernel: str = "scale(float *)", ranges: tuple[str, str] | None = NO_RANGES) -> str:
    place = (kernel, "1", "13", "(256, 1, 1)", "(4096, 2, 1)", "0", "9.0")
    return line(str(number), "7", "program", "127.0.0.1", *(ranges or ()), *place, *values)


def page(*rows: str, units: dict[str, str] = UNITS, ranges: bool = True) -> str:
    """Return a raw page of these rows; ``units`` has those of the metrics, in the order of the columns."""
    names = (*FACTS, *(RANGES if ranges else ()), *PLACE)
    return line(*names, *units) + line(*("" for _ in names), *units.values()) + "".join(rows)


def numbers(**cells: str) -> str:
    """Return a page of one launch with these metrics, without units."""
    return page(row(0, *cells.values()), units=dict.fromkeys(cells, ""))
