"""How the counters that a finding rests on are written: what is counted exactly, with all its digits."""

from __future__ import annotations

from ncu_assist.quantity import quantity

# Units of which a person counts pieces, and the label says of what: 8192 blocks, 132 SMs, 4,194,304 threads.
COUNTED = ("", "thread", "SM", "block", "warp", "register/thread")
ABOUT = "about "
LONGEST = 1e6  # from here on three digits are enough


def evidence_value(value: float, unit: str, approximate: bool = False) -> str:
    """Return a value with its unit; a whole number of pieces whole and without a unit, as its label names them.

    ``approximate``: derived from other metrics and only near what the label says: ``about 64.3 %``.
    """
    about = ABOUT if approximate else ""
    if unit not in COUNTED:
        return about + quantity(value, unit)
    return about + (str(int(value)) if value == int(value) and abs(value) < LONGEST else quantity(value, ""))
