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
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.stalls import CLUSTER_BARRIER, MBARRIER, WGMMA
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

PREDICATED = re.compile(r"\s*@!?U?P\w+\s+")
PRODUCTS = ("HGMMA", "IGMMA", "QGMMA", "BGMMA", "HMMA", "IMMA", "DMMA", "QMMA")
PRODUCT = re.compile(rf"\s*(?:@!?U?P\w+\s+)?(?:{'|'.join(PRODUCTS)})\b")
TILE_LOADS = ("UTMALDG", "UBLKCP")
TARGET = re.compile(r"\b0x([0-9a-f]+)\s*$")
LEAVES = ("EXIT", "RET", "BRX", "JMX")  # without a predicate nothing follows
LEFT_IN_FLIGHT = re.compile(r"DEPBAR\.LE\s+\w+,\s*0x([0-9a-f]+)")


@dataclass(frozen=True)
class MultiplyingWarps:
    """Parts of the time of the warps that multiply, 0 to 1 each, and what of the others' time is waiting for room.

    ``tiles``: at mbarriers, which TMA or loading warps open. ``product``: for one with no other behind it, so that the
    tensor cores end with it; ``queued``: with another behind it, or before tensor cores that are busy. ``barriers``:
    for other warps. The rest is ``other`` work. ``room``: of the warps that only load, None where there are none.
    """

    tiles: float
    product: float
    queued: float
    barriers: float
    room: float | None = None

    @property
    def other(self) -> float:
        return max(0.0, 1.0 - self.tiles - self.product - self.queued - self.barriers)


def multiplying_warps(sass: pd.DataFrame) -> tuple[MultiplyingWarps, pd.DataFrame] | None:
    """Return what warps that multiply wait for, and their instructions, with samples of no others.

    None where no function has a matrix instruction, or nothing was sampled there.
    """
    import numpy as np

    sums, room = np.zeros(5), np.zeros(2)
    kept = np.zeros(len(sass), dtype=bool)
    for rows in _functions(sass):
        own = sass.iloc[rows]
        texts = [str(text) for text in own["sass"]]
        multiply, load = _roles(texts, own["address"].tolist())
        if not multiply.any():
            continue
        kept[rows[multiply]] = True
        sums += _times(own, texts, multiply)
        room += (float(_stalled(own, MBARRIER)[load].sum()), float(_samples(own)[load].sum()))
    if not sums[0] > 0:
        return None
    tiles, product, queued, barriers = (float(one) / float(sums[0]) for one in sums[1:])
    sampled = [name for name in map(str, sass) if name == SAMPLES or name.startswith(STALL_COLUMN)]
    theirs = sass.assign(**{name: np.where(kept, sass[name].to_numpy(float), 0.0) for name in sampled})
    return MultiplyingWarps(tiles, product, queued, barriers, _part(room)), theirs


def waits_for_room(sass: pd.DataFrame) -> float:
    """Return which part of all waits at mbarriers, 0 to 1, is that of warps that only load: they wait for room."""
    import numpy as np

    room, whole = 0.0, float(_stalled(sass, MBARRIER).sum())
    for rows in _functions(sass):
        own = sass.iloc[rows]
        waits = _stalled(own, MBARRIER)
        if np.any(waits):
            multiply, load = _roles([str(text) for text in own["sass"]], own["address"].tolist())
            room += float(waits[load].sum()) if multiply.any() else 0.0
    return room / whole if whole else 0.0


def _part(room: Floats) -> float | None:
    return float(room[0]) / float(room[1]) if room[1] > 0 else None


def _times(own: pd.DataFrame, texts: Sequence[str], multiply: Mask) -> Floats:
    """Return samples of the instructions of warps that multiply: all, and those of each kind of wait."""
    import numpy as np

    idle = _stalled(own, CLUSTER_BARRIER)  # warps that have ended wait there for their cluster
    last = np.array([(found := LEFT_IN_FLIGHT.search(text)) is not None and found[1] == "0" for text in texts])
    waits = _stalled(own, WGMMA)
    full = _stalled(own, "mio_throttle") * np.array(
        [bool(PRODUCT.match(text)) for text in texts]
    )  # the queue of products
    kinds = (
        _samples(own) - idle,
        _stalled(own, MBARRIER),
        np.where(last, waits, 0.0),
        np.where(last, 0.0, waits) + _stalled(own, "warpgroup_arrive") + _stalled(own, "math_pipe_throttle") + full,
        _stalled(own, "barrier"),
    )
    return np.array([float(one[multiply].sum()) for one in kinds])


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

    heads = [PREDICATED.sub("", text).strip().split(".")[0].split(" ")[0] for text in texts]
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


def _functions(sass: pd.DataFrame) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Yield the rows of each function of each launch."""
    import numpy as np

    keys = [sass["launch"].to_numpy(), sass["kernel"].astype(str).to_numpy()]
    for _, rows in sass.assign(row=np.arange(len(sass))).groupby(keys, sort=False)["row"]:
        yield rows.to_numpy()
