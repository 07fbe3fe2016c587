"""The values of a raw page: numbers with thousands separators and scaled units, texts, and cells without either.

ncu scales decimally (1 Kbyte is 1000 byte). Only bytes, hertz and seconds carry a prefix in its exports; counts such as
inst, sector or cycle never do. Spellings are those of the exports themselves, so that the base unit of an automatic
export is the unit that the export with ``--print-units base`` prints.
"""

from __future__ import annotations

import math
import re
from array import array

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.csv_page.text import AGAIN

NUMBER = re.compile(r"-?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
# ncu prints two decimals or six. Three of them behind one to three digits are a thousand of another locale: 117.344.
DOT_GROUP = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")
NUMBER_LIKE = re.compile(r"[-+.,'0-9]")
SEPARATED_DIGITS = re.compile("[-+0-9.,'\N{RIGHT SINGLE QUOTATION MARK} \N{NO-BREAK SPACE}\u202f\ufffd]+")
FLAG = "(!) "  # which ncu puts before what it has no value for
NO_NUMBER = {"nan", "-nan", "nan(ind)", "-nan(ind)", "n/a"}  # n/a: ncu does not know the name, or not on this chip
INFINITE = {"inf": math.inf, "-inf": -math.inf}
ABSENT = {"", "no data"}
TEXT_METRICS = {  # a list of numbers among them is a text too
    "device__attribute_confidential_computing_mode",
    "device__attribute_display_name",
    "launch__cluster_scheduling_policy",
    "launch__func_cache_config",
    "launch__kernel_name",
    "launch__tpc_enabled",
}
ROLLUP = re.compile(r"\.(sum|avg|max|min|ratio|pct)\b")  # ncu's documentation, Metrics Structure
MOST_KNOWN = 1 << 17  # cells whose values are remembered: some 15 MB
MOST_SHOWN = 40  # characters of a cell in a message
NAN = math.nan


class Values:
    """The metric columns of a file, and the values of its rows so far.

    ``numbers`` has one double for each column of each row, in base units; NaN for texts and absences. ``odd`` has what
    stands in place of a number that can be, by name, as printed and as read: no value, an infinite one, or less than 0.
    """

    def __init__(self, file: str, names: tuple[str, ...], units: tuple[str, ...]) -> None:
        self.numbers = array("d")
        self.names = names
        self.odd: dict[str, tuple[str, float]] = {}
        self._file, self._printed = file, units
        bases = [base_unit(unit) for unit in units]
        self.units = {name: base for name, (base, _) in zip(names, bases, strict=True)}
        self._powers = [power for _, power in bases]
        known: dict[int, dict[str, float]] = {}  # by power of ten: the values of cells, which columns share
        self._known = [
            {} if name in TEXT_METRICS else known.setdefault(power, {})
            for name, power in zip(names, self._powers, strict=True)
        ]

    def add(self, cells: list[str]) -> dict[int, str]:
        """Append the values of a row and return its texts by column.

        Raises DamagedData for a number as another locale writes it, and for a text where a number belongs.
        """
        texts: dict[int, str] = {}
        append = self.numbers.append
        for column, (cell, known) in enumerate(zip(cells, self._known, strict=True)):
            value = known.get(cell)
            if value is None:
                value = self._value(column, cell)
                if value is None:
                    texts[column], value = cell, NAN
                elif value < 0 or (not math.isfinite(value) and cell not in ABSENT):
                    self.odd.setdefault(self.names[column], (f"{cell} {self._printed[column]}".rstrip(), value))
                else:  # what is odd is looked at in each column
                    if len(known) >= MOST_KNOWN:
                        known.clear()
                    known[cell] = value
            append(value)
        return texts

    def _value(self, column: int, cell: str) -> float | None:
        """Return the value of a cell, or None for a text."""
        if cell in ABSENT or cell.removeprefix(FLAG).lower() in NO_NUMBER:
            return NAN
        if self.names[column] in TEXT_METRICS:
            return None
        if NUMBER.fullmatch(cell) and not DOT_GROUP.fullmatch(cell):
            # Scaled as a decimal and rounded once: 0.1 Gbyte is exactly 1e8 byte.
            return float(f"{cell.replace(',', '')}e{self._powers[column]}")
        if cell in INFINITE:
            return INFINITE[cell]
        if cell.endswith(")") and cell[0] in "-0123456789(":
            # --print-metric-instances puts the instances behind the value
            return self._value(column, cell.partition("(")[0].rstrip())
        if NUMBER_LIKE.match(cell) or self._printed[column] or _counts(self.names[column]):
            raise self._no_number(column, cell)
        return None

    def _no_number(self, column: int, cell: str) -> DamagedData:
        name, shown = self.names[column], cell[:MOST_SHOWN]
        if SEPARATED_DIGITS.fullmatch(cell):
            return DamagedData(
                f"{self._file} cannot be read safely: {name} is {shown!r}, not a number as ncu prints it in English "
                "(1,234.56)",
                f"set LC_ALL=C, or on Windows an English region format, and {AGAIN}",
            )
        return DamagedData(f"{self._file} is damaged: {name} is {shown!r}, where a number belongs", AGAIN)


def _counts(name: str) -> bool:
    """Tell whether a metric is a number by its name, though ncu prints no unit beside it: the end says how it adds."""
    return name.partition("__")[0] not in ("launch", "device") and bool(ROLLUP.search(name))


PREFIXES = {"": 0, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
PREFIXED = ("byte", "hz")
# Base units of time stay in the family of their spelling: 'us' is of today's ncu, 'usecond' of older ones.
SECONDS = {"ns": -9, "us": -6, "ms": -3, "s": 0}
LONG_SECONDS = {"nsecond": -9, "usecond": -6, "msecond": -3, "second": 0}
NANO = -9  # a time counts in nanoseconds, a rate in events per second


def base_unit(unit: str) -> tuple[str, int]:
    """Return the base unit of ``unit`` and the power of ten that takes a value there.

    A unit that is not known is its own base, with power 0: never a guess.
    """
    over, slash, under = unit.partition("/")
    base_over, power_over = _over(over)
    if not slash:
        return base_over, power_over
    base_under, power_under = _under(under)
    return f"{base_over}/{base_under}", power_over + power_under


def _over(unit: str) -> tuple[str, int]:
    for family, base in ((SECONDS, "ns"), (LONG_SECONDS, "nsecond")):
        if unit in family:
            return base, family[unit] - NANO
    return _prefixed(unit)


def _under(unit: str) -> tuple[str, int]:
    """Return the base of what stands below the line, and the power it gives the value.

    A rate in sector/us is a million times one in sector/s. But ncu prints 8190 %/byte as 8.19 %/Kbyte: it takes a
    prefix for a scale of the value wherever it stands, and so does this.
    """
    for family, base in ((SECONDS, "s"), (LONG_SECONDS, "second")):
        if unit in family:
            return base, -family[unit]
    return _prefixed(unit)


def _prefixed(unit: str) -> tuple[str, int]:
    for base in PREFIXED:
        prefix = unit.removesuffix(base)
        # 'Ghz' but 'Gbyte' and, without a prefix, 'hz' and 'byte': case matters, 'mbyte' would be milli
        if prefix != unit and prefix in PREFIXES:
            return base, PREFIXES[prefix]
    return unit, 0
