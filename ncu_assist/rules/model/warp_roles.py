"""What the warps that multiply matrices wait for, and those that load for them: by the code that each runs.

Warps of a kernel for tensor cores often have roles: some only load tiles, others only multiply. Which code belongs to
whom is told by where it can lead: to a matrix instruction, to one that loads tiles (TMA, bulk copies), or to both, as
where the same warps do both, and before the roles part. Samples of the two are kept apart: a warp that loads and waits
for room has nothing to do, and costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.stalls import CLUSTER_BARRIER, MBARRIER, WGMMA
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN
from ncu_assist.rules.model.places import functions_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

PREDICATED = re.compile(r"\s*@!?U?P\w+\s+")
ASYNC_PRODUCTS = ("HGMMA", "IGMMA", "QGMMA", "BGMMA")
PRODUCTS = (*ASYNC_PRODUCTS, "HMMA", "IMMA", "DMMA", "QMMA")
PARTS = ("tiles", "product", "barriers", "other", "beside", "queued")
TILE_LOADS = ("UTMALDG", "UBLKCP")
ASYNC_COPIES = ("LDGSTS",)
DEPBAR = "DEPBAR"  # waits for cp.async, as WARPGROUP.DEPBAR does for products
TARGET = re.compile(r"\b0x([0-9a-f]+)\s*$")
LEAVES = ("EXIT", "RET", "BRX", "JMX")  # without a predicate nothing follows
LEFT_IN_FLIGHT = re.compile(r"DEPBAR\.LE\s+\w+,\s*0x([0-9a-f]+)")


@dataclass(frozen=True)
class MultiplyingWarps:
    """Parts of the time of the warps that multiply, 0 to 1 each, and what of the others' time is waiting for room.

    ``tiles``: waits at mbarriers, which TMA or loading warps open, or for cp.async; where nothing copies to shared
    memory, for any load. ``product``: for one with no other behind it, so that the tensor cores end with it.
    ``barriers``: for other warps, with no product in flight. ``other``: anything else with none in flight. While one is
    in flight: ``queued``, where a warp waits for it, at a barrier, or for tensor cores that are busy; else ``beside``.
    ``room``: of the warps that only load, None where there are none.
    """

    tiles: float
    product: float
    barriers: float
    other: float
    beside: float
    queued: float
    room: float | None = None


def multiplying_warps(sass: pd.DataFrame) -> tuple[MultiplyingWarps, dict[str, Mask]] | None:
    """Return what warps that multiply do, and which instructions have samples of each part, by its name.

    None where no function has a matrix instruction, or nothing was sampled there.
    """
    import numpy as np

    parts, room = {name: np.zeros(len(sass)) for name in PARTS}, np.zeros(2)
    for rows in functions_of(sass):
        own = sass.iloc[rows]
        texts = [str(text) for text in own["sass"]]
        multiply, load = _roles(texts, own["address"].tolist())
        if not multiply.any():
            continue
        for name, samples in _times(own, texts, own["address"].tolist()).items():
            parts[name][rows] = np.where(multiply, samples, 0.0)
        room += (float(_stalled(own, MBARRIER)[load].sum()), float(_samples(own)[load].sum()))
    whole = sum(float(one.sum()) for one in parts.values())
    if not whole > 0:
        return None
    shares = {name: float(one.sum()) / whole for name, one in parts.items()}
    return MultiplyingWarps(**shares, room=_part(room)), {name: one > 0 for name, one in parts.items()}


def waits_for_room(sass: pd.DataFrame) -> float:
    """Return which part of all waits at mbarriers, 0 to 1, is that of warps that only load: they wait for room."""
    import numpy as np

    room, whole = 0.0, float(_stalled(sass, MBARRIER).sum())
    for rows in functions_of(sass):
        own = sass.iloc[rows]
        waits = _stalled(own, MBARRIER)
        if np.any(waits):
            multiply, load = _roles([str(text) for text in own["sass"]], own["address"].tolist())
            room += float(waits[load].sum()) if multiply.any() else 0.0
    return room / whole if whole else 0.0


def _part(room: Floats) -> float | None:
    return float(room[0]) / float(room[1]) if room[1] > 0 else None


def _times(own: pd.DataFrame, texts: Sequence[str], addresses: Sequence[int]) -> dict[str, Floats]:
    """Return the samples of each instruction by the parts of ``MultiplyingWarps``, as if all were of those warps."""
    import numpy as np

    heads = _heads(texts)
    last = np.array([(found := LEFT_IN_FLIGHT.search(text)) is not None and found[1] == "0" for text in texts])
    after = _followers(texts, heads, addresses)
    products = (later for place, head in enumerate(heads) if head in ASYNC_PRODUCTS for later in after[place])
    in_flight = _reached(products, [() if ends else following for following, ends in zip(after, last, strict=True)])
    waits, barriers = _stalled(own, WGMMA), _stalled(own, "barrier")
    full = _stalled(own, "mio_throttle") * np.array([head in PRODUCTS for head in heads])  # the queue of products
    queue = _stalled(own, "warpgroup_arrive") + _stalled(own, "math_pipe_throttle") + full
    loads = _stalled(own, "long_scoreboard")
    if {*TILE_LOADS, *ASYNC_COPIES} & set(heads):  # else threads load tiles as they load anything
        loads = loads * np.array([DEPBAR in pair for pair in pairwise(("", *heads))])  # it holds the one behind it
    parts: dict[str, Floats] = {
        "tiles": _stalled(own, MBARRIER) + loads,
        "product": np.where(last, waits, 0.0),
        "barriers": np.where(in_flight, 0.0, barriers),
        "queued": np.where(last, 0.0, waits) + queue + np.where(in_flight, barriers, 0.0),
    }
    idle = _stalled(own, CLUSTER_BARRIER)  # warps that have ended wait there for their cluster
    rest = np.clip(_samples(own) - idle - sum(parts.values()), 0.0, None)
    return parts | {"other": np.where(in_flight, 0.0, rest), "beside": np.where(in_flight, rest, 0.0)}


def _samples(own: pd.DataFrame) -> Floats:
    import numpy as np

    found: Floats = np.nan_to_num(own[SAMPLES].to_numpy(float))
    return found


def _stalled(own: pd.DataFrame, reason: str) -> Floats:
    import numpy as np

    name = STALL_COLUMN + reason
    found: Floats = np.nan_to_num(own[name].to_numpy(float)) if name in own else np.zeros(len(own))
    return found


def _roles(texts: Sequence[str], addresses: Sequence[int]) -> tuple[Mask, Mask]:
    """Return which instructions are of warps that multiply, and which of warps that only load for them."""
    import numpy as np

    heads = _heads(texts)
    products = [place for place, head in enumerate(heads) if head in PRODUCTS]
    loads = [place for place, head in enumerate(heads) if head in TILE_LOADS]
    after = _followers(texts, heads, addresses)
    before: list[list[int]] = [[] for _ in texts]
    for place, following in enumerate(after):
        for later in following:
            before[later].append(place)
    leads = [_reached(products, before), _reached(loads, before)]
    comes = [_reached(products, after), _reached(loads, after)]
    only_load = (leads[1] | comes[1]) & ~(leads[0] | comes[0])
    both = leads[0] & leads[1]
    multiply = (leads[0] | comes[0]) & ~only_load
    if only_load.any():  # before the roles part nobody multiplies
        multiply &= ~both | np.isin(np.arange(len(texts)), products)
    return multiply, only_load


def _heads(texts: Sequence[str]) -> list[str]:
    return [PREDICATED.sub("", text).strip().split(".")[0].split(" ")[0] for text in texts]


def _followers(texts: Sequence[str], heads: Sequence[str], addresses: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the places that may follow each instruction."""
    places = {int(address): place for place, address in enumerate(addresses)}

    def of(place: int) -> Iterator[int]:
        text, head = texts[place], heads[place]
        always = not PREDICATED.match(text)
        if head in ("BRA", "JMP") and (target := TARGET.search(text)):
            there = places.get(int(target[1], 16))
            yield from () if there is None else (there,)
        if place + 1 < len(texts) and not (always and head in ("BRA", "JMP", *LEAVES)):
            yield place + 1

    return [tuple(of(place)) for place in range(len(texts))]


def _reached(starts: Iterable[int], along: Sequence[Sequence[int]]) -> Mask:
    """Return which places can be reached from some, these themselves among them."""
    import numpy as np

    found = np.zeros(len(along), dtype=bool)
    todo = list(starts)
    while todo:
        place = todo.pop()
        if not found[place]:
            found[place] = True
            todo += along[place]
    return found
