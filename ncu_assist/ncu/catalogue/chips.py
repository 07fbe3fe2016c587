"""GPU chips by ncu's name for them: what they are sold as, and those whose metric names were recorded.

Compute capabilities are those of NVIDIA's list (developer.nvidia.com/cuda-gpus); which chip a product has stands in
NVIDIA's architecture whitepapers and, product by product, in TechPowerUp's GPU database. Products for laptops stand by
their full name: one without "Laptop" often has a larger chip.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.ncu.catalogue import metric
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, split


@dataclass(frozen=True)
class Chip:
    """One GPU chip; ``recorded``: ncu was asked for the names of its metrics."""

    name: str
    compute_capability: str
    products: tuple[str, ...]
    recorded: bool = False


def _chip(name: str, compute_capability: str, products: str, recorded: bool = False) -> Chip:
    return Chip(name, compute_capability, tuple(products.split(", ")), recorded)


KNOWN: tuple[Chip, ...] = (
    _chip("gp102", "6.1", "GTX 1080 Ti, Titan X, Titan Xp, P40, Quadro P6000"),
    _chip("gp104", "6.1", "GTX 1070, GTX 1070 Ti, GTX 1080, P4, Quadro P5000, Quadro P4000"),
    _chip("gp106", "6.1", "GTX 1060, Quadro P2000"),
    _chip("gp107", "6.1", "GTX 1050, GTX 1050 Ti, Quadro P1000, Quadro P620"),
    _chip("gp108", "6.1", "GT 1030, MX150, MX250"),
    _chip("gv100", "7.0", "V100, V100S, Titan V, Quadro GV100"),
    _chip("gv11b", "7.2", "Xavier, Jetson AGX Xavier, Jetson Xavier NX"),
    _chip("tu102", "7.5", "RTX 2080 Ti, Titan RTX, Quadro RTX 6000, Quadro RTX 8000", True),
    _chip("tu104", "7.5", "T4, RTX 2080, RTX 2080 Super, RTX 2070 Super, Quadro RTX 5000, Quadro RTX 4000"),
    _chip("tu106", "7.5", "RTX 2060, RTX 2060 Super, RTX 2070"),
    _chip("tu116", "7.5", "GTX 1660, GTX 1660 Super, GTX 1660 Ti, GTX 1650 Super"),
    _chip("tu117", "7.5", "GTX 1650, GTX 1650 Ti, T400, T600, T1000, MX450"),
    _chip("ga100", "8.0", "A100, A100X, A30, A30X, A800", True),
    _chip(
        "ga102",
        "8.6",
        "RTX 3080, RTX 3080 Ti, RTX 3090, RTX 3090 Ti, A10, A10G, A40, RTX A4500, RTX A5000, RTX A5500, RTX A6000",
        True,
    ),
    _chip(
        "ga104",
        "8.6",
        "RTX 3060 Ti, RTX 3070, RTX 3070 Ti, RTX A4000, RTX 3070 Laptop, RTX 3070 Ti Laptop, RTX 3080 Laptop, "
        "RTX A3000 Laptop, RTX A4000 Laptop, RTX A5000 Laptop",
    ),
    _chip("ga103", "8.6", "RTX 3080 Ti Laptop"),
    _chip("ga106", "8.6", "RTX 3060, RTX 3050, RTX A2000, RTX 3060 Laptop, RTX A2000 Laptop"),
    _chip("ga107", "8.6", "A2, A16, RTX A1000, RTX A400, RTX 2050, RTX 3050 Laptop, RTX 3050 Ti Laptop"),
    _chip("ga10b", "8.7", "Orin, Jetson AGX Orin, Jetson Orin NX, Jetson Orin Nano"),
    _chip("ad102", "8.9", "RTX 4090, RTX 4090 D, L20, L40, L40S, RTX 5000 Ada, RTX 5880 Ada, RTX 6000 Ada", True),
    _chip(
        "ad103",
        "8.9",
        "RTX 4070 Ti Super, RTX 4080, RTX 4080 Super, RTX 4500 Ada, RTX 4090 Laptop, RTX 5000 Ada Laptop",
    ),
    _chip(
        "ad104", "8.9", "L4, RTX 4070, RTX 4070 Super, RTX 4070 Ti, RTX 4000 Ada, RTX 4080 Laptop, RTX 3500 Ada Laptop"
    ),
    _chip("ad106", "8.9", "RTX 4060 Ti, RTX 4070 Laptop, RTX 3000 Ada Laptop"),
    _chip("ad107", "8.9", "RTX 4060, RTX 2000 Ada, RTX 4050 Laptop, RTX 4060 Laptop, RTX 2000 Ada Laptop"),
    _chip("gh100", "9.0", "H100, H200, H800, H20, GH200", True),
    _chip("gb100", "10.0", "B100, B200, GB200", True),
    _chip("gb110", "10.3", "B300, GB300"),
    _chip("gb10b", "11.0", "Thor, Jetson AGX Thor, Jetson Thor"),
    _chip("gb202", "12.0", "RTX 5090, RTX 5090 D, RTX PRO 6000 Blackwell", True),
    _chip("gb203", "12.0", "RTX 5080, RTX 5070 Ti, RTX 5080 Laptop, RTX 5090 Laptop"),
    _chip("gb205", "12.0", "RTX 5070, RTX 5070 Ti Laptop"),
    _chip("gb206", "12.0", "RTX 5060, RTX 5060 Ti, RTX 5060 Laptop, RTX 5070 Laptop"),
    _chip("gb207", "12.0", "RTX 5050, RTX 5050 Laptop"),
    _chip("gb20b", "12.1", "GB10, DGX Spark"),
)
CHIPS: dict[str, Chip] = {chip.name: chip for chip in KNOWN if chip.recorded}

# The last releases that know generations which newer ones do not, by the start of a compute capability, with the name
# of their program: release notes of 2020.1 ("Removed support for the Pascal SM 6.x GPU architecture"; it is called ncu
# since) and of 2025.4 (GPU Support: Volta no), which came with CUDA 13, without Volta; CUDA 12.9 has ncu 2025.2.
LAST_RELEASES = {
    "6.": ("2019.5", "nv-nsight-cu-cli"), "7.0": ("2025.2", "ncu"), "7.2": ("2025.2", "ncu"),
}  # fmt: skip


def profiler_of(compute_capability: str) -> tuple[str | None, str]:
    """Return the last release of Nsight Compute that knows such a GPU, None for the newest, and what it is called."""
    found = (last for start, last in LAST_RELEASES.items() if compute_capability.startswith(start))
    return next(found, (None, "ncu"))


# What may stand beside the product in a name as drivers and shops write it: "NVIDIA A100-SXM4-80GB", "H100 NVL".
BESIDE = re.compile(
    r"nvidia|geforce|tesla|sxm\d?|pcie?|nvl|hbm\d?e?|\d+ ?gi?b|generation|(?:workstation|server|max-q)? ?edition|gpu"
    r"|with max-q design"
)
# As compilers and manuals write it: sm_89, compute_86, CC 8.9, 9.0a.
CAPABILITY = re.compile(r"(?:(?:sm|compute|cc)[ _]*(\d{1,2})\.?(\d)|(\d{1,2})\.(\d))[af]?")


def known_chips() -> str:
    """Return in words what ``named_chip`` knows."""
    capabilities = sorted({chip.compute_capability for chip in KNOWN}, key=float)
    others = len(KNOWN) - len(CHIPS)
    return (
        f"known: {', '.join(CHIPS)}, what they and {others} other chips are sold as, and the compute capabilities "
        f"{', '.join(capabilities)}"
    )


def chip_of(compute_capability: str) -> Chip | None:
    """Return the recorded chip with this compute capability, as ``9.0``; None where none was recorded."""
    return next((chip for chip in CHIPS.values() if chip.compute_capability == compute_capability), None)


def nearest_chip(chip: Chip) -> Chip:
    """Return the recorded chip whose names are likeliest those of another: of its generation, else of the nearest."""
    same = chip_of(chip.compute_capability)
    asked = float(chip.compute_capability)
    return same or min(CHIPS.values(), key=lambda one: abs(float(one.compute_capability) - asked))


def named_chip(text: str) -> Chip | None:
    """Return the chip that a user means, recorded or not: by its own name, a product's or a compute capability.

    As ``ad102``, ``RTX-4090`` or ``sm_89``; of the chips of a compute capability one that was recorded goes first.
    """
    capability = CAPABILITY.fullmatch(text.strip().lower())
    if capability is None:
        return names().get(_short(text))
    asked = ".".join(filter(None, capability.groups()))
    return chip_of(asked) or next((chip for chip in KNOWN if chip.compute_capability == asked), None)


@functools.cache
def names() -> dict[str, Chip]:
    """Return every chip by its name and by its products, in small letters without spaces.

    Where that names one product only, RTX and GTX may be left out: ``4090``, ``a6000``.
    """
    found = {_short(product): chip for chip in KNOWN for product in chip.products}
    short = [(re.sub(r"^[rg]tx", "", name), chip) for name, chip in found.items()]
    once = {name: chip for name, chip in short if [one for one, _ in short].count(name) == 1}
    return {**once, **found, **{chip.name: chip for chip in KNOWN}}


def _short(text: str) -> str:
    return re.sub(r"[\s_-]", "", BESIDE.sub("", text.lower()))


DATA = Path(__file__).parent / "data"
VERSION = "2025.3.1"  # the ncu that was asked
UNLISTED = "report"  # collection of the names that no query lists but a full report holds: on any chip, as far as known


@dataclass(frozen=True)
class RecordedName:
    """One base name. ``kind`` is Counter, Ratio or Throughput, which decides its rollups; empty where it takes none.

    ``collection`` is profiling, launch, source, or ``UNLISTED``.
    """

    name: str
    kind: str
    unit: str
    collection: str
    chips: frozenset[str]

    def is_on(self, chip: str | None) -> bool:
        """Return whether this chip has it; on any chip when ``chip`` is None."""
        return chip is None or chip in self.chips or self.collection == UNLISTED


@functools.cache
def recorded_names() -> dict[str, RecordedName]:
    """Return every recorded base name, sorted."""
    names: dict[str, RecordedName] = {}
    for line in _rows():
        name, kind, unit, collection, chips = line.split("\t")
        on = frozenset(chips.split(","))
        if name in names:  # the unit differs by chip
            on |= names[name].chips
        names[name] = RecordedName(name, "" if collection in ("launch", "source") else kind, unit, collection, on)
    return names


@functools.cache
def words_of_names() -> frozenset[str]:
    """Return the words that recorded base names are made of, such as max, in small letters."""
    names = "\n".join(line.partition("\t")[0] for line in _rows())
    return frozenset(re.split(r"[_.:\n]+", names.lower()))


def _rows() -> list[str]:
    import zstandard

    packed = (DATA / f"metric_names_{VERSION}.tsv.zst").read_bytes()
    return zstandard.ZstdDecompressor().decompress(packed).decode().splitlines()[1:]


@dataclass(frozen=True)
class Available:
    """Base names with the rollups that each has; an empty rollup where the name stands alone. ``where``: of what."""

    where: str
    rollups: Mapping[str, Collection[str]]

    def has(self, name: str) -> bool:
        base, rollup = split(name)
        return rollup in self.rollups.get(base, ())


def in_report(names: Iterable[str], where: str = "this report") -> Available:
    """Return what a report holds, from the names of its metrics."""
    rollups: dict[str, list[str]] = {}
    for base, rollup in map(split, sorted({*names})):  # in the same order in every process
        rollups.setdefault(base, []).append(rollup)
    return Available(where, rollups)


@functools.cache
def on_chip(chip: str | None) -> Available:
    """Return what ncu can collect on a recorded chip; on any of them when ``chip`` is None."""
    rollups: dict[str, tuple[str, ...]] = dict.fromkeys(metric.CAPABILITY, ("",))  # in no list of metrics
    for recorded in recorded_names().values():
        if recorded.is_on(chip):
            base, rollup = split(recorded.name)
            rollups[base] = (*rollups.get(base, ()), *(ROLLUPS[recorded.kind] or (rollup,)))
    return Available(chip or "any recorded chip", rollups)


FILE = Path(__file__).parent / "data" / "metric_units.json"  # unit -> names; benchmarks/metric_units.py writes it


def recorded_units() -> dict[str, str]:
    """Return the unit of each metric that is known by name."""
    return {name: unit for unit, names in json.loads(FILE.read_bytes()).items() for name in names}
