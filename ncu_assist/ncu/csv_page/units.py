"""Units as ncu prints them: the base unit behind a scaled one, and the power of ten between the two.

ncu scales decimally (1 Kbyte is 1000 byte). Only bytes, hertz and seconds carry a prefix in its exports; counts such as
inst, sector or cycle never do. Spellings are those of the exports themselves, so that the base unit of an automatic
export is the unit that the export with ``--print-units base`` prints.
"""

from __future__ import annotations

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
