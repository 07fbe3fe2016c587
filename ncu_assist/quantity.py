"""Numbers with units as people read them: 93.2 µs, 4.29 TB/s, 1.05 M."""

from __future__ import annotations

DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
SIBILANTS = ("s", "x", "z", "ch", "sh")  # after which a plural has a vowel of its own
SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
SHORT = {
    "byte": "B", "byte/s": "B/s", "byte/block": "B/block", "hz": "Hz",
    "flop": "FLOP", "flop/s": "FLOP/s", "flop/byte": "FLOP/B", "op": "OP", "op/s": "OP/s",
}  # fmt: skip
DIGITS = 3
PLAIN_UNITS = ("", "inst", "sector", "sectors", "register/thread", "warp")  # the label says what is counted


def quantity(value: float, unit: str, most: int = DIGITS) -> str:
    """Return ``value`` with ``most`` digits and a unit in reading size; ``unit`` as in the catalogue, ns for times."""
    if unit == "%":
        return f"{value:z.1f} %"
    if unit == "ns":
        return duration(value, most)
    size = _size(value, most)
    scale, prefix = next(((s, p) for s, p in SCALES if size >= s), (1.0, ""))
    shown = "" if unit in PLAIN_UNITS else SHORT.get(unit, unit)
    return f"{digits(value / scale, most)} {prefix}{shown}".rstrip()


def duration(nanoseconds: float, most: int = DIGITS) -> str:
    """Return a time in the largest unit that leaves at least 1."""
    size = _size(nanoseconds, most)
    scale, unit = next(((s, u) for s, u in DURATIONS if size >= s), (1.0, "ns"))
    return f"{digits(nanoseconds / scale, most)} {unit}"


def number_of(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 run``, ``2 runs``, ``3 launches``."""
    return f"{count} {noun_of(count, noun)}"


def noun_of(count: float, noun: str) -> str:
    """Return a noun as it stands behind a number, or before the names of so many."""
    return noun if count == 1 else f"{noun}es" if noun.endswith(SIBILANTS) else f"{noun}s"


def percent(share: float) -> str:
    """Return a share, 1 for all, as messages have it: ``92 %``."""
    return f"{100 * share:z.0f} %"


def ratio_digits(ratio: float) -> int:
    """Return how many digits behind the point matter of a ratio of times: more where it is near one."""
    return 2 if abs(ratio - 1) >= 0.1 else 3


WHOLE_FROM = 10.0  # no estimate is so sure that more than a whole number says something


def times_as_fast(estimate: float) -> str:
    """Return how many times as fast an estimate says, wherever it stands: 1.043x, 3.42x, 26x."""
    return f"{estimate:.{0 if estimate >= WHOLE_FROM else ratio_digits(estimate)}f}x"


def digits(value: float, most: int = DIGITS) -> str:
    """Return ``most`` significant digits; whole numbers below 1000 stay whole."""
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    size = _size(value, most)
    if size < 1:
        return f"{value:.{most}g}"
    places = max(0, most - len(str(int(size))))
    return f"{value:.{places}f}"


def _size(value: float, most: int) -> float:
    """Return the size of a value as its digits show it: 1000 for 999.96, which decides on scale and places."""
    return float(f"{abs(value):.{most - 1}e}")
