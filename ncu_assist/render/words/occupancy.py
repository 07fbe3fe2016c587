"""What allows no more blocks, in words; how many tiles fit in shared memory, and blocks that come in clusters."""

from __future__ import annotations

from ncu_assist.quantity import percent, quantity
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.occupancy import cluster_room, tile_room

LIMIT_WORDS = {"shared": "shared memory", "blocks": "places for blocks"}


def room_words(facts: Facts) -> tuple[str, ...]:
    """Return sentences on tiles and clusters of a launch; none for one without TMA and without clusters."""
    tiles, clusters = tile_room(facts), cluster_room(facts)
    said = []
    if tiles:
        each, more = quantity(tiles.load_bytes, "byte"), tiles.most - tiles.held
        said.append(
            f"A TMA load brings {each} on average: the shared memory of a block holds {tiles.held} of these, "
            f"and {more or 'no'} more would fit."
        )
    if clusters:
        lost = 1 - clusters.blocks / clusters.alone if clusters.alone else 0.0
        without = f", {percent(lost)} fewer than without clusters" if lost > 0 else ""
        at_once = f"{clusters.clusters} at once: {clusters.blocks} blocks on the GPU"
        said.append(f"In clusters of {clusters.size}, {at_once}{without}.")
    return tuple(said)
