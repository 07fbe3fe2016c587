"""What a GPU can reach, measured by `ncu-assist ceilings` and stored; and what is known of its architecture."""

from __future__ import annotations

from ncu_assist.ceilings.chips import ChipFacts, DramDefault, bytes_in_flight, chip_facts, dram_default
from ncu_assist.ceilings.floor import Floor, floor_of, split_ns
from ncu_assist.ceilings.records import Ceiling, Ceilings, Conditions, Point, Rate, Spread, Stage, dram_ceiling
from ncu_assist.ceilings.storage import ceilings_of, decode, encode, path_of, save, shipped, stored

__all__ = [
    "Ceiling",
    "Ceilings",
    "ChipFacts",
    "Conditions",
    "DramDefault",
    "Floor",
    "Point",
    "Rate",
    "Spread",
    "Stage",
    "bytes_in_flight",
    "ceilings_of",
    "chip_facts",
    "decode",
    "dram_ceiling",
    "dram_default",
    "encode",
    "floor_of",
    "path_of",
    "save",
    "shipped",
    "split_ns",
    "stored",
]
