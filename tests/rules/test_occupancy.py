"""Occupancy curves: where ncu says how many blocks fit now, they say the same; around that they go as hardware does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_facts import gallery, made

from ncu_assist.frame import combine_tables
from ncu_assist.ncu.catalogue.metrics import SM_LIMIT_NAMES
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.json.run import show_json
from ncu_assist.render.words.launches import room_words
from ncu_assist.rules import Facts
from ncu_assist.rules.low_occupancy import LIMITS
from ncu_assist.rules.model.occupancy import (
    ClusterRoom,
    OccupancyCurve,
    cluster_room,
    fits,
    occupancy_curves,
    shape_of,
    sm_limits,
    tile_room,
)
from ncu_assist.rules.model.of_run import results_of
from ncu_assist.store import Store

ARCHIVE = Store(Path(__file__).parents[2] / "reports")
VERSIONS = ("v18_tile_by_size", "v9_fragments_ahead")
CASES = ("occupancy_registers", "shared_stride_of_16", "barrier_every_step", "healthy_float_product", "healthy_sum")


def curve(facts: Facts, over: str) -> OccupancyCurve:
    (found,) = (one for one in occupancy_curves(facts) if one.over == over)
    return found


@pytest.mark.parametrize("name", CASES)
def test_as_many_blocks_fit_as_ncu_says(name: str) -> None:
    """Its limit by shared memory is that of the part of L1 which the driver had set aside."""
    facts = gallery(name)
    shape, limits = shape_of(facts), sm_limits(facts)
    assert shape is not None
    assert limits is not None
    told = fits(shape, replace(limits, shared=int(facts.value("shared_memory_configured"))))
    assert limits.assumed == ""
    assert {word: facts.get(LIMITS[word]) for word in told} == told


def test_the_curves_hold_what_is_now_and_end_where_nothing_fits() -> None:
    facts = gallery("occupancy_registers")
    for over in ("block_size", "registers", "shared_memory"):
        own = curve(facts, over)
        values = [one.value for one in own.points]
        assert values == sorted(set(values))
        (now,) = (one for one in own.points if one.value == own.now)
        assert now.warps == facts.value("theoretical_warps")
        assert max(one.warps for one in own.points) <= own.most_warps
    registers = curve(facts, "registers")
    assert [one.warps for one in registers.points] == sorted((one.warps for one in registers.points), reverse=True)


def test_waves_are_of_as_many_threads() -> None:
    facts = gallery("healthy_sum")
    waves = {one.value: one.waves for one in curve(facts, "block_size").points}
    now = int(facts.value("block_size"))
    assert waves[now] == pytest.approx(facts.value("waves_per_sm"), rel=0.01)


def test_each_number_of_blocks_has_the_most_shared_memory_that_it_fits_with() -> None:
    points = [one for one in curve(gallery("healthy_float_product"), "shared_memory").points if one.value]
    limited = [one for one in points if one.limiter == "shared"]
    assert [one.blocks for one in limited] == sorted((one.blocks for one in limited), reverse=True)
    assert limited[-1].blocks == 1
    assert limited[-1].value == 232_448  # of 228 KiB, one is the driver's


def without(facts: Facts, chip: str, *names: str) -> Facts:
    """Return facts as of a report that lacks these attributes, and of that compute capability."""
    tables = tuple({name: table[name] for name in table if name not in names} for table in facts.combined.tables)
    device = replace(facts.device, compute_capability=chip) if facts.device else None
    return replace(facts, combined=replace(facts.combined, tables=tables), device=device)


def test_what_the_report_does_not_say_is_known_of_the_compute_capability_or_of_the_launch() -> None:
    facts = gallery("occupancy_registers")
    said, known = sm_limits(facts), sm_limits(without(facts, "9.0", *SM_LIMIT_NAMES))
    assert said is not None
    assert known == replace(said, assumed="9.0")
    assert {one.assumed for one in occupancy_curves(without(facts, "9.0", *SM_LIMIT_NAMES))} == {"9.0"}
    blocks = next(name for name in SM_LIMIT_NAMES if "max_blocks" in name)
    assert sm_limits(without(facts, "9.0", blocks)) == said  # ncu 2019 has it as the limit of the launch
    assert sm_limits(without(facts, "3.5", *SM_LIMIT_NAMES)) is None


def test_without_what_a_multiprocessor_holds_there_is_none() -> None:
    assert occupancy_curves(made(block_size=256, registers=32, shared_memory=0)) == ()


def _recorded(version: str, workload: str) -> Facts:
    kernel, short = version.split("/")
    stored = next(one for one in ARCHIVE.runs(kernel) if one.run.version.split("_")[0] == short)
    results = results_of(stored.run, combine_tables(stored.run, stored.by_launch(), workload))
    assert results is not None
    return results.facts


# Of the 227 KB that a block may have: v13 has four stages of two loads, 16 and 32 KB: a fifth would not fit. v19 has
# five tiles of 32 KB. What is beside them are barriers and that with which tiles begin at a multiple of 1 KB.
@pytest.mark.parametrize(
    ("version", "workload", "load", "tiles"),
    [
        ("gemm_bias_gelu/v13", "square8k", 24 << 10, 4 * (48 << 10)),
        ("flash_attention/v19", "d128", 32 << 10, 5 * (32 << 10)),
    ],
)
def test_what_tma_brings_and_what_is_free(version: str, workload: str, load: int, tiles: int) -> None:
    found = tile_room(_recorded(version, workload))
    assert found is not None
    assert found.load_bytes == pytest.approx(load, rel=0.02)  # some go beyond the tensor
    assert (227 << 10) - tiles - (3 << 10) < found.free_bytes <= (227 << 10) - tiles


def test_there_are_no_tiles_without_tma() -> None:
    assert tile_room(_recorded("gemm_bias_gelu/v9", "square8k")) is None


def test_blocks_that_fit_in_clusters() -> None:
    """Of eight blocks only 62 clusters fit where there would be places for 66: some GPCs have fewer SMs."""
    facts = _recorded("softmax/v9", "c64k")
    assert cluster_room(facts) == ClusterRoom(8, 62, 496, 528)
    assert cluster_room(_recorded("softmax/v9", "c4k")) is None
    assert room_words(facts) == (
        "In clusters of 8, 62 at once: 496 blocks on the GPU, 6 % fewer than without clusters.",
    )
    whole = room_words(_recorded("gemm_bias_gelu/v18", "square8k"))
    assert whole[1] == "In clusters of 2, 66 at once: 132 blocks on the GPU."
    assert whole[0].startswith("A TMA load brings 20.5 kB on average, and a block could have ")


def test_tiles_and_clusters_stand_in_json() -> None:
    runs = {name: next(one for one in ARCHIVE.runs("gemm_bias_gelu") if one.run.version == name) for name in VERSIONS}
    found = {name: show_json(gather(stored, "square8k", ARCHIVE)) for name, stored in runs.items()}
    assert found["v18_tile_by_size"]["tiles"] == {"load_bytes": 20480.0, "free_bytes": 35776}
    assert found["v18_tile_by_size"]["clusters"] == {"size": 2, "clusters": 66, "blocks": 132, "alone": 132}
    assert (found["v9_fragments_ahead"]["tiles"], found["v9_fragments_ahead"]["clusters"]) == (None, None)
