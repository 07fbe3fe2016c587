"""The chips whose metric names were recorded, by ncu's name for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """One GPU chip; ``products`` are examples of what it is sold as."""

    name: str
    compute_capability: str
    products: str


CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("tu102", "7.5", "RTX 2080 Ti"),
        Chip("ga100", "8.0", "A100"),
        Chip("ga102", "8.6", "RTX 3090, A40"),
        Chip("ad102", "8.9", "RTX 4090, L40"),
        Chip("gh100", "9.0", "H100, H200"),
        Chip("gb100", "10.0", "B100, B200"),
        Chip("gb202", "12.0", "RTX 5090"),
    )
}


def chip_of(compute_capability: str) -> Chip | None:
    """Return the recorded chip with this compute capability, as ``9.0``; None where none was recorded."""
    return next((chip for chip in CHIPS.values() if chip.compute_capability == compute_capability), None)
