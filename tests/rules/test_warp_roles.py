"""Roles of warps by their code: who multiplies, who only loads, and what the ones wait for."""

from __future__ import annotations

from typing import Any

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
REASONS = ("mbarrier", "wait", "warpgroup_arrive", "wgmma", "cluster_barrier", "barrier")


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
    warps, theirs = found
    whole = 20 + 10 + 40 + 25  # what leads to a product or comes of one; waits of the ended for a cluster cost nothing
    assert (warps.tiles, warps.product, warps.queued) == pytest.approx((20 / whole, 40 / whole, 10 / whole))
    assert warps.other == pytest.approx(25 / whole)
    assert warps.room == pytest.approx(30 / 40)
    assert theirs["samples"].iloc[1:6].tolist() == [0.0] * 5
    assert theirs["stall_mbarrier"].sum() == 20.0


def test_a_product_with_another_behind_it_is_not_waited_for() -> None:
    kept = [(text.replace("0x0", "0x1") if "DEPBAR" in text else text, n, why) for text, n, why in SPECIALISED]
    found = multiplying_warps(sass(tuple(kept)))
    assert found is not None
    assert found[0].product == 0.0
    assert found[0].queued == pytest.approx(50 / 95)


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
    assert (found[0].barriers, found[0].queued, found[0].other) == pytest.approx((0.3, 0.2, 0.5))
    assert found[0].room is None


def test_code_without_a_product_has_nobody_who_multiplies() -> None:
    assert multiplying_warps(sass((("FMUL R0, R0, R1", 25, "wait"), ("EXIT", 0, "")))) is None
