"""Roles of warps by their code: who multiplies, who only loads, and what the ones wait for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ncu_assist.rules.model.warp_roles import multiplying_warps

# At address 0: a block whose first warp loads (16 to 80) and whose others multiply (96 to 176), then all end (192).
SPECIALISED = (
    ("@P0 BRA 0x60", 1, ""),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4], R2", 0, ""),
    ("@!P1 BRA 0x10", 30, "mbarrier"),
    ("UTMALDG.2D [UR8], [UR16]", 10, "wait"),
    ("@P2 BRA 0x10", 0, ""),
    ("BRA 0xc0", 0, ""),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR6], R2", 0, ""),
    ("@!P1 BRA 0x60", 20, "mbarrier"),
    ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR20], R24, gsb0", 10, "warpgroup_arrive"),
    ("WARPGROUP.DEPBAR.LE gsb0, 0x0", 40, "wgmma"),
    ("FMUL R0, R0, R1", 25, "wait"),
    ("@P2 BRA 0x60", 0, ""),
    ("UCGABAR_WAIT", 50, "cluster_barrier"),
    ("EXIT", 0, ""),
)
REASONS = ("mbarrier", "wait", "warpgroup_arrive", "wgmma", "cluster_barrier", "barrier", "long_scoreboard")


def sass(rows: tuple[tuple[str, int, str], ...], **columns: Any) -> pd.DataFrame:
    made: dict[str, Any] = {
        "launch": 0,
        "kernel": "k",
        "address": [16 * place for place in range(len(rows))],
        "sass": [text for text, _, _ in rows],
        "samples": [float(samples) for _, samples, _ in rows],
        **{f"stall_{one}": [float(n) if reason == one else 0.0 for _, n, reason in rows] for one in REASONS},
    }
    return pd.DataFrame(made | columns)


def test_warps_that_load_are_kept_apart() -> None:
    found = multiplying_warps(sass(SPECIALISED))
    assert found is not None
    warps, rows = found
    whole = 20 + 10 + 40 + 25  # what leads to a product or comes of one; waits of the ended for a cluster cost nothing
    assert (warps.tiles, warps.product, warps.queued) == pytest.approx((20 / whole, 40 / whole, 10 / whole))
    assert (warps.other, warps.beside) == pytest.approx((25 / whole, 0.0))
    assert warps.room == pytest.approx(30 / 40)
    assert {name: np.flatnonzero(one).tolist() for name, one in rows.items()} == {
        "tiles": [7], "product": [9], "barriers": [], "other": [10], "beside": [], "queued": [8]
    }  # fmt: skip


def test_a_product_with_another_behind_it_is_not_waited_for() -> None:
    kept = [(text.replace("0x0", "0x1") if "DEPBAR" in text else text, n, why) for text, n, why in SPECIALISED]
    found = multiplying_warps(sass(tuple(kept)))
    assert found is not None
    assert found[0].product == 0.0
    assert found[0].queued == pytest.approx(50 / 95)
    assert (found[0].other, found[0].beside) == pytest.approx((0.0, 25 / 95))  # the work between runs beside it


@pytest.mark.parametrize(("left", "part"), [("0x0", "barriers"), ("0x1", "queued")])
def test_a_barrier_costs_nothing_while_a_product_is_in_flight(left: str, part: str) -> None:
    """As in v12 of gemm_bias_gelu, whose barrier v13 took away and won nothing."""
    rows = (
        ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR20], R24, gsb0", 10, "wait"),
        (f"WARPGROUP.DEPBAR.LE gsb0, {left}", 0, ""),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", 0, ""),
        ("@P0 BRA 0x0", 30, "barrier"),
        ("EXIT", 0, ""),
    )
    found = multiplying_warps(sass(rows))
    assert found is not None
    assert getattr(found[0], part) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("load", "wait", "tiles"),
    [
        ("UTMALDG.2D [UR8], [UR16]", "FADD R0, R0, R4", 0.0),  # such as a bias, beside TMA
        ("LDGSTS.E.BYPASS.128 [R1], [R2]", "FADD R0, R0, R4", 0.0),
        ("DEPBAR.LE SB0, 0x1", "@!PT LDS RZ, [RZ]", 0.8),
        ("LDG.E.128 R4, [R2]", "STS.128 [R1], R4", 0.8),  # threads load the tiles
    ],
)
def test_loads_of_other_data_are_no_tiles(load: str, wait: str, tiles: float) -> None:
    rows = (
        *((("LDGSTS.E.BYPASS.128 [R1], [R2]", 0, ""),) if load.startswith("DEPBAR") else ()),
        (load, 0, ""),
        (wait, 40, "long_scoreboard"),
        ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR20], R24, gsb0", 10, "wait"),
        ("WARPGROUP.DEPBAR.LE gsb0, 0x0", 0, ""),
        ("@P0 BRA 0x0", 0, ""),
        ("EXIT", 0, ""),
    )
    found = multiplying_warps(sass(rows))
    assert found is not None
    assert found[0].tiles == pytest.approx(tiles)


def test_the_same_warps_may_load_and_multiply() -> None:
    """All that they wait for is theirs, barriers too; a queue that is full of products is one of busy tensor cores."""
    rows = (
        ("UTMALDG.2D [UR8], [UR16]", 5, "wait"),
        ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR20], R24", 10, "mio_throttle"),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", 15, "barrier"),
        ("LDS R0, [R1]", 20, "mio_throttle"),
        ("@P2 BRA 0x0", 0, ""),
        ("EXIT", 0, ""),
    )
    found = multiplying_warps(sass(rows, stall_mio_throttle=[0.0, 10.0, 0.0, 20.0, 0.0, 0.0]))
    assert found is not None
    assert (found[0].queued, found[0].beside) == pytest.approx((0.5, 0.5))
    assert found[0].room is None


def test_code_without_a_product_has_nobody_who_multiplies() -> None:
    assert multiplying_warps(sass((("FMUL R0, R0, R1", 25, "wait"), ("EXIT", 0, "")))) is None
